"""Executes steps in order in one namespace, and tells what a person can see. Knows nothing of reweave."""

import ast
import contextlib
import io
import json
import os
import random
import re
import resource
import signal
import sys
import tempfile
import types


def shown(value):
    """The text of a value, or None where it tells nothing that can be compared."""
    if isinstance(value, (types.ModuleType, types.FunctionType, type, types.GeneratorType)):
        return None
    try:
        text = repr(value)
    except RecursionError:
        return None
    return None if " at 0x" in text else text


class Watched(dict):
    """A namespace that notes what is looked up in it before it is bound, and what stood there."""

    def __init__(self, *given):
        super().__init__(*given)
        self.begin()

    def begin(self):
        self.used, self.bound = {}, set()

    def __getitem__(self, name):
        try:
            value = super().__getitem__(name)
        except KeyError:
            if name not in self.bound:
                self.used.setdefault(name, "absent")
            raise
        if name not in self.bound and name not in self.used:
            self.used[name] = told(value)
        return value

    def __setitem__(self, name, value):
        self.bound.add(name)
        super().__setitem__(name, value)

    def __delitem__(self, name):
        self.bound.add(name)
        super().__delitem__(name)


def told(value, depth=4):
    """All that tells a value from others, sharing and addresses left out."""
    deeper = depth - 1
    if depth == 0 or isinstance(value, types.ModuleType):
        return type(value).__name__ + getattr(value, "__name__", "")
    if isinstance(value, types.FunctionType):
        closure = []
        for cell in value.__closure__ or ():
            try:
                closure.append(told(cell.cell_contents, deeper))
            except ValueError:
                closure.append("empty")
        code = value.__code__
        return repr((code.co_code.hex(), [c for c in code.co_consts if not hasattr(c, "co_code")], code.co_names,
                     told(value.__defaults__, deeper), closure, told(vars(value), deeper)))  # fmt: skip
    if isinstance(value, type):
        parts = {} if value.__module__ == "builtins" else {k: told(v, deeper) for k, v in vars(value).items() if k[:2] != "__" or k == "__init__"}
        return repr((value.__name__, [told(base, deeper) for base in value.__bases__], parts))
    if isinstance(value, types.GeneratorType):
        frame = value.gi_frame
        return repr((value.gi_code.co_code.hex(), frame and (frame.f_lasti, {k: told(v, deeper) for k, v in frame.f_locals.items()})))
    if isinstance(value, dict):
        return repr([(told(k, deeper), told(v, deeper)) for k, v in value.items()])
    if isinstance(value, (list, tuple, set, frozenset)):
        return type(value).__name__ + repr([told(part, deeper) for part in value])
    if type(value).__module__ == "__main__":
        return type(value).__name__ + told(vars(value), deeper)
    return re.sub(r" at 0x[0-9a-f]+", "", repr(value))


def around(source):
    """What is no name, where a step's text says that it uses it."""
    found = {}
    if "random.random" in source or "shuffle" in source:
        found["@random"] = str(hash(random.getstate()))
    for name in ("a.txt", "b.txt"):
        if name in source or "listdir" in source:
            found[name] = open(name).read() if os.path.isfile(name) else "absent"
    if "KEY" in source:
        found["KEY"] = os.environ.get("KEY")
    if "'mine'" in source:
        import math

        found["mine"] = getattr(math, "mine", None)
    if "print(extra)" in source:
        import builtins

        found["extra"] = getattr(builtins, "extra", None)
    if "getrecursionlimit" in source:
        found["limit"] = sys.getrecursionlimit()
    if "decimal" in source:
        import decimal

        found["decimal"] = decimal.getcontext().prec
    return {name: str(value) for name, value in found.items()}


def uses(steps):
    """What each step uses, in a run of its own: to watch a namespace is not to leave it as it is."""
    main_module = types.ModuleType("__main__")
    sys.modules["__main__"] = main_module
    space = Watched(vars(main_module))
    random.seed(0)
    found = {}
    for step, source in steps:
        space.begin()
        before = around(source)
        names = sorted(name for name in space if name[:2] != "__")
        with contextlib.redirect_stdout(io.StringIO()):
            try:
                exec(compile(ast.parse(source), step, "exec"), space)
            except (MemoryError, RecursionError):
                os._exit(1)
            except Exception as failure:
                failure.__traceback__ = None
        found[step] = {**space.used, **before}
        if "globals()" in source or "dir()" in source:
            found[step]["@names"] = str(names)
    return found


def apart(steps):
    """The same in a child, in a directory of its own."""
    out, into = os.pipe()
    if os.fork() == 0:
        signal.alarm(5)  # a child has none
        with tempfile.TemporaryDirectory() as place:
            os.chdir(place)
            text = json.dumps(uses(steps))
            os.chdir("/")
        with open(into, "w") as file:
            file.write(text)
        os._exit(0)
    os.close(into)
    with open(out) as file:
        text = file.read()
    if not text:
        os._exit(1)
    return json.loads(text)


def debug_string(text):
    """As Rust's `{:?}` writes the texts that occur here."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def run(place, steps):
    """Everything in order, in this process."""
    os.chdir(place)
    sys.path[0] = place
    used = apart(steps)
    main_module = types.ModuleType("__main__")
    sys.modules["__main__"] = main_module
    space = main_module.__dict__
    random.seed(0)
    results, states, hidden = {}, {}, set()
    for step, source in steps:
        out, error = io.StringIO(), None
        with contextlib.redirect_stdout(out):
            try:
                exec(compile(ast.parse(source), step, "exec"), space)
            except (MemoryError, RecursionError):
                os._exit(1)
            except Exception as failure:
                error = "%s: %s" % (type(failure).__name__, failure)
                failure.__traceback__ = None
        said = "None" if error is None else "Some(%s)" % debug_string(error)
        results[step] = "%s %s" % (out.getvalue(), said)
        state = {}
        for name, value in list(space.items()):
            if name.startswith("__"):
                continue
            text = shown(value)
            if text is None:
                hidden.add(name)
            else:
                state[name] = text
        states[step] = state
    return {"results": results, "states": states, "hidden": sorted(hidden), "used": used}


def main():
    """Answers each line of input, `[place, steps]`, from a child that has run nothing before.

    A program that needs too much, or calls itself too often, is answered by `null`: where it ends is chance.
    """
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            # What grows without end is no program to compare.
            resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))
            signal.alarm(5)
            print(json.dumps(run(*json.loads(line))), flush=True)
            os._exit(0)
        if os.waitpid(child, 0)[1] != 0:
            print("null", flush=True)


main()
