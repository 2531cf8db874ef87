"""Calls that are made once: functions without a body that an agent answers, and `recorded` ones.

What steps import as `reweave`. A call is known by a digest of all that it is asked: while the engine has an answer
under that digest, nobody is asked. The answers that a step got are inputs of it, told with what it read.

Functions of the standard library that steps could replace are bound here, before any step runs.
"""

from __future__ import annotations

import ast
import copy
import enum
import hashlib
import inspect
import json
import os
import pickle
import select
import signal
import threading
import time
import types
import typing
from contextvars import ContextVar
from typing import Any, Callable

_dumps, _loads, _getpid, _select, _monotonic = json.dumps, json.loads, os.getpid, select.select, time.monotonic
_pickle, _unpickle = pickle.dumps, pickle.loads
_current, _main = threading.current_thread, threading.main_thread
_Thread = threading.Thread
_signal, _SIGINT = signal.signal, signal.SIGINT
_get_type_hints, _signature = typing.get_type_hints, inspect.signature

WRONG = 3  # answers of a wrong type before the call fails
ROUNDS = 16  # times that an agent may have functions called before it answers
DEPTH = 32  # calls within calls
SHOWN = 200  # characters of the arguments that are shown


class NoAnswer(RuntimeError):
    """There is no answer to a call: no agent is named, it failed, or it answered with a wrong type too often."""


NoAnswer.__module__ = "reweave"


class _Wrong(Exception):
    """A value is not of the type that it should have."""


# -- asking the engine ------------------------------------------------------------------------------------------


class Asker:
    """Asks the engine in the middle of a step, from any of its threads; answers may come in any order."""

    def __init__(self, worker: Any) -> None:
        self.worker = worker
        self.lock = threading.Lock()
        self.turn = threading.Condition(self.lock)
        self.sending = threading.Lock()
        self.active = False
        self.begin("")
        self.active = False

    def begin(self, step: str) -> None:
        """A step begins."""
        self.step = step
        self.pid = _getpid()
        self.frames: list[dict[str, Any]] = []
        self.open: list[int] = []  # frames that the main thread is in
        self.counts: dict[str, int] = {}
        self.answers: dict[int, tuple[dict[str, Any], bytes]] = {}
        self.serial = 0
        self.pending = 0
        self.reading = False
        self.failed = False
        self.typed: dict[str, Any] | None = None  # what was said to a question for input
        self.active = True

    def finish(self) -> None:
        """The step ended: waits until no thread of it waits for an answer."""
        self.active = False
        while self.pending:
            self._take(lambda: not self.pending)

    def ask(self, message: dict[str, Any], data: bytes = b"") -> tuple[dict[str, Any], bytes]:
        """Asks, and waits for the answer."""
        with self.lock:
            if not self.active or _getpid() != self.pid:
                raise RuntimeError("a call can be made only while its step runs, and in the step's own process")
            self.serial += 1
            number = self.serial
            self.pending += 1
        try:
            with _Uninterrupted(), self.sending:
                self.worker.wire.send({"call": {**message, "id": number}}, data)
            self._take(lambda: number in self.answers)
            return self.answers.pop(number)
        finally:
            with self.lock:
                self.pending -= 1
                self.turn.notify_all()

    def line(self, prompt: str) -> dict[str, Any]:
        """Asks for a line of input, which only the step's own thread does."""
        self.typed = None
        with _Uninterrupted(), self.sending:
            self.worker.wire.send({"ask": prompt})
        self._take(lambda: self.typed is not None)
        return self.typed or {}

    def _take(self, done: Callable[[], bool]) -> None:
        """Waits until something is so. One thread at a time reads what the engine says."""
        while True:
            with self.lock:
                while self.reading and not done():
                    self.turn.wait(1.0)
                if done():
                    return
                self.reading = True
            try:
                # To be interrupted here loses nothing; in the middle of a message it would.
                if _select([self.worker.wire.fileno()], [], [], 1.0)[0]:
                    with _Uninterrupted():
                        reply, data, _ = self.worker.wire.receive()
                        with self.lock:
                            if reply.get("do") == "call":
                                self.answers[reply["id"]] = (reply, data)
                            else:
                                self.typed = reply
            finally:
                with self.lock:
                    self.reading = False
                    self.turn.notify_all()

    # -- frames ---------------------------------------------------------------------------------------------------

    def enter(self, name: str, shown: str) -> int:
        """A call begins: a frame under the one that it is made in."""
        parent = _FRAME.get()
        with self.lock:
            if parent is None and _current() is not _main() and self.open:
                # A thread that knows of no call was started, most likely, by the one that is under way.
                parent = self.open[-1]
            number = len(self.frames)
            if self._depth(parent) >= DEPTH:
                raise RecursionError(f"{name}: calls within calls, more than {DEPTH} deep")
            self.frames.append({"name": name, "shown": shown, "parent": parent, "rounds": []})
            if _current() is _main():
                self.open.append(number)
        return number

    def _depth(self, frame: int | None) -> int:
        depth = 0
        while frame is not None:
            frame = self.frames[frame]["parent"]
            depth += 1
        return depth

    def leave(self, number: int) -> None:
        with self.lock:
            if number in self.open:
                self.open.remove(number)

    def path(self, frame: int | None) -> str:
        """What tells a call's place in the tree from others."""
        names = []
        while frame is not None:
            names.append(self.frames[frame]["name"])
            frame = self.frames[frame]["parent"]
        return "/".join(reversed(names))


