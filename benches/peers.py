#!/usr/bin/env python3
"""The same small cells in reweave and beside it: in nbclient and papermill, in marimo's kernel, and plainly.

  peers.py [--reweave BIN] [--lab PYTHON] [--marimo PYTHON] [--cells N] [--repeats N]

A first cell makes data, the others do little with it. Told are the milliseconds that each takes a cell in a full run, the
first cell left out, and the time until all is up to date again after a constant in one cell in the middle was edited.
nbclient and papermill know nothing of what a cell uses, so an edit costs them the full run. reweave is an open session,
spoken with over MCP: what is timed there is the edit and the update, with what goes over the pipe. marimo's kernel runs
within this program, without its server and its browser. Medians. Whoever is not there is left out.
"""
import argparse
import asyncio
import json
import os
import queue
import statistics
import subprocess
import sys
import tempfile
import time


def cells(count):
    """Each about half a millisecond of work, each name bound once, as marimo wants it."""
    made = ["data = {'a': list(range(8000)), 'b': list(range(8000))}\n"]
    for n in range(count):
        made.append((
            f"v{n} = sum(data['a']) + {n}\nfor _i{n} in range(4):\n    sum(data['b'])\n",
            f"w{n} = sum(x for x in data['b'] if x > {n}) / 2\n",
            f"s{n} = [x * {n} for x in data['a']]\n",
            f"print(len(data['a']), sorted(data['b'], key=lambda x: -x)[0], {n})\n",
        )[n % 4])
    return made


def edited(source, other):
    """The middle cell with another constant; a cell after it reads what it makes."""
    middle = len(source) // 2 // 4 * 4 + 1
    changed = list(source)
    changed[middle] = changed[middle].replace("+ ", f"+ {other} + ", 1)
    return middle, changed


def with_reader(source):
    middle = len(source) // 2 // 4 * 4 + 1
    return [*source, f"print(v{middle - 1})\n"]


# Each gives the seconds of a full run without its first cell, and those of an update after an edit.


def plain(source):
    codes = [compile(text, f"<{n}>", "exec") for n, text in enumerate(source)]
    space = {}
    with open(os.devnull, "w") as nothing:
        out, sys.stdout = sys.stdout, nothing
        try:
            exec(codes[0], space)
            start = time.perf_counter()
            for code in codes[1:]:
                exec(code, space)
            took = time.perf_counter() - start
        finally:
            sys.stdout = out
    return took, took


def nbclient(source):
    import nbformat
    from nbclient import NotebookClient

    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(text) for text in source])
    client = NotebookClient(notebook, kernel_name="python3", timeout=600)
    with client.setup_kernel():
        client.execute_cell(notebook.cells[0], 0)
        start = time.perf_counter()
        for number, cell in enumerate(notebook.cells[1:], 1):
            client.execute_cell(cell, number)
        took = time.perf_counter() - start
    return took, took


def papermill(source):
    import datetime

    import nbformat
    import papermill as pm

    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(text) for text in source])
    notebook.metadata["kernelspec"] = {"name": "python3", "language": "python", "display_name": "python3"}
    with tempfile.TemporaryDirectory() as place:
        path = os.path.join(place, "cells.ipynb")
        nbformat.write(notebook, path)
        done = pm.execute_notebook(path, os.path.join(place, "out.ipynb"), progress_bar=False, log_output=False)
    moment = lambda cell, key: datetime.datetime.fromisoformat(cell.metadata.papermill[key])
    took = (moment(done.cells[-1], "end_time") - moment(done.cells[1], "start_time")).total_seconds()
    return took, took


def marimo(source):
    from marimo._ast.app_config import _AppConfig
    from marimo._config.config import DEFAULT_CONFIG
    from marimo._messaging.types import KernelStreams, NoopStream
    from marimo._runtime.commands import AppMetadata, ExecuteCellCommand
    from marimo._runtime.kernel_lifecycle import KernelArgs, kernel_session
    from marimo._session.model import SessionMode

    streams = KernelStreams(stream=NoopStream(), stdout=None, stderr=None, stdin=None)
    arguments = KernelArgs(
        streams=streams, debugger=None, configs={}, mode=SessionMode.EDIT, control_queue=queue.Queue(),
        app_metadata=AppMetadata(query_params={}, cli_args={}, app_config=_AppConfig()), user_config=DEFAULT_CONFIG,
        set_ui_element_queue=queue.Queue(), virtual_file_storage=None,
    )  # fmt: skip
    command = lambda number, text: ExecuteCellCommand(cell_id=str(number), code=text)
    with kernel_session(arguments) as (kernel, _), open(os.devnull, "w") as nothing:
        out, sys.stdout = sys.stdout, nothing
        try:
            asyncio.run(kernel.run([command(0, source[0])]))
            start = time.perf_counter()
            asyncio.run(kernel.run([command(n, text) for n, text in enumerate(source[1:], 1)]))
            full = time.perf_counter() - start
            middle, changed = edited(source, 7)
            start = time.perf_counter()
            asyncio.run(kernel.run([command(middle, changed[middle])]))
            again = time.perf_counter() - start
            assert kernel.globals[f"v{middle - 1}"] == sum(range(8000)) + 7 + middle - 1
        finally:
            sys.stdout = out
    return full, again


