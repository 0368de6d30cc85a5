"""Guess the role of each column from its name and its counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from expectations.number_text import HELD_DIGITS
from policy.model import INTERVAL_ENDS
from policy.text import number_of
from services.drafting.facts import ColumnFacts, TableFacts
from services.drafting.linkage import Linkage
from tasks.intake.column_words import words_of
from tasks.intake.columns import display_column
from tasks.intake.repeated_people import RepeatedPeople
from tasks.intake.whose_rows import ABOUT_PEOPLE, BIRTH_WORDS, PERSONAL_WORDS


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


Role = Literal["key", "identifier", "quasi-identifier", "sensitive", "dropped"]

IDENTIFIER_WORDS = _set(
    "name surname forename firstname lastname fullname email mail phone telephone mobile fax ssn nino "
    "passport street address addr iban licence license username login url ip plate"
)
PERSON_WORDS = _set("id key uuid guid identifier person patient subject pid mrn dossier matricule")
KEY_WORDS = PERSON_WORDS | _set("number num no nr nbr code record")
MONEY_WORDS = _set(
    "income salary wage wages earnings pay cost costs expense expenses charge charges debt balance credit"
)
SENSITIVE_WORDS = MONEY_WORDS - _set("balance credit") | _set(
    "diagnosis diagnoses diag disease illness condition icd hiv treatment therapy medication prescription "
    "symptom benefit benefits religion belief orientation party vote union offence crime conviction "
    "disability pregnancy addiction diabetes diabetic stroke cancer asthma depression covid heartdisease "
    "arrest arrested recid recidivism"
)
# What tables are often made to explain: of few values, or a number.
OUTCOME_WORDS = _set(
    "outcome target label response y survived died death deceased mortality attrition churn churned default "
    "defaulted readmitted readmission dropout passed grade score result results"
)
# Sensitive in some tables and known to everybody in others: taken only where nothing plainer is found.
PERHAPS_SENSITIVE_WORDS = _set("job occupation profession balance credit cover insurance")
DEMOGRAPHIC_WORDS = BIRTH_WORDS | _set(
    "age sex gender race ethnic ethnicity nationality citizenship country "
    "marital education degree school schooling zip zipcode postcode postal city town municipality district "
    "plz county region state province place area agglomeration occupation profession job employment "
    "workclass household family children relationship language birthplace housing height"
)
CODE_WORDS = _set("code id type zip zipcode postcode postal plz category class group")
# Of many people each, unless what these have in common is a person's.
PLACE_WORDS = _set(
    "employer employers company firm business organisation organization workplace agency school university "
    "college hospital clinic ward practice office department unit team branch site store shop station plant "
    "zip zipcode postcode postal plz town city municipality district region county province place area "
    "country arbeitgeber firma betrieb unternehmen filiale werk abteilung schule klinik krankenhaus ort "
    "stadt gemeinde employeur entreprise etablissement ecole hopital commune ville empresa escuela azienda "
    "scuola werkgever"
)

YEAR_WORDS = _set("year yr yy yyyy jahr yob geburtsjahr annee ann\u00e9e a\u00f1o anno jaar geboortejaar rok")
PART_OF_YEAR_WORDS = _set(
    "month mon mm monat geburtsmonat mois mes m\u00eas mese maand day dd dom tag geburtstag jour d\u00eda "
    "dia giorno dag"
)
WEIGHT_WORDS = _set("weight weights wgt wt pondera gewicht gewichtung poids peso")

SMALLEST_NUMBER = 10_000_000  # all whole numbers of a column are as large: they are no amounts
FEW_VALUES = 20  # a column of so few values may describe a person together with others
MANY_VALUES = 50  # more are neither listed in the draft nor left to hide a person
MANY_QUASI_IDENTIFIERS = 8  # from here on, few values alone make no further one


@dataclass(frozen=True)
class Guess:
    """A column's role, and why it was guessed."""

    column: ColumnFacts
    role: Role
    why: str


def guess_roles(facts: TableFacts) -> list[Guess]:
    """Guess every column's role, in the table's order."""
    links = _links(facts)
    nobodys = _nobodys(facts)
    repeated = _repeated_key(facts, nobodys)
    key = _key(facts, links, repeated) or repeated
    guesses = _guesses(facts, key, links, nobodys)
    if key is None and (key := _by_what_it_determines(facts, guesses)):
        return _guesses(facts, key, links, nobodys)
    return guesses


