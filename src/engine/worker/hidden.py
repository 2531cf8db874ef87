"""State of the process that steps share without naming it: generators, environment, module attributes.

Each piece has a name that starts with `@` and a plain value that can be compared, pickled and set again. A dot in it
parts a module from an attribute of it: pieces of another kind have none.
A piece that is as it was when the run began is absent.
"""

from __future__ import annotations

import builtins
import importlib
import os
import random
import sys
import types
from collections.abc import Collection, Iterable, Mapping
from typing import Any, Callable

from . import changes, decimals, libraries, names, placed, process, referred, standard, state_of_modules, warned
from . import module as own_module
from .piece import OTHERWISE, USED, Piece, Value

_ABSENT = object()
_UNKNOWN = object()
# What begins so is used by whoever calls anything: functions that steps replaced in libraries or among the builtins,
# attributes that they set on classes of libraries, the streams that everything prints to.
SHARED = "@:"
_PROCESS_WIDE = frozenset(
    ("sys", name)
    for name in (
        "stdout stderr stdin tracebacklimit excepthook displayhook unraisablehook meta_path path_hooks dont_write_bytecode"
    ).split()
)


class Environ:
    """Notes which environment variables a step reads and sets, by standing between it and `os.environ`."""

    def __init__(self) -> None:
        self.read: set[str] = set()
        self.set: set[str] = set()  # perhaps to what they were
        self.all = False
        kind = type(os.environ)
        get, put, drop, walk, size = kind.__getitem__, kind.__setitem__, kind.__delitem__, kind.__iter__, kind.__len__
        note = self

        def __getitem__(self: Any, key: Any) -> Any:
            if type(key) in (str, bytes):  # by `os.environb`
                note.read.add(_decode(key))
            return get(self, key)

        def __setitem__(self: Any, key: Any, value: Any) -> None:
            put(self, key, value)
            note.set.add(_decode(key))

        def __delitem__(self: Any, key: Any) -> None:
            if type(key) in (str, bytes):
                note.read.add(_decode(key))
            drop(self, key)

        def __iter__(self: Any) -> Any:
            note.all = True
            return walk(self)

        def __len__(self: Any) -> int:
            note.all = True
            return size(self)

        kind.__getitem__, kind.__setitem__, kind.__delitem__ = __getitem__, __setitem__, __delitem__  # type: ignore[method-assign]
        kind.__iter__, kind.__len__ = __iter__, __len__  # type: ignore[method-assign]
        self.base = self.copy()

    @staticmethod
    def copy() -> dict[Any, Any]:
        return dict(os.environ._data)  # type: ignore[attr-defined]


def _decode(data: Any) -> str:
    return data.decode(sys.getfilesystemencoding(), "surrogateescape") if isinstance(data, bytes) else data


