"""Where bands of numbers begin and end: `18-24`, `5 001 bis 10 000`, `80 years or more`, `65 ans et plus`."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass

Ends = tuple[float, float]


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


# In English and the commonest languages of Europe in Latin script.
_LOWER = _set("""
    ≤ under below less fewer younger lower smaller unter weniger jünger juenger kleiner höchstens
    hoechstens maximal max maximum most moins menos menor menores meno inferiore minore minder jonger
    poniżej mniej młodszy młodsi méně pod mladší alatt kevesebb fiatalabb legfeljebb yngre mindre färre
    færre
""")
_HIGHER = _set("""
    ≥ + plus over above more older greater up upward upwards least min minimum über ueber mehr älter
    aelter größer groesser mindestens darüber höher más mas mayor mayores oltre più piu superiore
    maggiore mais maior acima meer ouder boven minstens powyżej więcej starszy starsi ponad nad více
    starší felett fölött több idősebb legalább äldre mer ældre flere mere eldre derover över
""")
_UP_TO = _set(
    "< <= to bis jusqu'à jusqu'a jusqu\u2019à hasta até ate fino tot t/m do til till"
)  # before the number
_FROM = _set("> >= from ab von vanaf van od da desde dès des från fra since partir")  # before the number
_BESIDE = _set("""
    and or & und oder et ou y e o och eller og of i lub a à nebo és vagy than equal de di als dan que
    niż než än end at in im between zwischen entre tra tussen mezi między age aged ages old alt alter
    edad âge dal - \u2010 \u2013 \u2014 \u2212 ~ .. ... … al až through , / ( ) [ ]
""")
_NOT = _set("no not nicht")
_NONE = _set(
    "no none zero nil kein keine keiner aucun aucune ninguno ninguna nessuno nessuna geen nenhum brak"
)
_OTHERS = _BESIDE | _LOWER | _HIGHER | _UP_TO | _FROM | _NOT | _NONE
_DAYS = {
    1.0: "d day days tag tage tagen jour jours día días giorno giorni dia dias dag dagen dni den nap",
    7.0: "w wk wks week weeks woche wochen semaine semaines semana semanas settimana settimane weken",
    365.25 / 12: "mo month months monat monate monaten mois mes meses mese mesi maand maanden hónap",
    365.25: "y yr yrs year years j jahr jahre jahren jährige an ans année années año años anno anni ano anos "
    "jaar rok roku lata lat roky let év éves år",
}
_SIZES = {1e3: "k tsd thousand mil tys", 1e6: "mio mn million millions millionen millones milioni mln"}
_SCALES = {word: days for days, words in _DAYS.items() for word in words.split()}
_MULTIPLES = {word: size for size, words in _SIZES.items() for word in words.split()}
_GLUED = re.compile(r"[^\W\d_]\d")  # in codes, such as `B2`
_BLANK_OF_THOUSANDS = re.compile(r"(?<=\d)[ '\u2019](?=\d{3}(?!\d))")
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_WORD = re.compile(r"[^\W\d_]+(?:['\u2019/][^\W\d_]+)*|[<>]=?|\.{2,3}|[^\s\w.]")
_CURRENCIES = re.compile(r"[$€£¥₹%]")
_STEM = 3  # letters in which a unit's forms are alike: `room` and `rooms`, `Kind` and `Kinder`


@dataclass
class _Band:
    """A value's one or two numbers, or none for "no children", and the words beside them."""

    numbers: list[str]
    scales: list[float]  # of each number, in days; 0 where no unit of time is said
    sizes: list[float]
    before: set[str]  # the first number
    after: set[str]
    units: set[str]


def ends_of(values: Iterable[str]) -> dict[str, Ends]:
    """Return where each band, or number beside bands, begins and ends; nothing if their units differ."""
    bands = {value: band for value in values if (band := _parsed(value)) is not None}
    units = {unit for band in bands.values() if band.numbers for unit in band.units}
    scales = {scale for band in bands.values() for scale in band.scales}
    if len(units) > 1 or (0 in scales and len(scales) > 2):
        return {}
    for band in bands.values():
        band.scales = [scale or max(scales) for scale in band.scales]
    thousands = [mark for mark in ".," if _is_of_thousands(mark, bands.values())]
    found = {value: _ends(band, thousands) for value, band in bands.items() if band.units <= units}
    return {value: ends for value, ends in found.items() if ends is not None}


def _parsed(value: str) -> _Band | None:
    """Return the parts of a value, None where it is no band of numbers."""
    text = " ".join(unicodedata.normalize("NFKC", value).casefold().split())
    text = _without_brackets(_BLANK_OF_THOUSANDS.sub("", _CURRENCIES.sub(" ", text).strip()))
    numbers = list(_NUMBER.finditer(text))
    if _GLUED.search(text) or len(numbers) > 2:
        return None
    band = _Band(
        [one.group() for one in numbers], [0.0] * len(numbers), [1.0] * len(numbers), set(), set(), set()
    )
    for word in _WORD.finditer(text):
        told, place = word.group(), sum(one.start() < word.start() for one in numbers)
        (band.after if place else band.before).add(told)
        number = max(place - 1, 0)  # the one before its unit, or else the one after it
        if numbers and told in _SCALES:
            band.scales[number] = _SCALES[told]
        elif numbers and told in _MULTIPLES:
            band.sizes[number] = _MULTIPLES[told]
        elif told not in _OTHERS:
            band.units.add(told[:_STEM])
    if len(numbers) == 2:
        band.scales = [band.scales[0] or band.scales[1], band.scales[1] or band.scales[0]]
    return band if numbers or band.before & _NONE else None


def _without_brackets(text: str) -> str:
    """Write `(20, 30]` and `(80, inf]` as `20 - 30` and `80 +`."""
    if not (text[:1] in ("[", "(") and text[-1:] in ("]", ")")):
        return text
    inside = text[1:-1]
    joint = next((one for one in (";", ", ", ",") if inside.count(one) == 1), "-")
    return inside.replace(joint, " - ").replace("-inf - ", "< ").replace(" - inf", " +")


def _is_of_thousands(mark: str, bands: Iterable[_Band]) -> bool:
    """Tell whether a point or a comma is a mark of thousands, wherever it is in a column."""
    marked = [one for band in bands for one in band.numbers if mark in one]
    whole = re.compile(rf"[1-9]\d{{0,2}}(?:\{mark}\d{{3}})+(?:[.,]\d+)?")
    return bool(marked) and all(map(whole.fullmatch, marked))


def _ends(band: _Band, thousands: list[str]) -> Ends | None:
    plain = [re.sub(rf"[{''.join(thousands)}]", "", one) if thousands else one for one in band.numbers]
    if any(len(re.findall(r"[.,]", one)) > 1 for one in plain):
        return None
    numbers = [
        float(one.replace(",", ".")) * (days or 1) for one, days in zip(plain, band.scales, strict=True)
    ]
    if not numbers:
        return -math.inf, 0.0
    if len(numbers) == 2:
        low, high = (number * size for number, size in zip(numbers, band.sizes, strict=True))
        if band.sizes[0] == 1 and numbers[0] <= numbers[1]:
            low = numbers[0] * band.sizes[1]  # `5-10k`
        return (low, high) if low <= high else None
    number, said = numbers[0] * band.sizes[0], band.before | band.after
    below = bool(said & _LOWER or band.before & _UP_TO or band.after & {">", ">="})
    above = not below and bool(said & _HIGHER or band.before & _FROM or band.after & {"<", "<="})
    if said & _NOT:
        below, above = above, below
    return (-math.inf if below else number), (math.inf if above else number)
