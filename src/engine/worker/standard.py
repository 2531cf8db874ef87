"""What modules of the standard library keep for the whole process: each a piece of hidden state, once they are there."""

from __future__ import annotations

import abc
import codecs
import functools
import gc
import itertools
import operator
import sys
import types
from typing import Any, Callable

from . import decimals, referred, walk, warned
from .piece import ALWAYS, OTHERWISE, Late, Piece, Readers, Value


def _rlimits() -> Piece | None:
    resource = sys.modules.get("resource")
    if resource is None:
        return None
    kinds = sorted({number for name, number in vars(resource).items() if name.startswith("RLIMIT_")})

    def put(value: Value) -> None:
        for kind, wanted in zip(kinds, value):
            if resource.getrlimit(kind) != wanted:
                resource.setrlimit(kind, wanted)

    return Piece(lambda: tuple(map(resource.getrlimit, kinds)), put)


def _socket_timeout() -> Piece | None:
    socket = sys.modules.get("socket")
    if socket is None:
        return None
    return Piece(socket.getdefaulttimeout, socket.setdefaulttimeout)


_DIALECT = "delimiter doublequote escapechar lineterminator quotechar quoting skipinitialspace strict".split()


def _dialects() -> Piece | None:
    csv = sys.modules.get("csv")
    if csv is None:
        return None

    def get() -> Value:
        held = ((name, csv.get_dialect(name)) for name in csv.list_dialects())
        return {name: {part: getattr(dialect, part) for part in _DIALECT} for name, dialect in held}

    def put(value: Value) -> None:
        for name in csv.list_dialects():
            csv.unregister_dialect(name)
        for name, parts in value.items():
            csv.register_dialect(name, **parts)

    return Piece(get, put)


def _mock() -> Piece | None:
    """The patches that were started: one that is not among them is not taken back when it is stopped."""
    patch = getattr(sys.modules.get("unittest.mock"), "_patch", None)
    started = getattr(patch, "_active_patches", None)
    if not isinstance(started, list):
        return None

    def put(value: Value) -> None:
        started[:] = value

    return Piece(lambda: list(started), put, frozenset(("start", "stop", "stopall")))


_OF_LOGGERS = frozenset("name level parent propagate handlers disabled filters manager _cache".split())


def _logging() -> Piece | None:
    logging = sys.modules.get("logging")
    if logging is None or not hasattr(logging, "root"):
        return None

    def handler(held: Any, live: list[Any]) -> Value:
        """One that writes to a file or to standard output, by what it is; any other is kept as the object that it is."""
        stream, formatter = getattr(held, "stream", None), held.formatter
        where = getattr(held, "baseFilename", None)
        for name in ("stdout", "stderr"):
            if stream is not None and stream in (getattr(sys, name), getattr(sys, f"__{name}__")):
                where = name
        if where is None or type(held).__module__ not in ("logging", "logging.handlers"):
            live.append(held)
        live += held.filters
        if formatter is not None and type(formatter) is not logging.Formatter:
            live.append(formatter)
        return type(held).__name__, held.level, where, getattr(formatter, "_fmt", None), getattr(formatter, "datefmt", None)

    def loggers() -> dict[str, Any]:
        named = logging.root.manager.loggerDict.items()
        return {"": logging.root, **{name: held for name, held in named if isinstance(held, logging.Logger)}}

    def get() -> Value:
        live: list[Any] = []
        found = {}
        for name, held in loggers().items():
            # Libraries put one that does nothing into theirs as they are imported.
            librarys = name.partition(".")[0] in sys.modules and walk.is_foreign(name)
            handlers = [one for one in held.handlers if type(one) is not logging.NullHandler or not librarys]
            usual = logging.NOTSET if name else logging.WARNING
            attributes = sorted(referred.SET_BY_STEPS.intersection(vars(held)) - _OF_LOGGERS)
            if held.level != usual or not held.propagate or held.disabled or held.filters or handlers or attributes:
                live += [*held.filters, *(vars(held)[attribute] for attribute in attributes)]
                told = tuple(handler(one, live) for one in handlers)
                found[name] = (held.level, held.propagate, held.disabled, told, attributes)
        return logging.root.manager.disable, found, live

    def put(value: Value) -> None:
        off, wanted, live = value
        _, now, present = get()
        alike = {name: parts[3] for name, parts in now.items() if parts[3]} == {
            name: parts[3] for name, parts in wanted.items() if parts[3]
        }
        if live or present or not alike:
            raise ValueError("handlers can't be set anew")
        logging.disable(off)
        for name in {*now, *wanted}:
            usual = (logging.NOTSET if name else logging.WARNING, True, False)
            held = logging.getLogger(name or None)
            level, held.propagate, held.disabled = wanted.get(name, usual)[:3]
            held.setLevel(level)

    return Piece(get, put)


