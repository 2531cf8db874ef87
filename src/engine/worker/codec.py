"""Values to bytes and back: for comparing (digests) and for carrying into another process.

Whether two equal strings are one object says nothing, and is another after they were brought over: names travel
as bytes, and equal strings of one pickle are one.

Both use one pickler. It rebuilds functions on the run's own namespace, refers to definitions that stand under
a name by that name, keeps numpy views on their base, and copies objects of classes made by steps by their
parts, whatever `__getstate__` or `__reduce__` say, since those may lose something.
"""

from __future__ import annotations

import _thread
import builtins
import copyreg
import dis
import gc
import hashlib
import io
import marshal
import operator
import os
import pickle
import struct
import sys
import types
from typing import Any, Callable, Collection, NamedTuple

_HOOKS = ("__reduce__", "__reduce_ex__", "__getstate__", "__setstate__", "__getnewargs__", "__getnewargs_ex__")
CLASS_PARTS = frozenset(
    ("__dict__", "__weakref__", "__doc__", "__module__", "__qualname__", "__static_attributes__", "__firstlineno__", "_abc_impl",
     "__abstractmethods__", "__annotate_func__", "__annotations_cache__")
)  # fmt: skip
_LIST_ITERATOR = type(iter([]))
_VIEWS = {type(getattr({}, name)()): name.encode() for name in ("keys", "values", "items")}
_LOCKS = {type(getattr(_thread, name)()): name.encode() for name in ("allocate_lock", "RLock")}
BUILTINS = vars(builtins)  # what `exec` puts into the namespace that it is given
# Tells objects apart as `id` does, and costs a tenth of it: `id` tells every audit hook that it was called.
identity: Callable[[Any], int] = object.__hash__
_SIMPLE_METAS = {"type", "ABCMeta"}

NAMESPACE: dict[str, Any] = {}  # the run's; filled in by the worker
ROOTS: list[str] = []  # the run's directory, and the copies of it that this process worked in
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


# Tuples that the compiler made, by identity: with the file of the step that they stand in. Equal ones of one step are
# one object, also where two names hold them that are carried apart: `def f(n=1)` and `def g(n=1)` have one tuple.
CONSTANTS: dict[int, tuple[tuple[Any, ...], str]] = {}
_made: dict[str, dict[str, tuple[Any, ...]]] = {}  # file -> text -> the one of this process
_PLAIN = frozenset({int, float, complex, bool, type(None), type(Ellipsis), str, bytes})


def learn_constants(code: types.CodeType, filename: str) -> None:
    """Notes the constants of a step that is about to run; those of its earlier text are gone with what held them."""
    for old in _made.pop(filename, {}).values():
        CONSTANTS.pop(identity(old), None)
    todo: list[Any] = [code]
    while todo:
        part = todo.pop()
        if type(part) is types.CodeType:
            todo += [const for const in part.co_consts if type(const) in (types.CodeType, tuple)]
        elif type(part) is tuple and 0 < len(part) <= 32:
            if not _one_constant(filename, part):
                todo += part


def _one_constant(filename: str, value: tuple[Any, ...]) -> bool:
    """Notes a tuple of plain values as the one of this step."""
    if not all(type(part) in _PLAIN and not (type(part) in (str, bytes) and len(part) > 1000) for part in value):
        return False
    known = _made.setdefault(filename, {}).setdefault(repr(value), value)
    if known is value:
        CONSTANTS[identity(value)] = (value, filename)
    return True


def _constant_of(filename: str, value: tuple[Any, ...]) -> tuple[Any, ...]:
    """The tuple of this process that stands for a constant of a step."""
    _one_constant(filename, value)
    return _made.get(filename, {}).get(repr(value), value)


class Uncarryable(Exception):
    """A value that has no faithful form as bytes."""


# What pickles refer to. They are found by name in this module, which the worker registers as `_reweave.codec`.


def _text(name: bytes) -> str:
    return sys.intern(name.decode("utf-8", "surrogatepass"))


def _bytes(name: str) -> bytes:
    return name.encode("utf-8", "surrogatepass")


def _function(code: types.CodeType, name: bytes, qualname: bytes, closure: Any) -> types.FunctionType:
    made = types.FunctionType(code, NAMESPACE, _text(name), None, closure)
    made.__qualname__ = _text(qualname)
    return made


def _function_of(module: bytes, code: types.CodeType, name: bytes, qualname: bytes, closure: Any) -> types.FunctionType:
    made = types.FunctionType(code, _module(module).__dict__, _text(name), None, closure)
    made.__qualname__ = _text(qualname)
    return made