_FRAME: ContextVar[int | None] = ContextVar("frame", default=None)
ASKER: Asker = None  # type: ignore[assignment]  # the worker's, once it is set up


class _Uninterrupted:
    """Puts an interrupt off until a message is whole."""

    def __enter__(self) -> None:
        self.held: Any = None
        self.came = False
        if _current() is _main():
            self.held = _signal(_SIGINT, self._note)

    def _note(self, number: int, frame: Any) -> None:
        self.came = True

    def __exit__(self, *_: object) -> None:
        if self.held is not None:
            _signal(_SIGINT, self.held)
            if self.came and callable(self.held):
                self.held(_SIGINT, None)


class _Frame:
    """A call that is under way."""

    def __init__(self, name: str, shown: str) -> None:
        self.number = ASKER.enter(name, shown)

    def __enter__(self) -> int:
        self.token = _FRAME.set(self.number)
        return self.number

    def __exit__(self, *_: object) -> None:
        _FRAME.reset(self.token)
        ASKER.leave(self.number)


# -- types ----------------------------------------------------------------------------------------------------------


def _is_typed_dict(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, dict) and hasattr(kind, "__total__")


def _fields(kind: Any) -> dict[str, Any]:
    hints = _get_type_hints(kind)
    if hasattr(kind, "__dataclass_fields__"):
        return {name: hints[name] for name, field in kind.__dataclass_fields__.items() if field.init}
    return hints


def _required(kind: Any) -> set[str]:
    if not hasattr(kind, "__dataclass_fields__"):
        return set(getattr(kind, "__required_keys__", _fields(kind)))
    found = set()
    for name, field in kind.__dataclass_fields__.items():
        defaults = (field.default, field.default_factory)
        if field.init and all(type(value).__name__ == "_MISSING_TYPE" for value in defaults):
            found.add(name)
    return found


_SIMPLE = {str: "string", int: "integer", float: "number", bool: "boolean"}
_UNIONS = (typing.Union, getattr(types, "UnionType", typing.Union))


def schema(kind: Any) -> dict[str, Any]:
    """A type as a JSON schema."""
    if kind is Any:
        return {}
    if kind is None or kind is type(None):
        return {"type": "null"}
    if kind in _SIMPLE:
        return {"type": _SIMPLE[kind]}
    origin, inner = typing.get_origin(kind), typing.get_args(kind)
    if kind in (list, tuple, set, frozenset):
        return {"type": "array"}
    if kind is dict:
        return {"type": "object"}
    if origin in _UNIONS:
        return {"anyOf": [schema(one) for one in inner]}
    if origin is typing.Literal:
        return {"enum": list(inner)}
    if origin is tuple and not (len(inner) == 2 and inner[1] is Ellipsis):
        count = 0 if inner == ((),) else len(inner)
        return {"type": "array", "prefixItems": [schema(one) for one in inner[:count]], "minItems": count, "maxItems": count}
    if origin in (list, set, frozenset, tuple) or getattr(origin, "__name__", "") in ("Sequence", "Iterable"):
        return {"type": "array", "items": schema(inner[0])}
    if origin is dict or getattr(origin, "__name__", "") == "Mapping":
        return {"type": "object", "additionalProperties": schema(inner[1])}
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        return {"enum": [member.value for member in kind]}
    if hasattr(kind, "__dataclass_fields__") or _is_typed_dict(kind):
        parts = {name: schema(part) for name, part in _fields(kind).items()}
        found = {"type": "object", "properties": parts, "required": sorted(_required(kind)), "additionalProperties": False}
        return found
    raise TypeError(f"{_word(kind)} is no type that can be told in JSON")


