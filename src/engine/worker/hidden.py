"""State of the process that steps share without naming it: generators, environment, module attributes.

Each piece has a name that starts with `@` and a plain value that can be compared, pickled and set again. A dot in it
parts a module from an attribute of it: pieces of another kind have none.
A piece that is as it was when the run began is absent.
"""

from __future__ import annotations

import builtins
import collections
import importlib
import os
import random
import sys
import types
from typing import Any, Callable, Collection, Iterable

from . import changes, process
from .piece import Piece, Value

_ABSENT = object()
_UNKNOWN = object()
# What begins so is used by whoever calls anything: functions that steps replaced in libraries, attributes that they set
# on classes of libraries, the streams that everything prints to.
SHARED = "@:"
_PROCESS_WIDE = frozenset(
    ("sys", name)
    for name in "stdout stderr stdin excepthook displayhook unraisablehook meta_path path_hooks dont_write_bytecode".split()
)
USED: set[str] = set()


class Environ:
    """Notes which environment variables a step reads, by standing between it and `os.environ`."""

    def __init__(self) -> None:
        self.read: set[str] = set()
        self.all = False
        kind = type(os.environ)
        get, walk, size = kind.__getitem__, kind.__iter__, kind.__len__
        note = self

        def __getitem__(self: Any, key: Any) -> Any:
            if type(key) is str:
                note.read.add(key)
            return get(self, key)

        def __iter__(self: Any) -> Any:
            note.all = True
            return walk(self)

        def __len__(self: Any) -> int:
            note.all = True
            return size(self)

        kind.__getitem__, kind.__iter__, kind.__len__ = __getitem__, __iter__, __len__  # type: ignore[method-assign]
        self.base = self.copy()

    @staticmethod
    def copy() -> dict[Any, Any]:
        return dict(os.environ._data)  # type: ignore[attr-defined]


def _decode(data: Any) -> str:
    return data.decode(sys.getfilesystemencoding(), "surrogateescape") if isinstance(data, bytes) else data


class Hidden:
    """All hidden state of this process, and what the run began with."""

    def __init__(self, values: dict[str, Value]) -> None:
        self.values = values  # what is other than at the beginning, as of the last look
        self.environ = Environ()
        self._environ_seen = self.environ.base
        self.pieces: dict[str, Piece] = {
            "@random": Piece(random.getstate, random.setstate),
            "@cwd": Piece(os.getcwd, os.chdir),
            "@sys:path": Piece(lambda: list(sys.path), lambda v: sys.path.__setitem__(slice(None), v)),
            "@recursionlimit": Piece(sys.getrecursionlimit, sys.setrecursionlimit),
            **process.pieces(),
        }
        self.classes: dict[tuple[str, str, str], Value] = {}  # attributes of libraries' classes that steps set: what was there
        self.base: dict[str, Value] = {}
        self.modules: dict[str, dict[str, Any]] = {}  # what tracked modules held when they were first seen
        self.changes = changes.start()
        self.changes.follow("", sys.modules)
        self.seeded: set[str] = set()  # generators that the step set before it drew from them
        self.by_chance = False  # whether it had one seeded by the system
        self.used = USED  # pieces that it looked at, where they tell
        self.pieces["@random"] = Piece(random.getstate, random.setstate)
        self._follow_seeds("@random", random, "seed", "setstate")

    def _follow_seeds(self, name: str, module: Any, *setters: str) -> None:
        """Notes when a generator is set before it was drawn from: what comes of it does not depend on what was before."""
        note = self

        def noting(wrapped: Callable[..., Any]) -> Callable[..., Any]:
            def call(*args: Any, **kwargs: Any) -> Any:
                given = args[0] if args else next((kwargs[key] for key in ("a", "seed", "state") if key in kwargs), None)
                first = given is not None and name not in note.seeded and note._stands(name)
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
        for name, make in _LIBRARY_PIECES.items():
            if name not in self.pieces and (_LIBRARY_MODULES[name] == done or not _is_loading(_LIBRARY_MODULES[name])):
                piece = make()
                if piece is not None:
                    self.pieces[name] = piece
                    self.base[name] = piece.get()

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
        self.environ.all = False
        self.seeded.clear()
        self.used.clear()
        self.by_chance = False

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

    def collect(self, values: dict[str, Value]) -> set[str]:
        """Brings `values` (hidden names to values) up to date; returns the names that are other than before."""
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
                continue
            for key in [*held, *(k for k in base if k not in held)]:
                if isinstance(key, str) and key not in _MODULE_OWN:
                    was, now = base.get(key, _ABSENT), held.get(key, _ABSENT)
                    shared = (name, key) in _PROCESS_WIDE or name != "builtins" and (callable(was) or callable(now))
                    piece = f"{SHARED}{name}.{key}" if shared else f"@{name}.{key}"
                    if now is _ABSENT:
                        note(piece, None)
                    elif was is not now and not _is_submodule(name, key, now):
                        note(piece, now)
                    else:
                        note(piece, _ABSENT)
        for (name, kind, key), was in self.classes.items():
            now = _class_attribute(name, kind, key)
            note(f"{SHARED}{name}:{kind}.{key}", _ABSENT if now is was else None if now is _ABSENT else now)
        return changed

    def follow_classes(self, modules: Iterable[str], words: Collection[str], attributes: Collection[str], afresh: bool) -> None:
        """Remembers what stands in the classes of `modules` that code names, under the attributes that it sets. What it
        imported itself, `afresh`, may have been set by now: there it counts as set."""
        for name in modules if attributes else ():
            module = sys.modules.get(name)
            if type(module) is not types.ModuleType or name in ("__main__", "builtins"):
                continue
            for kind in [word for word in words if isinstance(module.__dict__.get(word), type)]:
                for key in attributes:
                    now = _class_attribute(name, kind, key)
                    if (name, kind, key) not in self.classes and not (afresh and now is _ABSENT):
                        self.classes[name, kind, key] = _UNKNOWN if afresh else now

    def put(self, name: str, value: Value) -> None:
        """Sets a piece to `value`."""
        if name in _LIBRARY_PIECES and name not in self.pieces:
            importlib.import_module(_LIBRARY_MODULES[name])
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
            if module not in sys.modules:
                importlib.import_module(module)
            if kind:
                self.classes.setdefault((module, kind, attribute), _class_attribute(module, kind, attribute))
                setattr(sys.modules[module].__dict__[kind], attribute, value)
                return
            self.track(module)
            setattr(sys.modules[module], attribute, value)

    def reset(self, name: str) -> None:
        """Sets a piece to what it was when the run began."""
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
    held = getattr(sys.modules.get(module), "__dict__", {}).get(kind)
    return held.__dict__.get(attribute, _ABSENT) if isinstance(held, type) else _ABSENT


