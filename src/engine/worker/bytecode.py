"""Code objects: what they do, where they stand, and the constants in them."""

from __future__ import annotations

import dis
import operator
import sys
import types
from typing import Any

from .referred import identity

ROOTS: list[str] = []  # the run's directory, and the copies of it that this process worked in

# Tuples that the compiler made, by identity: with the file of the step that they stand in. Equal ones of one step are
# one object, also where two names hold them that are carried apart: `def f(n=1)` and `def g(n=1)` have one tuple.
CONSTANTS: dict[int, tuple[tuple[Any, ...], str]] = {}

_made: dict[str, dict[str, tuple[Any, ...]]] = {}  # file -> text -> the one of this process

_MOST = 32  # parts of a tuple that is followed
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
        elif type(part) is tuple and 0 < len(part) <= _MOST:
            if not _one_constant(filename, part):
                todo += part


def _one_constant(filename: str, value: tuple[Any, ...]) -> bool:
    """Notes a tuple of plain values as the one of this step."""
    if not _is_plain(value):
        return False
    known = _made.setdefault(filename, {}).setdefault(repr(value), value)
    if known is value:
        CONSTANTS[identity(value)] = (value, filename)
    return True


def _is_plain(value: tuple[Any, ...]) -> bool:
    """Whether it has a short text that stands for it alone."""

    def is_short(part: Any) -> bool:
        return part.bit_length() < 4000 if type(part) is int else type(part) not in (str, bytes) or len(part) <= 1000

    return all(type(part) in _PLAIN and is_short(part) for part in value)


def constant_of(filename: str, value: tuple[Any, ...]) -> tuple[Any, ...]:
    """The tuple of this process that stands for a constant of a step."""
    _one_constant(filename, value)
    return _made.get(filename, {}).get(repr(value), value)


def with_constants(code: types.CodeType) -> types.CodeType:
    """Code that was brought over, with the constants of its step that this process has."""

    def own(const: Any) -> Any:
        if type(const) is types.CodeType:
            return with_constants(const)
        if type(const) is not tuple or not const:
            return const
        known = constant_of(code.co_filename, const) if len(const) <= _MOST else const
        return tuple(map(own, const)) if known is const and not _is_plain(const) else known

    consts = tuple(map(own, code.co_consts))
    return code if all(map(operator.is_, consts, code.co_consts)) else code.replace(co_consts=consts)


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
