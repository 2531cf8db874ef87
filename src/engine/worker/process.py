"""What the interpreter, the system and C modules keep for the whole process: each a piece of hidden state."""

from __future__ import annotations

import _signal
import gc
import os
import signal
import sys
import time
from typing import Any, Callable

from .piece import Piece, Value

_umask, _getsignal = os.umask, _signal.getsignal  # what is not put into words of an enumeration
# Those that the worker sets itself are left out.
_SIGNALS = sorted(set(signal.Signals) - {signal.SIGINT, getattr(signal, "SIGCHLD", signal.SIGINT)})


def _get_umask() -> int:
    now = _umask(0o077)
    _umask(now)
    return now


def _set_gc(value: Value) -> None:
    (gc.enable if value[0] else gc.disable)()
    gc.set_threshold(*value[1])
    gc.set_debug(value[2])


def _zone() -> Value:
    return time.timezone, time.altzone, time.daylight, time.tzname


def _set_zone(value: Value) -> None:
    time.tzset()  # what it is made of stands in the environment
    if _zone() != value:
        raise ValueError("another time zone than the environment's can't be set")


def _signals() -> Piece:
    first = tuple(map(_getsignal, _SIGNALS))

    def get() -> Value:
        now = tuple(map(_getsignal, _SIGNALS))
        return {} if now == first else {int(n): held for n, held, was in zip(_SIGNALS, now, first) if held is not was and held != was}

    def put(value: Value) -> None:
        for number, was in zip(_SIGNALS, first):
            wanted = value.get(int(number), was)
            if wanted is not None and _getsignal(number) != wanted:
                signal.signal(number, wanted)

    return Piece(get, put)


def _niceness() -> Piece:
    def put(value: Value) -> None:
        os.setpriority(os.PRIO_PROCESS, 0, value)

    return Piece(lambda: os.getpriority(os.PRIO_PROCESS, 0), put)


def pieces() -> dict[str, Piece]:
    """Those that there are from the beginning."""
    return {
        "@umask": Piece(_get_umask, lambda value: _umask(value) and None),
        "@gc": Piece(lambda: (gc.isenabled(), gc.get_threshold(), gc.get_debug()), _set_gc),
        "@switchinterval": Piece(sys.getswitchinterval, sys.setswitchinterval),
        "@timezone": Piece(_zone, _set_zone),
        "@signals": _signals(),
        "@nice": _niceness(),
    }


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
            handlers = [one for one in held.handlers if type(one) is not logging.NullHandler]
            usual = logging.NOTSET if name else logging.WARNING
            if held.level != usual or not held.propagate or held.disabled or held.filters or handlers:
                live += held.filters
                found[name] = (held.level, held.propagate, held.disabled, tuple(handler(one, live) for one in handlers))
        return logging.root.manager.disable, found, live

    def put(value: Value) -> None:
        off, wanted, live = value
        _, now, present = get()
        alike = {name: parts[3] for name, parts in now.items() if parts[3]} == {name: parts[3] for name, parts in wanted.items() if parts[3]}
        if live or present or not alike:
            raise ValueError("handlers can't be set anew")
        logging.disable(off)
        for name in {*now, *wanted}:
            usual = (logging.NOTSET if name else logging.WARNING, True, False)
            held = logging.getLogger(name or None)
            level, held.propagate, held.disabled = wanted.get(name, usual)[:3]
            held.setLevel(level)

    return Piece(get, put)


# Made once their module is there.
LATE: dict[str, tuple[str, Callable[[], "Piece | None"]]] = {
    "@rlimits": ("resource", _rlimits),
    "@socket:timeout": ("socket", _socket_timeout),
    "@csv:dialects": ("csv", _dialects),
    "@logging": ("logging", _logging),
}
# Their values hold nothing that could change in place.
PLAIN = frozenset("@umask @gc @switchinterval @timezone @nice @rlimits @socket:timeout @csv:dialects".split())
