"""Which mutable objects a value reaches, and so which names share some.

Definitions (functions and classes made by steps) that stand under a name of their own are borders: another
value that holds one refers to the name, and the walk stops there.
"""

from __future__ import annotations

import builtins
import dis
import gc
import io
import itertools
import os
import stat
import sys
import types
import weakref
from collections.abc import Collection, Iterable
from typing import Any

from . import arrays, bytecode, codec, referred
from .referred import identity

_ATOMIC: set[type] = {
    int, float, complex, str, bool, type(None), type(Ellipsis), type(NotImplemented), types.CodeType,
}  # fmt: skip
# Values that can't change, and that a step can still tell apart by which object it has (`a is held[0]`).
_VALUES: set[type] = {bytes, range}
_SKIPPED: set[type] = {
    types.BuiltinFunctionType, types.MethodDescriptorType, types.WrapperDescriptorType, types.GetSetDescriptorType,
    types.MemberDescriptorType, types.ClassMethodDescriptorType, types.MethodWrapperType,
}  # fmt: skip
_ALIAS = getattr(types, "GenericAlias", None)  # of 3.9: `list[int]`
_fstat = os.fstat
_PROXIES = (weakref.ProxyType, weakref.CallableProxyType)
# Classes of objects that reach others through the system; a file may do so as well, if it is a pipe.
_CHANNELS = frozenset((
    ("socket", "socket"), ("ssl", "SSLSocket"), ("multiprocessing.connection", "Connection"), ("_reweave.held", "Raw"),
))  # fmt: skip
# Whoever holds one of these can look up any name with it.
_LOOKING = frozenset(map(identity, (eval, exec, globals, locals, vars, dir, __import__)))


def learn_atoms() -> None:
    """Adds immutable types of modules that have been imported meanwhile."""
    referred.learn_single()
    if _imported == [len(sys.modules)]:
        return
    _imported[:] = [len(sys.modules)]
    # Of the first there is one of each kind: to make another gives the same.
    for kinds, module, names in (
        (_ATOMIC, "datetime", ("timezone",)),
        (_ATOMIC, "re", ("Pattern",)),
        (_ATOMIC, "zoneinfo", ("ZoneInfo",)),
        (_VALUES, "datetime", ("date", "timedelta")),
        (_VALUES, "decimal", ("Decimal",)),
        (_VALUES, "fractions", ("Fraction",)),
        (_VALUES, "uuid", ("UUID",)),
        (_VALUES, "pathlib", ("PosixPath", "PurePosixPath")),
    ):
        loaded = sys.modules.get(module)
        for name in names:
            kind = getattr(loaded, name, None)
            if isinstance(kind, type):
                kinds.add(kind)
    numpy = sys.modules.get("numpy")
    if numpy is not None and numpy not in _learned:
        _learned.add(numpy)
        for name in ("generic", "dtype"):
            _immutable_bases.append(getattr(numpy, name))

    pandas = sys.modules.get("pandas")
    if pandas is not None and not _index_bases and isinstance(getattr(pandas, "Index", None), type):
        _index_bases.append(pandas.Index)


_learned: set[Any] = set()
_imported: list[int] = []  # how many modules there were at the last look
_index_bases: list[type] = []
_immutable_bases: list[type] = []


class Reach:
    """What a walk from one name's value came by."""

    # It holds no object alive: when one dies may be something that a step can see.
    __slots__ = ("codes", "dies", "dynamic", "ids", "makers", "memory", "modules", "opaque", "places", "refs", "tops")

    def __init__(self) -> None:
        self.ids: set[int] = set()  # of what can change, and of values that can be told apart by which they are
        self.memory: set[int] = set()  # of arrays in which frames lie: who reaches such an array shares it with them
        self.codes: list[types.CodeType] = []  # of the functions
        self.refs: set[str] = set()  # names of definitions that it refers to
        self.modules: set[str] = set()
        self.places: set[tuple[str, str]] = set()  # of modules: where something that they have under a name was met
        self.opaque: str | None = None  # why it can't be carried, where the walk can tell
        self.makers: set[Any] = set()  # the modules of functions and classes that were met
        self.tops: set[str] = set()  # packages, other than Python's own, of which anything was met
        self.dynamic = False  # whether any name can be looked up with it
        self.dies = False  # whether something happens when it dies