def is_of_module(value: types.FunctionType) -> bool:
    """Whether a function looks its names up in a module. One that code in a namespace of its own defined does not: what
    `exec` is given, `runpy`, and what `namedtuple` makes its classes with."""
    home = value.__globals__.get("__name__")
    return type(home) is str and getattr(sys.modules.get(home), "__dict__", None) is value.__globals__


def stands_under_its_name(value: Any, module: Any) -> bool:
    """Whether a function or class is what a module itself holds under its name.

    A function that is not was made for a step: `functools.wraps`, `contextmanager`, `singledispatch` and their like keep the
    step's functions and values in the cells of a function of theirs.
    """
    here: Any = sys.modules.get(module) if type(module) is str else None
    for part in value.__qualname__.split("."):
        here = getattr(here, "__dict__", {}).get(part)
    return here is value or getattr(here, "__func__", None) is value


def _function_state(made: types.FunctionType, state: Any) -> None:
    made.__defaults__, made.__kwdefaults__, attributes, annotations, made.__doc__, module = state
    made.__module__ = None if module is None else _text(module)
    made.__dict__.update((_text(name), value) for name, value in attributes)
    if annotations is not None:
        if sys.version_info >= (3, 14):
            made.__annotate__ = annotations
        else:
            made.__annotations__ = {_text(name): value for name, value in annotations}


def _class(meta: type, name: bytes, bases: tuple[type, ...], qualname: bytes, slots: Any, doc: Any) -> type:
    body: dict[str, Any] = {"__module__": "__main__", "__qualname__": _text(qualname), "__doc__": doc}
    if slots is not None:
        body["__slots__"] = slots
    return meta(_text(name), bases, body)


def _class_state(made: type, state: list[tuple[bytes, Any]]) -> None:
    for name, value in state:
        if name != b"__slots__":
            type.__setattr__(made, _text(name), value)
    if type(made).__name__ == "ABCMeta":
        import abc

        if hasattr(abc, "update_abstractmethods"):
            abc.update_abstractmethods(made)


def _cell() -> types.CellType:
    return types.CellType()


def _cell_state(made: types.CellType, state: tuple[bool, Any]) -> None:
    if state[0]:
        made.cell_contents = state[1]


def _code(data: bytes) -> types.CodeType:
    return marshal.loads(data)


def _function_in(
    space: dict[str, Any], code: types.CodeType, name: bytes, qualname: bytes, closure: Any
) -> types.FunctionType:
    made = types.FunctionType(code, space, _text(name), None, closure)
    made.__qualname__ = _text(qualname)
    return made


def _bound(function: Any, to: Any) -> types.MethodType:
    return types.MethodType(function, to)  # as with proxies, its type is under another name


def _view_of(what: bytes, mapping: Any) -> Any:
    return getattr(dict, _text(what))(mapping)


def _lock(kind: bytes) -> Any:
    return getattr(_thread, _text(kind))()


def _module(name: bytes) -> types.ModuleType:
    import importlib

    return importlib.import_module(_text(name))


def _attribute(module: bytes, name: bytes) -> Any:
    return getattr(_module(module), _text(name))


def _definition(name: bytes) -> Any:
    return NAMESPACE[_text(name)]


def _object(kind: type) -> Any:
    return object.__new__(kind)


def _object_like(kind: type, base: type, content: Any) -> Any:
    if base in (list, dict, set, bytearray):
        return base.__new__(kind)
    return base.__new__(kind, content)


def _object_state(made: Any, state: tuple[Any, Any, Any, Any]) -> None:
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
        made.__dict__.update((_text(name), value) for name, value in attributes)
    for name, value in slots:
        object.__setattr__(made, _text(name), value)


def _view(base: Any, offset: int, shape: Any, strides: Any, dtype: Any, writeable: bool, kind: Any) -> Any:
    import numpy

    made = numpy.ndarray(shape, dtype, base, offset, strides)
    if kind is not None:
        made = made.view(kind)
    made.flags.writeable = writeable
    return made


def _array(data: Any, dtype: Any, shape: Any, order: str, writeable: bool) -> Any:
    import numpy

    # A copy, so that the array owns its data as the first one did: one over a buffer can't be resized.
    made = numpy.ndarray(shape, dtype, data, order=order).copy(order)
    made.flags.writeable = writeable
    return made


def _proxy(mapping: Any) -> types.MappingProxyType[Any, Any]:
    return types.MappingProxyType(mapping)  # no module has the type under the name that it says


