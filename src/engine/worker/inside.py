"""What is inside a value: its parts, and for what has rows and columns a view of them.

Runs code of the values: only ever called in a process that may be spoilt.
"""

from __future__ import annotations

import math
import types
from collections.abc import Iterator
from typing import Any

from . import shown

_PARTS = 200
_ROWS = 50
_COLUMNS = 200
_CELL = 200
_REPR = 2_000
_BINS = 12
_SAMPLE = 200_000
_FLAT = (int, float, complex, bool, str, bytes, bytearray, type(None), type(Ellipsis), type(NotImplemented), range, slice)
_CLOSED = (types.ModuleType, types.FunctionType, types.BuiltinFunctionType, types.MethodType, type)


def look(value: Any, path: list[int]) -> dict[str, Any]:
    """What is at the end of `path`: at each turn the place of a part."""
    for place in path:
        found = _at(value, place)
        if found is None:
            return {"parts": [], "total": 0, "table": None}
        value = found[1]
    total, parts = _parts(value)
    first = []
    for _ in range(_PARTS):
        part = next(parts, None)
        if part is None:
            break
        first.append(_part(*part))
    return {"parts": first, "total": max(total, len(first)), "table": _table(value)}


def _at(value: Any, place: int) -> tuple[str, Any] | None:
    for at, part in enumerate(_parts(value)[1]):
        if at == place:
            return part
    return None


def _part(key: str, value: Any) -> dict[str, Any]:
    item = shown.variable(key, value, _REPR)
    return {"key": key, "type_name": item["type"], "repr": item["repr"], "shape": item.get("shape"), "opens": _opens(value)}


def _opens(value: Any) -> bool:
    if isinstance(value, _FLAT + _CLOSED):
        return isinstance(value, str) and "\n" in value
    try:
        return _library(value) is not None or next(_parts(value)[1], None) is not None
    except Exception:
        return False


def _library(value: Any) -> str | None:
    """The library whose tables `value` is one of."""
    kind = type(value)
    top = kind.__module__.split(".")[0]
    if top == "numpy" and kind.__name__ in ("ndarray", "matrix", "recarray") and 0 < value.ndim <= 2:
        return "numpy"
    if top in ("pandas", "polars") and kind.__name__ in ("DataFrame", "Series"):
        return top
    return None


def _parts(value: Any) -> tuple[int, Iterator[tuple[str, Any]]]:
    """How many parts a value has, and the parts with their keys as Python writes them."""
    kind = type(value)
    if isinstance(value, str) and "\n" in value:
        lines = value.split("\n")
        return len(lines), ((str(at), line) for at, line in enumerate(lines, 1))
    if isinstance(value, _FLAT + _CLOSED) or _library(value) is not None:
        return 0, iter(())
    if isinstance(value, dict):
        return dict.__len__(value), ((_key(key), item) for key, item in dict.items(value))
    if isinstance(value, tuple) and isinstance(getattr(kind, "_fields", None), tuple):
        return len(value), ((f".{field}", item) for field, item in zip(kind._fields, value))
    if isinstance(value, (list, tuple)):
        return len(value), ((str(at), item) for at, item in enumerate(value))
    if isinstance(value, (set, frozenset)):
        return len(value), (("", item) for item in value)
    if kind.__module__ == "collections" and kind.__name__ == "deque":
        return len(value), ((str(at), item) for at, item in enumerate(value))
    if kind.__module__.split(".")[0] == "numpy" and getattr(value, "ndim", 0) > 2:
        return len(value), ((str(at), value[at]) for at in range(len(value)))
    found = _attributes(value)
    return len(found), iter(found)


def _attributes(value: Any) -> list[tuple[str, Any]]:
    found = []
    if isinstance(value, BaseException):
        found.append((".args", value.args))
    try:
        own = object.__getattribute__(value, "__dict__")
    except AttributeError:
        own = {}
    if isinstance(own, dict):
        found += [(f".{name}", item) for name, item in own.items() if isinstance(name, str)]
    for base in type(value).__mro__:
        slots = base.__dict__.get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else tuple(slots):
            if name in ("__dict__", "__weakref__"):
                continue
            try:
                found.append((f".{name}", object.__getattribute__(value, name)))
            except AttributeError:
                continue
    return found