def _by_what_it_determines(facts: TableFacts, guesses: Sequence[Guess]) -> ColumnFacts | None:
    """Return the column whose rows with the same value are one person's, whatever it is called."""
    others = {
        one.column.name: one.column
        for one in guesses
        if one.role in ("dropped", "identifier") and one.column.known == facts.rows
    }
    known = [one.column.name for one in guesses if one.role == "quasi-identifier"]
    found = [one for one in facts.people_among([*others], known) if not are_places(one)]
    names = [one.columns[0] for one in found if len(one.columns) == 1]
    return max((others[name] for name in names), key=lambda column: column.distinct, default=None)


def are_places(found: RepeatedPeople) -> bool:
    """Tell whether columns are named like places or employers, and determine nothing that is a person's."""
    named = all(words_of(name) & PLACE_WORDS for name in found.columns)
    return named and not any(words_of(name) & PERSONAL_WORDS for name in found.same)


def _guesses(
    facts: TableFacts, key: ColumnFacts | None, links: Mapping[str, Linkage], nobodys: Mapping[str, Guess]
) -> list[Guess]:
    plain = any(
        _recognised(column, SENSITIVE_WORDS) or _is_an_outcome(column)
        for column in facts.columns
        if column is not key
    )
    sensitive = SENSITIVE_WORDS if plain else PERHAPS_SENSITIVE_WORDS
    parts = _parts_of_birth(facts)
    first = [
        _by_link(column, key, links.get(column.name))
        or _of_the_period(column)
        or nobodys.get(column.name)
        or parts.get(column.name)
        or _by_name(column, key, sensitive)
        for column in facts.columns
    ]
    described = sum(guess is not None and guess.role == "quasi-identifier" for guess in first)
    guesses: list[Guess] = []
    for column, named in zip(facts.columns, first, strict=True):
        guess = named or _by_counts(column, described, key)
        described += named is None and guess.role == "quasi-identifier"
        guesses.append(guess)
    guesses = _without_single_amounts(_without_names(facts, guesses))
    return _without_long_numbers(_without_clashes(_without_unprotected(facts, guesses)))


def _without_long_numbers(guesses: list[Guess]) -> list[Guess]:
    """Leave out numbers that no bounds of a quasi-identifier can hold."""
    why = "numbers of more than 15 digits: divide them by a `query` in source to publish them as ranges"
    return [
        Guess(one.column, "dropped", why)
        if one.role == "quasi-identifier"
        and one.column.numeric
        and max(-one.column.low, one.column.high) >= 10**HELD_DIGITS
        else one
        for one in guesses
    ]


def _without_clashes(guesses: list[Guess]) -> list[Guess]:
    """Leave out what is called as an end of a numeric quasi-identifier, which is published in two columns."""
    ends = {
        f"{one.column.name}{end}".casefold(): one.column.name
        for one in guesses
        if one.role == "quasi-identifier" and one.column.numeric
        for end in INTERVAL_ENDS
    }
    clash = "called as an end of the published {} is: rename it by a `query` to publish it"
    return [
        Guess(one.column, "dropped", clash.format(display_column(ends[one.column.name.casefold()])))
        if one.role in ("quasi-identifier", "sensitive") and one.column.name.casefold() in ends
        else one
        for one in guesses
    ]


def _without_unprotected(facts: TableFacts, guesses: list[Guess]) -> list[Guess]:
    """Leave out sensitive columns of which everybody has one value: no p_max under 1 holds for them."""
    key = next((one.column.name for one in guesses if one.role == "key" and one.column.repeats), None)
    each = "every row" if key is None else "everybody, in some row,"
    table = "" if facts.tables == 1 else " of a table"
    return [
        Guess(
            one.column,
            "dropped",
            f"{one.why}, but {each}{table} has its commonest value, so that no limit can hide it: group rows "
            "or values by a `query` in source",
        )
        if one.role == "sensitive" and facts.common_shares(one.column.name, 1, key)[0] >= 1
        else one
        for one in guesses
    ]


def _without_single_amounts(guesses: list[Guess]) -> list[Guess]:
    """Leave out sensitive numbers that hardly repeat, if others are left: the gate `unique` blocks them."""
    single = [one for one in guesses if one.role == "sensitive" and hardly_repeats(one.column)]
    if len(single) == sum(one.role == "sensitive" for one in guesses):
        return guesses
    return [
        Guess(
            one.column,
            "dropped",
            f"{one.why}, but {_densest(one.column)} identify people, which the gate "
            "`unique` blocks: to publish it as sensitive, round it by a `query` in source",
        )
        if one in single
        else one
        for one in guesses
    ]