def _spent_iterator() -> Any:
    made = iter([])
    next(made, None)
    return made


def _enum() -> Any:
    """The class of what is taken apart by its value alone."""
    return getattr(sys.modules.get("enum"), "Enum", ())


class Pickler(pickle.Pickler):
    """Pickles values of the run's namespace. `digest` leaves out where code stands in its file, unless it is `placed`."""

    def __init__(
        self, file: "Sink", owner: dict[int, str], members: frozenset[str], digest: bool, placed: bool,
        shared: Collection[int] = (),
    ) -> None:  # fmt: skip
        super().__init__(file, 5, buffer_callback=file.buffer)
        self._owner = owner
        self._members = members
        self._digest = digest
        self._placed = placed
        self._keep: list[Any] = []  # objects made on the way must outlive the memo, which goes by id
        self._strings: dict[str, str] = {}
        self.places: set[int] = set()  # ids of what is pickled by its parts, and so not in the memo
        self.differs = False
        self.constants = False
        self._nans: dict[int, bytes] = {}
        self._shared = shared
        self._framed: dict[int, int] = {}  # memory in which columns of frames lie: how many blocks of them
        self._held: dict[type, dict[int, tuple[str, str]]] = {}  # see `of_module`
        self._seen: set[int] = set()  # memory that arrays show which are no part of a frame
        self._of_indexes: set[int] = set()  # arrays that nobody changes
        self._columns: set[int] = set()  # those of series
        self.files: set[str] = set()

    def shared(self) -> set[int]:
        """Memory that must be brought over as one: what was pickled has it more than once."""
        if copies_on_write():
            found = self._seen.intersection(self._framed)
            if any(self._framed[number] > 1 for number in found):
                raise Uncarryable("an array that shows what several frames share")
            return found
        return {number for number, count in self._framed.items() if count > 1 or number in self._seen}

    def persistent_id(self, value: Any) -> Any:
        kind = type(value)
        if kind is str:
            return self._strings.setdefault(value, value)
        if kind is tuple:
            constant = CONSTANTS.get(identity(value))
            if constant is not None:
                # Where it stands is no part of what it is, so that a step can be called otherwise.
                self.differs = self.constants = True
                if not self._digest:
                    return constant[1], *value
        elif kind is float and value != value:
            # One is in a list by being that very one.
            return self._nans.setdefault(identity(value), _name_of_nan(value) or b"%d" % len(self._nans))
        elif type(kind) is not type and type(kind).__name__ == "_DTypeMeta":
            return _named_dtype(value)
        elif value is BUILTINS:
            return True
        elif kind is list and identity(value) in SINGLE:
            return [*SINGLE[identity(value)]]
        return None

    def reducer_override(self, value: Any) -> Any:
        kind = type(value)
        if kind is types.FunctionType:
            if value.__globals__ is not NAMESPACE:
                return self._reduce_librarys(value)
            name = self._owner.get(identity(value))
            if name is not None and name not in self._members:
                return _definition, (_bytes(name),)
            return self._reduce_function(value, _function)
        if kind is types.CellType:
            try:
                content = (True, value.cell_contents)
            except ValueError:
                content = (False, None)
            self._keep.append(content)
            return _cell, (), content, None, None, _cell_state
        if kind is types.CodeType:
            self.differs = True
            self.files.add(value.co_filename)
            if self._digest:
                parts = (code_parts(value), code_places(value)) if self._placed else code_parts(value)
                return _code, (_bytes(repr(parts)),)
            return _code, (marshal.dumps(value, 2),)
        if kind is types.ModuleType and sys.modules.get(value.__name__) is not value:
            raise Uncarryable("a module that is not among those imported")
        if kind is types.ModuleType:
            return _module, (_bytes(value.__name__),)
        if isinstance(value, type):
            return self._reduce_class(value)
        single = SINGLE.get(identity(value))
        if single is not None:
            return _attribute, (_bytes(single[0]), _bytes(single[1]))
        module = kind.__module__
        if module == "__main__":
            return self._reduce_object(value, kind)
        if module == "numpy" and kind.__name__ in ("ndarray", "memmap", "matrix"):
            return self._reduce_array(value, kind)
        if module.startswith("pandas.core.internals.blocks"):
            return self._reduce_block(value)
        if kind.__name__ == "SingleBlockManager" and module.startswith("pandas.core.internals"):
            self._columns.update(identity(block.values) for block in value.blocks)
            return NotImplemented
        if module.startswith("pandas.core.indexes"):
            self._of_indexes.add(identity(getattr(value, "_data", None)))
            return NotImplemented
        if kind.__name__ in ("_deque_iterator", "_deque_reverse_iterator"):
            raise Uncarryable("an iterator over a deque")  # whether that was changed since is part of it
        if kind is _LIST_ITERATOR:
            reduced = value.__reduce__()
            # One that is spent looks like a new one over an empty list.
            return reduced if len(reduced) > 2 else (_spent_iterator, ())
        if kind is property:
            return property, (value.fget, value.fset, value.fdel, value.__doc__)
        if kind is staticmethod or kind is classmethod:
            return kind, (value.__func__,)
        if kind is types.MappingProxyType:
            return _proxy, (_shown_by(value),)
        if kind is types.MethodType:
            # By default it is looked up by its function's name, which may be another's.
            return _bound, (value.__func__, value.__self__)
        if kind in _VIEWS:
            return _view_of, (_VIEWS[kind], _shown_by(value))
        if kind in _LOCKS:
            if not repr(value).startswith("<unlocked"):
                raise Uncarryable("a lock that is held")
            return _lock, (_LOCKS[kind],)
        if kind.__name__ == "_lru_cache_wrapper":
            raise Uncarryable("a function with a cache")  # pickle would refer to it by name and lose the cache
        if kind in (types.GeneratorType, types.CoroutineType, types.AsyncGeneratorType, types.FrameType):
            raise Uncarryable(f"a {kind.__name__}")
        if kind is types.TracebackType:
            raise Uncarryable("a traceback")
        if isinstance(value, io.IOBase) and kind is not io.StringIO and kind is not io.BytesIO:
            raise Uncarryable("an open file")
        if isinstance(value, BaseException):
            return self._reduce_exception(value)
        if module == "numpy" and kind.__name__ == "void" and value.base is not None:
            raise Uncarryable("a row of an array")
        if is_array(value) and value.base is not None:
            raise Uncarryable("an array that shows another's memory")
        if module.startswith("matplotlib."):
            raise Uncarryable("a figure or a part of one")
        if module == "argparse" and kind.__name__ != "Namespace":
            return self._only_digested("a parser, whose library tells texts by identity")
        held = self._held.get(kind)
        if held is None:
            held = self._held[kind] = of_module(kind)
        if held and identity(value) in held and not _is_found_again(value):
            return self._only_digested("an object that its library has under a name")
        return NotImplemented

    def _only_digested(self, why: str) -> Any:
        """What has the same content in another process and is something else there."""
        self.differs = True
        if not self._digest:
            raise Uncarryable(why)
        return NotImplemented

    def _reduce_librarys(self, value: types.FunctionType) -> Any:
        """A function of another module, by its name where it is what the module holds, and otherwise by its parts."""
        if not is_of_module(value):
            return self._reduce_function(value, _function_in, value.__globals__)
        home = value.__globals__["__name__"]
        if stands_under_its_name(value, home):
            return NotImplemented
        return self._reduce_function(value, _function_of, _bytes(home))

    def _reduce_function(self, value: types.FunctionType, make: Callable[..., Any], *home: Any) -> Any:
        module = value.__module__
        state = (
            value.__defaults__, value.__kwdefaults__, _pairs(value.__dict__), _annotations(value),
            _own_doc(value) if self._digest else value.__doc__, _bytes(module) if type(module) is str else None,
        )  # fmt: skip
        self._keep.append(state)
        self.places.add(identity(value.__dict__))
        self.differs = True
        head = (*home, value.__code__, _bytes(value.__name__), _bytes(value.__qualname__), value.__closure__)
        return make, head, state, None, None, _function_state

    def _reduce_class(self, value: type) -> Any:
        if value.__module__ != "__main__":
            return NotImplemented
        name = self._owner.get(identity(value))
        if name is not None and name not in self._members:
            return _definition, (_bytes(name),)
        self.differs = True
        meta = type(value)
        if meta.__name__ not in _SIMPLE_METAS and not self._digest:
            raise Uncarryable(f"a class made by {meta.__name__}")
        slots = value.__dict__.get("__slots__")
        hidden = set(CLASS_PARTS)
        if slots is not None:
            hidden.update(_mangled(value, name) for name in ((slots,) if isinstance(slots, str) else slots))
        state = _pairs({k: v for k, v in value.__dict__.items() if k not in hidden})
        self._keep.append(state)
        head = (meta, _bytes(value.__name__), value.__bases__, _bytes(value.__qualname__), slots, value.__dict__.get("__doc__"))
        return _class, head, state, None, None, _class_state

    def _reduce_object(self, value: Any, kind: type) -> Any:
        if isinstance(value, BaseException):
            return self._reduce_exception(value)
        if self._digest and isinstance(value, _enum()):
            state = _pairs(value.__dict__)
            self._keep.append(state)
            return _object, (kind,), (None, None, state, []), None, None, _object_state
        base = next((b for b in kind.__mro__ if b.__module__ != "__main__" and b is not object), object)
        if base.__module__ in ("typing", "abc", "collections.abc"):
            base = object
        slots = []
        for cls in kind.__mro__:
            if cls.__module__ == "__main__":
                names = cls.__dict__.get("__slots__", ())
                for name in (names,) if isinstance(names, str) else names:
                    if name not in ("__dict__", "__weakref__"):
                        name = _mangled(cls, name)
                        try:
                            slots.append((_bytes(name), object.__getattribute__(value, name)))
                        except AttributeError:
                            pass
        attributes = getattr(value, "__dict__", None)
        if attributes is not None:
            self.places.add(identity(attributes))
            if not all(type(key) is str for key in attributes):
                raise Uncarryable("an object with attributes that are not named by strings")
            attributes = _pairs(attributes)
        if base is object:
            if type(kind).__name__ not in _SIMPLE_METAS:
                self.differs = True
                if not self._digest:
                    return NotImplemented
            state: Any = (None, None, attributes, slots)
            self._keep.append(state)
            return _object, (kind,), state, None, None, _object_state
        content: Any
        if base is list:
            content = list(list.__iter__(value))
        elif base is dict:
            content = list(dict.items(value))
        elif base is set:
            content = list(set.__iter__(value))
        elif base is bytearray:
            content = bytes(value)
        elif base in (tuple, frozenset, str, bytes, int, float):
            content = base(value) if base is not tuple else tuple(tuple.__iter__(value))
            state = (None, None, attributes, slots)
            self._keep += [content, state]
            return _object_like, (kind, base, content), state, None, None, _object_state
        elif is_array(value) and attributes:
            if not self._digest:
                raise Uncarryable("an array with attributes")
            reduced = value.view(sys.modules["numpy"].ndarray)
            self._keep += [reduced, attributes]
            return _exception, (kind, reduced, attributes)
        else:
            return NotImplemented
        state = (base, content, attributes, slots)
        self._keep += [content, state]
        return _object_like, (kind, base, None), state, None, None, _object_state

    def _reduce_exception(self, value: BaseException) -> Any:
        """By what its class says, unless that leaves out what it came from or is about."""
        if value.__traceback__ is not None:
            raise Uncarryable("an exception with its traceback")
        about = [getattr(value, name, None) for name in ("__cause__", "__context__", "name", "obj")]
        if all(part is None for part in about) or isinstance(value, ImportError):
            return NotImplemented
        if not self._digest:
            raise Uncarryable("an exception with its cause")
        reduced = value.__reduce_ex__(4)
        if not isinstance(reduced, tuple):
            return NotImplemented
        self._keep += [reduced, about]
        return _exception, (reduced, about, value.__suppress_context__)

    def _reduce_array(self, value: Any, kind: type) -> Any:
        import numpy

        flags = value.flags
        base = value.base
        if identity(value) in self._columns:
            if not self._is_framed(value):
                return _owned(value, flags)
        elif identity(value) not in self._of_indexes:
            self._seen.add(identity(lies_in(value)))
        if base is not None:
            while type(base) is numpy.ndarray and base.base is not None:
                base = base.base
            if type(base) is numpy.ndarray and (base.flags.c_contiguous or base.flags.f_contiguous) and not base.dtype.hasobject:
                start = base.__array_interface__["data"][0]
                offset = value.__array_interface__["data"][0] - start
                return _view, (
                    base, offset, value.shape, value.strides, value.dtype, bool(flags.writeable),
                    None if kind is numpy.ndarray else kind,
                )  # fmt: skip
            if not (base is None or isinstance(base, (bytes,))):
                raise Uncarryable("an array over memory that is not numpy's")
        if kind is not numpy.ndarray:
            return NotImplemented
        return _owned(value, flags)

    def _is_framed(self, column: Any) -> bool:
        """Takes down where a column of a frame lies; gives whether something else lies there that must do so again."""
        memory = identity(lies_in(column))
        self._framed[memory] = self._framed.get(memory, 0) + 1
        return memory in self._shared

    def _reduce_block(self, value: Any) -> Any:
        reduced = value.__reduce_ex__(5)
        if not isinstance(reduced, tuple) or len(reduced) < 2:
            return NotImplemented
        numpy = sys.modules["numpy"]

        def owned(part: Any) -> Any:
            if type(part) is not numpy.ndarray or part.dtype.hasobject:
                return part
            return part if self._is_framed(part) else _Owned(part)

        parts = tuple(map(owned, reduced[1]))
        self._keep.append(parts)
        return (reduced[0], parts, *reduced[2:])