class Session:
    """An open session of reweave on a run of these cells."""

    def __init__(self, binary, python, source, place):
        for number, text in enumerate(source):
            with open(os.path.join(place, f"{number:04}.py"), "w") as file:
                file.write(text)
        self.child = subprocess.Popen(
            [binary, "mcp", place], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env={**os.environ, "PATH": os.path.dirname(python) + os.pathsep + os.environ.get("PATH", "")},
        )  # fmt: skip
        self.number = 0
        self.ask("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "peers", "version": "1"}})

    def ask(self, method, parameters):
        self.number += 1
        message = {"jsonrpc": "2.0", "id": self.number, "method": method, "params": parameters}
        print(json.dumps(message), file=self.child.stdin, flush=True)
        for line in self.child.stdout:
            answer = json.loads(line)
            if answer.get("id") == self.number:
                return answer
        raise SystemExit("reweave went away")

    def tool(self, name, **arguments):
        answer = self.ask("tools/call", {"name": name, "arguments": arguments})
        if "result" not in answer or answer["result"].get("isError"):
            raise SystemExit(f"{name}: {answer}")
        return answer["result"]

    def close(self):
        self.child.stdin.close()
        self.child.wait(60)


def reweave(source, binary, python):
    with tempfile.TemporaryDirectory() as place:
        session = Session(binary, python, source, place)
        session.tool("run", steps=["0000"])
        start = time.perf_counter()
        session.tool("run")
        full = time.perf_counter() - start
        middle, changed = edited(source, 7)
        start = time.perf_counter()
        session.tool("edit", step=f"{middle:04}", source=changed[middle])
        told = session.tool("run")
        again = time.perf_counter() - start
        text = json.dumps(told)
        assert str(sum(range(8000)) + 7 + middle - 1) in text, text[:2000]
        session.close()
    return full, again


HERE = {"plain": plain, "nbclient": nbclient, "papermill": papermill, "marimo": marimo}


def elsewhere(python, name, count, repeats):
    """The figures of one that is in another interpreter; nothing where it is not."""
    if python is None:
        return None
    done = subprocess.run(
        [python, __file__, "--only", name, "--cells", str(count), "--repeats", str(repeats)], capture_output=True, text=True
    )
    if done.returncode:
        print(f"{name:12} left out: {(done.stderr.strip().splitlines() or ['it failed'])[-1]}")
        return None
    return json.loads(done.stdout.splitlines()[-1])


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--reweave", default=os.path.join(os.path.dirname(__file__), "../target/release/reweave"))
    options.add_argument("--lab", default=sys.executable, help="a Python that has nbclient and papermill")
    options.add_argument("--marimo", default=sys.executable, help="a Python that has marimo")
    options.add_argument("--cells", type=int, default=200)
    options.add_argument("--repeats", type=int, default=5)
    options.add_argument("--only", choices=HERE, help=argparse.SUPPRESS)
    given = options.parse_args()
    source = with_reader(cells(given.cells))
    if given.only:
        print(json.dumps([HERE[given.only](source) for _ in range(given.repeats)]))
        return
    everyone = [(name, given.marimo if name == "marimo" else given.lab) for name in HERE]
    figures = {name: elsewhere(python, name, given.cells, given.repeats) for name, python in everyone}
    figures["reweave"] = [reweave(source, given.reweave, given.lab) for _ in range(given.repeats)]
    print(f"{given.cells} cells, medians of {given.repeats}")
    base = statistics.median(full for full, _ in figures["plain"]) if figures["plain"] else 0
    for name, found in figures.items():
        if found:
            full, again = (statistics.median(part) for part in zip(*found))
            more = (full - base) / given.cells * 1e3
            print(f"{name:12} full run {full / given.cells * 1e3:8.3f} ms a cell, {more:7.3f} of it overhead;   after an edit {again * 1e3:8.1f} ms")


if __name__ == "__main__":
    main()
