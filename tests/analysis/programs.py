"""Runs step programs and tells what each step really looked up and bound in the run's namespace.

One program a line on standard input: {"steps": [source, ...]}.  One answer a line: {"steps": [step, ...]}, and a step is

  loads      [[name, step that bound or deleted it last before it was looked up, or -1], ...]
  binds      names bound or deleted
  changed    groups of names whose value was changed in place: within a group, values share what can be changed
  error      the class of the error that ended it; "SyntaxError" where it can't be compiled; null

Every look-up is seen as the instruction that makes it, in whatever frame: that of a class's body, of a function of an
earlier step, of constant source in `exec`.
"""
import dis
import gc
import io
import json
import signal
import sys
import types
import warnings

LOADS = {"LOAD_NAME", "LOAD_GLOBAL", "LOAD_FROM_DICT_OR_GLOBALS"}
STORES = {"STORE_NAME", "STORE_GLOBAL", "DELETE_NAME", "DELETE_GLOBAL"}
BUDGET = 30_000
MONITORING = getattr(sys, "monitoring", None)
TOOL = 4


class TooLong(BaseException):
    pass


class Watch:
    def __init__(self, space):
        self.space = space
        self.binder = {}
        self.code = {}
        self.step = 0
        self.loads, self.binds, self.left, self.keys = {}, set(), BUDGET, {}

    def instructions(self, code):
        found = self.code.get(code)
        if found is None:
            found = {i.offset: (i.opname, i.argval) for i in dis.get_instructions(code)
                     if i.opname in LOADS or i.opname in STORES}
            self.code[code] = found
        return found

    def trace(self, frame, event, arg):
        if event == "call":
            if frame.f_globals is not self.space:
                return None
            frame.f_trace_opcodes = True
            return self.trace
        if event == "opcode":
            self.left -= 1
            if self.left < 0:
                self.left = BUDGET
                raise TooLong
            seen = self.instructions(frame.f_code).get(frame.f_lasti)
            if seen:
                self.saw(frame, *seen)
        return self.trace

    def instruction(self, code, offset):
        """From Python 3.12 on: `sys.monitoring` tells instructions, `sys.settrace` only some of them."""
        frame = sys._getframe(1)
        if frame.f_globals is not self.space:
            return
        self.left -= 1
        if self.left < 0:
            self.left = BUDGET
            raise TooLong
        seen = self.instructions(code).get(offset)
        if seen:
            self.saw(frame, *seen)

    def start(self):
        if MONITORING:
            MONITORING.register_callback(TOOL, MONITORING.events.INSTRUCTION, self.instruction)
            MONITORING.set_events(TOOL, MONITORING.events.INSTRUCTION)
        else:
            sys.settrace(self.trace)

    def stop(self):
        if MONITORING:
            MONITORING.set_events(TOOL, 0)
        else:
            sys.settrace(None)

    def saw(self, frame, operation, name):
        if operation.endswith("_NAME") or operation == "LOAD_FROM_DICT_OR_GLOBALS":
            # Not by identity alone: with an inlined comprehension, 3.12 hands out a copy.
            top = frame.f_code.co_name == "<module>" and frame.f_back and frame.f_back.f_code is run.__code__
            inner = self.space if top else frame.f_locals
            if inner is not self.space and (operation in STORES or name in inner):
                return
        if operation in STORES:
            if operation.startswith("DELETE") and name not in self.space:
                return
            self.binds.add(name)
            self.binder[name] = self.step
        elif self.binder.get(name, -1) != self.step:
            if not name.startswith("__") and name in self.space and self.keys.get(name, self) is not self.space[name]:
                # Bound by something that is no instruction with the name: `globals()["x"] = 1`.
                self.binds.add(name)
                self.binder[name] = self.step
                return
            self.loads[name] = self.binder.get(name, -1)


ATOMS = (int, float, str, bytes, bool, type(None), complex, types.ModuleType, types.BuiltinFunctionType, range)