class Unpickler(pickle.Unpickler):
    """Reads what [`Pickler`] wrote."""

    def persistent_load(self, what: Any) -> Any:
        """The very string that it is given, the constant or kind of number that is meant, or what stands in a module."""
        if what is True:
            return BUILTINS
        if type(what) is list:
            return getattr(sys.modules[what[0]], what[1])
        if type(what) is tuple and what[0] is None:
            import numpy

            return numpy.dtype(what[1])
        if type(what) is bytes:
            return _named_nan(what) or self.__dict__.setdefault(what.decode(), float("nan"))
        return what if type(what) is str else _constant_of(what[0], what[1:])


_of_modules: dict[type, tuple[int, dict[int, tuple[str, str]]]] = {}


def of_module(kind: type) -> dict[int, tuple[str, str]]:
    """The objects of a class that the module which has the class, or a package that this is in, has under a name: another
    process has its own (`calendar.c`, `json._default_encoder`). By identity: where they stand."""
    homes, name = [], kind.__module__ if type(kind.__module__) is str else ""
    while name and name not in ("__main__", "builtins"):
        homes.append((name, getattr(sys.modules.get(name), "__dict__", {})))
        name = name.rpartition(".")[0]
    size = sum(len(held) for _, held in homes)
    known = _of_modules.get(kind)
    if known is None or known[0] != size:
        found = {
            identity(value): (home, word) for home, held in homes for word, value in [*held.items()] if type(value) is kind
        }  # fmt: skip
        known = _of_modules[kind] = (size, found)
    return known[1]


