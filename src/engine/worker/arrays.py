"""Arrays of numpy: whose memory they show, and how one travels with its own."""

from __future__ import annotations

import pickle
import sys
from typing import Any

from . import rebuild, sink


def named_dtype(value: Any) -> Any:
    """What stands for a kind of numbers that numpy has one object of. A pickle would make another, equal one, and what
    a step makes of both would be told apart by which of them it has."""
    plain = value.kind in "biufcOSUMmV" and value.names is None and value.subdtype is None and value.metadata is None
    return (None, value.str) if plain else None


class Owned:
    """Wraps an array that is pickled by its content, whatever memory it shares."""

    __slots__ = ("array",)

    def __init__(self, array: Any) -> None:
        self.array = array

    def __reduce_ex__(self, protocol: Any) -> Any:
        return owned(self.array, self.array.flags)


def owned(value: Any, flags: Any) -> Any:
    if value.dtype.hasobject or not (flags.c_contiguous or flags.f_contiguous):
        return value.copy().__reduce_ex__(4) if not value.dtype.hasobject else value.__reduce_ex__(4)
    order = "C" if flags.c_contiguous else "F"
    if not value.size:
        return rebuild.array, (b"", value.dtype, value.shape, order, bool(flags.writeable))
    data = pickle.PickleBuffer(value.ravel(order="K").data)
    sink.own_buffer[:] = [data]
    return rebuild.array, (data, value.dtype, value.shape, order, bool(flags.writeable))


def copies_on_write() -> bool:
    """Whether frames of pandas are isolated from one another whatever memory they share."""
    version = getattr(sys.modules.get("pandas"), "__version__", "0").split(".")[0]
    return version.isdigit() and int(version) >= 3


def lies_in(value: Any) -> Any:
    """The array whose memory this one shows, or is."""
    array = sys.modules["numpy"].ndarray
    while isinstance(value.base, array):
        value = value.base
    return value


def is_array(value: Any) -> bool:
    """Whether it is an array of numpy's, or of a class made of that."""
    array = getattr(sys.modules.get("numpy"), "ndarray", None)
    return array is not None and issubclass(type(value), array)
