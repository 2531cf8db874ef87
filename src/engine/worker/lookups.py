"""Looks into the namespace whose bytecode says all that they ask for.

`'x' in globals()` asks for one name and `dir()` for the list of them: to take either for a look at every value would
make a step stale by all that changes anywhere.
"""

from __future__ import annotations

import dis
import types
from typing import NamedTuple

# Builtins that are understood where they are called in one of the ways below.
UNDERSTOOD = frozenset({"globals", "locals", "vars", "dir", "eval", "exec"})
_NO_WORK = frozenset({"CACHE", "RESUME", "PUSH_NULL", "PRECALL", "NOP", "EXTENDED_ARG", "NOT_TAKEN"})
_BY_NAME = frozenset({"LOAD_NAME", "LOAD_GLOBAL"})
_CALLS = frozenset({"CALL", "CALL_FUNCTION", "CALL_METHOD"})
# What pushes one value and does nothing else.
_SIMPLE = frozenset("LOAD_CONST LOAD_SMALL_INT LOAD_NAME LOAD_GLOBAL LOAD_FAST LOAD_FAST_BORROW LOAD_DEREF".split())
_LONGEST = 100_000


class Lookups(NamedTuple):
    """What the understood looks of one code object ask for."""

    plain: frozenset[str]  # builtins whose every use is one of them
    loads: frozenset[str]  # names that they look up
    stores: frozenset[str]  # names that they bind or delete
    listed: bool  # whether they see which names there are
    ordered: bool  # whether they see in which order the names came to be there
    texts: list[types.CodeType]  # code that they run from a constant text


def lookups(code: types.CodeType) -> Lookups | None:
    """The looks of `code` itself, without the code that is nested in it; None where it has none that is understood."""
    wanted = UNDERSTOOD.intersection(code.co_names)
    if not wanted or len(code.co_code) > _LONGEST:
        return None
    steps: list[dis.Instruction] = []
    targets: set[int] = set()  # of jumps, also of those to what stands before an instruction and does nothing
    for one in dis.get_instructions(code):
        if one.is_jump_target:
            targets.add(len(steps))
        if one.opname not in _NO_WORK:
            steps.append(one)
    loads: set[str] = set()
    stores: set[str] = set()
    listed = ordered = False
    texts: list[types.CodeType] = []
    amiss: set[str] = set()
    others: set[str] = set()  # builtins that are called with what comes of a look
    for at, step in enumerate(steps):
        if step.opname == "LOAD_CONST" or not isinstance(step.argval, str) or step.argval not in wanted:
            continue
        word = step.argval
        found = _asked(steps, at, at in targets) if step.opname in _BY_NAME else None
        if found is None:
            amiss.add(word)
        elif isinstance(found, types.CodeType):
            texts.append(found)
        else:
            what, name = found
            listed |= what in ("list", "sorted", "order")
            ordered |= what == "order"
            if what == "sorted":
                others.add("sorted")
            elif name:
                loads.add(name)
            if what in ("store", "delete"):
                stores.add(name)
    plain = wanted - amiss
    return Lookups(plain | others, frozenset(loads), frozenset(stores), listed, ordered, texts) if plain else None


def _asked(steps: list[dis.Instruction], at: int, joins: bool) -> tuple[str, str] | types.CodeType | None:
    """What the look that begins with `steps[at]` asks for: what is done, and to which name; or the code that it runs.

    Where several ways come to it (`joins`), what stands before it is not what ran before it.
    """
    word = steps[at].argval

    def is_call(offset: int, count: int) -> bool:
        found = _at(steps, at + offset)
        return found is not None and found.opname in _CALLS and found.arg == count

    def text(offset: int) -> str | None:
        found = _at(steps, at + offset)
        value = found.argval if found is not None and found.opname == "LOAD_CONST" else None
        return value if type(value) is str else None

    if word in ("eval", "exec"):
        source = text(1)
        return _compiled(source, word) if source is not None and is_call(2, 1) else None
    if not is_call(1, 0):
        return None
    if word == "dir":
        return "list", ""
    then = _at(steps, at + 2)
    if then is None:
        return None
    key = text(3)
    if then.opname == "GET_ITER":
        # `sorted(name for name in globals())` sees no order.
        return ("sorted" if not joins and is_call(4, 1) and _is_sorted_before(steps, at) else "order"), ""
    if is_call(2, 1) and not joins and _is_named(_at(steps, at - 1), "sorted"):
        return "sorted", ""
    if then.opname == "CONTAINS_OP":
        key = None if joins else text(-1)
        return ("load", key) if key is not None else None
    if then.opname in ("LOAD_ATTR", "LOAD_METHOD") and then.argval == "get" and key is not None:
        other = _at(steps, at + 4)
        whole = is_call(4, 1) or (other is not None and other.opname in _SIMPLE and is_call(5, 2))
        return ("load", key) if whole else None
    key, last = text(2), _at(steps, at + 3)
    if key is None or last is None:
        return None
    if last.opname == "BINARY_SUBSCR" or (last.opname == "BINARY_OP" and last.argrepr == "[]"):
        return "load", key
    return {"STORE_SUBSCR": ("store", key), "DELETE_SUBSCR": ("delete", key)}.get(last.opname)


def _is_sorted_before(steps: list[dis.Instruction], at: int) -> bool:
    """Whether a generator is made right before, as what `sorted` is called with."""
    at -= 1
    made = _at(steps, at)
    if made is None or made.opname != "MAKE_FUNCTION":
        return False
    while at > 0 and steps[at - 1].opname == "LOAD_CONST":
        at -= 1
    return _is_named(_at(steps, at - 1), "sorted")


def _is_named(step: dis.Instruction | None, name: str) -> bool:
    return step is not None and step.opname in _BY_NAME and step.argval == name


def _at(steps: list[dis.Instruction], at: int) -> dis.Instruction | None:
    return steps[at] if 0 <= at < len(steps) else None


def _compiled(source: str, mode: str) -> types.CodeType | None:
    try:
        return compile(source.lstrip(" \t") if mode == "eval" else source, "<text>", mode, dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError, OverflowError):
        return None
