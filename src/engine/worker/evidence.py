"""What the failing line saw: its expression, the names in it, and their values in short.

Nothing of the step's own code is called: values are looked up in exact built-in containers, and only built-in
and well-known types are shown in more than name.
"""

from __future__ import annotations

import ast
import linecache
import sys
import types
from typing import Any

_NAMES = 24
_TEXT = 200
_KEYS = 400
_ATTRIBUTES = 2000
_SOURCE = 2_000_000
_MISSING = object()
_PLAIN = (int, float, complex, bool, type(None), str, bytes, bytearray, range, type(Ellipsis))
_LISTS = (list, tuple, set, frozenset)
_EMPTY: dict[Any, str] = {list: "[]", tuple: "()", set: "set()", frozenset: "frozenset()"}
_COMPREHENSIONS = ("<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>", "<lambda>", "<module>")


def _is_mapping(kind: type) -> bool:
    return kind is dict or (kind.__module__ == "collections" and kind.__name__ in ("OrderedDict", "defaultdict", "Counter"))


def short(value: Any, depth: int = 2) -> str:
    """`repr` without calling anything of the step's: exact built-in types only, cut."""
    kind = type(value)
    if kind in _PLAIN:
        if kind is int and value.bit_length() > 2000:
            return f"<int of {value.bit_length()} bits>"
        if kind in (str, bytes, bytearray) and len(value) > _TEXT:
            return repr(value[:_TEXT]) + "…"
        return repr(value)
    if kind in _LISTS or _is_mapping(kind):
        if not len(value):
            return _EMPTY.get(kind, "{}")
        if depth == 0:
            return "[…]" if kind is list else "(…)" if kind is tuple else "{…}"
        parts: list[str] = []
        if _is_mapping(kind):
            for key, item in list(dict.items(value))[:6]:
                parts.append(f"{short(key, depth - 1)}: {short(item, depth - 1)}")
        else:
            for item in list(value)[:6]:
                parts.append(short(item, depth - 1))
        if len(value) > 6:
            parts.append("…")
        text = ", ".join(parts)
        if kind is list:
            text = f"[{text}]"
        elif kind is tuple:
            text = f"({text},)" if len(value) == 1 else f"({text})"
        else:
            text = f"{{{text}}}"
        return text if len(text) <= 2 * _TEXT else text[: 2 * _TEXT] + "…"
    if isinstance(value, types.ModuleType):
        return f"<module {value.__name__}>"
    if kind is type or kind in (types.FunctionType, types.BuiltinFunctionType):
        return f"<{'class' if kind is type else 'function'} {value.__qualname__}>"
    return f"<{kind.__name__}>"


def seen(value: Any, origin: str) -> dict[str, Any]:
    """A value in short: type, text, length, keys or columns, shape."""
    kind = type(value)
    found: dict[str, Any] = {"type": kind.__name__, "repr": short(value), "origin": origin}
    try:
        if kind in _LISTS or _is_mapping(kind) or kind in (str, bytes, range):
            found["len"] = len(value)
        if _is_mapping(kind):
            found["keys"] = [short(key, 1) for key in list(dict.keys(value))[:_KEYS]]
        root = kind.__module__.split(".")[0]
        if root in ("pandas", "numpy", "polars"):
            _known(value, kind, found)
    except Exception:  # a broken library object says less, and no more
        pass
    return found


def _known(value: Any, kind: type, found: dict[str, Any]) -> None:
    shape = getattr(value, "shape", None)
    if isinstance(shape, tuple) and all(type(n) is int for n in shape):
        found["shape"] = "×".join(map(str, shape))
        if shape:
            found["len"] = shape[0]
    if kind.__name__ == "DataFrame":
        found["keys"] = [short(key, 1) for key in list(value.columns)[:_KEYS]]
    elif kind.__name__ == "Series":
        found["keys"] = [short(key, 1) for key in list(value.index[:50])]


