"""An exception as plain data: type chain, attributes, positions, never from the printed text."""

from __future__ import annotations

import linecache
import traceback
import types
from typing import Any

from . import evidence

_LIMIT = 20_000


def text_of(value: Any, limit: int = _LIMIT) -> str:
    """`str(value)`, whatever that raises."""
    try:
        text = str(value)
    except BaseException as error:  # a hostile `__str__`
        text = f"<str() raised {type(error).__name__}>"
    if type(text) is not str:
        text = str.__str__(text)
    return text if len(text) <= limit else text[:limit] + "…"


def describe(error: BaseException, steps: dict[str, str], depth: int = 0) -> dict[str, Any]:
    """The error as the engine's `StepError`. `steps` maps file names to step ids."""
    kind = type(error)
    found: dict[str, Any] = {
        "type": kind.__name__,
        "module": str(kind.__module__),
        "bases": [f"{c.__module__}.{c.__qualname__}" for c in kind.__mro__ if c is not object],
        "message": text_of(error),
        "attributes": _attributes(error),
        "notes": [text_of(note) for note in _notes(error)],
        "stack": [],
    }
    frames = _frames(error.__traceback__)
    facts = _facts(error, steps, len(frames))
    for frame, saw in zip(frames, facts):
        found["stack"].append({**_stack_line(frame, steps), **saw})
    inner = next((f for f in reversed(frames) if f.filename in steps), None)
    if inner is not None:
        found["step"] = steps[inner.filename]
        found["line"] = inner.lineno
        columns = _columns(inner)
        if columns is not None:
            found["columns"] = columns
    if issubclass(kind, SyntaxError):
        found.update(_syntax(error, steps))
    context = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    group = getattr(error, "exceptions", None)
    if context is None and isinstance(group, tuple) and group and isinstance(group[0], BaseException):
        context = group[0]  # the first of a group stands for all
    if context is not None and depth < 4:
        found["context"] = describe(context, steps, depth + 1)
    return found


def _syntax(error: BaseException, steps: dict[str, str]) -> dict[str, Any]:
    """Where the code is wrong. A step that raises such an error itself can have put anything into it."""

    def number(name: str) -> int:
        value = getattr(error, name, None)
        return value if type(value) is int and 0 < value < 1 << 31 else 0

    found: dict[str, Any] = {"line": number("lineno") or None, "message": text_of(getattr(error, "msg", None))}
    filename = getattr(error, "filename", None)
    if type(filename) is str and filename in steps:
        found["step"] = steps[filename]
    start = number("offset")
    if start:
        end = number("end_offset") or start
        found["columns"] = [start, max(end, start)]
        if number("end_lineno"):
            found["end"] = [number("end_lineno"), end]
    return found


def _notes(error: BaseException) -> list[Any]:
    notes = getattr(error, "__notes__", None)
    return list(notes)[:20] if isinstance(notes, (list, tuple)) else []


def _frames(start: types.TracebackType | None) -> list[Any]:
    """The frames, those of the worker left out; a deep recursion keeps its two ends."""
    try:
        frames = [f for f in traceback.extract_tb(start) if not f.filename.startswith("<reweave")]
    except Exception:
        return []
    return frames if len(frames) <= 60 else [*frames[:30], *frames[-30:]]


def _facts(error: BaseException, steps: dict[str, str], count: int) -> list[dict[str, Any]]:
    """For each frame that is told what it saw."""
    start, chain = error.__traceback__, []
    while start is not None:
        chain.append(start)
        start = start.tb_next
    saw = evidence.frames(error.__traceback__, error, steps)
    kept = [fact for tb, fact in zip(chain, saw) if not tb.tb_frame.f_code.co_filename.startswith("<reweave")]
    if len(kept) > count:
        kept = [*kept[:30], *kept[-30:]]
    told = [{"saw": fact} if fact else {} for fact in kept]
    return told if len(told) == count else [{}] * count


def _stack_line(frame: Any, steps: dict[str, str]) -> dict[str, Any]:
    return {
        "step": steps.get(frame.filename),
        "file": frame.filename,
        "line": frame.lineno or 0,
        "function": frame.name,
        "text": (frame.line or "")[:500],
    }


def _columns(frame: Any) -> list[int] | None:
    """1-based columns in characters (the interpreter counts bytes)."""
    start, end = getattr(frame, "colno", None), getattr(frame, "end_colno", None)
    if start is None or end is None or frame.end_lineno != frame.lineno:
        return None
    return [start + 1, end + 1]


def _attributes(error: BaseException) -> dict[str, str]:
    found: dict[str, str] = {}
    for name in ("name", "obj", "key", "filename", "filename2", "errno", "strerror", "name_from", "path", "encoding",
                 "object", "start", "end", "reason", "text", "lineno", "code"):  # fmt: skip
        try:
            value = getattr(error, name, None)
        except BaseException:
            continue
        if value is None or (callable(value) and name not in ("obj",)):
            continue
        if name == "obj":
            found["obj_type"] = type(value).__name__
            if isinstance(value, types.ModuleType):
                found["obj_module"] = value.__name__
            elif isinstance(value, type):
                found["obj_class"] = value.__name__
            try:
                found["obj_has"] = " ".join(sorted(n for n in dir(value) if not n.startswith("__"))[:2000])
            except BaseException:
                pass
        elif isinstance(value, (str, int, float, bytes)):
            found[name] = text_of(value, 500)
    module = getattr(error, "name", None)
    if issubclass(type(error), ImportError) and module:
        found["module_has"] = " ".join(evidence.module_names(module))
    if issubclass(type(error), KeyError) and len(error.args) == 1:
        try:
            found["key"] = repr(error.args[0])[:500]
        except BaseException:
            pass
    return found


def remember_source(filename: str, source: str) -> None:
    """Lets tracebacks and `inspect` show this text for the file, whatever stands on disk meanwhile."""
    lines = source.splitlines(True)
    if lines and not lines[-1].endswith("\n"):
        lines[-1] += "\n"  # as it is when they are read from a file
    linecache.cache[filename] = (len(source), None, lines, filename)