def _numbers(home: Callable[[], Any], name: str) -> Callable[[], Piece | None]:
    """What gives out numbers, one after the other, for the names of threads and the like: its next one."""

    def held() -> Any:
        found = vars(home()).get(name)
        return getattr(found, "__self__", found)

    def make() -> Piece | None:
        if type(held()) is not itertools.count:
            return None
        is_method = vars(home()).get(name) is not held()

        def put(value: Value) -> None:
            made = itertools.count(int(value[6:-1]))
            setattr(home(), name, made.__next__ if is_method else made)

        return Piece(lambda: repr(held()), put, OTHERWISE)

    return make


def _locale() -> Piece | None:
    locale = sys.modules.get("locale")
    if locale is None or not hasattr(locale, "LC_ALL"):
        return None
    return Piece(lambda: locale.setlocale(locale.LC_ALL), lambda v: locale.setlocale(locale.LC_ALL, v) and None)


def _told_of_filters() -> None:
    warnings = sys.modules["warnings"]
    if hasattr(warnings, "_filters_mutated"):
        warnings._filters_mutated()
    elif hasattr(warnings, "_filters_mutated_lock_held"):  # since 3.14
        with warnings._lock:
            warnings._filters_mutated_lock_held()


def _warnings() -> Piece | None:
    warnings = sys.modules.get("warnings")
    if warnings is None:
        return None

    def put(value: Value) -> None:
        warnings.filters[:] = value
        WARNED.without_forgetting(_told_of_filters)

    return Piece(lambda: list(warnings.filters), put)


def _switch(module: str, is_on: str, on: str, off: str) -> Callable[[], Piece | None]:
    """What a module has on or off; who names the module looks at it."""

    def make() -> Piece | None:
        held = sys.modules[module]

        def put(value: Value) -> None:
            getattr(held, on if value else off)()

        return Piece(getattr(held, is_on), put, frozenset([module]))

    return make


def _tables(module: str, names: list[str], words: str | None) -> Callable[[], Piece | None]:
    """Tables of a module that functions of it fill, read by those that name one of `words`, or by all."""

    def make() -> Piece | None:
        tables = [table for name in names if isinstance(table := getattr(sys.modules[module], name, None), dict)]

        def put(value: Value) -> None:
            for table, wanted in zip(tables, value):
                table.clear()
                table.update(wanted)

        readers: Readers = ALWAYS if words is None else frozenset(words.split())
        return Piece(lambda: [dict(table) for table in tables], put, readers)

    return make


def _calendar() -> Piece | None:
    calendar = sys.modules["calendar"]
    return Piece(calendar.firstweekday, calendar.setfirstweekday, frozenset(["calendar"]))


def _start_method() -> Piece | None:
    multiprocessing = sys.modules["multiprocessing"]
    usual = multiprocessing.get_all_start_methods()[0]

    def get() -> Value:
        now = multiprocessing.get_start_method(allow_none=True)
        return None if now == usual else now  # who uses the usual one has it set

    return Piece(
        get, lambda value: multiprocessing.set_start_method(value, force=True), frozenset(["multiprocessing", "concurrent"])
    )


def _mime_types() -> Piece | None:
    mimetypes = sys.modules["mimetypes"]
    own = ("_db", "inited", "encodings_map", "suffix_map", "types_map", "common_types")
    first: list[Any] = []

    def tables() -> list[dict[Any, Any]]:
        held = mimetypes._db
        return [held.encodings_map, held.suffix_map, *held.types_map, *held.types_map_inv]

    def copies() -> Value:
        return [{key: tuple(held) if isinstance(held, list) else held for key, held in table.items()} for table in tables()]

    def get() -> Value:
        # The first who asks has them made, which is no change.
        if mimetypes._db is None:
            return None
        if not first:
            held = {name: getattr(mimetypes, name) for name in own}
            mimetypes.init()
            first.append(copies())
            vars(mimetypes).update(held)
        now = copies()
        return None if now == first[0] else now

    def put(value: Value) -> None:
        mimetypes.init()
        for table, wanted in zip(tables(), value or ()):
            table.clear()
            table.update((key, list(held) if isinstance(held, tuple) else held) for key, held in wanted.items())

    return Piece(get, put, frozenset(["mimetypes"]))


