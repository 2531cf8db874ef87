"""What pickles refer to: each of these makes one kind of value again, or a part of one.

A pickle finds them by name in this module. Names travel as bytes: whether two equal strings are one object says nothing,
and is another after they were brought over.
"""

from __future__ import annotations

import _thread
import marshal
import sys
import types
from typing import Any, cast

from . import bytecode, referred

NAMESPACE: dict[str, Any] = {}  # the run's; filled in by the worker


def text(name: bytes) -> str:
    return sys.intern(name.decode("utf-8", "surrogatepass"))


def to_bytes(name: str) -> bytes:
    return name.encode("utf-8", "surrogatepass")


def function(code: types.CodeType, name: bytes, qualname: bytes, closure: Any) -> types.FunctionType:
    made = types.FunctionType(code, NAMESPACE, text(name), None, closure)
    made.__qualname__ = text(qualname)
    return made


def function_of(module: bytes, code: types.CodeType, name: bytes, qualname: bytes, closure: Any) -> types.FunctionType:
    made = types.FunctionType(code, imported(module).__dict__, text(name), None, closure)
    made.__qualname__ = text(qualname)
    return made


def function_state(made: types.FunctionType, state: Any) -> None:
    made.__defaults__, made.__kwdefaults__, attributes, annotations, made.__doc__, module = state
    made.__module__ = None if module is None else text(module)  # type: ignore[assignment]  # a step can have taken it away
    made.__dict__.update((text(name), value) for name, value in attributes)
    if annotations is not None:
        if sys.version_info >= (3, 14):
            made.__annotate__ = annotations
        else:
            made.__annotations__ = {text(name): value for name, value in annotations}


def class_of(meta: type, name: bytes, bases: tuple[type, ...], qualname: bytes, slots: Any, doc: Any) -> type:
    body: dict[str, Any] = {"__module__": "__main__", "__qualname__": text(qualname), "__doc__": doc}
    if slots is not None:
        body["__slots__"] = slots
    if not is_told_of_classes(bases):
        return cast(type, meta(text(name), bases, body))
    # That it was made was told once. Who is told is looked for in the first of its bases first.
    first = bases[0]
    own = first.__dict__.get("__init_subclass__")
    type.__setattr__(first, "__init_subclass__", classmethod(lambda cls: None))
    try:
        return cast(type, meta(text(name), bases, body))
    finally:
        if own is None:
            type.__delattr__(first, "__init_subclass__")
        else:
            type.__setattr__(first, "__init_subclass__", own)


def is_told_of_classes(bases: tuple[type, ...]) -> bool:
    """Whether one of the bases does something when a class is made of it."""
    return any("__init_subclass__" in kind.__dict__ for base in bases for kind in base.__mro__ if kind is not object)


def class_state(made: type, state: list[tuple[bytes, Any]]) -> None:
    for name, value in state:
        if name != b"__slots__":
            type.__setattr__(made, text(name), value)
        if type(value) is property and sys.version_info >= (3, 10):
            value.__set_name__(made, text(name))  # type: ignore[attr-defined]  # which what it says of a wrong use names
    if type(made).__name__ == "ABCMeta":
        import abc

        if hasattr(abc, "update_abstractmethods"):
            abc.update_abstractmethods(made)


def cell() -> types.CellType:
    return types.CellType()


def cell_state(made: types.CellType, state: tuple[bool, Any]) -> None:
    if state[0]:
        made.cell_contents = state[1]


def code_of(data: bytes) -> types.CodeType:
    return bytecode.with_constants(marshal.loads(data))


def function_in(space: dict[str, Any], code: types.CodeType, name: bytes, qualname: bytes, closure: Any) -> types.FunctionType:
    made = types.FunctionType(code, space, text(name), None, closure)
    made.__qualname__ = text(qualname)
    return made


def method(kind: type, function: Any) -> Any:
    """A class method or static method: one that Python made by itself, `__new__`, has nothing of its function's."""
    made = kind(function)
    getattr(made, "__dict__", {}).clear()
    return made


def bound(function: Any, to: Any) -> types.MethodType:
    return types.MethodType(function, to)  # as with proxies, its type is under another name


def view_of(what: bytes, mapping: Any) -> Any:
    return getattr(dict, text(what))(mapping)


def lock(kind: bytes) -> Any:
    return getattr(_thread, text(kind))()


def imported(name: bytes) -> types.ModuleType:
    import importlib

    return importlib.import_module(text(name))


def attribute(module: bytes, name: bytes) -> Any:
    return getattr(imported(module), text(name))


def of_library(module: bytes, qualname: bytes) -> Any:
    """A library's own function, whatever a step has put in its place."""
    found: Any = imported(module)
    stood = referred.stood_under(text(module), text(qualname))
    if stood is not None:
        return stood
    for part in text(qualname).split("."):
        found = getattr(found, part)
    return getattr(found, "__func__", found)


def method_of_library(module: bytes, name: bytes) -> Any:
    imported(module)
    return referred.own(text(module), text(name))


def definition(name: bytes) -> Any:
    return NAMESPACE[text(name)]


def instance(kind: type) -> Any:
    return object.__new__(kind)


def instance_like(kind: type, base: type, content: Any) -> Any:
    if base in (list, dict, set, bytearray):
        return base.__new__(kind)
    return base.__new__(kind, content)


def instance_state(made: Any, state: tuple[Any, Any, Any, Any]) -> None:
    base, content, attributes, slots = state
    if base is list:
        list.extend(made, content)
    elif base is dict:
        for key, value in content:
            dict.__setitem__(made, key, value)
    elif base is set:
        set.update(made, content)
    elif base is bytearray:
        bytearray.extend(made, content)
    if attributes:
        object.__getattribute__(made, "__dict__").update((text(name), value) for name, value in attributes)
    for name, value in slots:
        object.__setattr__(made, text(name), value)


def array_view(base: Any, offset: int, shape: Any, strides: Any, dtype: Any, writeable: bool, kind: Any) -> Any:
    import numpy

    made = numpy.ndarray(shape, dtype, base, offset, strides)
    if kind is not None:
        made = made.view(kind)
    made.flags.writeable = writeable
    return made


def array(data: Any, dtype: Any, shape: Any, order: str, writeable: bool) -> Any:
    import numpy

    # A copy, so that the array owns its data as the first one did: one over a buffer can't be resized.
    made = numpy.ndarray(shape, dtype, data, order=order).copy(order)
    made.flags.writeable = writeable
    return made


def proxy(mapping: Any) -> types.MappingProxyType[Any, Any]:
    return types.MappingProxyType(mapping)  # no module has the type under the name that it says


def spent_iterator() -> Any:
    made: Any = iter([])
    next(made, None)
    return made


def digested(*parts: Any) -> None:
    """Only ever named in what is digested."""
    raise ValueError("this is not brought over")