def shape(value, depth=0, seen=None):
    """What can be told of a value, without asking it."""
    seen = seen or set()
    kind = type(value)
    if kind in ATOMS or isinstance(value, ATOMS):
        return repr(value)
    if id(value) in seen or depth > 6:
        return "..."
    seen = seen | {id(value)}
    if kind in (list, tuple):
        return [kind.__name__] + [shape(v, depth + 1, seen) for v in list(value)]
    if kind in (set, frozenset):
        return [kind.__name__] + sorted(json.dumps(shape(v, depth + 1, seen)) for v in list(value))
    if kind is dict:
        return ["dict"] + [[shape(k, depth + 1, seen), shape(v, depth + 1, seen)] for k, v in list(value.items())]
    if isinstance(value, type):
        return ["class", value.__name__] + [[k, shape(v, depth + 1, seen)] for k, v in list(vars(value).items())
                                            if not k.startswith("__")]
    if hasattr(kind, "__dict__") and not isinstance(value, types.FunctionType):
        try:
            inner = object.__getattribute__(value, "__dict__")
        except AttributeError:
            return kind.__name__
        return [kind.__name__] + [[k, shape(v, depth + 1, seen)] for k, v in list(inner.items())]
    return kind.__name__


def inside(value, found=None, depth=0):
    """Identities of what can be changed within a value."""
    found = set() if found is None else found
    if isinstance(value, ATOMS) or id(value) in found or depth > 8:
        return found
    if not isinstance(value, (tuple, frozenset)):
        found.add(id(value))
    if isinstance(value, (list, tuple, set, frozenset)):
        parts = list(value)
    elif isinstance(value, dict):
        parts = list(value.values())
    elif isinstance(value, types.FunctionType):
        # What it closes over, not the run's namespace.
        parts = [c.cell_contents for c in value.__closure__ or () if has_contents(c)] + list(value.__defaults__ or ())
    elif hasattr(type(value), "__dict__"):
        parts = list(getattr(value, "__dict__", {}).values())
    else:
        parts = []
    for part in parts:
        inside(part, found, depth + 1)
    return found


def has_contents(cell):
    try:
        cell.cell_contents
    except ValueError:
        return False
    return True


def groups(names, space):
    left = [(name, inside(space[name])) for name in names if name in space]
    made = []
    for name, parts in left:
        joined, rest = [name], []
        for group, other in made:
            if other & parts:
                joined += group
                parts = parts | other
            else:
                rest.append((group, other))
        made = rest + [(joined, parts)]
    return [sorted(group) for group, _ in made]


def run(program):
    space = {"__name__": "__main__", "__builtins__": __builtins__}
    watch = Watch(space)
    answers = []
    for number, source in enumerate(program["steps"]):
        watch.step, watch.loads, watch.binds, watch.left = number, {}, set(), BUDGET
        error = None
        before = {name: (value, shape(value)) for name, value in space.items() if not name.startswith("__")}
        keys = watch.keys = dict(space)
        try:
            code = compile(source, "<step>", "exec", dont_inherit=True)
        except (SyntaxError, ValueError) as refused:
            answers.append({"loads": [], "binds": [], "changed": [], "error": "SyntaxError", "why": str(refused)})
            continue
        out, sys.stdout = sys.stdout, io.StringIO()
        watch.start()
        try:
            exec(code, space)
        except BaseException as failed:
            error = type(failed).__name__
        finally:
            watch.stop()
            sys.stdout = out
        # What no instruction names: `import *`, `globals()["x"] = 1`.
        for name in set(keys) | set(space):
            if not name.startswith("__") and name not in watch.binds \
                    and (name not in keys or name not in space or keys[name] is not space[name]):
                watch.binds.add(name)
                watch.binder[name] = number
        changed = [name for name, (value, was) in before.items()
                   if name in space and space[name] is value and name not in watch.binds and shape(value) != was]
        everything = groups([n for n in before if n in space], space)
        touched = [group for group in everything if any(name in changed for name in group)]
        answers.append({"loads": sorted(watch.loads.items()), "binds": sorted(watch.binds), "changed": touched,
                        "error": error})
    space.clear()
    return {"steps": answers}


def main():
    warnings.simplefilter("ignore")
    gc.disable()
    if MONITORING:
        MONITORING.use_tool_id(TOOL, "names")
    for line in sys.stdin:
        # A program that hangs ends the process, and its answer says so.
        signal.alarm(20)
        print(json.dumps(run(json.loads(line))), flush=True)
        gc.collect()


main()