def _key(key: Any) -> str:
    try:
        return _cut(repr(key))
    except Exception as error:
        return f"<repr() raised {type(error).__name__}>"


def _cut(text: str) -> str:
    text = str.__str__(text)
    return text if len(text) <= _CELL else text[: _CELL - 1] + "…"


def _cell(value: Any) -> str:
    if isinstance(value, str):
        return _cut(value)
    if isinstance(value, float):
        return f"{value:.6g}"
    return _cut(str(value))


# -- tables -----------------------------------------------------------------------------------------------


def _table(value: Any) -> dict[str, Any] | None:
    library = _library(value)
    try:
        if library == "pandas":
            return _pandas(value)
        if library == "polars":
            return _polars(value)
        if library == "numpy":
            return _numpy(value)
    except Exception:
        return None
    return None


def _pandas(value: Any) -> dict[str, Any]:
    frame = value.to_frame() if type(value).__name__ == "Series" else value
    rows, width = frame.shape
    columns = []
    for at in range(min(width, _COLUMNS)):
        column = frame.iloc[:, at]
        head = [_cell(item) for item in column.iloc[:_ROWS].tolist()]
        columns.append(_column(_cell(frame.columns[at]), str(column.dtype), head, column.to_numpy(), int(column.isna().sum())))
    return {"rows": rows, "width": width, "index": [_cell(label) for label in frame.index[:_ROWS]], "columns": columns}


def _polars(value: Any) -> dict[str, Any]:
    frame = value.to_frame() if type(value).__name__ == "Series" else value
    columns = []
    for name in frame.columns[:_COLUMNS]:
        column = frame[name]
        head = [_cell(item) for item in column.head(_ROWS).to_list()]
        columns.append(_column(_cell(name), str(column.dtype), head, column.to_numpy(), int(column.null_count())))
    return {"rows": frame.height, "width": frame.width, "index": [str(at) for at in range(min(frame.height, _ROWS))],
            "columns": columns}  # fmt: skip


def _numpy(value: Any) -> dict[str, Any]:
    names = value.dtype.names
    rows = len(value)
    if names is not None and value.ndim == 1:
        parts = [(name, value[name]) for name in names[:_COLUMNS]]
        width = len(names)
    elif value.ndim == 1:
        parts, width = [("", value)], 1
    else:
        width = value.shape[1]
        parts = [(str(at), value[:, at]) for at in range(min(width, _COLUMNS))]
    columns = [
        _column(_cell(name), str(column.dtype), [_cell(item) for item in column[:_ROWS].tolist()], column, _missing(column))
        for name, column in parts
    ]
    return {"rows": rows, "width": width, "index": [str(at) for at in range(min(rows, _ROWS))], "columns": columns}


def _missing(column: Any) -> int:
    return int((column != column).sum()) if column.dtype.kind in "fc" else 0


def _column(name: str, kind: str, cells: list[str], values: Any, missing: int) -> dict[str, Any]:
    found: dict[str, Any] = {"name": name, "type_name": kind, "cells": cells, "missing": missing,
                             "least": None, "most": None, "bars": []}  # fmt: skip
    code = getattr(getattr(values, "dtype", None), "kind", "O")
    if code not in "iufbmM" or not len(values):
        return found
    try:
        if code in "mM":
            # Times are counted like numbers, and told as times.
            whole = values[values == values]
            if len(whole):
                found["least"], found["most"] = _cell(whole.min()), _cell(whole.max())
            numbers = whole.astype("int64")
        else:
            numbers = values
            if code == "f":
                numbers = numbers[abs(numbers) < math.inf]
            if len(numbers):
                found["least"], found["most"] = _cell(numbers.min().item()), _cell(numbers.max().item())
        if len(numbers):
            found["bars"] = _bars(numbers)
    except Exception:
        pass
    return found


def _bars(numbers: Any) -> list[int]:
    """How many values fall into each of equal parts between the least and the greatest; of very many, a sample."""
    step = max(1, len(numbers) // _SAMPLE)
    sample = numbers[::step].astype("float64")
    least, most = float(sample.min()), float(sample.max())
    if not math.isfinite(most - least) or most == least:
        return []
    places = ((sample - least) * (_BINS / (most - least))).astype("int64").clip(0, _BINS - 1)
    counts = [0] * _BINS
    for place in places.tolist():
        counts[place] += 1
    return counts
