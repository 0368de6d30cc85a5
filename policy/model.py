"""The release policy: everything that a user decides, as one model that refuses what it does not know."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Literal, Self
from zoneinfo import ZoneInfo, available_timezones

from pydantic import Field, field_validator, model_validator

from policy.categorical import CodeQuasiIdentifier
from policy.cells import Case, DateFormats, DecimalMark, Spellings, ThousandsMark, columns_of_steps
from policy.encoding import UTF_8, codec_of
from policy.errors import did_you_mean
from policy.gates import Gates
from policy.recoding import CLOSED, Closure, Ends, Form, Recoding, contains_its_people, form_of
from policy.roles import Distance, NumericQuasiIdentifier, Roles
from policy.section import Section, Share

FORMULA_BEGINNINGS = ("=", "+", "-", "@", "\t", "\r", "\n")
InputName = Annotated[str, Field(pattern=r"^[a-z_][a-z0-9_]{0,62}$")]
Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$")]


PartName = Annotated[str, Field(min_length=1, max_length=200)]
INTERVAL_ENDS = ("_min", "_max")  # of the names of the two columns that publish an interval
MOST_PARTS = 1000  # files of one table


class Wait(Section):
    """How long after its time a run waits for a file that is late, and how often it looks.

    A file that has changed within `settled_seconds` may still be growing, and is late too.
    """

    hours: Annotated[float, Field(gt=0, le=8_784)] = 48
    every_minutes: Annotated[float, Field(gt=0, le=10_080)] = 30
    settled_seconds: Annotated[float, Field(ge=0, le=86_400)] = 60


class Source(Section):
    """Where a period's table comes from, and how it is written.

    `path` is one file, or a list of files that are the parts of one table. `inputs` are further files for the
    query, by the names that it calls them. `sheet` and `table` are of the table's own file, if that is a
    workbook of Excel or a database of SQLite. With `line_breaks`, a quoted
    value may hold line breaks; without `quoted_delimiters`, it may not hold the delimiter. `duplicates` are
    rows that equal the row before them in every column that is read.

    Untidy cells are read in these steps: `invisible` characters are removed from cells and names of columns;
    `strip` removes blanks around them; `case`
    writes a column's cells in one case; `values` gives the other spellings of a column's values; `dates` has
    the formats of a column's dates, which are read as yyyy-mm-dd; `decimal` and `thousands` are the marks of
    numbers in text.
    """

    path: str | tuple[str, ...] | None = None
    query: str | None = None
    inputs: dict[InputName, str] = Field(default={})
    # Left out of the document where they are not set: the digests of older policies stay.
    sheet: Annotated[PartName | None, Field(exclude_if=lambda value: value is None)] = None
    table: Annotated[PartName | None, Field(exclude_if=lambda value: value is None)] = None
    format: Literal["auto", "csv", "parquet", "excel", "sqlite", "sql"] = "auto"
    delimiter: Annotated[str, Field(min_length=1, max_length=1)] = ","
    encoding: str = UTF_8
    missing: tuple[str, ...] = ("",)
    missing_label: Annotated[str, Field(min_length=1)] = "missing"
    line_breaks: bool = False
    quoted_delimiters: bool = True
    # Left out of the document where they are kept: the digests of older policies stay.
    duplicates: Annotated[Literal["kept", "removed"], Field(exclude_if=lambda value: value == "kept")] = (
        "kept"
    )
    # Likewise where none is taken.
    invisible: Annotated[Literal["kept", "removed"], Field(exclude_if=lambda value: value == "kept")] = "kept"
    strip: Annotated[bool, Field(exclude_if=lambda value: not value)] = False
    case: dict[str, Case] = Field(default={}, exclude_if=lambda value: not value)
    values: Spellings = Field(default={}, exclude_if=lambda value: not value)
    dates: dict[str, DateFormats] = Field(default={}, exclude_if=lambda value: not value)
    decimal: Annotated[DecimalMark, Field(exclude_if=lambda value: value == ".")] = "."
    thousands: Annotated[ThousandsMark | None, Field(exclude_if=lambda value: value is None)] = None
    wait: Wait | None = None

    @field_validator("path", mode="before")
    @classmethod
    def _path_is_one_or_several(cls, path: object) -> object:
        if path is None or isinstance(path, str):
            return path
        if isinstance(path, list | tuple) and 0 < len(path) <= MOST_PARTS:
            texts = [one for one in path if isinstance(one, str) and one]
            if len(texts) == len(path):
                return path
        raise ValueError(f"should be a path, or a list of 1 to {MOST_PARTS:,} paths")

    @field_validator("encoding")
    @classmethod
    def _encoding_is_known(cls, encoding: str) -> str:
        try:
            codec_of(encoding)
        except LookupError:
            raise ValueError(
                "should be utf-8, windows-1252, latin-1, utf-16 or another encoding that Python knows"
            ) from None
        return encoding

    @model_validator(mode="after")
    def _marks_of_numbers_differ(self) -> Self:
        if self.decimal == self.thousands:
            raise ValueError(f"decimal and thousands are both '{self.decimal}': choose two marks")
        return self

    @model_validator(mode="after")
    def _inputs_have_a_query(self) -> Self:
        if self.inputs and self.query is None:
            raise ValueError("inputs need a query, and there is none")
        if "input" in self.inputs:
            raise ValueError("inputs.input is the name of the table's own file: choose another")
        return self


class RowCount(Section):
    """How many rows a period's table may have."""

    min: Annotated[int, Field(ge=1)] = 1
    max: Annotated[int, Field(ge=1)] | None = None
    drift: Annotated[float, Field(gt=0)] | None = None


