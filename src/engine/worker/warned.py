"""Warnings that were shown already.

Python shows a warning of a place once: what was shown it keeps in the module that it comes from, until the filters are set
anew. Here every step begins with nothing kept, and what it is about to show is looked up first among what was shown
before it. So it is known which steps hang on that, and those before one need not have run in the same process.
"""

from __future__ import annotations

import sys
import types
import warnings
from _thread import get_ident
from collections.abc import Iterator
from typing import Any, Callable, Union

from .piece import OTHERWISE, USED, Piece

NAME = "@warnings:shown"
# The module, the text, the category and the line; what is shown once wherever it comes from has neither module nor line.
Shown = tuple[str, str, Union[str, type], int]
_ANYWHERE = -1


class Warned:
    """What was shown before the step that runs, and by it."""

    def __init__(self) -> None:
        self._shown: set[Shown] = set()
        self._asked = False  # whether Python may have kept something since it was last made to forget
        self.forgotten = False  # whether the step had what was shown before it forgotten
        self.listening = False  # whether a step runs: what the worker itself sets off is not shown

    def install(self) -> None:
        """Stands between Python and what shows a warning, and the function that is called when filters are set."""
        show, main = warnings._showwarnmsg, get_ident()  # type: ignore[attr-defined]

        def _showwarnmsg(msg: Any) -> None:
            self._asked = True
            if (not self.listening and get_ident() == main) or str(msg.filename).startswith("<reweave"):
                return
            USED.add(NAME)
            if not self._was_shown(msg):
                show(msg)

        warnings._showwarnmsg = _showwarnmsg  # type: ignore[attr-defined]
        for name in ("_filters_mutated", "_filters_mutated_lock_held"):  # the second since 3.14
            if hasattr(warnings, name):
                setattr(warnings, name, self._forgetting(getattr(warnings, name)))

    def _forgetting(self, mutated: Callable[[], None]) -> Callable[[], None]:
        def call() -> None:
            self._keep()
            self._shown = {one for one in self._shown if one[3] == _ANYWHERE}
            self.forgotten = True
            mutated()

        return call

    def before_step(self) -> None:
        """What was shown between steps is none of theirs."""
        if self._asked:
            for _, kept in _kept():
                kept.clear()
            self._asked = False
        self.forgotten = False
        self.listening = True

    def after_step(self) -> None:
        """Keeps what was shown apart from what is set off from now on."""
        self._keep()
        self.listening = False

    def _was_shown(self, msg: Any) -> bool:
        if not self._shown:
            return False
        text, category = str(msg.message), msg.category
        ways = ((text, category, msg.lineno), (text, category, 0), (text, category))
        return any(way in kept and _told(module, way) in self._shown for module, kept in _kept() for way in ways)

    def _keep(self) -> None:
        """Takes over what Python kept of the step, and has Python forget it."""
        if not self._asked:
            return
        self._asked = False
        for module, kept in _kept():
            self._shown.update(_told(module, key) for key in kept if _is_of_python(key))
            kept.clear()

    def piece(self) -> Piece:
        """What was shown, as hidden state: read by whoever was about to show something."""

        def get() -> list[Shown]:
            self._keep()
            return sorted(self._shown, key=_in_order)

        def put(value: list[Shown]) -> None:
            self._shown = set(value)

        return Piece(get, put, OTHERWISE)

    def without_forgetting(self, set_filters: Callable[[], None]) -> None:
        """Has the filters set as they were, and what was shown stays."""
        shown = set(self._shown)
        set_filters()
        self._shown = shown


def _kept() -> Iterator[tuple[str, dict[Any, Any]]]:
    once = getattr(warnings, "onceregistry", None)
    if type(once) is dict:
        yield "", once
    for name, module in list(sys.modules.items()):
        if isinstance(module, types.ModuleType):
            kept = module.__dict__.get("__warningregistry__")
            if type(kept) is dict:
                yield name, kept


def _is_of_python(key: Any) -> bool:
    """Whether Python made a key; steps can put there what they like."""
    kinds = tuple(map(type, key)) if type(key) is tuple else ()
    return len(kinds) in (2, 3) and kinds[0] is str and issubclass(kinds[1], type) and kinds[2:] in ((), (int,))


def _in_order(one: Shown) -> tuple[str, str, int, str]:
    module, text, category, line = one
    return module, text, line, category if isinstance(category, str) else category.__qualname__


def _told(module: str, key: tuple[Any, ...]) -> Shown:
    text, category = key[:2]
    own = category.__module__ == "__main__"
    line = key[2] if len(key) > 2 else _ANYWHERE
    return module, text, category if own else f"{category.__module__}.{category.__qualname__}", line
