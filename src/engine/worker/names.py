"""Names that code loads and stores, read off its bytecode."""

from __future__ import annotations

import dis
import sys
import types
from collections.abc import Iterable
from typing import Any, NamedTuple

from . import lookups

_OPS = dis.opmap
# LOAD_GLOBAL keeps a flag in the lowest bit of its argument since 3.11.
_SHIFTED = {_OPS["LOAD_GLOBAL"]} if sys.version_info >= (3, 11) else set()
_LOADS = {
    _OPS[name]
    for name in ("LOAD_NAME", "LOAD_GLOBAL", "LOAD_FROM_DICT_OR_GLOBALS", "DELETE_NAME", "DELETE_GLOBAL")
    if name in _OPS
}
_STORES = {_OPS[name] for name in ("STORE_NAME", "STORE_GLOBAL", "DELETE_NAME", "DELETE_GLOBAL") if name in _OPS}
_ATTRIBUTES = {_OPS["STORE_ATTR"], _OPS["DELETE_ATTR"]}
_EXTENDED = _OPS["EXTENDED_ARG"]
_KNOWN = sys.version_info < (3, 15)

# Looking a name up by anything but its plain name: whoever does may read every name.
DYNAMIC = frozenset(
    "globals vars locals eval exec dir __import__ _getframe modules __main__ inspect gc __globals__ f_globals "
    "f_locals gi_frame cr_frame tb_frame f_back __dict__ query currentframe stack breakpoint pdb __builtins__ "
    "settrace setprofile runpy doctest timeit import_module _current_frames addaudithook get_type_hints".split()
)
# Reading attributes by computed name.
ATTRIBUTE_DYNAMIC = frozenset("getattr hasattr setattr delattr vars dir __dict__ attrgetter".split())

# Reading those of a module: `"{m.x}".format(m=math)` does so, too.
MODULE_DYNAMIC = ATTRIBUTE_DYNAMIC | {"format", "format_map", "methodcaller"}

# Setting attributes by computed name.
ATTRIBUTE_SETTERS = frozenset("setattr delattr __setattr__ __delattr__ vars __dict__ mock MonkeyPatch monkeypatch".split())


class CodeNames(NamedTuple):
    """What one code object, with those nested in it, names."""

    loads: frozenset[str]
    stores: frozenset[str]
    words: frozenset[str]  # every name and identifier-like constant: attributes, imports, keywords
    global_stores: frozenset[str]  # stored with `global` in a function
    attributes: frozenset[str]  # attributes set or deleted
    plain: frozenset[str] = frozenset()  # of DYNAMIC, left out of the words: as builtins they do only what is told here
    listed: bool = False  # whether it sees which names there are
    ordered: bool = False  # whether it sees in which order they came to be there


_cache: dict[types.CodeType, CodeNames] = {}


def code_names(code: types.CodeType) -> CodeNames:
    """The names of `code`, cached by the code object's value."""
    found = _cache.get(code)
    if found is None:
        found = _cache[code] = _scan(code)
    return found


def joined(parts: Iterable[CodeNames]) -> CodeNames:
    """What several code objects name together."""
    parts = list(parts)
    if len(parts) == 1:
        return parts[0]
    return CodeNames(
        frozenset().union(*(part.loads for part in parts)),
        frozenset().union(*(part.stores for part in parts)),
        frozenset().union(*(part.words for part in parts)),
        frozenset().union(*(part.global_stores for part in parts)),
        frozenset().union(*(part.attributes for part in parts)),
        frozenset().union(*(part.plain for part in parts)),
        any(part.listed for part in parts),
        any(part.ordered for part in parts),
    )


