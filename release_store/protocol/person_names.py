"""When two typed names are one person's."""

from __future__ import annotations

import unicodedata

# Letters and marks that nobody sees: fillers, joiners and selectors of variants.
_INVISIBLE = (
    (0x034F, 0x034F),
    (0x115F, 0x1160),
    (0x17B4, 0x17B5),
    (0x180B, 0x180F),
    (0x3164, 0x3164),
    (0xFE00, 0xFE0F),
    (0xFFA0, 0xFFA0),
    (0xE0100, 0xE01EF),
)


def is_invisible(sign: str) -> bool:
    """Tell whether nobody sees a sign: a filler, a joiner, or a selector of variants."""
    return any(low <= ord(sign) <= high for low, high in _INVISIBLE)


def normalize_name(name: str) -> str:
    """Return a person's name without its case, spaces, signs and forms of the same letters.

    Marks stay, since they can be letters, as vowels of Indian scripts are; what nobody sees does not. Of a
    name without letters, its signs are all there is.
    """
    lowered = unicodedata.normalize("NFKC", name).casefold().replace("i\u0307", "i")  # of the Turkish I
    folded = unicodedata.normalize("NFKC", lowered)
    seen = [sign for sign in folded if not is_invisible(sign)]
    kept = [sign for sign in seen if sign.isalnum() or unicodedata.category(sign)[0] == "M"]
    if any(sign.isalnum() for sign in kept):
        return "".join(kept)
    return "".join(sign for sign in seen if unicodedata.category(sign)[0] not in "CZ")
