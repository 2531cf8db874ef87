"""The decimal context, and its flags: what nearly every operation raises, and few look at."""

from __future__ import annotations

import sys
from collections.abc import Collection
from typing import Any, Callable

from .piece import Late, Piece, Value

_CONTEXT = "prec rounding Emin Emax capitals clamp".split()
_FLAGS = (
    "Clamped DivisionByZero FloatOperation Inexact InvalidOperation Overflow Rounded Subnormal Underflow".split()
)  # fmt: skip
# Who names one of these may look at flags.
_READERS = frozenset("flags getcontext localcontext setcontext clear_flags".split())


def _context() -> Piece:
    """The context without its flags."""
    decimal = sys.modules["decimal"]

    def get() -> Value:
        now = decimal.getcontext()
        return [getattr(now, part) for part in _CONTEXT], sorted(kind.__name__ for kind, on in now.traps.items() if on)

    def put(value: Value) -> None:
        now = decimal.getcontext()
        for part, wanted in zip(_CONTEXT, value[0]):
            setattr(now, part, wanted)
        for kind in now.traps:
            now.traps[kind] = kind.__name__ in value[1]

    return Piece(get, put)


def _name_of(flag: str) -> str:
    return f"@decimal:flags:{flag}"


def _flag(flag: str) -> Callable[[], Piece]:
    def make() -> Piece:
        decimal = sys.modules["decimal"]
        kind = getattr(decimal, flag)

        def put(value: Value) -> None:
            decimal.getcontext().flags[kind] = value

        return Piece(lambda: bool(decimal.getcontext().flags[kind]), put, _READERS)

    return make


class Flags:
    """Notes which flags a step raises, also where they stood before it."""

    def __init__(self) -> None:
        self.raised: set[str] = set()  # pieces
        self._laid: tuple[Any, list[Any]] | None = None  # a context, and the flags that stood in it

    def before_step(self, words: Collection[str]) -> None:
        """Lays down what stands, for a step that does not look at it."""
        self.raised.clear()
        self._laid = None
        decimal = sys.modules.get("decimal")
        if decimal is not None and _READERS.isdisjoint(words):
            context = decimal.getcontext()
            stood = [kind for kind, on in context.flags.items() if on]
            for kind in stood:
                context.flags[kind] = False
            self._laid = context, stood

    def after_step(self) -> None:
        """Takes down what was raised, and puts up again what stood."""
        if self._laid is not None:
            context, stood = self._laid
            self.raised.update(_name_of(kind.__name__) for kind, on in context.flags.items() if on)
            for kind in stood:
                context.flags[kind] = True
            self._laid = None


FLAGS = Flags()
LATE = {
    "@decimal": Late("decimal", _context, True),
    **{_name_of(flag): Late("decimal", _flag(flag), True) for flag in _FLAGS},
}  # fmt: skip
