"""Kubernetes quantities: read exactly, written canonically."""

import re
from fractions import Fraction

_QUANTITY = re.compile(r"([0-9]+(?:\.[0-9]+)?)(m|k|Ki|M|Mi|G|Gi|T|Ti)?")
_FACTORS = {
    "": Fraction(1),
    "m": Fraction(1, 1000),
    "k": Fraction(10**3),
    "M": Fraction(10**6),
    "G": Fraction(10**9),
    "T": Fraction(10**12),
    "Ki": Fraction(2**10),
    "Mi": Fraction(2**20),
    "Gi": Fraction(2**30),
    "Ti": Fraction(2**40),
}

MIB = 2**20
GIB = 2**30


def to_bytes(quantity: str) -> int:
    """The whole bytes of a memory quantity, rounded up as the API server does. ValueError where it is none."""
    return _ceil(_parse(quantity))


def from_bytes(count: int) -> str:
    """`count` bytes in the largest binary unit that is exact, as the API server writes it: 2048Mi becomes 2Gi."""
    for suffix in ("Ti", "Gi", "Mi", "Ki"):
        factor = _FACTORS[suffix].numerator
        if count and count % factor == 0:
            return f"{count // factor}{suffix}"
    return str(count)


def canonical_cpu(quantity: str) -> str:
    """A CPU quantity as the API server writes it: 1000m becomes 1, 0.5 becomes 500m. ValueError where it is none."""
    milli = _ceil(_parse(quantity) * 1000)
    return f"{milli}m" if milli % 1000 else str(milli // 1000)


def _parse(quantity: str) -> Fraction:
    match = _QUANTITY.fullmatch(quantity)
    if match is None:
        raise ValueError(f"{quantity!r} is not a quantity such as 64Gi")
    return Fraction(match[1]) * _FACTORS[match[2] or ""]


def _ceil(value: Fraction) -> int:
    return -(-value.numerator // value.denominator)