def _is_found_again(value: Any) -> bool:
    """Whether what stands for an object in a pickle finds the very object."""
    reduced = value.__reduce_ex__(4)
    return isinstance(reduced, str) or reduced[0](*reduced[1]) is value


def _mangled(kind: type, name: str) -> str:
    """An attribute's name, as the body of a class means it."""
    private = name.startswith("__") and not name.endswith("__")
    return f"_{kind.__name__.lstrip('_')}{name}" if private else name


def is_of_class(mapping: Any) -> bool:
    """Whether it is the dict in which a class keeps its attributes."""
    return type(mapping) is dict and "__module__" in mapping and "__doc__" in mapping


def _shown_by(proxy: Any) -> Any:
    """The mapping that is read through a proxy or a view."""
    (found,) = gc.get_referents(proxy)
    if is_of_class(found):
        raise Uncarryable("the attributes of a class, as the class has them")
    return found


def _named_nan(name: bytes) -> Any:
    """What others hold as their "not a number"."""
    module, _, word = name.decode().rpartition(".")
    return getattr(sys.modules.get(module), word, None) if module else None


def _name_of_nan(value: float) -> bytes | None:
    return next((name for name in (b"numpy.nan", b"math.nan") if _named_nan(name) is value), None)


def _named_dtype(value: Any) -> Any:
    """What stands for a kind of numbers that numpy has one object of. A pickle would make another, equal one, and what
    a step makes of both would be told apart by which of them it has."""
    plain = value.kind in "biufcOSUMmV" and value.names is None and value.subdtype is None and value.metadata is None
    return (None, value.str) if plain else None