class Walker:
    """Walks values of one namespace."""

    def __init__(self, namespace: dict[str, Any]) -> None:
        self.namespace = namespace
        self.local: dict[str, str] = {}  # the run's own modules; filled in by the worker
        self.owner: dict[int, str] = {}  # id of a step's definition -> the name that owns it
        self.definitions: set[str] = set()  # the names under which some stand

    def is_definition(self, value: Any) -> bool:
        """Whether `value` is a function or class that a step made."""
        kind = type(value)
        if kind is types.FunctionType:
            return value.__globals__ is self.namespace
        return issubclass(kind, type) and value.__module__ == "__main__"

    def find_owners(self, touched: Iterable[str]) -> dict[int, str]:
        """The definitions that stand under a name; the first by alphabet where several do.

        `touched` are the names that may have come, gone or changed since this was last asked.
        """
        owner: dict[int, str] = {}
        namespace = self.namespace
        for name in self.definitions.union(touched):
            value = namespace.get(name)
            kind = type(value)
            if kind in _ATOMIC or kind in _VALUES or not self.is_definition(value):
                self.definitions.discard(name)
                continue
            self.definitions.add(name)
            known = owner.get(identity(value))
            if known is None or name < known:
                owner[identity(value)] = name
        return owner

    def _classes_with(self, mapping: Any) -> list[type]:
        """The steps' classes whose attributes stand in `mapping`."""
        if not codec.is_of_class(mapping):
            return []
        classes = [value for name in self.definitions if isinstance(value := self.namespace.get(name), type)]
        return [kind for kind in classes if gc.get_referents(kind.__dict__)[0] is mapping]

    def reach(self, name: str, root: Any) -> Reach:
        """All objects reachable from `root`, the value of `name`, that two names can share."""
        found = Reach()
        owner = self.owner
        namespace = self.namespace
        seen: set[int] = set()
        kinds: set[type] = set()  # of what was met
        makers = found.makers
        ending: dict[type, bool] = {}  # whether a type has a finalizer
        of_modules: dict[type, dict[int, tuple[str, str]]] = {}  # see `referred.of_module`
        stack: list[Any] = [root]
        of_libraries: list[Any] = []
        # Which tuple or date a library's object has is the library's doing: many hold the same one.
        told_apart = not name.startswith("@") or "." in name
        while stack or of_libraries:
            if not stack:
                stack, of_libraries, told_apart = of_libraries, [], False
            value = stack.pop()
            kind = type(value)
            if kind in _ATOMIC:
                continue
            number = identity(value)
            if number in seen:
                continue
            if kind in _VALUES:
                seen.add(number)
                if told_apart and not (kind is bytes and len(value) < 2):
                    found.ids.add(number)
                continue
            if kind in _SKIPPED:
                # A builtin method is bound to an object that it changes: `push = items.append`.
                found.dynamic |= number in _LOOKING
                bound = getattr(value, "__self__", None)
                if bound is not None and type(bound) is not types.ModuleType:
                    stack.append(bound)
                makers.add(getattr(value, "__module__", None))
                continue
            seen.add(number)
            if number in referred.SINGLE or value is referred.BUILTINS:
                continue
            if value is namespace:
                found.opaque = "the namespace itself"
                found.dynamic = True
                continue
            if kind is types.ModuleType:
                found.modules.add(value.__name__)
                found.dynamic |= value.__dict__ is namespace
                if sys.modules.get(value.__name__) is not value:  # nobody else has it
                    found.ids.add(number)
                    found.opaque = "a module that is not among those imported"
                    stack += value.__dict__.values()
                continue
            if kind is slice:
                if told_apart:
                    found.ids.add(number)
                stack += (value.start, value.stop, value.step)
                continue
            if kind.__module__ == "datetime" and kind.__name__ in ("datetime", "time"):
                if told_apart:
                    found.ids.add(number)
                stack.append(value.tzinfo)
                continue
            if kind is _ALIAS:
                stack += (value.__origin__, *value.__args__)
                continue
            if kind is types.MappingProxyType:
                (shown,) = gc.get_referents(value)
                stack += (shown, *self._classes_with(shown))
                found.ids.add(number)
                continue
            if kind in _PROXIES:
                found.ids.add(number)
                stack += _referent(value)
                continue
            if kind is types.FunctionType:
                if value.__globals__ is not namespace:
                    makers.add(value.__module__)
                    if value.__module__ in self.local:
                        found.modules.add(value.__module__)
                    own_space = not referred.is_of_module(value)
                    if own_space or not _is_librarys_own(value):
                        found.ids.add(number)
                        stack += (*_defaults(value, found), value.__kwdefaults__, value.__dict__)
                        stack += value.__closure__ or ()
                    if own_space:
                        stack.append(value.__globals__)
                    continue
                own = owner.get(number)
                if own is not None and own != name:
                    found.refs.add(own)
                    continue
                found.codes.append(value.__code__)
                found.ids.add(number)
                stack += (*_defaults(value, found), value.__kwdefaults__, value.__dict__)
                stack += value.__closure__ or ()
                continue
            if issubclass(kind, type):
                if value.__module__ != "__main__":
                    makers.add(value.__module__)
                    if value.__module__ in self.local:
                        found.modules.add(value.__module__)
                    if _is_of_nobody(value):
                        found.ids.add(number)
                        stack += value.__dict__.values()
                    continue
                own = owner.get(number)
                if own is not None and own != name:
                    found.refs.add(own)
                    continue
                found.ids.add(number)
                stack += (part for key, part in value.__dict__.items() if key not in _TOLD_OF_CLASSES)
                stack += value.__bases__
                if type(value) is not type:
                    stack.append(type(value))
                continue
            if kind is tuple or kind is frozenset:
                if told_apart and value:
                    found.ids.add(number)
                _push(stack, value)
                continue
            if kind is types.FrameType:
                # Up to 3.10 a generator holds one, and it holds the namespace and the builtins.
                found.ids.add(number)
                if value.f_globals is namespace:
                    found.codes.append(value.f_code)
                around = (value.f_globals, value.f_builtins, value.f_back)
                stack += [part for part in gc.get_referents(value) if not any(part is other for other in around)]
                continue
            kinds.add(kind)
            if self.local and kind.__module__ in self.local:
                found.modules.add(kind.__module__)
            if kind not in ending:
                of_modules[kind] = referred.of_module(kind)
                ending[kind] = any("__del__" in base.__dict__ for base in kind.__mro__)
            if number in of_modules[kind]:
                found.places.add(of_modules[kind][number])
            found.dies |= ending[kind] and _ends_with_a_deed(value)
            if _weak_count(value):
                called = _called_at_the_end(value)
                found.dies |= bool(called)
                # What stands for one is held by nobody else, maybe.
                stack += [one for one in called if type(one) is weakref.finalize]
            if (kind.__module__, kind.__name__) in _CHANNELS or (issubclass(kind, io.FileIO) and _is_pipe(value)):
                found.ids.add(identity(_CHANNELS))  # what goes into one comes out of another
            if kind.__name__ == "Context" and kind.__module__ == "decimal" and value is sys.modules["decimal"].getcontext():
                found.opaque = "the context in which decimals are calculated"
            if kind.__module__ == "logging":
                found.modules.add("logging")  # where what its objects keep is followed
            if kind is weakref.finalize:
                found.opaque = "what is called when something dies"
                stack += _finalized(value)
            if issubclass(kind, weakref.ref):
                # What it says hangs on what it refers to.
                referent = value()
                module = type(referent).__module__
                if module == "numpy" or not is_foreign(module):
                    stack.append(referent)
                del referent
            if _immutable_bases and issubclass(kind, tuple(_immutable_bases)):
                base = getattr(value, "base", None) if kind.__name__ == "void" else None
                if base is not None:  # a row of an array
                    found.ids.add(number)
                    stack.append(base)
                continue
            special = _special(value, kind)
            if special is not None:
                ids, more = special
                found.ids.update(map(identity, ids))
                stack += more
                continue
            if kind.__module__.startswith("pandas.core.internals.blocks"):
                found.ids.add(number)
                values = value.values
                if arrays.is_array(values) and not values.dtype.hasobject and arrays.copies_on_write():
                    # Frames are isolated from one another by copy-on-write, but not from arrays that show them.
                    found.memory.add(identity(arrays.lies_in(values)))
                    continue
                stack.append(values)
                continue
            found.ids.add(number)
            if kind is list or kind is set:
                _push(stack, value)
            elif kind is dict:
                _push(stack, value.keys())
                _push(stack, value.values())
            else:
                parts = of_libraries if is_foreign(kind.__module__) else stack
                for part in gc.get_referents(value):
                    home = _home_of(part)
                    if home is None:
                        parts.append(part)
                    else:  # a function of Cython's has all that its module holds
                        found.modules.add(home)
                if kind is types.MethodType:
                    stack.append(value.__self__)
        makers.update(kind.__module__ for kind in kinds)
        found.tops = {maker.partition(".")[0] for maker in makers if is_foreign(maker)}
        return found