def _is_loading(module: str) -> bool:
    """Whether a module is half imported: what it keeps is not yet what it begins with."""
    return bool(getattr(getattr(sys.modules.get(module), "__spec__", None), "_initializing", False))


_MODULE_OWN = frozenset("__warningregistry__ __builtins__ __file__ __cached__ __spec__ __loader__".split())


def _is_submodule(module: str, key: str, value: Any) -> bool:
    return isinstance(value, types.ModuleType) and sys.modules.get(f"{module}.{key}") is value


def _same(left: Value, right: Value) -> bool:
    if left is right:
        return True
    try:
        return type(left) is type(right) and bool(left == right)
    except Exception:
        return False


def _numpy_random() -> Piece | None:
    mtrand = sys.modules.get("numpy.random.mtrand")
    if mtrand is None or not hasattr(mtrand, "_rand"):
        return None

    def get() -> Value:
        state = mtrand._rand.get_state()
        if not isinstance(state, tuple):
            return repr(state)  # of a generator that was put in its place: it can't be set again by its state
        name, keys, at, has, cached = state
        return (name, keys.tobytes(), at, has, cached)

    def put(value: Value) -> None:
        import numpy

        mtrand._rand.set_state((value[0], numpy.frombuffer(value[1], dtype=numpy.uint32), *value[2:]))

    return Piece(get, put, "numpy")


def _numpy_print() -> Piece | None:
    numpy = sys.modules.get("numpy")
    if numpy is None or not hasattr(numpy, "set_printoptions"):
        return None

    def get() -> Value:
        options = dict(numpy.get_printoptions())
        options.pop("override_repr", None)
        return (options, numpy.geterr())

    def put(value: Value) -> None:
        numpy.set_printoptions(**value[0])
        numpy.seterr(**value[1])

    return Piece(get, put, "numpy")


def _decimal() -> Piece | None:
    decimal = sys.modules.get("decimal")
    if decimal is None:
        return None
    return Piece(lambda: repr(decimal.getcontext()), lambda v: decimal.setcontext(eval(v, dict(vars(decimal)))), "decimal")