def single_amounts(guesses: Sequence[Guess]) -> list[str]:
    """Return the sensitive columns where all of these are numbers that hardly repeat."""
    sensitive = [one.column for one in guesses if one.role == "sensitive"]
    return [one.name for one in sensitive] if all(map(hardly_repeats, sensitive)) else []


def hardly_repeats(column: ColumnFacts) -> bool:
    """Tell whether most numbers of a column are in one row only."""
    return column.numeric and _nearly_unique(column)


def is_amount(column: ColumnFacts) -> bool:
    """Tell whether a sensitive column holds numbers in whose range a class can differ."""
    return column.numeric and column.distinct > FEW_VALUES and column.high - column.low >= 1


def _without_names(facts: TableFacts, guesses: list[Guess]) -> list[Guess]:
    """Make identifiers of the texts that hold values of others."""
    texts = [
        one.column.name
        for one in guesses
        if one.role in ("quasi-identifier", "sensitive", "dropped") and not one.column.numeric
    ]
    holders: dict[str, str] = {}
    for one in guesses:
        if one.role in ("key", "identifier") and one.column.distinct > 1:
            holders |= dict.fromkeys(facts.holders(one.column.name, texts), one.column.name)
    return [
        Guess(one.column, "identifier", f"holds values of {display_column(holders[one.column.name])}")
        if one.column.name in holders
        else one
        for one in guesses
    ]


def _links(facts: TableFacts) -> dict[str, Linkage]:
    """Return how far each column that may be a key links the rows of one table to the next one's."""
    if facts.tables == 1:
        return {}
    return {
        column.name: facts.linkage(column.name)
        for column in facts.columns
        if column.unique and (_named_like_a_key(column) or _may_be_a_key(column, facts))
    }


def _may_be_a_key(column: ColumnFacts, facts: TableFacts) -> bool:
    """Tell whether values could be numbers of people, whatever the column's name, if it says nothing else."""
    if "insurance" in column.marks:
        return True
    other = words_of(column.name) & (IDENTIFIER_WORDS | SENSITIVE_WORDS | DEMOGRAPHIC_WORDS)
    measured = column.numeric and not column.integer
    plain = not (other or measured or column.marks or column.dates)
    return plain and column.densest[0] > MANY_VALUES and not facts.has_blanks(column.name)


def _key(facts: TableFacts, links: Mapping[str, Linkage], repeated: ColumnFacts | None) -> ColumnFacts | None:
    """Return the column that may follow a person: unique, complete, and named like a key.

    Of several tables, it may have any name if equal values are the same people's, and none if they are
    different people's.
    """
    unknown = Linkage()
    following = [one for one in facts.columns if links.get(one.name, unknown).of_people]
    if following:
        return max(following, key=lambda column: (_about_people(column), _named_like_a_key(column)))
    found = [
        column
        for column in facts.columns
        if column.unique and _named_like_a_key(column) and not links.get(column.name, unknown).of_nobody
    ]
    best = max(found, key=_about_people, default=None)
    # A number of each visit follows nobody where another column tells whose the visits are.
    return repeated if repeated and _about_people(repeated) and not (best and _about_people(best)) else best


def _nobodys(facts: TableFacts) -> dict[str, Guess]:
    """Return the columns that are named like keys of several rows, but whose values are no people."""
    found: dict[str, Guess] = {}
    for column in facts.columns:
        if _may_repeat_as_a_key(column, facts.rows):
            rows = facts.several_rows(column.name)
            if rows.contradicts(about_people=_about_people(column) or "insurance" in column.marks):
                role: Role = "identifier" if words_of(column.name) & PERSON_WORDS else "dropped"
                found[column.name] = Guess(column, role, f"named like a key, but no person's: {rows.said}")
    return found


def _may_repeat_as_a_key(column: ColumnFacts, rows: int) -> bool:
    """Tell whether a complete column repeats and is named like a key, or holds insurance numbers."""
    several = column.known == rows and column.repeats and column.distinct > FEW_VALUES
    named = _named_like_a_key(column) and (column.distinct > MANY_VALUES or _about_people(column))
    return several and (named or ("insurance" in column.marks and column.distinct > MANY_VALUES))


def _repeated_key(facts: TableFacts, nobodys: Mapping[str, Guess]) -> ColumnFacts | None:
    """Return the column that follows a person over several rows: it repeats, and its values may be people."""
    found = [c for c in facts.columns if _may_repeat_as_a_key(c, facts.rows) and c.name not in nobodys]
    return max(found, key=lambda column: (_about_people(column), column.distinct), default=None)