class Expectations(Section):
    """What a period's table must meet before any work is done on it."""

    rows: RowCount = RowCount()
    missing: Share = 0.05
    missing_in: dict[str, Share] = Field(default={})
    unique_key: bool = True
    sensitive_drift: Share | None = None
    # All repeats, or those of the columns that are named. Left out of the document where it is `refused`.
    repeats: Annotated[
        Literal["refused", "accepted"] | tuple[str, ...],
        Field(exclude_if=lambda value: value == "refused"),
    ] = "refused"

    @field_validator("repeats", mode="before")
    @classmethod
    def _all_or_columns(cls, given: Any) -> Any:
        columns = isinstance(given, list | tuple) and given and all(isinstance(one, str) for one in given)
        if not columns and given not in ("refused", "accepted"):
            raise ValueError("should be 'refused', 'accepted' or a list of columns")
        return given

    @property
    def repeating(self) -> tuple[str, ...]:
        """The columns of which rows with the same value are different people's."""
        return () if isinstance(self.repeats, str) else self.repeats


class AttributePrivacy(Section):
    """What one sensitive attribute has to hold, in place of what all have to."""

    e: Annotated[float, Field(ge=1)] | None = None
    p_max: Annotated[float, Field(gt=0, le=1)] | None = None
    h_min: Annotated[float, Field(ge=0)] | None = None
    spread: Share | None = None
    # Left out of the document where there is none: the digests of older policies stay.
    l: Annotated[  # noqa: E741 -- the field's own name for it
        Annotated[int, Field(ge=2)] | None, Field(exclude_if=lambda value: value is None)
    ] = None

    def own(self) -> dict[str, float]:
        """The limits that are set here, by name."""
        return {name: limit for name, limit in self if limit is not None}


class Privacy(Section):
    """The model that every published equivalence class must satisfy.

    The limits of `attributes` are of one sensitive attribute, in place of those that are of all.
    """

    k: Annotated[int, Field(ge=2)] = 8
    e: Annotated[float, Field(ge=1)] = 3
    p_max: Annotated[float, Field(gt=0, le=1)] = 0.8
    h_min: Annotated[float, Field(ge=0)] = 0.0
    spread: Share = 0.05  # least range of a numeric sensitive attribute, beside its largest absolute value
    l: Annotated[int, Field(ge=2)] = 2  # noqa: E741 -- the field's own name for it
    # Left out of the document where there are none: the digests of older policies stay.
    attributes: dict[str, AttributePrivacy] = Field(default={}, exclude_if=lambda value: not value)

    def of(self, attribute: str) -> Privacy:
        """Return the limits that one sensitive attribute is held to."""
        own = self.attributes.get(attribute)
        return self if own is None else self.model_copy(update=own.own() | {"attributes": {}})

    def own_least(self) -> dict[str, int]:
        """The `l` of each sensitive attribute that has its own."""
        return {name: own.l for name, own in self.attributes.items() if own.l is not None}

    def place(self, attribute: str, field: str) -> str:
        """Return the field that sets a limit of a sensitive attribute."""
        own = self.attributes.get(attribute)
        mine = own is not None and field in own.own()
        return f"privacy.attributes.{attribute}.{field}" if mine else f"privacy.{field}"