def _word(kind: Any) -> str:
    return kind.__name__ if isinstance(kind, type) and not typing.get_args(kind) else str(kind).replace("typing.", "")


def _wrong(kind: Any, value: Any, path: str) -> _Wrong:
    shown = repr(value)
    return _Wrong(f"{path} should be {_word(kind)}, and is {shown if len(shown) <= SHOWN else shown[:SHOWN] + '…'}")


def decode(kind: Any, value: Any, path: str = "the result") -> Any:
    """A value of this type from JSON. Nothing is bent into shape, but a whole number where a float is wanted."""
    if kind is Any:
        return value
    if kind is None or kind is type(None):
        if value is None:
            return None
        raise _wrong(None, value, path)
    if kind in _SIMPLE:
        if kind is float and type(value) is int:
            return float(value)
        if type(value) is kind:
            return value
        raise _wrong(kind, value, path)
    origin, inner = typing.get_origin(kind), typing.get_args(kind)
    if origin in _UNIONS:
        for one in inner:
            try:
                return decode(one, value, path)
            except _Wrong:
                continue
        raise _wrong(kind, value, path)
    if origin is typing.Literal:
        if any(type(one) is type(value) and one == value for one in inner):
            return value
        raise _wrong(kind, value, path)
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        try:
            return kind(value)
        except ValueError:
            raise _wrong(kind, value, path) from None
    if hasattr(kind, "__dataclass_fields__") or _is_typed_dict(kind):
        fields = _fields(kind)
        if type(value) is not dict or not _required(kind) <= set(value) <= set(fields):
            raise _wrong(kind, value, path)
        return kind(**{name: decode(fields[name], part, f"{path}.{name}") for name, part in value.items()})
    if kind is dict or origin is dict or getattr(origin, "__name__", "") == "Mapping":
        if type(value) is not dict:
            raise _wrong(kind, value, path)
        if not inner:
            return value
        return {_key(inner[0], name, path): decode(inner[1], part, f"{path}[{name!r}]") for name, part in value.items()}
    base = origin or kind
    if type(value) is not list:
        raise _wrong(kind, value, path)
    if base is tuple and inner and not (len(inner) == 2 and inner[1] is Ellipsis):
        wanted = () if inner == ((),) else inner
        if len(value) != len(wanted):
            raise _wrong(kind, value, path)
        return tuple(decode(one, part, f"{path}[{at}]") for at, (one, part) in enumerate(zip(wanted, value)))
    items = [decode(inner[0], part, f"{path}[{at}]") for at, part in enumerate(value)] if inner else value
    return base(items) if base in (tuple, set, frozenset) else items


def _key(kind: Any, name: str, path: str) -> Any:
    if kind in (str, Any):
        return name
    try:
        return decode(kind, _loads(name), f"a key of {path}")
    except ValueError:
        raise _wrong(kind, name, f"a key of {path}") from None


def encode(value: Any, path: str) -> Any:
    """A value as JSON can hold it."""
    kind = type(value)
    if value is None or kind in (bool, int, str) or (kind is float and value - value == 0):
        return value
    if isinstance(value, enum.Enum):
        return encode(value.value, path)
    if kind in (list, tuple):
        return [encode(part, f"{path}[{at}]") for at, part in enumerate(value)]
    if kind in (set, frozenset):
        return sorted((encode(part, f"an item of {path}") for part in value), key=lambda part: _dumps(part, sort_keys=True))
    if kind is dict:
        names = {name if type(name) is str else _dumps(encode(name, f"a key of {path}")): name for name in value}
        return {name: encode(value[key], f"{path}[{key!r}]") for name, key in names.items()}
    if hasattr(kind, "__dataclass_fields__"):
        return {name: encode(getattr(value, name), f"{path}.{name}") for name in kind.__dataclass_fields__}
    raise TypeError(f"{path} is a {kind.__name__}: an agent can be given only what JSON holds, and dataclasses of that")


