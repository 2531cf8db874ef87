"""IPython's additions to Python, as far as steps use them: `%`, `!`, `?`, `%%cell`, top-level `await`.

They are translated only where the text is not Python, at the start of logical lines, never in strings or
brackets, and line numbers stay. What a magic does is done here; those that mean nothing without a notebook
are accepted, unknown ones are an error that names them.
"""

from __future__ import annotations

import ast
import builtins
import os
import re
import shlex
import subprocess
import sys
import time
import types
from collections.abc import Iterator
from typing import Any

from . import ipython

_ASSIGN = re.compile(r"^(\s*)([A-Za-z_][\w.\[\]'\", ]*?)\s*=\s*(%|!)(.*)$", re.S)
_HELP = re.compile(r"^(\s*)(\?{1,2}\s*[\w.*]+|%?[\w.]+\s*\?{1,2})\s*;?\s*$")


def parse(source: str, filename: str) -> tuple[ast.Module, str]:
    """The step as a syntax tree; IPython's syntax is translated where Python rejects the text."""
    try:
        return _parse(source, filename), source
    except SyntaxError:
        if not re.search(r"(?m)^\s*[%!?]|\?\s*$|=\s*[%!]", source):
            raise
        translated = translate(source)
        if translated == source:
            raise
        return _parse(translated, filename), translated


def _parse(source: str, filename: str) -> ast.Module:
    flags = ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
    tree: ast.Module = compile(source, filename, "exec", flags=flags, dont_inherit=True)
    return tree


def translate(source: str) -> str:
    """IPython's syntax as calls of `get_ipython()`; line numbers are kept."""
    lines = source.splitlines(keepends=True)
    for first, line in enumerate(lines):
        if line.strip() and not line.lstrip().startswith("#"):
            if line.lstrip().startswith("%%"):
                head = line.lstrip()[2:].rstrip("\r\n")
                name, _, rest = head.partition(" ")
                body = "".join(lines[first + 1 :])
                call = f"get_ipython().run_cell_magic({name!r}, {rest.strip()!r}, {body!r})"
                if name in _PYTHON_CELLS:
                    # The body is Python: it stays where it is, so that its names and lines are seen.
                    return "".join(lines[:first]) + _PYTHON_CELLS[name](rest.strip(), lines[first + 1 :])
                return "".join(lines[:first]) + call + "\n"
            break
    out = []
    for text in _logical_lines(lines):
        out.append(_translate_line(text))
    return "".join(out)


def _time_cell(rest: str, body: list[str]) -> str:
    indented = "".join("    " + line if line.strip() else line for line in body)
    del indented
    return "get_ipython().timer_start()\n" + "".join(body).rstrip("\n") + "\nget_ipython().timer_stop()\n"


def _timeit_cell(rest: str, body: list[str]) -> str:
    # What a timed body binds stays in it, as with `timeit`.
    indented = "".join("    " + line if line.strip() else line for line in body)
    setup = rest if rest and not rest.startswith("-") else "pass"
    return f"def _timed():\n{indented.rstrip(chr(10))}\n    {setup}\nget_ipython().timeit(_timed); del _timed\n"


def _capture_cell(rest: str, body: list[str]) -> str:
    return "get_ipython().capture_start()\n" + "".join(body).rstrip("\n") + "\nget_ipython().capture_stop()\n"


_PYTHON_CELLS = {"time": _time_cell, "timeit": _timeit_cell, "capture": _capture_cell, "prun": _time_cell}


def _logical_lines(lines: list[str]) -> Iterator[str]:
    """Joins physical lines that belong together by brackets, strings or a backslash."""
    text = ""
    depth, quote = 0, ""
    for line in lines:
        if not text and re.match(r"\s*[%!?]", line):
            yield line
            continue
        text += line
        depth, quote = _scan(line, depth, quote)
        if depth <= 0 and not quote and not line.rstrip("\r\n").endswith("\\"):
            yield text
            text, depth = "", 0
    if text:
        yield text


def _scan(line: str, depth: int, quote: str) -> tuple[int, str]:
    at = 0
    while at < len(line):
        if quote:
            if line[at] == "\\":
                at += 2
                continue
            if line.startswith(quote, at):
                at += len(quote)
                quote = ""
                continue
            at += 1
            continue
        char = line[at]
        if char == "#":
            break
        if char in "'\"":
            quote = line[at : at + 3] if line[at : at + 3] in ("'''", '"""') else char
            at += len(quote)
            continue
        depth += (char in "([{") - (char in ")]}")
        at += 1
    return depth, quote if len(quote) == 3 else ""


