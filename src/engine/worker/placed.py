"""Modules, and what stands for some, that steps put into `sys.modules` by their own hands (`@sys:modules`).

Who imports one by its name has it, though no file of that name is to be found.
"""

from __future__ import annotations

import sys
from collections.abc import Collection
from typing import Any

from . import codec
from .piece import OTHERWISE, Piece, Value

NAME = "@sys:modules"


class Held(dict):  # type: ignore[type-arg]
    """What stands under the names."""

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise codec.Uncarryable("modules that a step put among those imported")


_NOTHING = Held()


class Placed(Piece):
    """The piece, and which names it is of. Who looks for a module in vain has read it as well: see `imports.py`."""

    __slots__ = ("_words", "names")

    def __init__(self) -> None:
        super().__init__(self._get, self._put, OTHERWISE)
        self.names: set[str] = set()
        self._words: set[str] = set()

    def learn(self, words: Collection[str], fresh: Collection[str], looked_for: Collection[str]) -> None:
        """After a step that names `words`, among whose `fresh` modules are those that the import system looked for."""
        if "modules" not in words:
            return
        odd = {name for name, held in list(sys.modules.items()) if held is None or type(held).__module__ == "__main__"}
        self._take(self.names | odd | {name for name in fresh if name not in looked_for})

    def is_read_by(self, words: set[str], uses_libraries: bool) -> bool:
        return not words.isdisjoint(self._words)

    def _take(self, names: set[str]) -> None:
        self.names = names
        self._words = {part for name in names for part in name.split(".")}

    def _get(self) -> Value:
        if not self.names:
            return _NOTHING
        return Held((name, sys.modules[name]) for name in sorted(self.names) if name in sys.modules)

    def _put(self, value: Value) -> None:
        for name in self.names - value.keys():
            sys.modules.pop(name, None)
        sys.modules.update(value)
        self._take(set(value))