History = Literal["sticky", "repair", "blind"]
"""What earlier releases do to classes: they stay, they are cut anew and repaired, or nothing."""


class Reuse(Section):
    """Which earlier release's cells a release has where they still hold the privacy model.

    `release` is the id of a release of the series, a period, or `last`. Of the rows that none of these cells
    takes, the method makes classes of their own (`cut`), or they are left out.
    """

    release: Annotated[str, Field(min_length=1)] = "last"
    others: Literal["cut", "left_out"] = "cut"


class Method(Section):
    """How classes are made: a named method, of which any of the four parts may be another.

    The parameters are checked by the parts themselves. Without `recoding`, cells are intervals and sets that
    contain their people; anything else has to be said here. `ends` says whether an interval ends where the
    numbers of its people do, or on a grid. `levels` are those of `recoding: full-domain` that the policy
    decides, such as those of an earlier release. `reuse` names a release whose cells are used again.
    """

    name: str = "ae-lrhma"
    representation: str | None = None
    partition: str | None = None
    aggregation: str | None = None
    recoding: Recoding = "sets"
    ends: Ends = "attained"
    parameters: dict[str, Any] = Field(default={})
    history: History = "sticky"
    # Buckets of a unit at least. Left out of the document where it is the default, as are the next two.
    together: Annotated[int, Field(ge=1, le=8, exclude_if=lambda value: value == 2)] = 2
    # Left out of the document where there are none: the digests of older policies stay.
    levels: dict[str, Annotated[int, Field(ge=0)]] = Field(default={}, exclude_if=lambda value: not value)
    # Likewise.
    reuse: Annotated[Reuse | None, Field(exclude_if=lambda value: value is None)] = None

    @model_validator(mode="before")
    @classmethod
    def _older_name(cls, given: Any) -> Any:
        """Read `history_aware`, which policies had before there were sticky classes."""
        if not isinstance(given, dict) or "history_aware" not in given or "history" in given:
            return given
        aware = given["history_aware"]
        if not isinstance(aware, bool):
            return given
        rest = {name: value for name, value in given.items() if name != "history_aware"}
        return rest | {"history": "repair" if aware else "blind"}

    @model_validator(mode="after")
    def _levels_are_of_one_a_column(self) -> Self:
        if self.levels and self.recoding != "full-domain":
            raise ValueError(f"levels are those of recoding: full-domain, and recoding is {self.recoding}")
        return self

    @model_validator(mode="after")
    def _reused_cells_are_boxes(self) -> Self:
        if self.reuse is not None and self.recoding not in ("sets", "hierarchy"):
            instead = ": set method.levels" if self.recoding == "full-domain" else ""
            raise ValueError(
                f"reuse is of cells of recoding: sets or hierarchy, and recoding is {self.recoding}{instead}"
            )
        return self

    @model_validator(mode="after")
    def _reused_cells_do_not_grow(self) -> Self:
        if self.reuse is not None and self.parameters.get("history_in_growth"):
            raise ValueError("reuse keeps cells, and history_in_growth makes all classes anew: leave one out")
        return self

    @model_validator(mode="after")
    def _rounded_ends_are_of_intervals(self) -> Self:
        if self.ends == "rounded" and not contains_its_people(self.recoding):
            raise ValueError(f"ends: rounded is for intervals, and recoding: {self.recoding} writes none")
        return self


class Linkage(Section):
    """The attacker's tables: shares of the source that they hold, how often they are drawn, the share of
    wrong cells in those with errors, and a file about people who are not in the source.
    `sampling_fraction` is the share of the population that the source is.
    """

    ext_frac: Annotated[tuple[Annotated[float, Field(gt=0, le=1)], ...], Field(min_length=1)] = (
        0.05,
        0.10,
        0.20,
    )
    seeds: Annotated[int, Field(ge=1, le=1000)] = 5
    errors: Share = 0.1
    control: Annotated[str, Field(min_length=1)] | None = None
    sampling_fraction: Annotated[float, Field(gt=0, le=1)] | None = None


class Approval(Section):
    """How many people, other than the one who made a candidate, must agree to it."""

    approvers: Annotated[int, Field(ge=0, le=20)] = 0
    expires_days: Annotated[float, Field(gt=0, le=36_500)] = 14