def _translate_line(text: str) -> str:
    body = text.rstrip("\r\n")
    ending = text[len(body) :]
    indent = body[: len(body) - len(body.lstrip())]
    rest = body.lstrip()
    more = "\n" * body.count("\n")
    if rest.startswith("%") and not rest.startswith("%%"):
        name, _, argument = rest[1:].partition(" ")
        if name in ("time", "timeit") and argument.strip() and not argument.strip().startswith("-"):
            if name == "timeit":
                return f"{indent}get_ipython().timeit(lambda: ({argument.strip().rstrip(';')})){more}{ending}"
            return f"{indent}get_ipython().timer_start(); {argument.strip()}; get_ipython().timer_stop(){more}{ending}"
        return f"{indent}get_ipython().run_line_magic({name!r}, {argument.strip()!r}){more}{ending}"
    if rest.startswith("!"):
        call = "getoutput" if rest.startswith("!!") else "system"
        return f"{indent}get_ipython().{call}({_interpolated(rest.lstrip('!').strip())}){more}{ending}"
    match = _ASSIGN.match(body)
    if match:
        indent, target, sign, argument = match.groups()
        if sign == "!":
            return f"{indent}{target} = get_ipython().getoutput({_interpolated(argument.strip())}){more}{ending}"
        name, _, argument = argument.partition(" ")
        if name == "time":
            return f"{indent}{target} = {argument.strip()}{more}{ending}"
        return f"{indent}{target} = get_ipython().run_line_magic({name!r}, {argument.strip()!r}){more}{ending}"
    match = _HELP.match(body)
    if match:
        return f"{indent}get_ipython().help({match.group(2).strip('? %')!r}){more}{ending}"
    return text


def _interpolated(command: str) -> str:
    """A shell line with `{expression}` and `$name` filled in, as an expression."""
    parts = re.split(r"(\{[^{}]+\}|\$[A-Za-z_]\w*)", command)
    if len(parts) == 1:
        return repr(command)
    pieces = []
    for part in parts:
        if part.startswith("{") and part.endswith("}"):
            try:
                ast.parse(part[1:-1].strip(), mode="eval")
                pieces.append(f"str({part[1:-1].strip()})")
                continue
            except SyntaxError:
                pass
        elif part.startswith("$") and part[1:].isidentifier():
            name = part[1:]
            pieces.append(f"(str({name}) if {name!r} in globals() else {part!r})")
            continue
        if part:
            pieces.append(repr(part))
    return " + ".join(pieces)


class UsageError(Exception):
    """A magic was used in a way that it does not know."""


class _Events:
    """Takes what libraries want to be called at in IPython's loop, which is not here."""

    def register(self, event: str, function: Any) -> None:
        pass

    unregister = register

    def trigger(self, event: str, *args: Any) -> None:
        pass