# -- agentic functions ----------------------------------------------------------------------------------------------


def _has_body(function: Callable[..., Any]) -> bool:
    """Whether a function does anything. One without a body returns None and has no instruction that does more."""
    import dis

    code = function.__code__
    if code.co_flags & (inspect.CO_GENERATOR | inspect.CO_ASYNC_GENERATOR):
        return True
    idle = {"RESUME", "NOP", "LOAD_CONST", "RETURN_VALUE", "RETURN_CONST", "CACHE", "GEN_START", "COPY_FREE_VARS",
            "RETURN_GENERATOR", "POP_TOP", "LOAD_COMMON_CONSTANT", "CALL_INTRINSIC_1", "RERAISE", "NOT_TAKEN"}  # fmt: skip
    for instruction in dis.get_instructions(code):
        if instruction.opname not in idle:
            return True
        if instruction.opname in ("LOAD_CONST", "RETURN_CONST") and instruction.argval not in (None, Ellipsis, function.__doc__):
            return True
    return False


class Agentic:
    """A function that an agent answers; with a body, one whose calls are told as its own."""

    def __init__(self, function: Callable[..., Any], uses: tuple[Callable[..., Any], ...]) -> None:
        if type(function) is not types.FunctionType:
            raise TypeError("agentic wants a function made with `def`")
        self.__wrapped__ = function
        self.__name__ = function.__name__
        self.__qualname__ = function.__qualname__
        self.__doc__ = function.__doc__
        self.uses = uses
        self.body = _has_body(function)
        self.told = None if self.body else _told(function)
        if not self.body and not (function.__doc__ or "").strip():
            raise TypeError(f"{function.__name__} has neither a body nor a docstring that says what is wanted of it")

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else types.MethodType(self, instance)

    def __repr__(self) -> str:
        return f"<agentic function {self.__qualname__}>"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        function = self.__wrapped__
        if inspect.iscoroutinefunction(function):
            return self._later(args, kwargs)
        with _Frame(self.__name__, _shown(args, kwargs)) as frame:
            if self.body:
                return function(*args, **kwargs)
            return self._answer(frame, args, kwargs, lambda tool, given: tool(**given))

    async def _later(self, args: Any, kwargs: Any) -> Any:
        """The same for `async def`: the loop goes on while the agent is asked."""
        import asyncio

        with _Frame(self.__name__, _shown(args, kwargs)) as frame:
            if self.body:
                return await self.__wrapped__(*args, **kwargs)
            loop = asyncio.get_running_loop()
            done = loop.create_future()

            def finish(result: Any, error: BaseException | None) -> None:
                if not done.done():
                    done.set_exception(error) if error is not None else done.set_result(result)

            def call(tool: Any, given: Any) -> Any:
                made = tool(**given)
                return asyncio.run_coroutine_threadsafe(_awaited(made), loop).result() if inspect.isawaitable(made) else made

            def work() -> None:
                token = _FRAME.set(frame)
                try:
                    result, error = self._answer(frame, args, kwargs, call), None
                except BaseException as failure:
                    result, error = None, failure
                finally:
                    _FRAME.reset(token)
                loop.call_soon_threadsafe(finish, result, error)

            thread = _Thread(target=work, daemon=True)
            thread.start()
            try:
                return await done
            finally:
                # A thread that is left would keep the process from being a checkpoint.
                thread.join(60.0)

    def _answer(self, frame: int, args: Any, kwargs: Any, call: Callable[[Any, Any], Any]) -> Any:
        function = self.__wrapped__
        hints = _get_type_hints(function)
        bound = _signature(function).bind(*args, **kwargs)
        bound.apply_defaults()
        given = {}
        for name, value in bound.arguments.items():
            given[name] = encode(value, f"{self.__name__}: {name}")
            hint = hints.get(name, Any)
            variadic = _signature(function).parameters[name].kind in (2, 4)
            if not variadic and hint is not Any:
                try:
                    decode(hint, given[name], name)
                except _Wrong as wrong:
                    raise TypeError(f"{self.__name__}: {wrong}") from None
        wanted = hints.get("return", Any)
        question: dict[str, Any] = {
            "version": 1,
            "task": "Give the result of the call, as the docstring says: answer with JSON, {\"result\": value}. To have "
                    "one of `tools` called first, answer with {\"calls\": [{\"tool\": name, \"arguments\": {…}}]}.",
            "function": self.told,
            "arguments": given,
            "returns": schema(wanted),
            "tools": [_told(tool.__wrapped__ if isinstance(tool, Agentic) else tool) for tool in self.uses],
            "called": [],
            "rejected": [],
        }  # fmt: skip
        tools = {tool.__name__: tool for tool in self.uses}
        for _ in range(ROUNDS):
            text = _ask(frame, "agentic", self.__name__, question)
            try:
                answer = _read(text, wanted)
                if "calls" in answer:
                    question["called"].append(self._call(answer["calls"], tools, call))
                    continue
                return decode(wanted, answer["result"])
            except _Wrong as wrong:
                question["rejected"].append({"answer": text[:2000], "why": str(wrong)})
                if len(question["rejected"]) >= WRONG:
                    raise NoAnswer(f"{self.__name__}: {wrong}; that was the answer no. {WRONG} that is not taken") from None
        raise NoAnswer(f"{self.__name__}: no result after {ROUNDS} rounds of calls")

    def _call(self, calls: Any, tools: dict[str, Any], call: Callable[[Any, Any], Any]) -> list[Any]:
        if type(calls) is not list:
            raise _Wrong("calls should be a list")
        made = []
        for one in calls[:ROUNDS]:
            name = one.get("tool") if type(one) is dict else None
            given = one.get("arguments", {}) if type(one) is dict else None
            if type(name) is not str or name not in tools or type(given) is not dict:
                raise _Wrong(f"a call should name one of {sorted(tools)} and give its arguments")
            tool = tools[name]
            hints = _get_type_hints(tool.__wrapped__ if isinstance(tool, Agentic) else tool)
            given = {key: decode(hints.get(key, Any), value, f"{name}: {key}") for key, value in given.items()}
            try:
                result = encode(call(tool, given), f"the result of {name}")
            except Exception as error:
                made.append({"tool": name, "arguments": one["arguments"], "error": f"{type(error).__name__}: {error}"[:2000]})
            else:
                made.append({"tool": name, "arguments": one.get("arguments", {}), "result": result})
        return made


