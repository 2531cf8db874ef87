"""What packages there are: version and place of each, and which use which.

A package is told by the directory that its installer wrote beside it (`name-version.dist-info`). One that has none, as
when it is worked on where it lies, is told by its own files.
"""

from __future__ import annotations

import os
import sys
import types
from collections.abc import Iterable
from importlib.machinery import PathFinder
from typing import Any, NamedTuple

from . import walk

_DEFINED = (type, types.FunctionType, types.BuiltinFunctionType)
_MOST = 200


class Package(NamedTuple):
    """One that can be imported."""

    name: str
    version: str | None
    place: str  # the installer's directory, or that of the package itself, or its file
    installed: bool  # whether it is the installer's
    added: bool  # whether a step put the directory that it lies in on the path


class Packages:
    """What this process knows of them."""

    def __init__(self) -> None:
        self._paths = frozenset(sys.path)
        self._uses: dict[str, set[str]] = {}  # by the names that stand in its modules
        self._known: dict[str, Package | None] = {}
        # By directory and its time: name -> version and path.
        self._installed: dict[tuple[str, int], dict[str, tuple[str, str]]] = {}

    def learn(self, module: types.ModuleType) -> None:
        """Notes which others a module that was imported names."""
        name = getattr(module, "__name__", None)
        if name is None or not walk.is_foreign(name):
            return
        uses = self._uses.setdefault(name.partition(".")[0], set())
        for value in list(vars(module).values()):
            kind = type(value)
            maker = None
            if kind is types.ModuleType:
                maker = value.__name__
            elif kind in _DEFINED or isinstance(value, type):
                maker = getattr(value, "__module__", None)
            if maker is not None and walk.is_foreign(maker):
                uses.add(maker.partition(".")[0])

    def used_by(self, tops: Iterable[str]) -> list[Package]:
        """These packages, and those that they use."""
        found: set[str] = set()
        todo = list(tops)
        while todo:
            top = todo.pop()
            if top not in found:
                found.add(top)
                todo += self._uses.get(top, ())
        packages = (self.of(top) for top in sorted(found))
        return [package for package in packages if package is not None][:_MOST]

    def of(self, top: str) -> Package | None:
        """The package that is loaded under this name."""
        if top not in self._known and top in sys.modules:
            module = sys.modules[top]
            place = getattr(module, "__file__", None) or next(iter(getattr(module, "__path__", ())), None)
            version = getattr(module, "__version__", None)
            self._known[top] = self._at(top, place, version if isinstance(version, str) else None)
        return self._known.get(top)

    def find(self, top: str) -> Package | None:
        """The package that an import of this name would load, without importing it."""
        try:
            spec = PathFinder.find_spec(top)
        except Exception:  # a broken entry of the path
            return None
        if spec is None:
            return None
        place = spec.origin if spec.has_location else next(iter(spec.submodule_search_locations or ()), None)
        return self._at(top, place, None)

    def _at(self, top: str, place: Any, version: str | None) -> Package | None:
        if not isinstance(place, str):
            return None
        path = os.path.dirname(place) if os.path.basename(place).startswith("__init__.") else place
        path = os.path.abspath(path)
        parent = os.path.dirname(path)
        added = parent not in self._paths
        found = self._installer(parent, top, os.path.basename(path))
        if found is not None:
            return Package(top, found[0][:80], found[1], True, added)
        return Package(top, version and version[:80], path, False, added)

    def _installer(self, parent: str, top: str, entry: str) -> tuple[str, str] | None:
        try:
            key = (parent, os.stat(parent).st_mtime_ns)
        except OSError:
            return None
        known = self._installed.get(key)
        if known is None:
            known = self._installed[key] = {}
            try:
                entries = os.listdir(parent)
            except OSError:
                entries = []
            for name in entries:
                stem, ending = os.path.splitext(name)
                if ending in (".dist-info", ".egg-info") and "-" in stem:
                    name_, version = stem.split("-")[:2]
                    known[name_.lower().replace("-", "_").replace(".", "_")] = (version, os.path.join(parent, name))
        found = known.get(top.lower())
        if found is not None:
            return found
        # One that installs a package of another name says so in the list of its files.
        for candidate in known.values():
            try:
                with open(os.path.join(candidate[1], "RECORD"), "rb") as file:
                    data = b"\n" + file.read()
            except OSError:
                continue
            wanted = os.fsencode(entry)
            if b"\n" + wanted + b"/" in data or b"\n" + wanted + b"," in data:
                known[top.lower()] = candidate
                return candidate
        return None
