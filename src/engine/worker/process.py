"""What the interpreter and the system keep for the whole process: each a piece of hidden state."""

from __future__ import annotations

import _signal
import faulthandler
import gc
import os
import signal
import sys
import time

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
        if now == first:
            return {}
        return {int(n): held for n, held, was in zip(_SIGNALS, now, first) if held is not was and held != was}

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


def _digits() -> Piece:
    """How long a number may be that is read from text or written as such; there is no limit before 3.11 and its like."""
    return Piece(getattr(sys, "get_int_max_str_digits", int), getattr(sys, "set_int_max_str_digits", int))


def _set_faults(on: Value) -> None:
    (faulthandler.enable if on else faulthandler.disable)()


def pieces() -> dict[str, Piece]:
    """Those that there are from the beginning."""
    return {
        "@umask": Piece(_get_umask, _umask),
        "@gc": Piece(lambda: (gc.isenabled(), gc.get_threshold(), gc.get_debug()), _set_gc),
        "@switchinterval": Piece(sys.getswitchinterval, sys.setswitchinterval),
        "@timezone": Piece(_zone, _set_zone),
        "@signals": _signals(),
        "@nice": _niceness(),
        "@digits": _digits(),
        "@faulthandler": Piece(faulthandler.is_enabled, _set_faults, frozenset(["faulthandler"])),
    }


# Their values hold nothing that could change in place.
PLAIN = frozenset("@umask @gc @switchinterval @timezone @nice @digits @faulthandler".split())
