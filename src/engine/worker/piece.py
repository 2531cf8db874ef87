"""One piece of hidden state."""

from __future__ import annotations

from typing import Any, Callable, NamedTuple, Union

Value = Any
# Which steps come by a piece: all of them, those that use any library (libraries use one another), or those of which is
# told otherwise. A set of words: those that name one of them.
ALWAYS, LIBRARIES, OTHERWISE = "always", "libraries", "otherwise"
Readers = Union[str, frozenset[str]]

USED: set[str] = set()  # pieces that the step looked at, where they tell


class Piece:
    """How to read it and how to set it, and who else reads it."""

    __slots__ = ("get", "put", "readers")

    def __init__(self, get: Callable[[], Value], put: Callable[[Value], object], readers: Readers = ALWAYS) -> None:
        self.get, self.put, self.readers = get, put, readers

    def is_read_by(self, words: set[str], uses_libraries: bool) -> bool:
        """Whether a step that names `words` comes by it."""
        if isinstance(self.readers, str):
            return self.readers is ALWAYS or (self.readers is LIBRARIES and uses_libraries)
        return not self.readers.isdisjoint(words)


class Late(NamedTuple):
    """A piece that there is once a module is."""

    module: str
    make: Callable[[], Piece | None]
    plain: bool = False  # its values hold nothing that could change in place: one that is equal is what it was