def _locale() -> Piece | None:
    locale = sys.modules.get("locale")
    if locale is None or not hasattr(locale, "LC_ALL"):
        return None
    return Piece(lambda: locale.setlocale(locale.LC_ALL), lambda v: locale.setlocale(locale.LC_ALL, v) and None)


def _warnings() -> Piece | None:
    warnings = sys.modules.get("warnings")
    if warnings is None:
        return None

    def put(value: Value) -> None:
        warnings.filters[:] = value
        warnings._filters_mutated() if hasattr(warnings, "_filters_mutated") else None

    return Piece(lambda: list(warnings.filters), put)


def _pandas() -> Piece | None:
    config = sys.modules.get("pandas._config.config")
    if config is None or not hasattr(config, "_global_config"):
        return None

    seen: list[Any] = [None, None]

    def nested(tree: Any) -> Any:
        return {key: nested(value) for key, value in tree.items()} if isinstance(tree, dict) else tree

    def get() -> dict[str, Any]:
        # To compare is cheaper than to make the flat form, and nearly always all that is needed.
        if seen[0] != config._global_config:
            seen[:] = nested(config._global_config), flat(config._global_config)
        return seen[1]

    def flat(tree: Any, prefix: str = "") -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key, value in tree.items():
            if isinstance(value, dict):
                found.update(flat(value, f"{prefix}{key}."))
            else:
                found[prefix + key] = value
        return found

    def put(value: Value) -> None:
        now = flat(config._global_config)
        for key, wanted in value.items():
            if now.get(key, _ABSENT) != wanted:
                config.set_option(key, wanted)

    return Piece(get, put, "pandas")


def _rc_params() -> Piece | None:
    matplotlib = sys.modules.get("matplotlib")
    if matplotlib is None or not hasattr(matplotlib, "rcParams"):
        return None

    def put(value: Value) -> None:
        dict.update(matplotlib.rcParams, value)

    return Piece(lambda: dict(dict.items(matplotlib.rcParams)), put, "matplotlib")


class _Figures(collections.OrderedDict):  # type: ignore[type-arg]
    """Stands in place of pyplot's table of open figures, and tells when it is looked into."""


def _telling(name: str) -> Callable[..., Any]:
    wrapped = getattr(collections.OrderedDict, name)

    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        USED.add("@matplotlib:figures")
        return wrapped(self, *args, **kwargs)

    return call


for _name in ("__getitem__ __setitem__ __delitem__ __iter__ __reversed__ __contains__ __len__ get keys values items pop popitem "
              "setdefault move_to_end clear update").split():  # fmt: skip
    setattr(_Figures, _name, _telling(_name))


def _figures() -> Piece | None:
    table = getattr(sys.modules.get("matplotlib._pylab_helpers"), "Gcf", None)
    if table is None:
        return None
    table.figs = _Figures(table.figs)

    def unnoted(function: Callable[[], Any]) -> Any:
        known = "@matplotlib:figures" in USED
        found = function()
        if not known:
            USED.discard("@matplotlib:figures")
        return found

    def put(value: Value) -> None:
        if value:
            raise ValueError("open figures can't be set")
        unnoted(table.destroy_all)

    return Piece(lambda: unnoted(lambda: [(number, held.canvas.figure) for number, held in table.figs.items()]), put)


_LIBRARY_PIECES: dict[str, Callable[[], Piece | None]] = {
    "@numpy:random": _numpy_random,
    "@numpy:options": _numpy_print,
    "@decimal": _decimal,
    "@locale": _locale,
    "@warnings": _warnings,
    "@pandas:options": _pandas,
    "@matplotlib:rc": _rc_params,
    "@matplotlib:figures": _figures,
    **{name: make for name, (_, make) in process.LATE.items()},
}
# Which module brings each. What one holds right after its import is what a run begins with: a step may import it and
# set it in one go.
_LIBRARY_MODULES = {
    "@numpy:random": "numpy.random.mtrand",
    "@numpy:options": "numpy",
    "@decimal": "decimal",
    "@locale": "locale",
    "@warnings": "warnings",
    "@pandas:options": "pandas",
    "@matplotlib:rc": "matplotlib",
    "@matplotlib:figures": "matplotlib._pylab_helpers",
    **{name: module for name, (module, _) in process.LATE.items()},
}
# Pieces whose values hold nothing that could change in place: one that is equal to what it was is what it was.
PLAIN = process.PLAIN.union("@random @cwd @sys:path @recursionlimit @inline @warnings @locale @decimal @numpy:random".split())
LIBRARIES = frozenset(_LIBRARY_MODULES.values())
BUILTINS = set(vars(builtins))
