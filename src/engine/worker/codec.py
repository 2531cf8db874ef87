"""Values to bytes and back: for comparing (digests) and for carrying into another process.

Both use one pickler. It makes equal strings of one pickle one, rebuilds functions on the run's own namespace, refers to
definitions that stand under a name by that name, keeps numpy views on their base, and copies objects of classes made by
steps by their parts, whatever `__getstate__` or `__reduce__` say, since those may lose something. What it refers to is in
`rebuild.py` and `referred.py`.
"""

from __future__ import annotations

import _thread
import collections
import copyreg
import gc
import io
import marshal
import operator
import pickle
import sys
import types
from collections.abc import Collection
from typing import Any, Callable, NamedTuple

from . import arrays, bytecode, rebuild, referred, sets
from .rebuild import to_bytes
from .referred import identity
from .sink import Sink, forget_buffer, parts_of

CLASS_PARTS = frozenset(
    ("__dict__", "__weakref__", "__doc__", "__module__", "__qualname__", "__static_attributes__", "__firstlineno__", "_abc_impl",
     "__abstractmethods__", "__annotate_func__", "__annotations_cache__")
)  # fmt: skip
_LIST_ITERATOR: type = type(iter([]))
_DICT_ITERATORS: set[type] = {
    type(ends(getattr(kind(), name)())) for kind in (dict, collections.OrderedDict) for name in ("keys", "values", "items")
    for ends in (iter, reversed)
} | {type(iter(set()))}  # fmt: skip
_VIEWS = {type(getattr({}, name)()): name.encode() for name in ("keys", "values", "items")}
_LOCKS = {type(getattr(_thread, name)()): name.encode() for name in ("allocate_lock", "RLock")}
_HEAP_TYPE = 1 << 9  # `Py_TPFLAGS_HEAPTYPE`: others have no attributes that could be set
# What an object of a class that is made of one of these holds.
_PLAIN: dict[type, Callable[[Any], Any]] = {
    tuple: lambda value: tuple(tuple.__iter__(value)),
    frozenset: lambda value: frozenset(frozenset.__iter__(value)),
    str: str.__str__,
    bytes: lambda value: bytes.__getitem__(value, slice(None)),
    int: int.__int__,
    float: float.__float__,
}
# What libraries' objects are taken apart with.
_TAKEN_APART_BY = ("__reduce__", "__reduce_ex__", "__getstate__", "__getnewargs__", "__getnewargs_ex__", "__iter__", "items")
_METHODS = (types.MethodType, types.BuiltinMethodType)
_SIMPLE_METAS = {"type", "ABCMeta"}


class Uncarryable(Exception):
    """A value that has no faithful form as bytes."""


def _enum() -> Any:
    """The class of what is taken apart by its value alone."""
    return getattr(sys.modules.get("enum"), "Enum", ())


