"""Executes steps in order in one namespace, and tells what a person can see. Knows nothing of reweave."""

import ast
import contextlib
import io
import json
import os
import random
import sys
import types


def shown(value):
    """The text of a value, or None where it tells nothing that can be compared."""
    if isinstance(value, (types.ModuleType, types.FunctionType, type, types.GeneratorType)):
        return None
    text = repr(value)
    return None if " at 0x" in text else text


def files():
    found = {}
    for name in sorted(os.listdir(".")):
        if os.path.isfile(name):
            with open(name) as file:
                found[name] = file.read()
    found["@random"] = str(hash(random.getstate()))
    return found


def debug_string(text):
    """As Rust's `{:?}` writes the texts that occur here."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def main():
    os.chdir(sys.argv[1])
    sys.path[0] = sys.argv[1]
    steps = json.loads(sys.argv[2])
    main_module = types.ModuleType("__main__")
    sys.modules["__main__"] = main_module
    space = main_module.__dict__
    random.seed(0)
    results, states, hidden, tree_of_files = {}, {}, set(), {}
    for step, source in steps:
        out, error = io.StringIO(), None
        with contextlib.redirect_stdout(out):
            try:
                exec(compile(ast.parse(source), step, "exec"), space)
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
        tree_of_files[step] = files()
    json.dump({"results": results, "states": states, "hidden": sorted(hidden), "files": tree_of_files}, sys.stdout)


main()
