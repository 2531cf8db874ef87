#!/usr/bin/env python3
"""Analysis beside others: marimo's `ScopedVisitor` (if this Python has marimo) and a plain `ast` visitor.

  analysis_peers.py split [N]    the top-level statements of this Python's standard library, N of them (4000), as JSON lines
  analysis_peers.py [N]          times all on them and prints milliseconds per 1,000 steps of 800 bytes, best of 3;
                                 reweave's own figure comes from `cargo bench --bench analysis`, which it runs
"""
import ast
import json
import os
import subprocess
import sys
import sysconfig
import tempfile
import time
import tokenize
import warnings

warnings.simplefilter("ignore")


def steps(count):
    """Evenly from all files: definitions, imports, assignments, as they stand."""
    root = sysconfig.get_path("stdlib")
    files = []
    for folder, folders, found in os.walk(root):
        folders[:] = sorted(f for f in folders if f not in ("site-packages", "test", "tests", "__pycache__"))
        files += [os.path.join(folder, name) for name in sorted(found) if name.endswith(".py")]
    taken = []
    for path in files:
        try:
            with tokenize.open(path) as file:
                source = file.read()
            tree = ast.parse(source)
        except (SyntaxError, ValueError):
            continue
        lines = source.encode().splitlines(keepends=True)
        for statement in tree.body:
            # As `ast.get_source_segment`, which splits the whole source anew for each.
            part = lines[statement.lineno - 1 : statement.end_lineno]
            part[-1] = part[-1][: statement.end_col_offset]
            part[0] = part[0][statement.col_offset :]
            text = b"".join(part).decode(errors="replace")
            if text and "\0" not in text and text.isascii():
                taken.append(text)
    return [taken[at * len(taken) // count] for at in range(min(count, len(taken)))]


class Names(ast.NodeVisitor):
    """What one writes first: names loaded and names stored."""

    def __init__(self):
        self.reads, self.writes = set(), set()

    def visit_Name(self, node):
        (self.reads if isinstance(node.ctx, ast.Load) else self.writes).add(node.id)


def plain(sources):
    for source in sources:
        Names().visit(ast.parse(source))


def marimo(sources):
    from marimo._ast.visitor import ScopedVisitor
    for at, source in enumerate(sources):
        try:
            ScopedVisitor(f"cell_{at}").visit(ast.parse(source))
        except Exception:
            pass  # `from m import *` is an error of its own there


def best(work, sources):
    times = []
    for _ in range(3):
        start = time.perf_counter()
        work(sources)
        times.append(time.perf_counter() - start)
    return min(times) * 1000 / (sum(map(len, sources)) / 800_000)


def main():
    arguments = [a for a in sys.argv[1:] if a != "split"]
    sources = steps(int(arguments[0]) if arguments else 4000)
    if "split" in sys.argv:
        for source in sources:
            print(json.dumps(source))
        return
    size = sum(map(len, sources))
    print(f"{len(sources)} steps, {size // len(sources)} bytes on average; ms per 1,000 steps of 800 bytes")
    print(f"  plain ast visitor       {best(plain, sources):8.0f}", flush=True)
    try:
        print(f"  marimo ScopedVisitor    {best(marimo, sources):8.0f}", flush=True)
    except ImportError as missing:
        print(f"  marimo: {missing}")
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as file:
        for source in sources:
            print(json.dumps(source), file=file)
        file.flush()
        subprocess.run(["cargo", "bench", "-q", "--bench", "analysis", "--", "steps", file.name], check=True,
                       cwd=os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


main()