def _copyreg() -> Piece | None:
    """How steps have objects taken apart; what libraries say of their own is no change."""
    table = sys.modules["copyreg"].dispatch_table
    known = dict(table)

    def get() -> Value:
        return {
            kind: how for kind, how in table.items()
            if known.get(kind, how) is not how or _is_of_steps(kind) or _is_of_steps(how)
        }  # fmt: skip

    def put(value: Value) -> None:
        for kind in get().keys() - value.keys():
            if kind in known:
                table[kind] = known[kind]
            else:
                del table[kind]
        table.update(value)

    return Piece(get, put, frozenset("copyreg pickle copy shelve multiprocessing concurrent joblib".split()))


def _event_loop() -> Piece | None:
    """The loop that the main thread was given, whether it was given any, and by which policy, where that is not the usual
    one: who asks for a loop gets it."""
    events = sys.modules["asyncio.events"]

    def get() -> Value:
        policy = getattr(events, "_event_loop_policy", None)
        local = getattr(policy, "_local", None)
        usual = type(policy).__module__.partition(".")[0] == "asyncio"
        return getattr(local, "_set_called", False), getattr(local, "_loop", None), None if usual else policy

    def put(value: Value) -> None:
        now, (was_set, loop, policy) = get(), value
        if now == value:
            return
        again = now[0] and not was_set
        if again and policy is not None:
            raise ValueError("that a loop was set stays so")
        if again or now[2] is not policy:
            events.__dict__["_event_loop_policy"] = policy  # without one, the usual one comes when it is asked for
        if was_set:
            events.set_event_loop(loop)

    # Who runs a loop leaves behind that one was set.
    words = "asyncio get_event_loop get_event_loop_policy ensure_future gather wait wrap_future nest_asyncio"
    return Piece(get, put, frozenset(words.split()))


def _called() -> tuple[list[Any], ...]:
    """The lists of what the interpreter calls by itself."""
    return sys.meta_path, sys.path_hooks, gc.callbacks, REGISTERED.hooks


def hooks() -> Piece:
    """What steps put into those, and where among the others that is."""
    seen: list[Any] = []
    found: list[Any] = [[]]

    def put_by_steps(part: list[Any], one: Any) -> bool:
        return part is REGISTERED.hooks or _is_callable_of_steps(one)

    def get() -> Value:
        held = _called()
        now = [*map(len, held), *itertools.chain.from_iterable(held)]
        if len(now) != len(seen) or not all(map(operator.is_, now, seen)):
            seen[:] = now
            found[0] = [(n, at, one) for n, part in enumerate(held) for at, one in enumerate(part) if put_by_steps(part, one)]
        return found[0]

    def put(value: Value) -> None:
        for n, held in enumerate(_called()):
            kept = [one for one in held if not put_by_steps(held, one)]
            for part, at, one in value:
                if part == n:
                    kept.insert(at, one)
            held[:] = kept
        REGISTERED.listen()

    return Piece(get, put)


