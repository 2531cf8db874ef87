"""What the run's own modules (`kind = "module"`) keep in their functions, classes and objects.

What they bind to a name, and lists, dicts and sets under one, are followed as attributes (`hidden.py`). The rest is told by one
digest for each module: defaults that were changed, attributes of functions and classes, objects. It can be had in
another process only where a module that is just imported has it.
"""

from __future__ import annotations

import hashlib
import importlib
import sys
import types
from collections.abc import Iterator
from typing import Any

from . import bytecode, codec
from .piece import OTHERWISE, Piece
from .sink import Sink, forget_buffer

PREFIX = "@state:"
_FOLLOWED = (list, dict, set, bytearray, types.ModuleType, types.BuiltinFunctionType)


class _ByValue(codec.Pickler):
    """Digests what a module defines by its parts, and not by its name."""

    def __init__(self, module: types.ModuleType, sink: Any) -> None:
        super().__init__(sink, {}, frozenset(), True, False)
        self._module = module
        self._made: list[Any] = []

    def reducer_override(self, value: Any) -> Any:
        kind, name = type(value), self._module.__name__
        parts: list[Any] | None = None
        if kind is types.FunctionType:
            if value.__globals__ is self._module.__dict__:
                code = repr(bytecode.code_parts(value.__code__))
                parts = [code, value.__defaults__, value.__kwdefaults__, value.__dict__, value.__closure__]
        elif isinstance(value, type):
            if value.__module__ == name:
                members = {k: v for k, v in value.__dict__.items() if k not in codec.CLASS_PARTS}
                parts = [value.__qualname__, value.__bases__, *members.items()]
        elif kind.__module__ == name and type(getattr(value, "__dict__", None)) is dict and kind.__bases__ == (object,):
            # Whatever `__getstate__` says.
            parts = [kind, *value.__dict__.items()]
        if parts is None:
            return super().reducer_override(value)
        self._made.append(parts)
        return list, (), None, iter(parts)


def codes(module: types.ModuleType) -> Iterator[types.CodeType]:
    """The code of what it defines."""
    for value in list(module.__dict__.values()):
        value = getattr(value, "__wrapped__", value) if isinstance(value, types.FunctionType) else value
        if isinstance(value, types.FunctionType):
            if value.__module__ == module.__name__:
                yield value.__code__
        elif isinstance(value, type) and value.__module__ == module.__name__:
            for member in value.__dict__.values():
                inner = getattr(member, "__func__", getattr(member, "fget", member))
                if isinstance(inner, types.FunctionType):
                    yield inner.__code__


def digest(module: types.ModuleType) -> str:
    """Of all that is not followed otherwise."""
    parts = []
    for name, value in list(module.__dict__.items()):
        if isinstance(value, _FOLLOWED) or (isinstance(name, str) and name.startswith("__") and name.endswith("__")):
            continue
        sink = Sink(True, 0)
        try:
            pickler = _ByValue(module, sink)
            pickler.dump(value)
            parts.append((name, sink.digest((), pickler.tables)))
        except Exception:  # what has no form as bytes is told by its type
            parts.append((name, type(value).__qualname__))
        finally:
            forget_buffer()
    return hashlib.blake2b(repr(parts).encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def piece(name: str) -> Piece:
    """The state of the module that is imported by this name."""

    def get() -> Any:
        module = sys.modules.get(name)
        return digest(module) if type(module) is types.ModuleType else None

    def put(value: Any) -> None:
        if value is not None and name not in sys.modules:
            importlib.import_module(name)
        if get() != value:
            raise ValueError(f"what steps made of the module {name} is not to be had but by running them")

    return Piece(get, put, OTHERWISE)