def _is_pipe(file: io.FileIO) -> bool:
    try:
        return stat.S_ISFIFO(_fstat(file.fileno()).st_mode)
    except (OSError, ValueError):  # it is closed
        return False


_tops: dict[str, bool] = {"builtins": False, "__main__": False, "_reweave": False}
_stdlib = os.path.dirname(os.__file__) + os.sep


def is_foreign(module: Any) -> bool:
    """Whether a module of this name comes neither with Python nor from the steps."""
    if type(module) is not str:
        return False
    top = module.partition(".")[0]
    known = _tops.get(top)
    if known is None:
        if hasattr(sys, "stdlib_module_names"):  # from 3.10 on
            known = top not in sys.stdlib_module_names
        else:
            path = getattr(sys.modules.get(top), "__file__", None) or _stdlib
            known = not path.startswith(_stdlib) or "-packages" in path
        _tops[top] = known
    return known


def _is_librarys_own(value: types.FunctionType) -> bool:
    """Whether nothing of a step's is in a function of another module."""
    home = referred.home_of_function(value)
    if value.__closure__ is None or referred.stands_under_its_name(value, home):
        return True
    return referred.stood_under(home, value.__qualname__) is value


def _home_of(value: Any) -> str | None:
    """The name of the module whose names and values a dict holds."""
    home = value.get("__name__") if type(value) is dict else None
    return home if type(home) is str and getattr(sys.modules.get(home), "__dict__", None) is value else None