Agentic.__module__ = "reweave"


async def _awaited(made: typing.Awaitable[Any]) -> Any:
    return await made


def _told(function: Callable[..., Any]) -> dict[str, Any]:
    hints = _get_type_hints(function)
    parameters = list(_signature(function).parameters)
    return {
        "name": function.__name__, "signature": str(_signature(function)), "doc": inspect.getdoc(function) or "",
        "parameters": {name: schema(hints.get(name, Any)) for name in parameters},
    }  # fmt: skip


def _read(text: str, wanted: Any) -> dict[str, Any]:
    try:
        answer = _loads(text)
    except ValueError:
        answer = None
    if type(answer) is dict and ("result" in answer or "calls" in answer):
        return answer
    if wanted is str and answer is None:
        return {"result": text.strip()}
    raise _Wrong("the answer should be JSON with a `result`")


def _shown(args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    from . import evidence

    parts = [evidence.short(value, 1) for value in args]
    parts += [f"{name}={evidence.short(value, 1)}" for name, value in kwargs.items()]
    text = ", ".join(parts)
    return text if len(text) <= SHOWN else text[:SHOWN] + "…"


def _digest(*parts: bytes) -> str:
    hasher = hashlib.blake2b(digest_size=32)
    for part in parts:
        hasher.update(len(part).to_bytes(8, "little") + part)
    return hasher.hexdigest()


def _ask(frame: int, kind: str, name: str, question: dict[str, Any]) -> str:
    data = _dumps(question, ensure_ascii=True, sort_keys=True).encode()
    key = _digest(kind.encode(), data)
    reply, answer = ASKER.ask({"kind": kind, "key": key, "name": name}, data)
    _note(frame, key, reply)
    return answer.decode("utf-8", "replace")


def _note(frame: int, key: str, reply: dict[str, Any]) -> None:
    """Takes down that the step got this answer."""
    error = reply.get("error")
    if error is not None:
        ASKER.failed = True
        raise NoAnswer(f"{ASKER.frames[frame]['name']}: {error}")
    ASKER.frames[frame]["rounds"].append({"key": key, "answer": reply["digest"], "asked": bool(reply.get("asked"))})


def agentic(function: Any = None, *, uses: Any = ()) -> Any:
    """Has an agent answer a function that has a signature, a docstring and no body.

    Arguments and result are what JSON holds, dataclasses and enumerations, as the annotations say; an answer of a wrong
    type is asked for again, twice at most. `uses` are functions that the agent may have called before it answers. An
    answer is kept: the same question is not asked again. A function with a body is left as it is, and calls that it makes are
    shown as its own.
    """
    if function is None:
        return lambda function: Agentic(function, tuple(uses))
    return Agentic(function, tuple(uses))


agentic.__module__ = "reweave"


# -- recorded calls ---------------------------------------------------------------------------------------------------


def recorded(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Makes a call once, and gives what it gave from then on: a download, a clock, a random draw.

    A call is known by its step, the function's name, the arguments, and how many like it came before. What it does besides
    giving a value (files of the run, say) would not happen again: that is refused.
    """
    name = getattr(function, "__qualname__", type(function).__name__)
    if inspect.iscoroutinefunction(function):
        raise TypeError(f"recorded: {name} is asynchronous; give a function that waits for it")
    with _Frame(f"recorded {name}", _shown(args, kwargs)) as frame:
        given = _pickle((args, sorted(kwargs.items())), 5)
        where = f"{ASKER.step}\0{ASKER.path(ASKER.frames[frame]['parent'])}\0{getattr(function, '__module__', '')}.{name}"
        like = _digest(where.encode("utf-8", "surrogatepass"), given)
        with ASKER.lock:
            count = ASKER.counts[like] = ASKER.counts.get(like, 0) + 1
        key = _digest(b"recorded", like.encode(), str(count).encode())
        message = {"kind": "recorded", "key": key, "name": name}
        reply, data = ASKER.ask(message, _shown(args, kwargs).encode("utf-8", "replace"))
        if reply.get("make"):
            started = _monotonic()
            value = ASKER.worker.once(name, lambda: function(*args, **kwargs))
            data = _pickle(value, 5)
            message.update(kind="keep", took_ms=int(1000 * (_monotonic() - started)))
            reply, _ = ASKER.ask(message, data)
            _note(frame, key, reply)
            # What a replay gets is what this run goes on with.
            return _unpickle(data)
        _note(frame, key, reply)
        return _unpickle(data)


recorded.__module__ = "reweave"


def without_recorded(tree: ast.Module) -> ast.Module:
    """A step's code without what is recorded in it, and without imports: what of it may consult a clock each time."""

    class Strip(ast.NodeTransformer):
        def visit_Call(self, node: ast.Call) -> Any:
            name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", None)
            if name == "recorded":
                return ast.copy_location(ast.Constant(None), node)
            return self.generic_visit(node)

        def visit_Import(self, node: ast.Import) -> Any:
            return ast.copy_location(ast.Pass(), node)

        def visit_ImportFrom(self, node: ast.ImportFrom) -> Any:
            return node if node.module == "__future__" else ast.copy_location(ast.Pass(), node)

    stripped: ast.Module = Strip().visit(copy.deepcopy(tree))
    return stripped


def install(worker: Any) -> None:
    """Makes `import reweave` work in steps."""
    import sys

    global ASKER
    ASKER = Asker(worker)
    module = types.ModuleType("reweave", "What steps may ask of reweave: functions that an agent answers, and calls made once.")
    module.agentic, module.recorded = agentic, recorded  # type: ignore[attr-defined]
    module.Agentic, module.NoAnswer = Agentic, NoAnswer  # type: ignore[attr-defined]
    module.__all__ = ["NoAnswer", "agentic", "recorded"]  # type: ignore[attr-defined]
    sys.modules["reweave"] = module
