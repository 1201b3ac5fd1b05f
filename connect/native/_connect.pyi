# Arrays are what has `__arrow_c_array__`; what is made is a pair of capsules of that protocol.
from typing import TypeAlias

_Capsules: TypeAlias = tuple[object, object]

def decode_json(data: object, wire: object | None, head: int, tail: int, /) -> _Capsules | None: ...