# Tuples of texts that are constants of a step, equal in many classes; what they say of one is not followed.
_TOLD_OF_CLASSES = frozenset(("__slots__", "__match_args__", "__static_attributes__"))


def _defaults(function: types.FunctionType, found: Reach) -> list[Any]:
    """The defaults of a function but for constants of the step that it is defined in: functions that have nothing else in
    common have these, as they have those in their code."""
    given = function.__defaults__
    if given is None or identity(given) in bytecode.CONSTANTS:
        return []
    found.ids.add(identity(given))
    return [part for part in given if identity(part) not in bytecode.CONSTANTS]


def _is_of_nobody(kind: type) -> bool:
    """Whether a class says that it is of a module which has no such class: a step made it."""
    module = sys.modules.get(kind.__module__) if type(kind.__module__) is str else None
    if module is builtins:  # so says what `exec` makes in a namespace that has no `__name__`
        return bool(kind.__flags__ & _MADE_BY_CODE) and not referred.stands_under_its_name(kind, "builtins")
    return module is None or (module is types and kind.__qualname__ not in types.__dict__ and "." not in kind.__qualname__)


_MADE_BY_CODE = 1 << 9  # `Py_TPFLAGS_HEAPTYPE`


_MANY = 1000


def _push(stack: list[Any], items: Collection[Any]) -> None:
    """Puts what can be shared on the stack; one pass in C where nothing can. Which of its equals a value is that stands
    among very many is not followed."""
    kinds = set(map(type, items))
    if kinds <= _ATOMIC or (len(items) > _MANY and kinds <= _ATOMIC | _VALUES):
        return
    stack += items