def _about_people(column: ColumnFacts) -> bool:
    return bool(words_of(column.name) & ABOUT_PEOPLE) and _named_like_a_key(column)


def _named_like_a_key(column: ColumnFacts) -> bool:
    words = words_of(column.name)
    measured = column.numeric and not column.integer
    measured |= column.code == "icd-10" or column.short_codes
    other = IDENTIFIER_WORDS | SENSITIVE_WORDS | DEMOGRAPHIC_WORDS
    return bool(words & KEY_WORDS) and not measured and not words & other


def _nearly_unique(column: ColumnFacts) -> bool:
    return column.densest[0] > FEW_VALUES and column.distinct_share > 0.5


def _is_a_number_of_somebody(column: ColumnFacts) -> bool:
    """Tell whether whole numbers that hardly repeat name their rows: they are large, or no amounts."""
    if not (column.integer and _nearly_unique(column)):
        return False
    amount = column.money or words_of(column.name) & (MONEY_WORDS | _set("age height weight"))
    return column.low >= SMALLEST_NUMBER or not amount


def _is_an_outcome(column: ColumnFacts) -> bool:
    """Tell whether a column has few values, or numbers, of which others depend by its name."""
    return _recognised(column, OUTCOME_WORDS) and (column.numeric or column.distinct <= FEW_VALUES)


def _of_the_period(column: ColumnFacts) -> Guess | None:
    """Tell a column that has one value in each table, and another in another one."""
    if len(column.in_tables) < 2 or column.distinct < 2 or column.known < column.rows:
        return None
    if any(distinct > 1 for distinct, _ in column.in_tables):
        return None
    return Guess(column, "dropped", "one value in each table: it tells the period, which the release names")


def _parts_of_birth(facts: TableFacts) -> dict[str, Guess]:
    """Return the month and the day of birth, in columns of their own beside the year."""
    found: dict[str, Guess] = {}
    born = [column for column in facts.columns if words_of(column.name) & BIRTH_WORDS]
    years = [column.name for column in born if words_of(column.name) & YEAR_WORDS]
    for column in born if years else ():
        if words_of(column.name) & PART_OF_YEAR_WORDS and column.distinct <= 31:
            year = display_column(years[0])
            why = f"a part of the date of birth, of which {year} is published: all parts single people out"
            found[column.name] = Guess(column, "dropped", why)
    return found


def _recognised(column: ColumnFacts, words: frozenset[str]) -> bool:
    """Whether a column is sensitive by its name, and no free text, identifier or single value."""
    own = words_of(column.name)
    if column.code == "icd-10" or column.short_codes:
        own |= words & {"diagnosis"}
    if column.money:
        own |= words & {"income"}
    free_text = _nearly_unique(column) and (not column.numeric or _is_a_number_of_somebody(column))
    return bool(own & words) and not own & IDENTIFIER_WORDS and column.distinct >= 2 and not free_text


def _by_link(column: ColumnFacts, key: ColumnFacts | None, link: Linkage | None) -> Guess | None:
    """Guess from what equal values have in common in consecutive tables, if that is certain."""
    if link is not None and link.of_people and column is key:
        named = ", and named like a key" if _named_like_a_key(column) else ""
        return Guess(
            column,
            "key",
            f"unique in each table{named}: {link.shared:.0%} of its values are in the next table, where "
            f"{display_column(link.column)} is the same for {link.agreement:.1%} of them",
        )
    if link is not None and link.of_nobody:
        return Guess(
            column,
            "dropped",
            "unique in each table, but the same value is another person's in the next table: it numbers rows",
        )
    return None