class _Owned:
    """Wraps an array that is pickled by its content, whatever memory it shares."""

    __slots__ = ("array",)

    def __init__(self, array: Any) -> None:
        self.array = array

    def __reduce_ex__(self, protocol: int) -> Any:
        return _owned(self.array, self.array.flags)


def _owned(value: Any, flags: Any) -> Any:
    if value.dtype.hasobject or not (flags.c_contiguous or flags.f_contiguous):
        return value.copy().__reduce_ex__(4) if not value.dtype.hasobject else value.__reduce_ex__(4)
    order = "C" if flags.c_contiguous else "F"
    if not value.size:
        return _array, (b"", value.dtype, value.shape, order, bool(flags.writeable))
    data = pickle.PickleBuffer(value.ravel(order="K").data)
    _own_buffer[:] = [data]
    return _array, (data, value.dtype, value.shape, order, bool(flags.writeable))


def copies_on_write() -> bool:
    """Whether frames of pandas are isolated from one another whatever memory they share."""
    version = getattr(sys.modules.get("pandas"), "__version__", "0").split(".")[0]
    return version.isdigit() and int(version) >= 3


def lies_in(value: Any) -> Any:
    """The array whose memory this one shows, or is."""
    array = sys.modules["numpy"].ndarray
    while isinstance(value.base, array):
        value = value.base
    return value