class Pickler(pickle.Pickler):
    """Pickles values of the run's namespace. `digest` leaves out where code stands in its file, unless it is `placed`."""

    def __init__(
        self, file: Sink, owner: dict[int, str], members: frozenset[str], digest: bool, placed: bool,
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
        self.constants: set[int] = set()
        self._nans: dict[int, bytes] = {}
        self._shared = shared
        self._framed: dict[int, int] = {}  # memory in which columns of frames lie: how many blocks of them
        self._held: dict[type, dict[int, tuple[str, str]]] = {}  # see `of_module`
        self._seen: set[int] = set()  # memory that arrays show which are no part of a frame
        self._of_indexes: set[int] = set()  # arrays that nobody changes
        self._columns: set[int] = set()  # those of series
        self.files: set[str] = set()
        self._sets: dict[int, Any] = {}  # what stands for each set; nothing where it is pickled as any
        self.tables: list[sets.Table | None] = []  # of sets that are not as their members alone would make them

    def shared(self) -> set[int]:
        """Memory that must be brought over as one: what was pickled has it more than once."""
        if arrays.copies_on_write():
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
            constant = bytecode.CONSTANTS.get(identity(value))
            if constant is not None:
                # Where it stands is no part of what it is, so that a step can be called otherwise.
                self.differs = True
                self.constants.add(identity(value))
                if not self._digest:
                    return constant[1], *value
        elif kind is float and value != value:
            # One is in a list by being that very one.
            return self._nans.setdefault(identity(value), referred.name_of_nan(value) or b"%d" % len(self._nans))
        elif type(kind) is not type and type(kind).__name__ == "_DTypeMeta":
            return arrays.named_dtype(value)
        elif value is referred.BUILTINS:
            return True
        elif kind is list and identity(value) in referred.SINGLE:
            return [*referred.SINGLE[identity(value)]]
        elif kind is set or kind is frozenset:
            return self._stand_for_set(value, kind)
        return None

    def _stand_for_set(self, value: Any, kind: type) -> Any:
        """What a set is that another one of the same members is not, if it is."""
        number = identity(value)
        if number in self._sets:
            found = self._sets[number]
            return found and found[:2]
        self._sets[number] = None
        recipe = self._recipe(value, kind)
        if recipe is not None:
            found = self._sets[number] = (False, len(self._sets), kind is frozenset, *recipe)
            # One that is not in the memo may die on the way, and another lie where it lay.
            self._keep += [found, value]
            return found
        return None

    def _recipe(self, value: Any, kind: Any) -> sets.Recipe | None:
        """How it is made, where that takes more than its members in their order; for a digest it is taken down."""
        members = [*kind.__iter__(value)]
        if not sets.is_ordered(members):
            return None
        recipe = sets.recipe(value, kind)
        if recipe is not None and not (recipe.merged or recipe.gone) and all(map(operator.is_, recipe.members, members)):
            return None
        self.differs = True
        self.tables.append(sets.table_of(value))
        if self._digest:
            return None
        if recipe is None:
            raise Uncarryable("a set whose order hangs on what it went through")
        return recipe

    def reducer_override(self, value: Any) -> Any:
        kind = type(value)
        if kind is types.FunctionType:
            if value.__globals__ is not rebuild.NAMESPACE:
                return self._reduce_librarys(value)
            name = self._owner.get(identity(value))
            if name is not None and name not in self._members:
                return rebuild.definition, (to_bytes(name),)
            return self._reduce_function(value, rebuild.function)
        if kind is types.CellType:
            try:
                content = (True, value.cell_contents)
            except ValueError:
                content = (False, None)
            self._keep.append(content)
            return rebuild.cell, (), content, None, None, rebuild.cell_state
        if kind is types.CodeType:
            self.differs = True
            self.files.add(value.co_filename)
            if self._digest:
                parts = (bytecode.code_parts(value), bytecode.code_places(value)) if self._placed else bytecode.code_parts(value)
                return rebuild.code_of, (to_bytes(repr(parts)),)
            return rebuild.code_of, (marshal.dumps(value, 2),)
        if kind is types.ModuleType and sys.modules.get(value.__name__) is not value:
            raise Uncarryable("a module that is not among those imported")
        if kind is types.ModuleType:
            return rebuild.imported, (to_bytes(value.__name__),)
        if issubclass(kind, type):
            return self._reduce_class(value)
        single = referred.SINGLE.get(identity(value))
        if single is not None:
            return rebuild.attribute, (to_bytes(single[0]), to_bytes(single[1]))
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
            return self._as_it_says(value)
        if kind in _DICT_ITERATORS:
            # What comes of one by its parts goes on over a copy, whatever becomes of what it goes through.
            return self._only_digested(value, "an iterator over a dict or a set")
        if kind.__name__ in ("_deque_iterator", "_deque_reverse_iterator"):
            raise Uncarryable("an iterator over a deque")  # whether that was changed since is part of it
        if kind.__name__ == "cycle" and module == "itertools":
            return self._only_digested(value, "what goes round")  # after its first round, its parts are others than it is made of
        if kind.__name__ in ("groupby", "_grouper") and module == "itertools":
            return self._only_digested(value, "what goes by groups")  # which group is the one at hand is not among its parts
        if kind is _LIST_ITERATOR:
            reduced = value.__reduce__()
            # One that is spent looks like a new one over an empty list.
            return reduced if len(reduced) > 2 else (rebuild.spent_iterator, ())
        if kind is property:
            inherited = value.__doc__ is getattr(value.fget, "__doc__", None)
            return property, (value.fget, value.fset, value.fdel, None if inherited else value.__doc__)
        if kind is staticmethod or kind is classmethod:
            # What the function was called when it was made one; it may be called otherwise since.
            return rebuild.method, (kind, value.__func__), getattr(value, "__dict__", None) or None
        if kind is types.MappingProxyType:
            return rebuild.proxy, (_shown_by(value),)
        home = referred.home_of_method(value) if kind in _METHODS else None
        if home is not None:
            return rebuild.method_of_library, (to_bytes(home), to_bytes(value.__name__))
        if kind is types.MethodType:
            # By default it is looked up by its function's name, which may be another's.
            return rebuild.bound, (value.__func__, value.__self__)
        if kind in _VIEWS:
            return rebuild.view_of, (_VIEWS[kind], _shown_by(value))
        if kind in _LOCKS:
            if not repr(value).startswith("<unlocked"):
                raise Uncarryable("a lock that is held")
            return rebuild.lock, (_LOCKS[kind],)
        if kind.__name__ == "_lru_cache_wrapper":
            raise Uncarryable("a function with a cache")  # pickle would refer to it by name and lose the cache
        if kind in (types.GeneratorType, types.CoroutineType, types.AsyncGeneratorType, types.FrameType):
            raise Uncarryable(f"a {kind.__name__}")
        if kind is types.TracebackType:
            raise Uncarryable("a traceback")
        if issubclass(kind, io.IOBase) and kind is not io.StringIO and kind is not io.BytesIO:
            raise Uncarryable("an open file")
        if issubclass(kind, BaseException):
            return self._reduce_exception(value)
        if module == "numpy" and kind.__name__ == "void" and value.base is not None:
            raise Uncarryable("a row of an array")
        if arrays.is_array(value) and value.base is not None:
            raise Uncarryable("an array that shows another's memory")
        if module.startswith("matplotlib."):
            raise Uncarryable("a figure or a part of one")
        if module == "argparse" and kind.__name__ != "Namespace":
            return self._only_digested(value, "a parser, whose library tells texts by identity")
        held = self._held.get(kind)
        if held is None:
            held = self._held[kind] = referred.of_module(kind)
        if held and identity(value) in held and not referred.is_found_again(value):
            return self._only_digested(value, "an object that its library has under a name")
        if any(identity(value) in gone for gone in referred.REPLACED.values()):
            return self._only_digested(value, "what a library had under a name")
        return self._as_it_says(value)

    def _only_digested(self, value: Any, why: str) -> Any:
        """What has the same content in another process and is something else there."""
        self.differs = True
        if not self._digest:
            raise Uncarryable(why)
        return self._as_it_says(value)

    def _as_it_says(self, value: Any) -> Any:
        """An object of a library by what its class says that it is made of. That may leave out an attribute that a step set."""
        held = _attributes(value)
        if held is None or referred.SET_BY_STEPS.isdisjoint(held) or _is_logger(value):
            return NotImplemented
        reduced = _reduced(value)
        left_out = _left_out(held, reduced)
        if not left_out:
            return NotImplemented
        self.differs = True
        if not self._digest:
            raise Uncarryable("an object whose class leaves out what a step set on it")
        if isinstance(reduced, str):
            reduced = (rebuild.digested, (to_bytes(reduced),))
        make, parts, state, items, pairs = (*reduced, None, None, None)[:5]
        state = (state, left_out)
        self._keep += [reduced, state]
        return make, parts, state, items, pairs, rebuild.digested

    def _reduce_librarys(self, value: types.FunctionType) -> Any:
        """A function of another module, by its name where it is what the module holds, and otherwise by its parts."""
        for cell in value.__closure__ or ():
            content = _content(cell)
            if type(content) is set:
                # In which a library holds, for a moment, what is being shown.
                self._sets.setdefault(identity(content), None)
        if not referred.is_of_module(value):
            return self._reduce_function(value, rebuild.function_in, value.__globals__)
        home = referred.home_of_function(value)
        if value.__globals__ is rebuild.__dict__:  # what pickles themselves refer to
            return NotImplemented
        stood, stands = referred.stood_under(home, value.__qualname__), referred.stands_under_its_name(value, home)
        if stood is value or (stands and stood is None):
            # A step that puts something in its place keeps it, to put it back.
            return rebuild.of_library, (to_bytes(home), to_bytes(value.__qualname__))
        if stands:
            return NotImplemented
        return self._reduce_function(value, rebuild.function_of, to_bytes(home))

    def _reduce_function(self, value: types.FunctionType, make: Callable[..., Any], *home: Any) -> Any:
        module = value.__module__
        state = (
            value.__defaults__, value.__kwdefaults__, _pairs(value.__dict__), _annotations(value),
            _own_doc(value) if self._digest else value.__doc__, to_bytes(module) if type(module) is str else None,
        )  # fmt: skip
        self._keep.append(state)
        self.places.add(identity(value.__dict__))
        self.differs = True
        head = (*home, value.__code__, to_bytes(value.__name__), to_bytes(value.__qualname__), value.__closure__)
        return make, head, state, None, None, rebuild.function_state

    def _reduce_class(self, value: type) -> Any:
        if value.__module__ != "__main__":
            return NotImplemented
        name = self._owner.get(identity(value))
        if name is not None and name not in self._members:
            return rebuild.definition, (to_bytes(name),)
        self.differs = True
        meta = type(value)
        if meta.__name__ not in _SIMPLE_METAS and not self._digest:
            raise Uncarryable(f"a class made by {meta.__name__}")
        if not self._digest and rebuild.is_told_of_classes(value.__bases__) and not value.__bases__[0].__flags__ & _HEAP_TYPE:
            raise Uncarryable("a class that is told to a base of it when it is made")
        slots = value.__dict__.get("__slots__")
        hidden = set(CLASS_PARTS)
        if slots is not None:
            hidden.update(_mangled(value, name) for name in ((slots,) if isinstance(slots, str) else slots))
        state = _pairs({k: v for k, v in value.__dict__.items() if k not in hidden})
        self._keep.append(state)
        own, qualname = to_bytes(value.__name__), to_bytes(value.__qualname__)
        head = (meta, own, value.__bases__, qualname, slots, value.__dict__.get("__doc__"))
        return rebuild.class_of, head, state, None, None, rebuild.class_state

    def _reduce_object(self, value: Any, kind: type) -> Any:
        if issubclass(kind, BaseException):
            return self._reduce_exception(value)
        if self._digest and issubclass(kind, _enum()):
            pairs = _pairs(value.__dict__)
            self._keep.append(pairs)
            return rebuild.instance, (kind,), (None, None, pairs, []), None, None, rebuild.instance_state
        base = next((b for b in kind.__mro__ if b.__module__ != "__main__" and b is not object), object)
        if base.__module__ in ("typing", "abc", "collections.abc"):
            base = object
        state: Any
        slots = []
        for cls in kind.__mro__:
            if cls.__module__ == "__main__":
                names = cls.__dict__.get("__slots__", ())
                for name in (names,) if isinstance(names, str) else names:
                    if name not in ("__dict__", "__weakref__"):
                        name = _mangled(cls, name)
                        try:
                            slots.append((to_bytes(name), object.__getattribute__(value, name)))
                        except AttributeError:
                            pass
        held = _attributes(value)
        if held is not None:
            self.places.add(identity(held))
            if not all(type(key) is str for key in held):
                raise Uncarryable("an object with attributes that are not named by strings")
        attributes = None if held is None else _pairs(held)
        if base is object:
            if type(kind).__name__ not in _SIMPLE_METAS:
                self.differs = True
                if not self._digest:
                    return NotImplemented
            state = (None, None, attributes, slots)
            self._keep.append(state)
            return rebuild.instance, (kind,), state, None, None, rebuild.instance_state
        content: Any
        if base is list:
            content = list(list.__iter__(value))
        elif base is dict:
            content = list(dict.items(value))
        elif base is set:
            content = list(set.__iter__(value))
            if self._recipe(value, set) is not None:
                raise Uncarryable("a set of a class, whose order hangs on how it was made")
        elif base is bytearray:
            content = bytes(value)
        elif base in _PLAIN:
            content = _PLAIN[base](value)  # whatever its class says of itself
            state = (None, None, attributes, slots)
            self._keep += [content, state]
            return rebuild.instance_like, (kind, base, content), state, None, None, rebuild.instance_state
        elif arrays.is_array(value) and attributes:
            if not self._digest:
                raise Uncarryable("an array with attributes")
            reduced = value.view(sys.modules["numpy"].ndarray)
            self._keep += [reduced, attributes]
            return rebuild.digested, (kind, reduced, attributes)
        elif any(name in cls.__dict__ for cls in kind.__mro__ if cls.__module__ == "__main__" for name in _TAKEN_APART_BY):
            raise Uncarryable("an object that says itself what it is made of")
        else:
            return self._as_it_says(value)
        state = (base, content, attributes, slots)
        self._keep += [content, state]
        return rebuild.instance_like, (kind, base, None), state, None, None, rebuild.instance_state

    def _reduce_exception(self, value: BaseException) -> Any:
        """By what its class says, unless that leaves out what it came from or is about."""
        if value.__traceback__ is not None:
            raise Uncarryable("an exception with its traceback")
        kept = ("name",) if isinstance(value, ImportError) else ()
        about = [getattr(value, name, None) for name in ("__cause__", "__context__", "name", "obj") if name not in kept]
        if all(part is None for part in about) and not value.__suppress_context__:
            return self._as_it_says(value)
        if not self._digest:
            raise Uncarryable("an exception with its cause")
        reduced = _reduced(value)
        if not isinstance(reduced, tuple):
            return NotImplemented
        about += [value.__suppress_context__, _left_out(value.__dict__, reduced)]
        self._keep += [reduced, about]
        return rebuild.digested, (reduced, about)

    def _reduce_array(self, value: Any, kind: type) -> Any:
        import numpy

        flags = value.flags
        base = value.base
        if identity(value) in self._columns:
            if not self._is_framed(value):
                return arrays.owned(value, flags)
        elif identity(value) not in self._of_indexes:
            self._seen.add(identity(arrays.lies_in(value)))
        if base is not None:
            while type(base) is numpy.ndarray and base.base is not None:
                base = base.base
            if type(base) is numpy.ndarray and (base.flags.c_contiguous or base.flags.f_contiguous) and not base.dtype.hasobject:
                start = base.__array_interface__["data"][0]
                offset = value.__array_interface__["data"][0] - start
                return rebuild.array_view, (
                    base, offset, value.shape, value.strides, value.dtype, bool(flags.writeable),
                    None if kind is numpy.ndarray else kind,
                )  # fmt: skip
            if not (base is None or isinstance(base, (bytes,))):
                raise Uncarryable("an array over memory that is not numpy's")
        if kind is not numpy.ndarray:
            return NotImplemented
        return arrays.owned(value, flags)

    def _is_framed(self, column: Any) -> bool:
        """Takes down where a column of a frame lies; gives whether something else lies there that must do so again."""
        memory = identity(arrays.lies_in(column))
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
            return part if self._is_framed(part) else arrays.Owned(part)

        parts = tuple(map(owned, reduced[1]))
        self._keep.append(parts)
        return (reduced[0], parts, *reduced[2:])


class Unpickler(pickle.Unpickler):
    """Reads what [`Pickler`] wrote."""

    def persistent_load(self, what: Any) -> Any:
        """The very string that it is given, the constant or kind of number that is meant, or what stands in a module."""
        if what is True:
            return referred.BUILTINS
        if type(what) is tuple and what[0] is False:
            return self._set(*what[1:])
        if type(what) is list:
            return getattr(sys.modules[what[0]], what[1])
        if type(what) is tuple and what[0] is None:
            import numpy

            return numpy.dtype(what[1])
        if type(what) is bytes:
            return referred.named_nan(what) or self.__dict__.setdefault(what.decode(), float("nan"))
        return what if type(what) is str else bytecode.constant_of(what[0], what[1:])

    def _set(self, number: int, frozen: bool = False, *recipe: Any) -> Any:
        """A set; one that is met within itself is filled later."""
        known: dict[int, Any] = self.__dict__.setdefault("sets", {})
        if recipe and frozen:
            known[number] = sets.Recipe(*recipe).frozen()
        elif recipe:
            sets.Recipe(*recipe).follow(known.setdefault(number, set()))
        return known.setdefault(number, set())


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


def _own_doc(function: types.FunctionType) -> Any:
    """The text that describes a function, where it is another than its code has."""
    consts = function.__code__.co_consts
    own = consts[0] if consts and type(consts[0]) is str else None
    doc = function.__doc__
    # One that came over has a copy.
    return None if doc is own or (type(doc) is str and doc == own) else doc or ""


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return None


def _pairs(named: Any) -> list[tuple[bytes, Any]]:
    """Named things in their order, the names as bytes."""
    return [(to_bytes(name), value) for name, value in named.items()]


def _attributes(value: Any) -> dict[str, Any] | None:
    """An object's, whatever its class does when it is asked for one; `None` where it can have none."""
    if not type(value).__dictoffset__:
        return None
    try:
        found = object.__getattribute__(value, "__dict__")
    except Exception:  # one that stands for another
        return None
    return found if isinstance(found, dict) else None


def _reduced(value: Any) -> Any:
    """What `pickle` would take it apart into."""
    by_others = copyreg.dispatch_table.get(type(value))
    return by_others(value) if by_others is not None else value.__reduce_ex__(5)


def _left_out(held: dict[str, Any], reduced: Any) -> list[tuple[bytes, Any]]:
    """The attributes in `held` that steps set, as far as they are not among what the object is taken apart into."""
    told: dict[str, Any] = {}
    # Of its state only: what it is made with may be a dict that it holds, as a `Counter` does.
    for part in reduced[2:3] if isinstance(reduced, tuple) else ():
        for inner in part if isinstance(part, tuple) else (part,):
            told.update(inner if isinstance(inner, dict) else {})
    set_by_steps = sorted(referred.SET_BY_STEPS.intersection(held))
    return _pairs({name: held[name] for name in set_by_steps if told.get(name, told) is not held[name]})


def _is_logger(value: Any) -> bool:
    """Whether it is one of those that `logging` has by name: what was set on them is a piece of hidden state."""
    return issubclass(type(value), getattr(sys.modules.get("logging"), "Logger", ()))


def _annotations(value: types.FunctionType) -> Any:
    """A function's annotations, without evaluating them where they are lazy (3.14)."""
    if sys.version_info >= (3, 14):
        return value.__annotate__
    return _pairs(value.__annotations__) if value.__annotations__ else None


_second = operator.itemgetter(1)


class Dumped(NamedTuple):
    """Pickled values, and what else the pickler saw."""

    digest: str  # empty where none was asked for
    data: bytes | None  # nothing where it is more than the limit
    ids: set[int]  # of the objects in it; temporary ones among them
    differs: bool  # whether a pickle for carrying is another than one for a digest
    files: frozenset[str]  # that the code in it comes from
    constants: frozenset[int]  # ids of the constants of steps that are in it


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
    found = sink.digest(members, pickler.tables) if digest else ""
    return Dumped(found, sink.bytes(), ids, pickler.differs, frozenset(pickler.files), frozenset(pickler.constants))


def load(data: memoryview) -> Any:
    """The value that `data` holds. Only ever called on bytes that this run's own engine vouches for."""
    pickled, *buffers = parts_of(data)
    return Unpickler(io.BytesIO(pickled), buffers=buffers).load()


copyreg.pickle(type(copyreg), lambda module: (rebuild.imported, (to_bytes(module.__name__),)))  # modules inside foreign objects