class Shell:
    """What `get_ipython()` gives: the part of IPython's shell that steps and libraries use."""

    def __init__(self, worker: Any) -> None:
        self._worker = worker
        self._started: list[float] = []
        self._captured: list[Any] = []
        self.events = _Events()
        self.config: dict[str, Any] = {}

    @property
    def user_ns(self) -> dict[str, Any]:
        namespace: dict[str, Any] = self._worker.namespace
        return namespace

    def enable_gui(self, gui: str | None = None) -> None:
        """Figures are shown by what steps do, not in windows."""

    def run_line_magic(self, name: str, line: str, _stack_depth: int = 1) -> Any:
        method = getattr(self, f"_magic_{name.replace('-', '_')}", None)
        if method is not None:
            return method(line)
        if name in _QUIET:
            return None
        raise UsageError(f"line magic %{name} is not known here; write what it does as Python")

    magic = run_line_magic

    def run_cell_magic(self, name: str, line: str, cell: str) -> Any:
        if name in ("bash", "sh", "script", "!"):
            return self._script([*(shlex.split(line) or ["bash" if name != "sh" else "sh"])], cell)
        if name == "writefile" or name == "file":
            append, path = line.startswith("-a "), line.removeprefix("-a ").strip() if hasattr(line, "removeprefix") else line
            with open(os.path.expanduser(path.strip("\"'")), "a" if append else "w") as file:
                file.write(cell)
            return None
        if name in ("html", "markdown", "latex", "javascript", "js", "svg"):
            self._worker.shown.items.append({"repr": cell, "mime": {_MIME.get(name, "text/plain"): cell}})
            return None
        raise UsageError(f"cell magic %%{name} is not known here; write what it does as Python")

    def _script(self, command: list[str], text: str) -> None:
        sys.stdout.flush()
        done = subprocess.run(command, input=text.encode(), check=False)
        if done.returncode:
            raise subprocess.CalledProcessError(done.returncode, command)

    def system(self, command: str) -> None:
        sys.stdout.flush()
        subprocess.run(["sh", "-c", command], stdin=subprocess.DEVNULL, check=False)

    def getoutput(self, command: str) -> list[str]:
        done = subprocess.run(["sh", "-c", command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, check=False)  # fmt: skip
        return done.stdout.decode(errors="replace").splitlines()

    def help(self, name: str) -> None:
        value: Any = self._worker.namespace
        try:
            value = eval(name, self._worker.namespace)
        except Exception:
            print(f"Object `{name}` not found.")
            return
        print(getattr(value, "__doc__", None) or f"{name}: {type(value).__name__}")

    def timer_start(self) -> None:
        self._started.append(time.perf_counter())

    def timer_stop(self) -> None:
        self._worker.files.clock.add("the clock")
        print(f"Wall time: {(time.perf_counter() - self._started.pop()) * 1000:.3g} ms")

    def timeit(self, call: Any) -> None:
        self._worker.files.clock.add("the clock")
        start = time.perf_counter()
        call()
        once = time.perf_counter() - start
        loops = max(1, min(1000, int(0.05 / max(once, 1e-9))))
        start = time.perf_counter()
        for _ in range(loops):
            call()
        print(f"{(time.perf_counter() - start) / loops * 1e6:.3g} µs per loop ({loops} loops)")

    def capture_start(self) -> None:
        import io

        self._captured.append(sys.stdout)
        sys.stdout = io.StringIO()

    def capture_stop(self) -> None:
        sys.stdout = self._captured.pop()

    def _magic_matplotlib(self, line: str) -> None:
        self._worker.shown.inline = True

    def _magic_cd(self, line: str) -> None:
        os.chdir(os.path.expanduser(line.strip("\"'") or "~"))
        print(os.getcwd())

    def _magic_pwd(self, line: str) -> str:
        return os.getcwd()

    def _magic_env(self, line: str) -> Any:
        name, equals, value = line.partition("=")
        if not equals:
            return os.environ.get(name.strip()) if name.strip() else dict(os.environ)
        os.environ[name.strip()] = value.strip()
        print(f"env: {name.strip()}={value.strip()}")
        return None

    _magic_set_env = _magic_env

    def _magic_pip(self, line: str) -> None:
        self.system(f"{shlex.quote(sys.executable)} -m pip {line}")

    def _magic_run(self, line: str) -> None:
        words = shlex.split(line)
        if not words or words[0].endswith(".ipynb"):
            raise UsageError("%run of a notebook is not known here; import it as steps instead")
        with open(words[0], encoding="utf-8") as file:
            code = compile(file.read(), words[0], "exec")
        exec(code, self._worker.namespace)

    def _magic_who(self, line: str) -> None:
        print("\t".join(sorted(self._worker.space.names())))

    _magic_whos = _magic_who


_QUIET = frozenset(
    "config load_ext reload_ext autoreload colors precision pylab xmode pdb debug autosave reset_selective history "
    "alias automagic doctest_mode gui logstart logstop notebook page pinfo profile tb unload_ext".split()
)
_MIME = {"html": "text/html", "markdown": "text/markdown", "latex": "text/latex", "svg": "image/svg+xml",
         "javascript": "application/javascript", "js": "application/javascript"}  # fmt: skip


def install(worker: Any) -> None:
    """Puts `get_ipython` where steps find it without its being in their namespace."""
    shell = Shell(worker)

    def get_ipython() -> Shell:
        return shell

    builtins.get_ipython = get_ipython  # type: ignore[attr-defined]
    ipython.install(worker.shown.display, shell)


def ends_silently(text: str, last: ast.stmt) -> bool:
    """Whether a notebook would not show the value of the last statement because of a semicolon after it."""
    rest = text.encode("utf-8", "surrogatepass").splitlines(keepends=True)[(last.end_lineno or 1) - 1 :]
    return b"".join(rest)[last.end_col_offset or 0 :].lstrip().startswith(b";")


def run_async(tree: ast.Module, filename: str, namespace: dict[str, Any]) -> Any:
    """Runs a step with top-level `await` on an event loop of its own."""
    import asyncio  # a third of a start, which few need

    body = list(tree.body)
    last = body[-1] if body and isinstance(body[-1], ast.Expr) else None
    if last is not None:
        body.pop()

    async def run() -> Any:
        head = compile(ast.Module(body, tree.type_ignores), filename, "exec",
                       flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)  # fmt: skip
        found = eval(head, namespace)
        if isinstance(found, types.CoroutineType):
            await found
        if last is None:
            return None
        tail = compile(ast.Expression(last.value), filename, "eval", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
        value = eval(tail, namespace)
        return await value if isinstance(value, types.CoroutineType) and tail.co_flags & 0x80 else value

    return asyncio.run(run())