class Hidden:
    """All hidden state of this process, and what the run began with."""

    def __init__(self, values: dict[str, Value], namespace: dict[str, Any]) -> None:
        self.values = values  # what is other than at the beginning, as of the last look
        self.environ = Environ()
        self._environ_seen = self.environ.base
        self.placed = placed.Placed()
        self.pieces: dict[str, Piece] = {
            "@cwd": Piece(os.getcwd, os.chdir),
            "@sys:path": Piece(lambda: list(sys.path), lambda v: sys.path.__setitem__(slice(None), v)),
            "@sys:argv": Piece(lambda: list(sys.argv), lambda v: sys.argv.__setitem__(slice(None), v)),
            "@recursionlimit": Piece(sys.getrecursionlimit, sys.setrecursionlimit),
            warned.NAME: standard.WARNED.piece(),
            placed.NAME: self.placed,
            **own_module.pieces(namespace),
            **process.pieces(),
            "@hooks": standard.hooks(),
            **standard.REGISTERED.pieces(),
        }
        standard.REGISTERED.install()
        standard.WARNED.install()
        self.classes: dict[tuple[str, str, str], Value] = {}  # attributes of libraries' classes that steps set: what was there
        self.base: dict[str, Value] = {}
        self.modules: dict[str, dict[str, Any]] = {}  # what tracked modules held when they were first seen
        referred.MODULES, referred.CLASSES = self.modules, self.classes
        self.changes = changes.start()
        self.changes.follow("", sys.modules)
        self.local: dict[str, str] = {}  # the run's own modules; filled in by the worker
        self.set_by_steps = referred.SET_BY_STEPS
        self.replaced: set[tuple[str, str]] = set()  # those of modules that the very step imported
        self.loaded_before = frozenset(sys.modules)  # modules that are there without any step
        self.submodules: set[tuple[str, str]] = set()  # packages, and what steps imported of them
        self.imported: set[str] = set()  # by the step, of these: pieces
        self.seeded: set[str] = set()  # generators that the step set before it drew from them
        self.by_chance = False  # whether it had one seeded by the system
        self.used = USED
        self.pieces["@random"] = Piece(random.getstate, random.setstate, OTHERWISE)
        self._follow_seeds("@random", random, "seed", "setstate")

    def _follow_seeds(self, name: str, module: Any, *setters: str) -> None:
        """Notes when a generator is set before it was drawn from: what comes of it does not depend on what was before."""
        note = self

        def noting(wrapped: Callable[..., Any]) -> Callable[..., Any]:
            def call(*args: Any, **kwargs: Any) -> Any:
                given = args[0] if args else next((kwargs[key] for key in ("a", "seed", "state") if key in kwargs), None)
                first = given is not None and name not in note.seeded and note._stands(name)
                # It was drawn from before, whatever it comes to be: set to what it was, it would seem untouched.
                if not first and name not in note.seeded:
                    note.used.add(name)
                result = wrapped(*args, **kwargs)
                if first:
                    note.seeded.add(name)
                note.by_chance |= given is None
                return result

            call.__name__, call.__qualname__, call.__module__, call.__doc__ = (
                wrapped.__name__, wrapped.__name__, module.__name__, wrapped.__doc__,
            )  # fmt: skip
            call.__wrapped__ = wrapped  # type: ignore[attr-defined]
            return call

        for setter in setters:
            setattr(module, setter, noting(getattr(module, setter)))

    def follow_numpy(self, mtrand: Any) -> None:
        """Called once numpy's generator is there, and before other modules take its functions over."""
        self._follow_seeds("@numpy:random", mtrand, "seed", "set_state")

    def _stands(self, name: str) -> bool:
        """Whether a piece is as it was when the step began."""
        piece = self.pieces.get(name)
        start = self.values.get(name, self.base.get(name, _ABSENT))
        return piece is not None and start is not _ABSENT and _same(piece.get(), start)

    def start(self) -> None:
        """Takes what stands now as what the run begins with."""
        self.learn()
        self.base = {name: piece.get() for name, piece in self.pieces.items()}
        self.environ.base = self._environ_seen = Environ.copy()

    def learn(self, done: str | None = None) -> None:
        """Adds what libraries that were imported meanwhile keep; `done` has just been, by its last line."""
        for name, late in libraries.LATE.items():
            if name not in self.pieces and late.module in sys.modules and (late.module == done or not _is_loading(late.module)):
                piece = late.make()
                if piece is not None:
                    self.pieces[name] = piece
                    self.base[name] = piece.get()
                    if name == "@torch:random":
                        self._follow_seeds(name, sys.modules["torch"], "manual_seed", "set_rng_state")

    def move(self, home: str, copy: str) -> None:
        """From now on the process works in a copy of `home`: what is told of places in it is told as of `home`."""

        def moved(path: Any, old: str, new: str) -> Any:
            inside = isinstance(path, str) and (path == old or path.startswith(old + os.sep))
            return new + path[len(old) :] if inside else path

        self.pieces["@cwd"] = Piece(lambda: moved(os.getcwd(), copy, home), lambda v: os.chdir(moved(v, home, copy)))
        self.pieces["@sys:path"] = Piece(
            lambda: [moved(path, copy, home) for path in sys.path],
            lambda v: sys.path.__setitem__(slice(None), [moved(path, home, copy) for path in v]),
        )

    def before_step(self) -> None:
        self.environ.read.clear()
        self.environ.set.clear()
        self.environ.all = False
        self.seeded.clear()
        self.used.clear()
        self.by_chance = False
        self.imported.clear()
        standard.WARNED.before_step()

    def set_anew(self) -> set[str]:
        """Pieces that stand as the step left them whatever they were before it, even if that is what they were."""
        env = {f"@env:{key}" for key in self.environ.set}
        return env | self.seeded | self.imported | decimals.FLAGS.raised | ({warned.NAME} if standard.WARNED.forgotten else set())

    def track(self, name: str) -> None:
        """Remembers what module `name` holds, the first time that code could reach it."""
        module = sys.modules.get(name)
        if name not in self.modules and type(module) is types.ModuleType and name not in ("__main__",):
            self.modules[name] = dict(module.__dict__)
            self.changes.follow(name, module.__dict__)

    def _find_replaced(self, suspects: set[str]) -> None:
        """Follows what stands in place of modules that were taken away or imported anew."""
        for name in self.modules:
            held = getattr(sys.modules.get(name), "__dict__", None)
            if held is not None and held is not self.changes.of(name):
                self.changes.follow(name, held)
                suspects.add(name)

    def unlike(self, name: str, keys: Iterable[str]) -> None:
        """What module `name` holds under `keys` counts as set by the run, whatever it was when it was first seen."""
        base = self.modules.get(name, {})
        for key in [key for key in keys if key in base]:
            del base[key]
            self.changes.doubt(name)
            if key in self.set_by_steps and name not in self.local and _is_its_own(name, key):
                self.replaced.add((name, key))

    def follow_submodules(self, module: str) -> set[str]:
        """A module of a package that a step imports by name is there from then on, as an attribute of the package, for
        whoever has that: gives the pieces that say so."""
        found = set()
        while "." in module and module not in self.loaded_before:
            package, _, name = module.rpartition(".")
            held = getattr(sys.modules.get(package), "__dict__", {})
            if _is_submodule(package, name, held.get(name)):
                self.track(package)
                if (package, name) not in self.submodules:
                    self.submodules.add((package, name))
                    self.modules.get(package, {}).pop(name, None)
                    self.changes.doubt(package)
                found.add(f"@{module}")
            module = package
        return found

    def collect(self, values: dict[str, Value], reached: Collection[str]) -> set[str]:
        """Brings `values` (hidden names to values) up to date; returns the names that are other than before.

        Of the run's own modules only those that were `reached` can have come to another state.
        """
        self.learn()
        changed: set[str] = set()

        def note(name: str, value: Value) -> None:
            old = values.get(name, _ABSENT)
            if value is _ABSENT:
                if old is not _ABSENT:
                    del values[name]
                    changed.add(name)
            elif old is _ABSENT or not _same(old, value):
                values[name] = value
                changed.add(name)

        for name, piece in self.pieces.items():
            own = name[len(state_of_modules.PREFIX) :] if name.startswith(state_of_modules.PREFIX) else None
            if own is not None and name in values and own not in reached:
                continue
            value = piece.get()
            note(name, _ABSENT if _same(value, self.base.get(name, _ABSENT)) else value)
        data = os.environ._data  # type: ignore[attr-defined]
        if data != self._environ_seen:
            seen = Environ.copy()
            for key in set(seen) ^ set(self._environ_seen) | {k for k in seen if self._environ_seen.get(k) != seen[k]}:
                value = seen.get(key, _ABSENT)
                base = self.environ.base.get(key, _ABSENT)
                name = f"@env:{_decode(key)}"
                note(name, _ABSENT if value == base else None if value is _ABSENT else _decode(value))
            self._environ_seen = seen
        suspects = self.changes.take()
        if "" in suspects:
            self._find_replaced(suspects)
        for name in [n for n in self.modules if n in suspects] if suspects else ():
            base, module = self.modules[name], sys.modules.get(name)
            if module is None:
                continue
            held = module.__dict__
            if len(held) == len(base) and all(base.get(key, _ABSENT) is value for key, value in held.items()):
                for known in [n for n in values if n.startswith("@") and n[1:].lstrip(":").rpartition(".")[0] == name]:
                    note(known, _ABSENT)
                referred.REPLACED.pop(name, None)
                continue
            replaced: set[int] = set()
            for key in [*held, *(k for k in base if k not in held)]:
                if isinstance(key, str) and key not in _MODULE_OWN and (name, key) not in libraries.MADE_LATE:
                    was, now = base.get(key, _ABSENT), held.get(key, _ABSENT)
                    # What a library had of itself it uses, and may be used by any other.
                    by_steps = name not in self.local and key in self.set_by_steps and was is not _ABSENT
                    changed_in = by_steps or (name, key) in self.replaced
                    called = callable(was) or callable(now) or changed_in
                    # And what Python had of itself is used by all.
                    shared = (name, key) in _PROCESS_WIDE or (key in BUILTINS if name == "builtins" else called)
                    told, other = f"{SHARED}{name}.{key}", f"@{name}.{key}"
                    if not shared:
                        told, other = other, told
                    note(other, _ABSENT)
                    if now is _ABSENT:
                        note(told, None)
                    elif _is_as_it_was(was, now) or (_is_submodule(name, key, now) and (name, key) not in self.submodules):
                        note(told, _ABSENT)
                    else:
                        note(told, now)
                    if was is not now:
                        replaced.add(referred.identity(was))
            referred.REPLACED.pop(name, None)
            if replaced:
                referred.REPLACED[name] = replaced
        for (name, kind, key), was in self.classes.items():
            now = _class_attribute(name, kind, key)
            note(f"{SHARED}{name}:{kind}.{key}", _ABSENT if now is was else None if now is _ABSENT else now)
        return changed

    def follow_classes(self, modules: Iterable[str], words: Collection[str], attributes: Collection[str], afresh: bool) -> None:
        """Remembers what stands in the classes and objects of `modules` that code names, under the attributes that it sets.
        What it imported itself, `afresh`, may have been set by now: there it counts as set."""
        for name in modules if attributes else ():
            module = sys.modules.get(name)
            if type(module) is not types.ModuleType or name in ("__main__", "builtins"):
                continue
            for kind in [word for word in words if word in module.__dict__ and _attributes(module.__dict__[word])]:
                for key in attributes:
                    now = _class_attribute(name, kind, key)
                    if (name, kind, key) not in self.classes and not (afresh and now is _ABSENT):
                        self.classes[name, kind, key] = _UNKNOWN if afresh else now

    def put(self, name: str, value: Value) -> None:
        """Sets a piece to `value`."""
        if name.startswith(state_of_modules.PREFIX):
            self.pieces[name] = state_of_modules.piece(name[len(state_of_modules.PREFIX) :])
        if name in libraries.LATE and name not in self.pieces:
            importlib.import_module(libraries.LATE[name].module)
            self.learn()
        if name in self.pieces:
            self.pieces[name].put(value)
        elif name.startswith("@env:"):
            key = name[5:]
            if value is None:
                os.environ.pop(key, None)
            else:
                os.environ[key] = value
        else:
            module, _, attribute = name[1:].lstrip(":").rpartition(".")
            module, _, kind = module.partition(":")
            if name.startswith(SHARED):
                self.set_by_steps.add(attribute)
            if module not in sys.modules:
                importlib.import_module(module)
            if kind:
                self.classes.setdefault((module, kind, attribute), _class_attribute(module, kind, attribute))
                setattr(sys.modules[module].__dict__[kind], attribute, value)
                return
            self.track(module)
            setattr(sys.modules[module], attribute, value)
            if _is_submodule(module, attribute, value):
                self.follow_submodules(f"{module}.{attribute}")

    def reset(self, name: str) -> None:
        """Sets a piece to what it was when the run began."""
        if name.startswith(state_of_modules.PREFIX):
            raise ValueError("what is imported stays so")
        if name in self.pieces:
            if name in self.base:
                self.pieces[name].put(self.base[name])
        elif name.startswith("@env:"):
            key = os.fsencode(name[5:])
            if key in self.environ.base:
                os.environ[name[5:]] = _decode(self.environ.base[key])
            else:
                os.environ.pop(name[5:], None)
        else:
            module, _, attribute = name[1:].lstrip(":").rpartition(".")
            module, _, kind = module.partition(":")
            if kind:
                self._reset_class(module, kind, attribute)
                return
            if (module, attribute) in self.submodules:
                raise ValueError("what is imported stays so")
            base = self.modules.get(module, {})
            held = sys.modules.get(module)
            if held is not None:
                if attribute in base:
                    setattr(held, attribute, base[attribute])
                else:
                    held.__dict__.pop(attribute, None)

    def _reset_class(self, module: str, kind: str, attribute: str) -> None:
        was = self.classes.get((module, kind, attribute), _UNKNOWN)
        if was is _UNKNOWN:
            raise ValueError(f"what {module}.{kind}.{attribute} was is not known")
        if was is _ABSENT:
            delattr(sys.modules[module].__dict__[kind], attribute)
        else:
            setattr(sys.modules[module].__dict__[kind], attribute, was)


