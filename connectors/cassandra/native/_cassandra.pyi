# Numbers are arrays of 64 bits of the machine's order, given as what has a buffer and made as bytes.
from typing import TypeAlias

_Capsules: TypeAlias = tuple[object, object]
_Arrays: TypeAlias = tuple[bytes | tuple[bytes, ...] | tuple[tuple[bytes, ...], ...], ...]

sources: str

# starts and sizes of the cells of a page, column by column; None where the bytes end before the last cell does.
def find_cells(page: bytes, rows: int, columns: int, /) -> tuple[bytes, bytes] | None: ...

# starts, sizes, and the place behind the last frame that is whole.
def find_frames(section: bytes, /) -> tuple[bytes, bytes, int]: ...

# The numbers of the mutations that are left to the twin, and per table of the plan what the others did to it.
def gather(
    data: bytes, starts: object, sizes: object, version: int, plan: bytes, /
) -> tuple[bytes, list[_Arrays | None]]: ...
def number_texts(data: bytes, starts: object, sizes: object, has_scale: bool, /) -> _Capsules | None: ...