def is_array(value: Any) -> bool:
    """Whether it is an array of numpy's, or of a class made of that."""
    array = getattr(sys.modules.get("numpy"), "ndarray", None)
    return array is not None and isinstance(value, array)


def _own_doc(function: types.FunctionType) -> Any:
    """The text that describes a function, where it is another than its code has."""
    consts = function.__code__.co_consts
    own = consts[0] if consts and type(consts[0]) is str else None
    doc = function.__doc__
    # One that came over has a copy.
    return None if doc is own or type(doc) is str and doc == own else doc or ""


def _exception(*parts: Any) -> None:
    """Only ever named in what is digested."""
    raise ValueError("an exception with its cause is not brought over")


def _pairs(named: Any) -> list[tuple[bytes, Any]]:
    """Named things in their order, the names as bytes."""
    return [(_bytes(name), value) for name, value in named.items()]


def _annotations(value: types.FunctionType) -> Any:
    """A function's annotations, without evaluating them where they are lazy (3.14)."""
    if sys.version_info >= (3, 14):
        return value.__annotate__
    return _pairs(value.__annotations__) if value.__annotations__ else None


def code_parts(code: types.CodeType) -> tuple[Any, ...]:
    """What a code object does, without where it stands: file, lines and columns."""
    consts = tuple(code_parts(c) if isinstance(c, types.CodeType) else _constant(c) for c in code.co_consts)
    return (
        code.co_code, consts, code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars,
        code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags,
        getattr(code, "co_exceptiontable", b""), code.co_name, getattr(code, "co_qualname", ""),
    )  # fmt: skip


def code_places(code: types.CodeType, lines: list[str] | None = None) -> tuple[Any, ...]:
    """Where a code object, with those nested in it, stands: what tracebacks, warnings and `inspect` show of it.

    With the `lines` of its file, what is written there is part of it.
    """
    inner = [code_places(const, lines) for const in code.co_consts if isinstance(const, types.CodeType)]
    table = code.co_linetable if sys.version_info >= (3, 10) else code.co_lnotab
    last = max((line for _, line in dis.findlinestarts(code) if line is not None), default=code.co_firstlineno)
    text = lines and lines[code.co_firstlineno - 1 : last]
    file = next((code.co_filename[len(root) :] for root in ROOTS if code.co_filename.startswith(root)), code.co_filename)
    return (file, code.co_firstlineno, table, text, inner)


def _constant(const: Any) -> Any:
    # Equal constants of other types (1, 1.0, True) and the two zeros differ by this.
    if isinstance(const, frozenset):
        return ("frozenset", sorted(repr(_constant(item)) for item in const))
    if isinstance(const, tuple):
        return ("tuple", [*map(_constant, const)])
    # A very long number has no text by default.
    return (type(const).__name__, hex(const) if type(const) is int else repr(const))


# The memory of the array that is being pickled: hashed and kept where it is, never copied into the pickle.
_own_buffer: list[pickle.PickleBuffer] = []


_PART = 8 << 20  # bytes that one thread hashes at a time
_HELPERS = min(len(os.sched_getaffinity(0)), 8) - 1 if hasattr(os, "sched_getaffinity") else 0


def _digests(raw: memoryview) -> bytes:
    """The digests of the parts of a large array, one after the other, made on all processors: the step waits for them.

    Python's own threads have names that count up, which a step would see; these have none.
    """
    parts = [raw[at : at + _PART] for at in range(0, raw.nbytes, _PART)]
    found: list[bytes] = [b""] * len(parts)
    todo = list(range(len(parts)))

    def work(done: Any = None) -> None:
        try:
            while todo:
                try:
                    at = todo.pop()
                except IndexError:
                    break
                found[at] = hashlib.sha256(parts[at]).digest()
        finally:
            if done is not None:
                done.release()

    waits = []
    for _ in range(min(_HELPERS, len(parts) - 1)):
        done = _thread.allocate_lock()
        done.acquire()
        try:
            _thread.start_new_thread(work, (done,))
        except (RuntimeError, OSError):  # no more are to be had
            break
        waits.append(done)
    work()
    for done in waits:
        done.acquire()
    # One that had no memory for its part is gone without it.
    return b"".join(digest or hashlib.sha256(part).digest() for digest, part in zip(found, parts))