def _class_attribute(module: str, kind: str, attribute: str) -> Value:
    return _attributes(getattr(sys.modules.get(module), "__dict__", {}).get(kind)).get(attribute, _ABSENT)


def _attributes(held: Any) -> Mapping[str, Any]:
    """Those of a class, or of an object that is no module and no function."""
    if isinstance(held, (types.ModuleType, types.FunctionType)):
        return {}
    found = getattr(held, "__dict__", None)
    return found if isinstance(found, (dict, types.MappingProxyType)) else {}


def _is_its_own(module: str, attribute: str) -> bool:
    """Whether a library has an attribute of itself, as far as its code tells."""
    try:
        code = sys.modules[module].__spec__.loader.get_code(module)  # type: ignore[union-attr]
    except Exception:  # one that is not written in Python, or not to be had
        return True
    return code is None or attribute in names.code_names(code).words


def _is_loading(module: str) -> bool:
    """Whether a module is half imported: what it keeps is not yet what it begins with."""
    return bool(getattr(getattr(sys.modules.get(module), "__spec__", None), "_initializing", False))


_MODULE_OWN = frozenset("__warningregistry__ __builtins__ __file__ __cached__ __spec__ __loader__".split())


def _is_submodule(module: str, key: str, value: Any) -> bool:
    return isinstance(value, types.ModuleType) and sys.modules.get(f"{module}.{key}") is value


def _is_as_it_was(was: Any, now: Any) -> bool:
    """Whether what a module holds is what it had of itself. Of numbers and texts that is one that is equal: one that a step
    kept, to put it back, may have come from another process."""
    if was is now or type(was) is not type(now):
        return was is now
    if type(was) is tuple:
        return len(was) == len(now) and all(map(_is_as_it_was, was, now))
    if type(was) in (float, complex):
        return repr(was) == repr(now)  # of two zeros
    return type(was) in (int, str, bytes) and bool(was == now)


def _same(left: Value, right: Value) -> bool:
    if left is right:
        return True
    try:
        return type(left) is type(right) and bool(left == right)
    except Exception:
        return False


# Pieces whose values hold nothing that could change in place: one that is equal to what it was is what it was.
PLAIN = process.PLAIN.union(
    (name for name, late in libraries.LATE.items() if late.plain),
    "@random @cwd @sys:path @sys:argv @recursionlimit @inline".split(),
)
# CPython seeds the one anew in every child, and from 3.12 on forgets the other.
RENEWED = ("@random", "@asyncio:loop")
LIBRARIES = frozenset(late.module for late in libraries.LATE.values())
BUILTINS = set(vars(builtins))
