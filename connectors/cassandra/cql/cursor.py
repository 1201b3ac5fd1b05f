"""Reads big-endian numbers and byte strings one after the other.

Variable-length integers are those of org.apache.cassandra.utils.vint.VIntCoding: the leading one bits of the first byte
count the bytes that follow.
"""

from __future__ import annotations

from connect.api.errors import ConnectError


class TruncatedError(ConnectError):
    """This error says that the bytes end inside a value."""


class Cursor:
    """Reads values from bytes, one after the other. `at` is the index of the next byte to read."""

    __slots__ = ("at", "data")

    def __init__(self, data: bytes, at: int = 0) -> None:
        self.data = data
        self.at = at

    def u8(self) -> int:
        """Read one byte."""
        at = self.at
        self.at = at + 1
        try:
            return self.data[at]
        except IndexError:
            raise TruncatedError(f"The bytes end at {at}, where one more is expected.") from None

    def take(self, size: int) -> bytes:
        """Read `size` bytes. TruncatedError: there are fewer."""
        at = self.at
        end = at + size
        if end > len(self.data):
            raise TruncatedError(f"The bytes end at {len(self.data)}, {size} are expected from {at} on.")
        self.at = end
        return self.data[at:end]

    def u16(self) -> int:
        """Read two bytes as an unsigned number."""
        return int.from_bytes(self.take(2), "big")

    def vint(self) -> int:
        """Read an unsigned variable-length integer of up to 64 bits."""
        at = self.at
        try:
            first = self.data[at]
        except IndexError:
            raise TruncatedError(f"The bytes end at {at}, where one more is expected.") from None
        self.at = at + 1
        if first < 0x80:
            return first
        more = 8 - (first ^ 0xFF).bit_length()
        return (first & (0xFF >> more)) << (8 * more) | int.from_bytes(self.take(more), "big")

    def vbytes(self) -> bytes:
        """Read bytes that have their length, a variable-length integer, before them."""
        return self.take(self.vint())


def signed(value: int, bits: int) -> int:
    """Return the low `bits` bits of a value as a signed number, as sums of deltas wrap around like Java's integers."""
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value