class Sink:
    """Takes a pickle as it is made: hashes it, keeps it up to a limit, or both."""

    def __init__(self, hashed: bool, limit: int) -> None:
        self._stream = hashlib.sha256() if hashed else None
        self._blocks = hashlib.sha256() if hashed else None
        self._room = limit
        self._parts: list[bytes] = []
        self._buffers: list[memoryview] = []

    def write(self, data: Any) -> int:
        if self._stream is not None:
            self._stream.update(data)
        self._room -= len(data)
        if self._room >= 0:
            self._parts.append(bytes(data))
        return len(data)

    def buffer(self, buffer: pickle.PickleBuffer) -> bool:
        """Takes the memory of an array; whether a buffer of something else belongs into the pickle itself."""
        if not any(own is buffer for own in _own_buffer):
            return True
        raw = buffer.raw()
        if self._blocks is not None:
            self._blocks.update(_LENGTH.pack(raw.nbytes))
            if raw.nbytes <= _PART:
                self._blocks.update(raw)
            else:
                self._blocks.update(_digests(raw))
        self._room -= raw.nbytes
        self._buffers.append(raw)
        return False

    def digest(self, members: tuple[str, ...]) -> str:
        """Stands for all that was taken."""
        assert self._stream is not None and self._blocks is not None
        whole = hashlib.sha256(repr(members).encode("utf-8", "surrogatepass"))
        whole.update(self._stream.digest())
        whole.update(self._blocks.digest())
        return whole.hexdigest()

    def bytes(self) -> bytes | None:
        """All that was taken, for [`load`]; nothing if it was more than the limit."""
        if self._room < 0:
            return None
        if not self._buffers:
            return b"".join(self._parts)
        sizes = [sum(map(len, self._parts)), *(buffer.nbytes for buffer in self._buffers)]
        head = _WITH_BLOCKS + _LENGTH.pack(len(sizes)) + b"".join(map(_LENGTH.pack, sizes))
        return b"".join([head, *self._parts, *self._buffers])


_second = operator.itemgetter(1)
_LENGTH = struct.Struct("<Q")
_WITH_BLOCKS = b"\1"  # a pickle begins with 0x80


class Dumped(NamedTuple):
    """Pickled values, and what else the pickler saw."""

    digest: str  # empty where none was asked for
    data: bytes | None  # nothing where it is more than the limit
    ids: set[int]  # of the objects in it; temporary ones among them
    differs: bool  # whether a pickle for carrying is another than one for a digest
    constants: bool  # whether there are constants of steps in it
    files: frozenset[str]  # that the code in it comes from


def dump(
    values: list[Any], owner: dict[int, str], members: tuple[str, ...], digest: bool, limit: int, placed: bool = False
) -> Dumped:
    """Pickles the values of `members`; raises whatever the objects raise, or [`Uncarryable`].

    Above `limit` bytes only the digest is made; where it is `placed`, it tells where code stands as well.
    """
    sink = Sink(digest, limit)
    pickler = Pickler(sink, owner, frozenset(members), digest, placed)
    pickler.dump(values)
    shared = pickler.shared()
    if shared:
        forget_buffer()
        sink = Sink(digest, limit)
        pickler = Pickler(sink, owner, frozenset(members), digest, placed, shared)
        pickler.dump(values)
    forget_buffer()
    ids = pickler.places.union(map(identity, map(_second, pickler.memo.copy().values())))
    found = sink.digest(members) if digest else ""
    return Dumped(found, sink.bytes(), ids, pickler.differs, pickler.constants, frozenset(pickler.files))


def forget_buffer() -> None:
    """Lets the memory of an array go that was pickled last."""
    _own_buffer.clear()


def load(data: memoryview) -> Any:
    """The value that `data` holds. Only ever called on bytes that this run's own engine vouches for."""
    if data[:1] != _WITH_BLOCKS:
        return Unpickler(io.BytesIO(data)).load()
    count, at = _LENGTH.unpack_from(data, 1)[0], 9 + 8 * _LENGTH.unpack_from(data, 1)[0]
    parts = []
    for n in range(count):
        size = _LENGTH.unpack_from(data, 9 + 8 * n)[0]
        parts.append(data[at : at + size])
        at += size
    return Unpickler(io.BytesIO(parts[0]), buffers=parts[1:]).load()


Reducer = Callable[..., Any]
copyreg.pickle(type(copyreg), lambda module: (_module, (_bytes(module.__name__),)))  # modules inside foreign objects