def _by_name(column: ColumnFacts, key: ColumnFacts | None, sensitive: frozenset[str]) -> Guess | None:
    words = words_of(column.name)
    guess: Guess | None = None
    if column is key and column.repeats:
        rows = number_of(column.rows, "row")
        why = "named like a key" if _named_like_a_key(column) else "it tells what is known of a person"
        guess = Guess(column, "key", f"{why}, {_values(column)} in {rows}")
    elif column is key:
        guess = Guess(column, "key", "unique in every row, and named like a key")
    elif column.marks:
        guess = Guess(column, "identifier", f"its values look like: {', '.join(column.marks)}")
    elif by_form := _by_form(column, words):
        guess = by_form
    elif words & IDENTIFIER_WORDS:
        guess = Guess(column, "identifier", _says(words & IDENTIFIER_WORDS))
    elif column.distinct < 2:
        guess = Guess(column, "dropped", f"{_values(column)}: it carries no information")
    elif words & PERSON_WORDS and column.distinct > MANY_VALUES:
        guess = Guess(column, "identifier", f"named like a key, {_values(column)} {_known(column)}")
    elif _recognised(column, sensitive):
        named = words & sensitive
        values = "amounts of money" if column.money else "codes of ICD-10"
        guess = Guess(column, "sensitive", _says(named) if named else f"its values are {values}")
    elif _is_an_outcome(column):
        guess = Guess(column, "sensitive", f"{_says(words & OUTCOME_WORDS)}: an outcome")
    elif words & DEMOGRAPHIC_WORDS and not column.numeric and _nearly_unique(column):
        guess = Guess(column, "identifier", f"nearly unique text: {_densest(column)}")
    elif words & DEMOGRAPHIC_WORDS:
        guess = Guess(column, "quasi-identifier", _says(words & DEMOGRAPHIC_WORDS))
    return guess


def _by_form(column: ColumnFacts, words: set[str]) -> Guess | None:
    """Guess the role of dates and of amounts that are written as text."""
    values, born = _values(column), bool(words & BIRTH_WORDS)
    guess: Guess | None = None
    if column.unread_amounts:
        why = "amounts as text: convert them to numbers, as `source` says above"
        guess = Guess(column, "dropped", why)
    elif column.all_dates and born:
        guess = Guess(column, "quasi-identifier", f"dates of birth, {values}")
    elif not column.dates or column.distinct <= FEW_VALUES:
        guess = None
    elif not column.all_dates:
        why = (
            f"dates that no step reads, {values}: write them as yyyy-mm-dd, in the input or by a `query` "
            "in source (strptime)"
        )
        guess = Guess(column, "identifier" if born else "dropped", why)
    elif column.years is not None and column.years[0] == column.years[1]:
        why = f"dates of one year, {values}: if others know them, a quasi-identifier of months (`type: date`)"
        guess = Guess(column, "dropped", why)
    else:
        guess = Guess(column, "quasi-identifier", f"dates, {values}")
    return guess


def _says(words: set[str]) -> str:
    return f"its name says '{min(words)}'"


def _values(column: ColumnFacts) -> str:
    return number_of(column.distinct, "distinct value")


def _known(column: ColumnFacts) -> str:
    return f"in {number_of(column.known, 'row')}"


def _densest(column: ColumnFacts) -> str:
    """Say how many values the table has in which they repeat least."""
    distinct, known = column.densest
    table = " of a table" if len(column.in_tables) > 1 else ""
    return f"{number_of(distinct, 'distinct value')} in {number_of(known, 'row')}{table}"


def _for_people(column: ColumnFacts, key: ColumnFacts | None) -> tuple[int, int]:
    """Return the values and the people of the table in which there are most values for each person."""
    if key is None:
        return column.densest
    values, people = (tuple(n for n, _ in one.in_tables) for one in (column, key))
    return max(zip(values, people, strict=True), key=lambda one: one[0] / max(one[1], 1))


def _by_counts(column: ColumnFacts, described: int, key: ColumnFacts | None) -> Guess:
    """Guess from how many values there are, and how many people.

    `described` quasi-identifiers were found by name or before.
    """
    own, people = _for_people(column, key)
    distinct = _values(column)
    kind = "numbers" if column.numeric else "text"
    if _is_a_number_of_somebody(column) if column.numeric else _nearly_unique(column):
        return Guess(column, "identifier", f"nearly unique {kind}: {_densest(column)}")
    if own > max(FEW_VALUES, people / 2) and not column.numeric:
        values, each = number_of(own, "distinct value"), number_of(people, "person", "people")
        return Guess(column, "identifier", f"nearly unique {kind}: {values} for {each}")
    if column.distinct > FEW_VALUES:
        weights = column.numeric and column.low > 0 and words_of(column.name) & WEIGHT_WORDS
        survey = "; survey weights are named in `roles.weight` instead" if weights else ""
        return Guess(column, "dropped", f"not recognised: {distinct}{survey}")
    if column.missing_share > 0.5:
        return Guess(column, "dropped", f"only {distinct}, and most rows have none")
    if described >= MANY_QUASI_IDENTIFIERS:
        return Guess(column, "dropped", f"only {distinct}, but there are many quasi-identifiers already")
    return Guess(column, "quasi-identifier", f"only {distinct}: it may be known of a person, or be sensitive")
