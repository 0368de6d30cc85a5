"""Ed25519 keys and signatures, each in its one spelling (RFC 8032)."""

from __future__ import annotations

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

_PRIME = (1 << 255) - 19  # of Ed25519: RFC 8032, section 5.1
_ORDER = (1 << 252) + 27742317777372353535851937790883648493
_D = -121665 * pow(121666, -1, _PRIME) % _PRIME
_SMALL_ORDER = (
    frozenset(  # y of the eight points whose order divides 8: whoever has none of their keys can sign
        {
            0,
            1,
            _PRIME - 1,
            0x05FC536D880238B13933C6D305ACDFD5F098EFF289F4C345B027B2C28F95E826,
            _PRIME - 0x05FC536D880238B13933C6D305ACDFD5F098EFF289F4C345B027B2C28F95E826,
        }
    )
)


def is_public_key(written: object) -> bool:
    """Tell whether a text is an Ed25519 key in its one spelling: of large order, y below the prime."""
    if not isinstance(written, str) or not is_hex(written, 64):
        return False
    y = int.from_bytes(bytes.fromhex(written), "little") & ((1 << 255) - 1)
    if y >= _PRIME or y in _SMALL_ORDER:
        return False
    # On the curve: x^2 = (y^2 - 1) / (d y^2 + 1) is a square; 0, where x is 0, is of small order.
    squared = (y * y - 1) * pow(_D * y * y + 1, _PRIME - 2, _PRIME)
    return pow(squared, (_PRIME - 1) // 2, _PRIME) == 1


def is_signature(written: object) -> bool:
    """Tell whether a text is an Ed25519 signature in its one spelling: 128 digits, S below the order."""
    if not isinstance(written, str) or not is_hex(written, 128):
        return False
    return int.from_bytes(bytes.fromhex(written[64:]), "little") < _ORDER


def is_hash(written: object) -> bool:
    """Tell whether a value is a SHA-256 in its one spelling: 64 digits, in small letters."""
    return isinstance(written, str) and is_hex(written, 64)


def is_hex(written: str, length: int) -> bool:
    """Tell whether a text is that many hexadecimal digits, in small letters."""
    return len(written) == length and set(written) <= set("0123456789abcdef")


def verify_signature(public_key: object, signature: object, data: bytes) -> None:
    """Raise ValueError or InvalidSignature unless the key, in its one spelling, signed `data`."""
    if not is_public_key(public_key) or not is_signature(signature):
        raise ValueError("no key or no signature")
    key = Ed25519PublicKey.from_public_bytes(bytes.fromhex(str(public_key)))
    key.verify(bytes.fromhex(str(signature)), data)