class _Registered:
    """Notes what steps register where it can't be looked up: handlers of errors of encodings, encodings, hooks for events,
    and classes that stand for others."""

    def __init__(self) -> None:
        self.is_running: Callable[[], bool] = lambda: False  # whether a step is; filled in by the worker
        self.hooks: list[Any] = []
        self.listens = False
        self.listen: Callable[[], bool] = lambda: False  # has hooks called, where there are any
        self.handlers: dict[str, Any] = {}
        self.searches: list[Any] = []
        self.classes: list[tuple[Any, Any]] = []

    def install(self) -> None:
        """Stands between steps and the functions that register."""
        handle, search, stand_in, note = codecs.register_error, codecs.register, abc.ABCMeta.register, self
        audit = sys.addaudithook

        def dispatch(event: str, arguments: Any) -> None:
            if note.hooks and note.is_running():
                for hook in list(note.hooks):
                    hook(event, arguments)

        def listen() -> bool:
            first, note.listens = not note.listens, True
            if first:
                audit(dispatch)
            return first

        def addaudithook(hook: Any) -> None:
            """Add a new audit hook callback."""
            if not listen():
                sys.audit("sys.addaudithook")
            note.hooks.append(hook)

        def register_error(errors: str, handler: Any, /) -> None:
            handle(errors, handler)
            note.handlers[errors] = handler

        def register(search_function: Any, /) -> None:
            search(search_function)
            if _is_of_steps(search_function):
                note.searches.append(search_function)

        def register_class(cls: Any, subclass: Any) -> Any:
            """Register a virtual subclass of an ABC."""
            found = stand_in(cls, subclass)
            if _is_of_steps(cls) or _is_of_steps(subclass):
                note.classes = [pair for pair in note.classes if pair != (cls, subclass)] + [(cls, subclass)]
            return found

        codecs.register_error, codecs.register = register_error, register
        register_class.__name__ = register_class.__qualname__ = "register"
        abc.ABCMeta.register = register_class  # type: ignore[method-assign]
        addaudithook.__module__ = "sys"
        sys.addaudithook = addaudithook
        self.listen = lambda: bool(self.hooks) and listen()

    def pieces(self) -> dict[str, Piece]:
        """What was registered."""

        def put_handlers(value: Value) -> None:
            if self.handlers.keys() - value.keys():
                raise ValueError("what was registered stays so")
            for name, handler in value.items():
                codecs.register_error(name, handler)

        def put_searches(value: Value) -> None:
            if self.searches != value[: len(self.searches)]:
                raise ValueError("what was registered stays so")
            for search in value[len(self.searches) :]:
                codecs.register(search)

        def put_classes(value: Value) -> None:
            if any(pair not in value for pair in self.classes):
                raise ValueError("what was registered stays so")
            for cls, subclass in value:
                cls.register(subclass)

        return {
            "@codecs:errors": Piece(lambda: dict(self.handlers), put_handlers),
            "@codecs": Piece(lambda: list(self.searches), put_searches),
            "@abc": Piece(lambda: list(self.classes), put_classes),
        }


def _is_of_steps(value: Any) -> bool:
    return getattr(value, "__module__", None) == "__main__"


def _is_callable_of_steps(value: Any) -> bool:
    """Whether steps made it, or made it of what Python has: libraries put classes and functions of their own there."""
    kind = type(value)
    return _is_of_steps(value) or _is_of_steps(kind) or kind in (functools.partial, types.BuiltinMethodType)


REGISTERED = _Registered()
WARNED = warned.Warned()

LATE = {
    **decimals.LATE,
    "@locale": Late("locale", _locale, True),
    "@warnings": Late("warnings", _warnings, True),
    "@rlimits": Late("resource", _rlimits, True),
    "@socket:timeout": Late("socket", _socket_timeout, True),
    "@csv:dialects": Late("csv", _dialects, True),
    "@logging": Late("logging", _logging),
    "@threading:names": Late("threading", _numbers(lambda: sys.modules["threading"], "_counter"), True),
    "@pool:names": Late(
        "concurrent.futures.thread",
        _numbers(lambda: sys.modules["concurrent.futures.thread"].ThreadPoolExecutor, "_counter"),
        True,
    ),
    "@process:names": Late(
        "multiprocessing.process", _numbers(lambda: sys.modules["multiprocessing.process"], "_process_counter"), True
    ),
    "@mock": Late("unittest.mock", _mock),
    "@logging:levels": Late("logging", _tables("logging", ["_levelToName", "_nameToLevel"], None), True),
    "@tracemalloc": Late("tracemalloc", _switch("tracemalloc", "is_tracing", "start", "stop"), True),
    "@asyncio:loop": Late("asyncio.events", _event_loop),
    "@calendar": Late("calendar", _calendar, True),
    "@mimetypes": Late("mimetypes", _mime_types, True),
    "@multiprocessing": Late("multiprocessing", _start_method, True),
    "@copyreg": Late("copyreg", _copyreg),
    "@shutil": Late("shutil", _tables("shutil", ["_ARCHIVE_FORMATS", "_UNPACK_FORMATS"], "shutil")),
    "@sqlite3": Late("sqlite3.dbapi2", _tables("sqlite3.dbapi2", ["adapters", "converters"], "sqlite3")),
    "@xml:namespaces": Late(
        "xml.etree.ElementTree", _tables("xml.etree.ElementTree", ["_namespace_map"], "xml ElementTree"), True
    ),
}  # fmt: skip