class Publication(Section):
    """What stands in the published data package beside the data."""

    title: str = ""
    description: str = ""
    licence: str = ""
    formats: tuple[Literal["parquet", "csv"], ...] = ("parquet", "csv")
    csv_formulas: Literal["kept", "quoted"] = "kept"

    @field_validator("formats")
    @classmethod
    def _has_parquet(cls, formats: tuple[str, ...]) -> tuple[str, ...]:
        if "parquet" not in formats or len(set(formats)) != len(formats):
            raise ValueError("formats must hold 'parquet', which the gate reads, and each format once")
        return formats


class ReleasePolicy(Section):
    """Everything that a user decides about one series of releases."""

    series: Name
    period: Literal["given", "daily", "weekly", "monthly", "quarterly"] = "given"
    timezone: str = "UTC"
    population: Literal["cumulative", "overlapping", "independent"] = "overlapping"
    rows: Literal["one_per_person", "several"] = "one_per_person"
    source: Source = Source()
    roles: Roles
    expectations: Expectations = Expectations()
    privacy: Privacy = Privacy()
    method: Method = Method()
    gates: Gates = Gates()
    linkage: Linkage = Linkage()
    approval: Approval = Approval()
    publication: Publication = Publication()
    seed: Annotated[int, Field(ge=0, le=2**32 - 1)] = 42

    @field_validator("timezone")
    @classmethod
    def _known_timezone(cls, timezone: str) -> str:
        try:
            if timezone != "localtime":  # the machine's own: another machine would make another period of it
                ZoneInfo(timezone)
                return timezone
        except (KeyError, ValueError, OSError):
            pass
        near = did_you_mean(timezone, available_timezones())
        raise ValueError(f"'{timezone}' is not an IANA time zone{near}")

    @model_validator(mode="after")
    def _known_columns(self) -> Self:
        known = set(self.roles.columns())
        for name in self.expectations.missing_in:
            if name not in known:
                raise ValueError(f"expectations.missing_in names '{name}', which is not a column of roles")
        for name in self.expectations.repeating:
            if name not in known:
                near = did_you_mean(name, known)
                raise ValueError(f"expectations.repeats names '{name}', which is not a column of roles{near}")
            if name not in {*self.roles.dropped, *self.roles.identifiers, *self.roles.kept}:
                raise ValueError(
                    f"expectations.repeats names '{name}', which is neither dropped, an identifier nor kept: "
                    "name columns of these by which rows are alike, or set `accepted`"
                )
        source = self.source
        for field, name in columns_of_steps(source.case, source.values, source.dates):
            if name not in known:
                near = did_you_mean(name, known)
                raise ValueError(f"source.{field} names '{name}', which is not a column of roles{near}")
        for name in self.source.dates:
            if name in self.roles.numeric or name == self.roles.weight:
                raise ValueError(f"source.dates names '{name}', whose cells are numbers")
        for name in self.method.levels:
            if name not in self.roles.quasi_identifiers:
                near = did_you_mean(name, self.roles.quasi_identifiers)
                raise ValueError(f"method.levels names '{name}', which is not a quasi-identifier{near}")
        return self

    @model_validator(mode="after")
    def _levels_are_kept(self) -> Self:
        follows = self.roles.key is not None and self.gates.person.compare
        if self.method.levels and self.method.history == "sticky" and follows:
            raise ValueError(
                "method.levels needs history: repair or blind: signatures join people of different nodes"
            )
        return self

    @model_validator(mode="after")
    def _reused_cells_are_kept(self) -> Self:
        follows = self.roles.key is not None and self.gates.person.compare
        if self.method.reuse is not None and self.method.history == "sticky" and follows:
            raise ValueError(
                "method.reuse needs history: repair or blind: signatures join people of different cells"
            )
        return self

    @model_validator(mode="after")
    def _membership_is_among_others(self) -> Self:
        for gate in ("membership", "delta_presence"):
            if getattr(self.gates, gate) is not None and self.linkage.control is None:
                raise ValueError(
                    f"gates.{gate} needs linkage.control, a file of people who are not in the table"
                )
        return self

    @model_validator(mode="after")
    def _population_is_known(self) -> Self:
        weight, fraction = self.roles.weight, self.linkage.sampling_fraction
        if weight is not None and fraction is not None:
            raise ValueError(
                "roles.weight and linkage.sampling_fraction both say how large the population is: give one"
            )
        if weight is None and fraction is None:
            for gate in ("k_map", "population_uniqueness"):
                if getattr(self.gates, gate) is not None:
                    raise ValueError(f"gates.{gate} needs roles.weight or linkage.sampling_fraction")
        uniqueness = self.gates.population_uniqueness
        if uniqueness is not None and uniqueness.values == "published" and not self.roles.kept:
            raise ValueError(
                "gates.population_uniqueness.values: published needs a column of roles.kept: in cells alone, "
                "nobody is unique in a class of k"
            )
        return self

    @model_validator(mode="after")
    def _known_values_are_cells(self) -> Self:
        noised = [name for name in self.roles.quasi_identifiers if self.form(name) is Form.NOISED]
        for model in ("km", "lkc"):
            if noised and getattr(self.gates.models, model) is not None:
                raise ValueError(
                    f"gates.models.{model} needs a cell of every quasi-identifier, and recoding: "
                    f"{self.method.recoding} adds noise to '{noised[0]}': choose another recoding"
                )
        return self

    @model_validator(mode="after")
    def _missing_is_no_node(self) -> Self:
        # Cells of earlier releases are read by the hierarchies of today: a node stands for its leaves there.
        found = {f"quasi_identifiers.{name}": qi.tree for name, qi in self.roles.categorical.items()}
        found |= {f"sensitive.{name}": one.hierarchy for name, one in self.roles.sensitive.items()}
        for column, hierarchy in found.items():
            above = {node for path in hierarchy.paths for node in path[1:]} if hierarchy else set()
            if self.source.missing_label in above:
                raise ValueError(
                    f"source.missing_label '{self.source.missing_label}' is a node of "
                    f"roles.{column}.hierarchy: choose another"
                )
        return self

    @model_validator(mode="after")
    def _published_names_differ(self) -> Self:
        # Names that differ in case alone are one name to the database that reads the files again.
        published = [name.casefold() for name in self.published_columns()]
        for name in self.published_columns():
            if published.count(name.casefold()) > 1:
                raise ValueError(
                    f"two published columns would be called '{name}': drop one, or rename it by a query"
                )
            if name.casefold() == "file_row_number":  # DuckDB adds a column of this name
                raise ValueError(f"no column can be published under the name '{name}': rename it by a query")
        return self

    def form(self, quasi_identifier: str) -> Form:
        """How a quasi-identifier's cells stand to the values of their people."""
        return form_of(self.method.recoding, numeric=quasi_identifier in self.roles.numeric)

    def attained(self, quasi_identifier: str) -> bool:
        """Tell whether both ends of an interval, or all values of a set, are somebody's in the class.

        Cells that are closed up to a hierarchy, or rounded, hold more.
        """
        method, qi = self.method, self.roles.quasi_identifiers[quasi_identifier]
        if self.form(quasi_identifier) is not Form.CONTAINS or method.recoding == "full-domain":
            return False
        if isinstance(qi, NumericQuasiIdentifier):
            return method.ends == "attained" and not (method.recoding == "hierarchy" and qi.widths)
        return self.closure(quasi_identifier) == "none"

    def closure(self, quasi_identifier: str) -> Closure:
        """What the sets of a categorical quasi-identifier are closed up to, each by itself.

        Ordered values are published as ranges, and codes as prefixes, with `sets` and `hierarchy`; other
        hierarchies with `hierarchy` alone. A missing value stands beside a range or a node.
        """
        qi = self.roles.categorical[quasi_identifier]
        if self.form(quasi_identifier) is not Form.CONTAINS or self.method.recoding not in CLOSED:
            return "none"
        if qi.order is not None:
            return "ranges"
        by_hierarchy = self.method.recoding == "hierarchy" or isinstance(qi, CodeQuasiIdentifier)
        return "nodes" if by_hierarchy and qi.tree is not None else "none"

    def cell_columns(self, *forms: Form) -> Iterator[str]:
        """The published columns of the quasi-identifiers in their order; of all forms, if none are given."""
        for name in self.roles.quasi_identifiers:
            form = self.form(name)
            if forms and form not in forms:
                continue
            if name in self.roles.numeric and form is Form.CONTAINS:
                yield from (name + end for end in INTERVAL_ENDS)
            else:
                yield name

    def published_columns(self) -> Iterator[str]:
        """The columns of the published table, in their order."""
        yield from self.cell_columns()
        yield from self.roles.sensitive
        yield from self.roles.kept

    @model_validator(mode="after")
    def _quoted_names_are_no_formulas(self) -> Self:
        if self.publication.csv_formulas == "quoted":
            for name in self.published_columns():
                if name[:1] in FORMULA_BEGINNINGS:
                    raise ValueError(
                        f"spreadsheets read the name '{name}' as a formula: rename it by a query"
                    )
        return self

    @model_validator(mode="after")
    def _several_rows_have_a_key(self) -> Self:
        if self.rows == "several" and self.roles.key is None:
            raise ValueError("rows: several needs roles.key, the column that identifies the person of a row")
        return self

    @model_validator(mode="after")
    def _limits_are_of_sensitive_attributes(self) -> Self:
        sensitive, models = self.roles.sensitive, self.gates.models
        for field, named in (("privacy", self.privacy.attributes), ("gates.models", models.attributes)):
            for name in named:
                if name not in sensitive:
                    near = did_you_mean(name, sensitive)
                    named_so = f"{field}.attributes names '{name}'"
                    raise ValueError(f"{named_so}, which is not a sensitive attribute of roles{near}")
        for name, limits in self.privacy.attributes.items():
            if limits.spread is not None and sensitive[name].type != "numeric":
                raise ValueError(
                    f"privacy.attributes.{name}.spread is for numbers, and '{name}' is categorical"
                )
        for model in {model for one in models.attributes.values() for model in one.without}:
            if all(getattr(models.of(name), model) is None for name in sensitive):
                raise ValueError(f"gates.models.{model} is asked of no sensitive attribute: leave it out")
        return self

    @model_validator(mode="after")
    def _models_fit_the_roles(self) -> Self:
        for field, number in self.gates.models.known_at_most().items():
            if number > len(self.roles.quasi_identifiers):
                raise ValueError(
                    f"gates.models.{field} is {number}, but there are {len(self.roles.quasi_identifiers)} "
                    "quasi-identifiers"
                )
        for column in (*self.gates.leak.allow, *self.gates.unique.allow):
            if column not in (*self.roles.quasi_identifiers, *self.roles.sensitive, *self.roles.kept):
                raise ValueError(
                    f"gates.leak.allow or gates.unique.allow names '{column}', which is not published"
                )
        for field, listed in self.gates.models.listed_values().items():
            for name, values in listed.items():
                self._values_are_declared(f"gates.models.{field}", name, values)
        for field, named, distance in self.gates.models.distances():
            self._distance_exists(f"gates.models.{field}", named, distance)
        return self

    def _distance_exists(self, field: str, name: str, distance: Distance) -> None:
        """Raise ValueError where an attribute's values have no such distance."""
        attribute = self.roles.sensitive.get(name)
        if attribute is None:
            near = did_you_mean(name, self.roles.sensitive)
            raise ValueError(f"{field} names '{name}', which is not a sensitive attribute of roles{near}")
        if distance == "hierarchical" and attribute.hierarchy is None:
            raise ValueError(
                f"{field}.{name} is hierarchical: roles.sensitive.{name}.hierarchy must be given"
            )
        if distance == "ordered" and attribute.own_distance != "ordered":
            raise ValueError(
                f"{field}.{name} is ordered: give roles.sensitive.{name}.values in their order, with "
                "ordered: true"
            )

    def _values_are_declared(self, field: str, name: str, values: tuple[str, ...]) -> None:
        """Raise ValueError where a listed value may be a misspelt one, which no row would ever have."""
        if name not in self.roles.sensitive:
            raise ValueError(f"{field} names '{name}', which is not a sensitive attribute of roles")
        declared = self.roles.sensitive[name].allowed
        if self.roles.sensitive[name].type == "numeric":
            raise ValueError(f"{field} lists values of '{name}', which is numeric")
        if declared is None:
            raise ValueError(
                f"{field} lists values of '{name}': roles.sensitive.{name}.values must be given "
                "(or its hierarchy)"
            )
        domain = "values" if self.roles.sensitive[name].hierarchy is None else "hierarchy"
        for value in values:
            if value not in declared and value != self.source.missing_label:
                raise ValueError(f"{field} lists '{value}', which is not in roles.sensitive.{name}.{domain}")
