"""What each process has one of: it is referred to by where it stands, and never brought over as a copy."""

from __future__ import annotations

import builtins
import sys
import types
from typing import Any, Callable

BUILTINS = vars(builtins)  # what `exec` puts into the namespace that it is given

# Tells objects apart as `id` does, and costs a tenth of it: `id` tells every audit hook that it was called.
identity: Callable[[Any], int] = object.__hash__

_SINGLE = (
    ("random", "_inst"), ("numpy.random.mtrand", "_rand"), ("os", "environ"), ("sys", "path"), ("sys", "argv"),
    # What classes made by `dataclass` hold, and are asked by identity.
    *[("dataclasses", name) for name in (
        "MISSING", "KW_ONLY", "_EMPTY_METADATA", "_FIELD", "_FIELD_CLASSVAR", "_FIELD_INITVAR", "_HAS_DEFAULT_FACTORY",
    )],
)  # fmt: skip

SINGLE: dict[int, tuple[str, str]] = {}  # objects that a library has one of: without state, or `hidden.py` follows it


def learn_single() -> None:
    """Finds those of modules that were imported meanwhile, or that took the place of others."""
    SINGLE.clear()
    for module, name in _SINGLE:
        value = getattr(sys.modules.get(module), name, None)
        if value is not None:
            SINGLE[identity(value)] = (module, name)


def is_of_module(value: types.FunctionType) -> bool:
    """Whether a function looks its names up in a module. One that code in a namespace of its own defined does not: what
    `exec` is given, `runpy`, and what `namedtuple` makes its classes with."""
    home = value.__globals__.get("__name__")
    return type(home) is str and getattr(sys.modules.get(home), "__dict__", None) is value.__globals__


def home_of_function(value: types.FunctionType) -> str:
    """The module in which a function stands that looks its names up in one."""
    home: str = value.__globals__["__name__"]
    return value.__module__ if home == _FOLLOWERS else home


# Where functions are made that stand in the place of libraries' own.
_FOLLOWERS = f"{__package__}.hidden"


def stands_under_its_name(value: Any, module: Any) -> bool:
    """Whether a function or class is what a module itself holds under its name.

    A function that is not was made for a step: `functools.wraps`, `contextmanager`, `singledispatch` and their like keep the
    step's functions and values in the cells of a function of theirs.
    """
    here: Any = sys.modules.get(module) if type(module) is str else None
    for part in value.__qualname__.split("."):
        here = getattr(here, "__dict__", {}).get(part)
    return here is value or getattr(here, "__func__", None) is value


# What modules, and classes in them, held when they came to be followed; filled in by `hidden.py`.
MODULES: dict[str, dict[str, Any]] = {}
CLASSES: dict[tuple[str, str, str], Any] = {}
REPLACED: dict[str, set[int]] = {}  # of these, what modules do not hold now: identities
SET_BY_STEPS: set[str] = set()  # attributes that the text of a step sets


def stood_under(module: str, qualname: str) -> Any:
    """The function that a module, or a class in it, held under a name before a step put another there; `None` where that is
    not known, or where it was none."""
    name, _, attribute = qualname.partition(".")
    found = CLASSES.get((module, name, attribute)) if attribute else MODULES.get(module, {}).get(name)
    return found if isinstance(found, (types.FunctionType, types.BuiltinFunctionType)) else None


def own(module: str, name: str) -> Any:
    """What a module has of itself under a name, whatever a step has put there."""
    held = MODULES.get(module, {})
    return held[name] if name in held else getattr(sys.modules.get(module), name, None)


def home_of_method(value: Any) -> str | None:
    """The module that has this very method under its name, of the one object that it has one of: `random.choice`."""
    single = SINGLE.get(identity(value.__self__))
    return single[0] if single is not None and own(single[0], value.__name__) is value else None


_of_modules: dict[type, tuple[int, dict[int, tuple[str, str]]]] = {}


def of_module(kind: type) -> dict[int, tuple[str, str]]:
    """The objects of a class that the module which has the class, or a package that this is in, has under a name: another
    process has its own (`calendar.c`, `json._default_encoder`). By identity: where they stand."""
    homes, name = [], kind.__module__ if type(kind.__module__) is str else ""
    while name and name not in ("__main__", "builtins"):
        # Also what stood there before a step put another in its place.
        homes += [(name, held) for held in (getattr(sys.modules.get(name), "__dict__", {}), MODULES.get(name, {}))]
        name = name.rpartition(".")[0]
    size = sum(len(held) for _, held in homes)
    known = _of_modules.get(kind)
    if known is None or known[0] != size:
        found = {
            identity(value): (home, word) for home, held in homes for word, value in [*held.items()] if type(value) is kind
        }  # fmt: skip
        known = _of_modules[kind] = (size, found)
    return known[1]


def is_found_again(value: Any) -> bool:
    """Whether what stands for an object in a pickle finds the very object."""
    reduced = value.__reduce_ex__(4)
    return isinstance(reduced, str) or reduced[0](*reduced[1]) is value


def named_nan(name: bytes) -> Any:
    """What others hold as their "not a number"."""
    module, _, word = name.decode().rpartition(".")
    return getattr(sys.modules.get(module), word, None) if module else None


def name_of_nan(value: float) -> bytes | None:
    return next((name for name in (b"numpy.nan", b"math.nan") if named_nan(name) is value), None)