def _scan(code: types.CodeType, nested: bool = True) -> CodeNames:
    names = code.co_names
    loads: set[str] = set()
    stores: set[str] = set()
    words = set(names)
    for name in names:
        if "." in name:  # of an import
            words.update(name.split("."))
    global_stores: set[str] = set()
    attributes: set[str] = set()
    if _KNOWN:
        data = code.co_code
        extended = 0
        store_global = _OPS["STORE_GLOBAL"]
        for at in range(0, len(data) - 1, 2):
            op, arg = data[at], data[at + 1] | extended
            if op == _EXTENDED:
                extended = arg << 8
                continue
            extended = 0
            if op in _ATTRIBUTES and arg < len(names):
                attributes.add(names[arg])
            elif op in _LOADS or op in _STORES:
                index = arg >> 1 if op in _SHIFTED else arg
                if index < len(names):
                    if op in _LOADS:
                        loads.add(names[index])
                    if op in _STORES:
                        stores.add(names[index])
                    if op == store_global:
                        global_stores.add(names[index])
    else:  # an interpreter that this was not written for: every name may be anything
        loads.update(names)
        stores.update(names)
        global_stores.update(names)
        attributes.update(names)
    looks = lookups.lookups(code) if _KNOWN else None
    plain: set[str] = set()
    listed = ordered = False
    if looks is not None:
        words -= looks.plain
        plain |= looks.plain
        loads |= looks.loads
        stores |= looks.stores
        global_stores |= looks.stores
        words |= looks.loads
        listed, ordered = looks.listed, looks.ordered
    inner = [code_names(const) for const in code.co_consts if nested and isinstance(const, types.CodeType)]
    # What a text binds may be the namespace's, wherever it is run.
    texts = [found._replace(global_stores=found.stores) for found in map(code_names, looks.texts if looks else ())]
    for part in inner + texts:
        loads |= part.loads
        stores |= part.global_stores  # what a class body stores stays in the class
        words |= part.words
        global_stores |= part.global_stores
        attributes |= part.attributes
        plain |= part.plain
        listed |= part.listed
        ordered |= part.ordered
    for const in code.co_consts:
        if not isinstance(const, types.CodeType):
            _constant_words(const, words)
    return CodeNames(
        frozenset(loads), frozenset(stores), frozenset(words), frozenset(global_stores), frozenset(attributes), frozenset(plain),
        listed, ordered,
    )  # fmt: skip


def _constant_words(const: Any, words: set[str]) -> None:
    if isinstance(const, str):
        # Also a dotted name, by which `mock.patch` finds what it replaces.
        parts = const.split(".") if len(const) < 80 else ()
        if parts and all(part.isidentifier() for part in parts):
            words.update(parts)
    elif isinstance(const, (tuple, frozenset)):
        for item in const:
            _constant_words(item, words)


# Who names one of these may look at where code stands, or at the text that stands there.
PLACE_WORDS = frozenset(
    "f_lineno tb_lineno lineno co_firstlineno co_lines co_positions co_linetable co_lnotab __code__ gi_code cr_code ag_code "
    "__defaults__ __firstlineno__ getsource getsourcelines findsource getframeinfo inspect dis linecache print_exc format_exc "
    "print_stack traceback format_exception extract_stack catch_warnings __file__ cProfile profile pstats tracemalloc "
    "faulthandler".split()
)


_CLOCK_WORDS = {
    "time": "the clock", "perf_counter": "the clock", "monotonic": "the clock", "now": "the clock", "today": "the clock",
    "utcnow": "the clock", "time_ns": "the clock", "perf_counter_ns": "the clock", "process_time": "the clock",
    "urandom": "entropy", "uuid4": "entropy", "uuid1": "entropy", "SystemRandom": "entropy", "token_hex": "entropy",
    "localtime": "the clock", "gmtime": "the clock", "ctime": "the clock", "clock_gettime": "the clock",
    "monotonic_ns": "the clock", "process_time_ns": "the clock", "thread_time": "the clock", "thread_time_ns": "the clock",
    "clock_gettime_ns": "the clock", "getrandom": "entropy", "randbits": "entropy", "randbelow": "entropy",
    "mkdtemp": "entropy", "mkstemp": "entropy", "NamedTemporaryFile": "entropy", "TemporaryDirectory": "entropy",
    "token_bytes": "entropy", "token_urlsafe": "entropy", "default_rng": "", "getpid": "the process",
}  # fmt: skip


def clock_words(words: set[str]) -> set[str]:
    return {what for word in words if (what := _CLOCK_WORDS.get(word))}