def _special(value: Any, kind: type) -> tuple[list[Any], list[Any]] | None:
    """Objects of libraries whose sharing the collector does not show, or shows too much of."""
    module = getattr(kind, "__module__", "")
    if kind.__name__ == "_lru_cache_wrapper":
        # All of them hold one object that marks where keywords begin in a key.
        return [value], [part for part in gc.get_referents(value) if type(part) is not object]
    if module == "itertools" and kind.__name__ == "zip_longest":
        # The tuple in which it has what it goes through has empty places for those that are spent: only the collector skips them.
        held = [gc.get_referents(part) if type(part) is tuple else [part] for part in gc.get_referents(value)]
        return [value], [*itertools.chain.from_iterable(held)]
    array = _array_type()
    if array is not None and issubclass(kind, array):
        base = arrays.lies_in(value)
        more = [base.base] if base.base is not None else []
        if kind is not array:  # a masked one, or of a class that a step made
            more.append(getattr(value, "__dict__", None))
        return [value, base], (list(value.flat) if value.dtype.hasobject else []) + more
    if module == "numpy" and kind.__name__ == "flatiter":
        return [value], [value.base]
    if module == "numpy" and kind.__name__ == "nditer":
        try:
            return [value], list(value.operands)
        except ValueError:  # it was closed
            return [value], []
    if _index_bases and issubclass(kind, _index_bases[0]):
        # Nothing of an index changes but its names; what it keeps beside them are caches, shared with its views.
        parts = getattr(value, "_levels", None)  # of a MultiIndex: each is an index
        if parts is None:
            of_objects = getattr(value, "dtype", None) == object  # noqa: E721  # a dtype is equal to it, and not the same
            parts = getattr(value, "_data", ()) if of_objects else ()
        attributes = getattr(value, "__dict__", {})
        of_steps = [attributes[name] for name in referred.SET_BY_STEPS.intersection(attributes)]
        return [value], [getattr(value, "_name", None), *getattr(value, "_names", ()), *parts, *of_steps]
    return None


def _array_type() -> Any:
    return getattr(sys.modules.get("numpy"), "ndarray", None)


def _referent(proxy: Any) -> list[Any]:
    """What a weak proxy stands for, if that is still there: it answers for everything but its methods' owner."""
    try:
        return [proxy.__init__.__self__]
    except Exception:
        return []


_HANDLING = {dis.opmap[name] for name in ("PUSH_EXC_INFO", "SETUP_FINALLY", "SETUP_WITH") if name in dis.opmap}


def _ends_with_a_deed(value: Any) -> bool:
    """Whether the finalizer that it has does anything: a file's writes what is left, a generator's goes through the rest of
    a `try`."""
    if type(value) is types.GeneratorType:
        return not _HANDLING.isdisjoint(value.gi_code.co_code[::2])
    try:
        return not issubclass(type(value), io.IOBase) or (not value.closed and value.writable())
    except Exception:  # one that a step made
        return True


_weak_count = weakref.getweakrefcount


def _called_at_the_end(value: Any) -> list[Any]:
    """What is called when it dies."""
    found = (getattr(ref, "__callback__", None) for ref in weakref.getweakrefs(value))
    return [called for called in found if called is not None]


def _finalized(value: Any) -> list[Any]:
    """What a `weakref.finalize` is about, what it calls and with what; nothing once it was called."""
    info = weakref.finalize._registry.get(value)  # type: ignore[attr-defined]
    return [] if info is None else [info.weakref(), info.func, info.args, info.kwargs]