class _Frame:
    """One frame of the step's: where it stopped, and what is to be seen there."""

    def __init__(self, tb: types.TracebackType) -> None:
        self.frame = tb.tb_frame
        self.line = tb.tb_lineno
        self.range: tuple[int, int, int, int] | None = None
        code = self.frame.f_code
        if hasattr(code, "co_positions"):
            import itertools

            at = next(itertools.islice(code.co_positions(), tb.tb_lasti // 2, None), None)
            if at is not None and None not in at:
                self.range = at  # type: ignore[assignment]

    def lookup(self, name: str) -> tuple[Any, str]:
        frame: types.FrameType | None = self.frame
        while frame is not None:
            code = frame.f_code
            if frame.f_locals is not frame.f_globals and name in frame.f_locals:
                parameters = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
                return frame.f_locals[name], "parameter" if name in parameters and code.co_name[:1] != "<" else "local"
            # Up to 3.11 a comprehension is a frame of its own, which sees what its function sees.
            if code.co_name not in _COMPREHENSIONS or frame.f_back is None or frame.f_back.f_globals is not frame.f_globals:
                break
            if code.co_name == "<module>":
                break
            frame = frame.f_back
        if name in self.frame.f_globals:
            return self.frame.f_globals[name], "global"
        return _MISSING, ""

    def evaluate(self, node: ast.AST) -> Any:
        """The value of an expression that only looks things up in built-in containers and modules."""
        if isinstance(node, ast.Constant):
            return node.value
        if isinstance(node, ast.Name):
            return self.lookup(node.id)[0]
        if isinstance(node, ast.Subscript):
            value = self.evaluate(node.value)
            index = node.slice
            if type(index).__name__ == "Index":  # up to 3.8 in the tree; harmless after
                index = index.value  # type: ignore[attr-defined]
            key = self.evaluate(index)
            if value is not _MISSING and key is not _MISSING and type(key) in _PLAIN:
                try:
                    if _is_mapping(type(value)):
                        return dict.get(value, key, _MISSING)
                    if type(value) in (list, tuple, str) and type(key) is int:
                        return value[key]
                except (IndexError, TypeError):
                    return _MISSING
            return _MISSING
        if isinstance(node, ast.Attribute):
            value = self.evaluate(node.value)
            if isinstance(value, types.ModuleType):
                return value.__dict__.get(node.attr, _MISSING)
            if value is not _MISSING and type(value).__dict__.get(node.attr, _MISSING) is _MISSING:
                try:
                    own = object.__getattribute__(value, "__dict__")
                except AttributeError:
                    return _MISSING
                if type(own) is dict:
                    return own.get(node.attr, _MISSING)
            return _MISSING
        if isinstance(node, ast.Call) and not node.keywords and isinstance(node.func, ast.Name) and len(node.args) == 1:
            value = self.evaluate(node.args[0])
            if node.func.id == "len" and value is not _MISSING and self.lookup("len")[0] is _MISSING:
                if type(value) in _LISTS or _is_mapping(type(value)) or type(value) in (str, bytes):
                    return len(value)
        return _MISSING


def frames(start: types.TracebackType | None, error: BaseException, steps: dict[str, str]) -> list[dict[str, Any] | None]:
    """For each frame of the traceback what it saw; nothing for frames outside the steps and for the middle of
    a deep recursion."""
    chain: list[types.TracebackType] = []
    tb = start
    while tb is not None:
        chain.append(tb)
        tb = tb.tb_next
    wanted = [at for at, tb in enumerate(chain) if tb.tb_frame.f_code.co_filename in steps][-8:]
    found: list[dict[str, Any] | None] = [None] * len(chain)
    for at in wanted:
        try:
            found[at] = _facts(_Frame(chain[at]), error, at == wanted[-1])
        except Exception:  # evidence is never worth an error of its own
            pass
    return found


_trees: dict[str, tuple[str, ast.Module | None]] = {}


def _tree(filename: str) -> tuple[str, ast.Module | None]:
    source = "".join(linecache.getlines(filename))
    known = _trees.get(filename)
    if known is None or known[0] != source:
        tree = None
        if 0 < len(source) <= _SOURCE:
            try:
                tree = ast.parse(source)
            except (SyntaxError, ValueError, RecursionError, MemoryError):
                tree = None
        _trees.clear()
        known = _trees[filename] = (source, tree)
    return known


def _facts(frame: _Frame, error: BaseException, innermost: bool) -> dict[str, Any] | None:
    source, tree = _tree(frame.frame.f_code.co_filename)
    if tree is None:
        return None
    statement = _statement(tree, frame.line)
    if statement is None:
        return None
    node = _expression(statement, frame.range)
    within = {child.id for child in ast.walk(node) if isinstance(child, ast.Name)} if node is not None else set()
    found: dict[str, Any] = {"names": {}}
    if node is not None:
        found["expression"] = _segment(source, node)
    for child in _own(statement):
        if isinstance(child, ast.Name) and child.id not in found["names"] and len(found["names"]) < _NAMES:
            value, origin = frame.lookup(child.id)
            if value is not _MISSING:
                found["names"][child.id] = {**seen(value, origin), "within": child.id in within}
    if innermost:
        receiver = _receiver(frame, statement, node, error)
        if receiver is not None:
            found["receiver"] = _segment(source, receiver)
            value = frame.evaluate(receiver)
            if value is not _MISSING:
                found["receiver_seen"] = seen(value, "")
                if type(value) in _PLAIN + _LISTS + (dict,) or isinstance(value, types.ModuleType):
                    found["receiver_has"] = sorted(n for n in dir(value) if not n.startswith("__"))[:_ATTRIBUTES]
        if issubclass(type(error), TypeError):
            taken = _takes(frame, statement, node, str(error))
            if taken:
                found["takes"] = taken
    return found


def _own(statement: ast.stmt) -> list[ast.AST]:
    """The nodes of a statement without the statements in its body."""
    out: list[ast.AST] = []
    todo: list[ast.AST] = [statement]
    while todo:
        node = todo.pop()
        out.append(node)
        children = list(ast.iter_child_nodes(node))
        if node is statement or not isinstance(node, ast.stmt):
            todo.extend(c for c in reversed(children) if not isinstance(c, ast.stmt))
    return out


def _statement(tree: ast.Module, line: int) -> ast.stmt | None:
    """The innermost statement that the line belongs to."""
    best: ast.stmt | None = None
    todo: list[ast.AST] = [tree]
    while todo:
        node = todo.pop()
        for child in ast.iter_child_nodes(node):
            if isinstance(child, (ast.stmt, ast.excepthandler)) or type(child).__name__ == "match_case":
                first = getattr(child, "lineno", line)
                last = getattr(child, "end_lineno", None) or first
                if first <= line <= last or not hasattr(child, "lineno"):
                    if isinstance(child, ast.stmt) and (best is None or first >= best.lineno):
                        best = child
                    todo.append(child)
    return best


def _expression(statement: ast.stmt, at: tuple[int, int, int, int] | None) -> ast.AST | None:
    """The smallest expression that holds the range where the code stopped."""
    if at is None:
        return None
    first, last, start, end = at
    best: ast.AST | None = None
    for node in _own(statement):
        if not isinstance(node, ast.expr):
            continue
        begins = (node.lineno, node.col_offset) <= (first, start)
        ends = (node.end_lineno or 0, node.end_col_offset or 0) >= (last, end)
        if begins and ends and (best is None or _size(node) <= _size(best)):
            best = node
    return best


def _size(node: Any) -> tuple[int, int]:
    return (node.end_lineno - node.lineno, node.end_col_offset - node.col_offset)


def _segment(source: str, node: ast.AST) -> str:
    text = ast.get_source_segment(source, node) or ""
    return text if len(text) <= 500 else text[:500] + "…"


def _receiver(frame: _Frame, statement: ast.stmt, node: ast.AST | None, error: BaseException) -> ast.AST | None:
    """The expression whose key, index or attribute is not there."""
    nodes = [node] if node is not None else []
    nodes += [child for child in _own(statement) if child is not node]
    fits: list[ast.Attribute | ast.Subscript]
    if issubclass(type(error), AttributeError):
        name = getattr(error, "name", None) or str(error).rpartition("attribute ")[2].strip("'\"")
        fits = [n for n in nodes if isinstance(n, ast.Attribute) and n.attr == name]
    elif issubclass(type(error), LookupError) and not issubclass(type(error), UnicodeError):
        key = error.args[0] if issubclass(type(error), KeyError) and error.args else _MISSING
        fits = [n for n in nodes if isinstance(n, ast.Subscript)]
        if type(key) in _PLAIN:
            named = [n for n in fits if _key(frame, n) == key and type(_key(frame, n)) is type(key)]
            fits = named or fits
    else:
        fits = [n for n in nodes[:1] if isinstance(n, (ast.Attribute, ast.Subscript))] if node is not None else []
    if not fits or (node is None and len({ast.dump(n.value) for n in fits}) > 1):
        return None
    return fits[0].value


def _takes(frame: _Frame, statement: ast.stmt, node: ast.AST | None, message: str) -> list[str]:
    """The names of the parameters of what was called with a keyword argument that it does not take."""
    _before, found, after = message.partition("unexpected keyword argument ")
    wanted = after[1:].partition("'")[0]
    if not found:
        return []
    nodes = [node] if node is not None else []
    for call in [*nodes, *_own(statement)]:
        if isinstance(call, ast.Call) and any(keyword.arg == wanted for keyword in call.keywords):
            return _parameters(frame.evaluate(call.func))
    return []


def _parameters(value: Any) -> list[str]:
    if isinstance(value, type):
        owners = [c for c in type.__dict__["__mro__"].__get__(value) if "__init__" in c.__dict__]
        value = owners[0].__dict__["__init__"] if owners else None
    for _ in range(8):
        if type(value) is types.FunctionType and type(value.__dict__.get("__wrapped__")) is types.FunctionType:
            value = value.__dict__["__wrapped__"]
    if type(value) is not types.FunctionType:
        return []
    code = value.__code__
    return [n for n in code.co_varnames[code.co_posonlyargcount : code.co_argcount + code.co_kwonlyargcount] if n != "self"]


def _key(frame: _Frame, node: Any) -> Any:
    index = node.slice
    if type(index).__name__ == "Index":
        index = index.value
    return frame.evaluate(index)


def module_names(name: str | None) -> list[str]:
    """The public names of a module that is loaded."""
    module = sys.modules.get(name or "")
    if not isinstance(module, types.ModuleType):
        return []
    return sorted(n for n in module.__dict__ if type(n) is str and not n.startswith("_"))[:2000]
