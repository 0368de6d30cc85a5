"""The words of a column's name, and what words of other languages mean that is sensitive or personal."""

from __future__ import annotations

import re
import unicodedata

_NOT_DECOMPOSED = str.maketrans({"\u0142": "l", "\u00f8": "o", "\u00e6": "ae", "\u00df": "ss", "\u0131": "i"})
# What words begin with, without accents, by what they mean.
_BEGINNINGS = {
    "hospital": "krankenhaus",
    "illness": "krank erkrank gesundheit psychi maladi malade enfermed enferm malatt malato "
    "doenca doente saude ziekt ziek gezondheid chorob zdrowot nemoc zdravotn sjukdom sjukfr sjukskr sygdom "
    "sygefra sykdom sykefra sykemeld helse sundhed sairau terveys beteg egeszseg boala bolnav sanatat",
    "diagnosis": "diagnos diagnoz diagnost",
    "disability": "behinder schwerbehind pflegegrad pflegestufe invalidit invalidez handicap handikap "
    "discapac disabil deficienci niepelnospraw postizeni funktionsned fogyatekos dizabilit",
    "pregnancy": "schwanger grossess embaraz gravid zwanger tehotens raskau terhes",
    "cancer": "krebs tumor tumeur kanker rakovin nowotwor",
    "treatment": "behandl traitement tratamient tratament trattament leczeni lecba",
    "medication": "medikament medicament medicijn medicacion medicatie lekarstw",
    "addiction": "suchtkrank drogen adiccion dipendenz",
    "religion": "konfession kirchen religi glaube",
    "union": "gewerkschaft syndicat sindica vakbond",
    "wage": "lohn gehalt entgelt salair salari remunera wynagrodz zarobk",
    "income": "einkomm verdienst verguetung vergutung bezuege ingresos reddito retribuzion inkomen inkomst "
    "dochod indkomst inntekt jovedelem kereset",
}
_WHOLE = {
    "age": "alter lebensalter edad idade leeftijd wiek vek alder ika eletkor",
    "sex": "geschlecht sexe sexo sesso geslacht plec pohlavi kjonn sukupuoli",
    "birthplace": "geburtsort geburtsland",
    "nationality": "staatsangehorigkeit staatsangehoerigkeit nationalitat nationalitaet nationalite "
    "nacionalidad nazionalita nacionalidade nationaliteit obywatelstwo",
    "marital": "familienstand zivilstand",
    "education": "bildung schulabschluss ausbildung estudios istruzione opleiding wyksztalcenie",
    "occupation": "beruf metier profesion professione profissao beroep zawod povolani",
    "town": "wohnort ort stadt gemeinde wohngemeinde ville commune municipio comune gemeente woonplaats "
    "miasto gmina obec kommune kommun kunta telepules",
    "postcode": "postleitzahl",
    "region": "bundesland kanton landkreis departement provincia provincie wojewodztwo",
    "diagnosis": "befund",
    "outcome": "ergebnis kundigung kuendigung resultat resultado risultato resultaat",
    "illness": "sick sickness health sante salud halsa",
    "disability": "gdb",
    "addiction": "sucht",
    "pregnancy": "enceinte ciaza",
    "wage": "loon brutoloon nettoloon lonn paie sueldo sueldos nomina stipendio mzda palkka pensja",
    "income": "revenu revenus renda bezuge",
}
# Of compounds, such as Bruttolohn.
_ENDINGS = {
    "illness": "krankheit erkrankung krank",
    "disability": "behinderung",
    "diagnosis": "diagnose",
    "treatment": "behandlung",
    "wage": "lohn gehalt entgelt",
    "income": "einkommen inkomen",
    "cost": "kosten",
}


def _either(tables: dict[str, str], form: str) -> list[tuple[re.Pattern[str], str]]:
    return [(re.compile(form.format("|".join(words.split()))), meaning) for meaning, words in tables.items()]


_MEANINGS = [*_either(_BEGINNINGS, "(?:{})"), *_either(_WHOLE, "(?:{})$"), *_either(_ENDINGS, ".*(?:{})$")]


def words_of(name: str) -> set[str]:
    """Return the words of a column's name: `birthDate`, `birth_date` and `Birth-Date` have the same.

    Accents are left out. What a word of another European language means, if it is listed, is one, too.
    """
    plain = unicodedata.normalize("NFKD", name.translate(_NOT_DECOMPOSED))
    plain = "".join(letter for letter in plain if not unicodedata.combining(letter))
    apart = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", plain)
    words = set(re.findall(r"[a-z]+", apart.lower()))
    return words | {meaning for word in words if (meaning := _meaning(word))}


def _meaning(word: str) -> str:
    return next((meaning for form, meaning in _MEANINGS if form.match(word)), "")
