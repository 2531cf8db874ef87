"""Which dicts were changed, without looking through them.

Hundreds of modules are followed, and a step changes none of them, mostly: to compare their dicts with what they were
costs more than a small step. CPython counts changes itself: up to 3.11 each dict has a version in its head (PEP 509),
from 3.12 on a dict can be watched (`PyDict_Watch`). Where neither does what it should, every dict counts as changed.
"""

from __future__ import annotations

import atexit
import sys
from itertools import compress
from operator import attrgetter, ne
from typing import Any, Callable

from . import kernel

_value = attrgetter("value")
_VERSION_OFFSET = 24  # after reference count, type, and number of items


class Changes:
    """Follows dicts by a key; each is held alive, since it is known by its address."""

    def __init__(self) -> None:
        self._dicts: dict[str, dict[str, Any]] = {}
        self._changed: set[str] = set()

    def follow(self, key: str, held: dict[str, Any]) -> None:
        """From now on says when `held` changes."""
        self._dicts[key] = held

    def forget(self, key: str) -> None:
        """Follows `key` no more."""
        self._dicts.pop(key, None)
        self._changed.discard(key)

    def of(self, key: str) -> dict[str, Any] | None:
        """The dict that `key` stands for."""
        return self._dicts.get(key)

    def doubt(self, key: str) -> None:
        """Counts `key` as changed the next time."""
        self._changed.add(key)

    def is_changed(self, key: str) -> bool:
        """Whether [`take`] would give `key`."""
        return True

    def take(self) -> set[str]:
        """The keys whose dicts were changed since this was last asked, or may have been."""
        return set(self._dicts)


class _Versions(Changes):
    """Reads the version that every dict carries."""

    def __init__(self, ctypes: Any) -> None:
        super().__init__()
        self._number = ctypes.c_uint64
        self._views: dict[str, Any] = {}
        self._seen: list[int] = []  # in the order of the views

    def follow(self, key: str, held: dict[str, Any]) -> None:
        if key in self._dicts:
            self.forget(key)
        super().follow(key, held)
        view = self._views[key] = self._number.from_address(id(held) + _VERSION_OFFSET)
        self._seen.append(view.value)

    def forget(self, key: str) -> None:
        super().forget(key)
        if key in self._views:
            del self._seen[list(self._views).index(key)]
            del self._views[key]

    def is_changed(self, key: str) -> bool:
        if key in self._changed:
            return True
        view = self._views.get(key)
        return view is not None and view.value != self._seen[list(self._views).index(key)]

    def take(self) -> set[str]:
        now = list(map(_value, self._views.values()))
        found = self._changed
        self._changed = set()
        if now != self._seen:
            found.update(compress(self._views, map(ne, now, self._seen)))
            self._seen = now
        return found


class _Watched(Changes):
    """Has the interpreter call when a dict changes."""

    def __init__(self, ctypes: Any) -> None:
        super().__init__()
        self._keys: dict[int, str] = {}

        def changed(event: int, address: int, key: object, value: object) -> int:
            found = self._keys.get(address)
            if found is not None:
                self._changed.add(found)
            return 0

        address, number = ctypes.c_void_p, ctypes.c_int
        self._call = ctypes.PYFUNCTYPE(number, number, address, address, address)(changed)
        self._api = ctypes.pythonapi
        self._object = ctypes.py_object
        self._watcher = self._api.PyDict_AddWatcher(self._call)
        if self._watcher < 0:
            raise OSError("no watcher is left")
        # An interpreter that ends takes its dicts apart when there is nobody left to call.
        self._api.Py_IncRef(self._object(self._call))
        atexit.register(self._api.PyDict_ClearWatcher, self._watcher)

    def follow(self, key: str, held: dict[str, Any]) -> None:
        self.forget(key)
        super().follow(key, held)
        self._keys[id(held)] = key
        self._api.PyDict_Watch(self._watcher, self._object(held))

    def forget(self, key: str) -> None:
        held = self._dicts.get(key)
        super().forget(key)
        if held is not None:
            self._keys.pop(id(held), None)
            self._api.PyDict_Unwatch(self._watcher, self._object(held))

    def is_changed(self, key: str) -> bool:
        return key in self._changed

    def take(self) -> set[str]:
        found = self._changed
        self._changed = set()
        return found


def start() -> Changes:
    """The best way that this interpreter has, tried before it is trusted."""
    if sys.implementation.name == "cpython" and sys.maxsize > 2**32:
        try:
            with kernel.Libc() as libc:
                made = _Watched(libc.ctypes) if sys.version_info >= (3, 12) else _Versions(libc.ctypes)
            if _works(made):
                return made
        except (ImportError, AttributeError, OSError):
            pass
    return Changes()


def _works(made: Changes) -> bool:
    tried: dict[str, Any] = {"a": 1, "b": [2]}
    made.follow("tried", tried)
    said = [made.take()]
    changes: list[Callable[[], object]] = [
        lambda: tried.__setitem__("a", 2), lambda: tried.pop("b"), lambda: tried.update(c=3), lambda: tried.get("a"),
        lambda: exec("global d\nd = 1", tried), lambda: tried.clear(),
    ]  # fmt: skip
    for change in changes:
        change()
        said.append(made.take())
    made.forget("tried")
    return said == [set(), {"tried"}, {"tried"}, {"tried"}, set(), {"tried"}, {"tried"}]
