"""One process that holds the run's namespace and executes steps in it.

Started once as the root; every other process of the run is a fork of one that it holds. Each waits for
messages on a socket of its own (`wire.py`): `run` executes a step, `load` brings values over, `fork` leaves a
copy of the process behind or starts a line of its own, `state` tells variables. What a step used and changed
is worked out after it ran (`space.py`, `hidden.py`, `files.py`) and sent with its result.
"""

from __future__ import annotations

import _thread
import ast
import builtins
import gc
import hashlib
import os
import random
import signal
import sys
import time
import types
from typing import Any

from . import (
    bytecode,
    calls,
    closure,
    codec,
    compiled,
    decimals,
    errors,
    files,
    held,
    hidden,
    imports,
    inside,
    kernel,
    magics,
    names,
    packages,
    piece,
    rebuild,
    shown,
    space,
    standard,
    state_of_modules,
    uses,
    walk,
    wall,
    wire,
)

_perf = time.perf_counter_ns
_gettrace, _settrace, _getprofile, _setprofile = sys.gettrace, sys.settrace, sys.getprofile, sys.setprofile
_COROUTINE = 0x80
_NATIVE = frozenset("ctypes _ctypes cffi _cffi_backend".split())  # by which steps call what no event tells of
# Pieces that who draws from them changes, each with the word that tells who looks at one.
GENERATORS = {
    "@random": "getstate", "@numpy:random": "get_state", "@torch:random": "get_rng_state",
    "@threading:names": "_counter", "@pool:names": "_counter", "@process:names": "_process_counter",
}  # fmt: skip


class Worker:
    """The state of this process. Everything in it survives a fork."""

    def __init__(self, connection: wire.Wire) -> None:
        self.wire = connection
        main = types.ModuleType("__main__")
        sys.modules["__main__"] = main
        self.namespace = main.__dict__
        self.namespace["__builtins__"] = builtins
        self.namespace["__file__"] = ""  # another for every step, and in front of all that steps make
        rebuild.NAMESPACE = self.namespace
        self.space = space.Space(self.namespace)
        self.hidden = hidden.Hidden(self.space.hidden, self.namespace)
        self.shown = shown.Shown()
        self.steps: dict[str, str] = {}  # file name -> step id
        self.local: dict[str, str] = {}  # modules from the run's directory -> file
        self.space.walker.local = self.hidden.local = self.local
        self.seen_modules: set[str] = set()
        self.packages = packages.Packages()
        self.imported: list[str] = []  # by the step that ran last, the outermost packages alone
        self.stdout, self.stderr = sys.stdout, sys.stderr
        self.children: list[int] = []
        self._keep_streams()
        self.view = kernel.View()
        self.wall: wall.Wall | None = None  # what forks are put behind; none where everything is allowed
        self.walled = False
        self.asking: tuple[int, int] | None = None  # the process and thread that may ask while a step runs
        self.bindings: space.Bindings | None = None  # as the last step left them, if nothing has touched them since
        self.known_answers: list[dict[str, str]] = []
        self.answers: list[dict[str, str]] = []
        self.again: frozenset[str] | None = None  # hidden state that the execution used which this one makes again
        self.undead: list[Any] = []  # what other values were brought over in place of

    # -- life ---------------------------------------------------------------------------------------------

    def set_up(self, message: dict[str, Any]) -> None:
        """Makes the process a run's: directory, seeds, what steps find in builtins."""
        self.directory = self.home = message["dir"]
        bytecode.ROOTS.append(os.path.join(self.directory, ""))
        self.seed = message["seed"]
        wall.be_reaper()
        self._take_view(message.get("wall"))
        self.files = files.Files(self.directory, message["spool"])
        standard.REGISTERED.is_running = lambda: self.files.active
        self.files.ignored = frozenset(message.get("ignored", ()))
        _bound("RLIMIT_NOFILE", message.get("open_files"))
        _bound("RLIMIT_FSIZE", message.get("file_size"))
        os.chdir(self.directory)
        sys.dont_write_bytecode = True
        sys.argv = [""]
        sys.path.insert(0, self.directory)
        self.imports = imports.Imports(self.seed, self.files, self.hidden)
        sys.meta_path.insert(0, self.imports)
        random.seed(self.seed)
        builtins.display = self.shown.display  # type: ignore[attr-defined]
        magics.install(self)
        calls.install(self)
        self.plain_input, self.stdin = builtins.input, sys.stdin
        builtins.input = self._input
        os.environ.setdefault("MPLBACKEND", "agg")
        self.hidden.pieces["@inline"] = piece.Piece(
            lambda: self.shown.inline, lambda value: setattr(self.shown, "inline", value)
        )  # fmt: skip
        self.traced: tuple[Any, Any] = (None, None)
        self.hidden.pieces["@trace"] = piece.Piece(lambda: self.traced, lambda value: setattr(self, "traced", value))
        self.held = held.Holdings()
        self.hidden.pieces["@held"] = piece.Piece(self.held.value, _release, piece.OTHERWISE)
        self.hidden.pieces["@descriptors"] = piece.Piece(lambda: self.held.raw, _release, piece.OTHERWISE)
        self.hidden.start()
        self.hidden.track("builtins")
        self.hidden.track("sys")
        self.seen_modules = set(sys.modules)
        # What steps make is never frozen: a cycle of theirs would not be collected any more.
        gc.collect()
        gc.freeze()
        self.wire.send({
            "ok": True, "pid": os.getpid(), "version": ".".join(map(str, sys.version_info[:3])),
            "implementation": sys.implementation.name, "executable": sys.executable, "hexversion": sys.hexversion,
        })  # fmt: skip

    def _take_view(self, wanted: dict[str, Any] | None) -> None:
        """Prepares what steps are kept behind: a view of the file system, and the rules of the wall."""
        if wanted is None:
            return
        self.view.take(wanted["network"] == "none")
        self.view.own_shared_memory(wanted.get("memory"))
        self.view.protect(wanted["protected"])
        self.wall = wall.Wall(wanted)
        self.wall.prepare()
        self.unhidden = self.view.hide(wanted["hidden"])

    def serve(self) -> None:
        """Answers messages until the engine hangs up."""
        while True:
            message, data, fds = self.wire.receive()
            self._reap()
            kind = message.get("do")
            if kind == "fork":
                self._fork(fds, message.get("aside"), bool(message.get("wall")))
            elif kind == "protect":
                self.view.protect(message["paths"])
                self.wire.send({"ok": True})
            elif kind == "go_on":
                self.wire.send({"ok": True})
            elif kind == "put":
                places, borrowed = (list(map(tuple, message[key])) for key in ("places", "borrowed"))
                self.wire.send({"unisolated": kernel.put_for(message["pid"], places, borrowed)})
            elif kind == "run":
                self._run(message, data.decode("utf-8", "surrogatepass"))
            elif kind == "load":
                self._load(message, data)
            elif kind == "compile":
                self._compile_only(message, data.decode("utf-8", "surrogatepass"))
            elif kind == "state":
                self._state(message)
            elif kind == "packages":
                found = {name: self.packages.find(name) for name in message["names"]}
                self.wire.send({"found": {name: package and package._asdict() for name, package in found.items()}})
            elif kind == "inside":
                self._inside(message)
            elif kind == "set_up":
                self._hang_on(fds)
                self.set_up(message)
            elif kind == "exit":
                os._exit(0)
            else:
                self.wire.send({"error": f"unknown message {kind!r}"})

    @staticmethod
    def _hang_on(fds: list[int]) -> None:
        """Ties the whole process group to a pipe: when the engine's end closes, the kernel kills them all.

        The engine may die at any moment, and a step may be in a loop that never looks.
        """
        import fcntl

        for fd in fds:
            fcntl.fcntl(fd, fcntl.F_SETOWN, -os.getpgrp())
            if hasattr(fcntl, "F_SETSIG"):
                fcntl.fcntl(fd, fcntl.F_SETSIG, signal.SIGKILL)
            fcntl.fcntl(fd, fcntl.F_SETFL, fcntl.fcntl(fd, fcntl.F_GETFL) | os.O_ASYNC)

    def _reap(self) -> None:
        for pid in list(self.children):
            try:
                if os.waitpid(pid, os.WNOHANG)[0]:
                    self.children.remove(pid)
            except OSError:
                self.children.remove(pid)

    def _fork(self, fds: list[int], aside: dict[str, Any] | None, walled: bool) -> None:
        """Leaves a child that waits on the first descriptor; two more are its standard output and error.

        A child that goes `aside` sees a copy of the run's directory in its place, and says whether it does. One that
        is to execute steps is put behind the wall, and says what of it does not stand.
        """
        self._flush()
        pieces = [piece for name in hidden.RENEWED if (piece := self.hidden.pieces.get(name)) is not None]
        renewed = [(piece, piece.get()) for piece in pieces]
        opened = [number for number in self.held.opened() if int(number) not in fds]
        offsets = self.held.offsets(opened)
        start = _perf()
        pid = os.fork()
        if pid:
            self.children.append(pid)
            for fd in fds:
                os.close(fd)
            self.wire.send({"ok": True, "pid": pid, "us": (_perf() - start) // 1000})
            return
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        for piece, value in renewed:
            piece.put(value)
        self.held.part(opened, offsets)
        self.children = []
        self.wire.close()
        self.wire = wire.Wire(fds[0])
        for target, fd in zip((1, 2), fds[1:3]):
            os.dup2(fd, target)
            os.close(fd)
        for _, copy, mark in self.streams:
            if _mark_of(copy) == mark:
                os.close(copy)
        self._keep_streams()
        if aside is not None:
            self._go_aside(aside)
        if walled and self.wall is not None:
            told, listener = self.wall.put_up(self.view.mounts is None)
            told["mounts"], told["network"], told["power"] = self.view.mounts, self.view.network, self.view.power
            self.walled = True
            if told["asking"] is None and self.wall.wanted["network"] != "open":
                self.files.may_look_up = wall.may_look_up
            # The engine fetches the listener itself: to send it is among the calls that wait for an answer by now.
            self.wire.send({"walls": told, "unhidden": self.unhidden, "listener": listener})
            if listener is not None:
                self.wire.await_next()
                os.close(listener)
        self.held.settle(opened)

    def _go_aside(self, aside: dict[str, Any]) -> None:
        """Sees other directories in the place of the run's. Behind a wall the root has to show them."""
        cwd = os.getcwd()
        places, borrowed = (list(map(tuple, aside[key])) for key in ("places", "borrowed"))
        why = kernel.apart()
        if why is None and self.walled:
            self.wire.send({"waits": True})
            why = self.wire.receive()[0]["unisolated"]
            if why is None:
                os.chdir(cwd)
        elif why is None:
            why = kernel.put(places, borrowed)
        if why is not None:
            self._move(aside["copy"])
        self.wire.send({"unisolated": why})

    def _move(self, copy: str) -> None:
        """Works in another directory from now on; what names the old one absolutely still finds that."""
        old, self.directory = self.directory, copy
        self.hidden.move(self.home, copy)
        bytecode.ROOTS.append(os.path.join(copy, ""))
        sys.path[:] = [copy if path == old else path for path in sys.path]
        inner = os.path.relpath(os.getcwd(), old)
        os.chdir(copy if inner.startswith("..") else os.path.join(copy, inner))
        self.files.move(copy)

    # -- a step -------------------------------------------------------------------------------------------

    def _compile_only(self, message: dict[str, Any], source: str) -> None:
        try:
            step = compiled.compiled(source, message["file"])
        except compiled.FAULTS as error:
            described = errors.describe(error, {message["file"]: message["step"]})
            self.wire.send({"codes": [compiled.text_digest(source)] * 3, "error": described})
            return
        used = uses.uses_of(step.tree, step.code, message["file"])
        self.wire.send({
            "codes": step.digests(), "loads": sorted(uses.exposed(used)), "stores": sorted(used.whole.stores),
            "imports": uses.imports(step.tree),
        })  # fmt: skip

    def _run(self, message: dict[str, Any], source: str) -> None:
        step, filename = message["step"], message["file"]
        self.steps[filename] = step
        errors.remember_source(filename, source)
        self.namespace["__file__"] = filename
        self.shown.items = []
        error: BaseException | None = None
        try:
            text = compiled.compiled(source, filename)
            self.submodules = text.submodules()  # told before the step replaces what it is told with
            used = uses.uses_of(text.tree, text.code, filename)
        except compiled.FAULTS as failure:
            described = errors.describe(failure, self.steps)
            self.wire.send({"error": described, "us": 0, "observation": {"code": compiled.text_digest(source)}})
            return
        before = self.bindings or space.Bindings(self.namespace)
        self.bindings = None
        self.files.clear()
        self.files.watch(self.held.written)
        ahead = closure.Ahead(self, used)
        pre = ahead.whole
        # What these do with files raises no event here.
        if self.held.has_children() or not _NATIVE.isdisjoint(pre.modules):
            self.files.note_everything()
        self.files.asks_entries = "stat" in pre.words and not pre.words.isdisjoint(("scandir", "fwalk"))
        for module in pre.modules:
            self.hidden.track(module)
        self.hidden.follow_classes(pre.modules, pre.words, pre.may_set(), False)
        self.imports.before_step(pre.words, pre.may_set())
        self.hidden.before_step()
        decimals.FLAGS.before_step(pre.words)
        self.clock = self._clock(text.tree, filename, pre)
        calls.ASKER.begin(step)
        last: Any = None
        self.known_answers, self.answers = list(message.get("answers", ())), []
        again = message.get("again")
        self.again = None if again is None else frozenset(again)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        self.asking = (os.getpid(), _thread.get_ident())
        start = _perf()
        self.files.active = True
        try:
            self._trace(*self.traced)
            last = self._execute(text, filename)
            if last is not None:
                item = shown.forms(last)
                item["last"] = True
                self.shown.items.append(item)
            if self.shown.inline:
                self.shown.figures(close=True)
            last = None
        except BaseException as failure:
            error = failure
        # What looks at every line looks at the step's, not at ours.
        self.traced = _gettrace(), _getprofile()
        self._trace(None, None)
        took = (_perf() - start) // 1000
        self.asking = None
        # To describe an error looks into the files of steps: that is not the step's doing.
        self.files.active = False
        standard.WARNED.after_step()
        decimals.FLAGS.after_step()
        _ignore_interrupts()
        calls.ASKER.finish()
        reply: dict[str, Any] = {"us": took}
        last = None
        if error is not None:
            error.__traceback__ = error.__traceback__ and _own_part(error.__traceback__)
            line = _line_reached(error.__traceback__, filename, self.namespace)
            if line is not None:
                pre = ahead.until(line)
            try:
                reply["error"] = errors.describe(error, self.steps)
            except Exception:  # a class that lies about everything that is asked of it
                reply["error"] = {"type": type(error).__name__, "message": "it can't be described", "step": step}
            reply["interrupted"] = issubclass(type(error), KeyboardInterrupt) and bool(message.get("interruptible"))
        failed = error is not None
        _let_go(error)
        error = None
        self._flush()
        self._mend_streams()
        self.files.settle()
        self.files.note_new()
        reply["displays"] = self.shown.items
        observed, blob = self._observe(before, pre, text, failed, filename)
        reply["observation"] = observed
        self.wire.send(reply, blob)

    @staticmethod
    def _trace(trace: Any, profile: Any) -> None:
        if trace is not _gettrace():
            _settrace(trace)
        if profile is not _getprofile():
            _setprofile(profile)

    def _execute(self, step: compiled.Compiled, filename: str) -> Any:
        """Runs the step; the value of a last expression comes back."""
        body = step.tree.body
        namespace = self.namespace
        if step.code.co_flags & _COROUTINE:
            return magics.run_async(step.tree, filename, namespace)
        if step.tail is not None:
            if len(body) > 1:
                head = ast.Module(body[:-1], step.tree.type_ignores)
                code = compile(head, filename, "exec", flags=compiled.FLAGS, dont_inherit=True)
                bytecode.learn_constants(code, filename)
                exec(code, namespace)
            value = eval(step.tail, namespace)
            return None if step.silent and self.shown.inline else value
        bytecode.learn_constants(step.code, filename)
        exec(step.code, namespace)
        return None

    def _input(self, prompt: object = "", /) -> str:
        """The builtin `input`: asks the engine for a line, and waits for it.

        What was answered before is taken again as long as the same is asked.
        """
        if sys.stdin is not self.stdin:  # the step has put something there that answers
            return self.plain_input(prompt)
        text = str(prompt)
        sys.audit("builtins.input", prompt)
        if self.asking != (os.getpid(), _thread.get_ident()):
            raise EOFError("only the step itself can ask for input, not another thread or process of it")
        line = None
        if self.known_answers:
            known = self.known_answers.pop(0)
            if known["prompt"] == text:
                line = known["line"]
            else:
                self.known_answers = []
        sys.stdout.write(text)
        self._flush()
        if line is None:
            active, self.files.active = self.files.active, False
            try:
                message = calls.ASKER.line(text[:10_000])
            finally:
                self.files.active = active
            line = message.get("line")
            if line is None:
                raise EOFError(message.get("why") or "EOF when reading a line")
        self.answers.append({"prompt": text, "line": line})
        # As it would stand in a terminal, where what is typed is seen.
        sys.stdout.write(line + "\n")
        return line

    def _clock(self, tree: ast.Module, filename: str, pre: closure.Closure) -> set[str]:
        """What the step may consult that gives another answer each time, by its words; what is recorded does not."""
        if "recorded" not in pre.words:
            shows = "collect" in pre.words and _shows_collected(tree)
            return names.clock_words(pre.words) | ({"the collector"} if shows else set())
        bare = calls.without_recorded(tree)
        code = compile(bare, filename, "exec", flags=compiled.FLAGS, dont_inherit=True)
        return names.clock_words(closure.Ahead(self, uses.uses_of(bare, code, filename)).whole.words)

    def once(self, name: str, function: Any) -> Any:
        """Makes a call whose result is kept: what it looks at is no input of the step, and it may leave nothing behind."""
        pieces = {n: self.hidden.pieces[n] for n in GENERATORS if n in self.hidden.pieces}
        before = {n: followed.get() for n, followed in pieces.items()}
        known, seeded = set(self.files.writes), set(self.hidden.seeded)
        with self.files.unnoted():
            value = function()
        self.hidden.seeded = seeded
        for n, followed in pieces.items():
            followed.put(before[n])
        made = sorted(
            self.files.relative(path) for path in self.files.writes if path not in known and path.startswith(self.files.root)
        )
        if made:
            raise RuntimeError(
                f"recorded: {name} wrote {', '.join(made[:3])}, which a replay would not: give the content back instead"
            )
        return value

    def _keep_streams(self) -> None:
        """Remembers where standard output and error lead."""
        self.streams = [(target, _copy_of(target), _mark_of(target)) for target in (1, 2)]

    def _mend_streams(self) -> None:
        """A step that closed its standard output closed its own: those after it print as ever."""
        for target, copy, mark in self.streams:
            if _mark_of(target) != mark and _mark_of(copy) == mark:
                os.dup2(copy, target)

    def _flush(self) -> None:
        for stream in {id(s): s for s in (sys.stdout, sys.stderr, self.stdout, self.stderr)}.values():
            try:
                stream.flush()
            except Exception:
                pass

    # -- what it used and changed -------------------------------------------------------------------------

    def _observe(
        self, before: space.Bindings, pre: closure.Closure, step: compiled.Compiled, failed: bool, filename: str
    ) -> tuple[dict[str, Any], bytes]:
        namespace, known = self.namespace, self.space.components
        hidden_values = self.space.hidden
        own_hidden = dict(hidden_values)
        # A new object may lie where the one before it lay, and by that seem to be the same.
        certain = pre.done if failed else pre.bound
        after = space.Bindings(namespace)
        bindings = after.since(before)
        rebound = bindings.changed | {n for n in certain if n in namespace}
        rebound = {n for n in rebound if n not in space.HIDDEN and isinstance(n, str)}
        loads = set(pre.names)
        # Stored, perhaps, with the very object that was there: it is as before if what was there is as before. So is what
        # was not there and is not.
        unset = {n for n in pre.stores if n not in rebound and n not in namespace and n not in loads}
        unchanged = {n for n in pre.stores if n not in rebound and n in namespace and n not in loads}
        loads |= unchanged
        dynamic = pre.dynamic
        if dynamic:
            loads.update(before.names())
            unchanged = set()
        # To take the last name from what ends with a deed (a file is written, a finalizer runs) is to have used it.
        loads |= self._with_reached({n for n in rebound if n in known and self.space.reach_of(n).dies})
        loads = {n for n in loads if n not in space.HIDDEN and isinstance(n, str)}
        self.hidden.set_by_steps |= pre.may_set()
        self._learn_modules(pre, hidden_values)
        imported = set(pre.modules)
        pre.arrived()
        for module in self.submodules:
            self.hidden.imported |= self.hidden.follow_submodules(module)
        self.hidden.follow_classes(pre.modules - imported, pre.words, pre.may_set(), True)
        self._follow_containers(pre)
        self.held.look(self.children)
        for path in self.held.consumed:
            self.files.note_read(path, "content")
        hidden_changed = self.hidden.collect(hidden_values, pre.modules)
        hidden_loads, prefixes = self._hidden_reads(pre, own_hidden, hidden_changed)
        raw = self.held.may_touch(pre.words, pre.modules)
        loads |= {n for n in self._with_reached(hidden_loads) if not n.startswith("@") and n not in space.HIDDEN}
        if raw:
            hidden_loads.add("@descriptors")
        reads: dict[str, Any] = {}
        for name in loads | hidden_loads:
            component = known.get(name)
            reads[name] = component.digest if component is not None else None
        plain, placed, located = step.digests()
        # Made again, it comes by what it came by then: a module that was not there yet had no settings for it.
        beyond = set() if self.again is None else hidden_loads - self.again
        used = {
            n: (d, known[n].placed if n in known else None)
            for n, d in reads.items() if n not in unchanged and n not in beyond
        }  # fmt: skip
        stamp = self._stamp(located, used)
        if raw:
            self.held.touched(stamp)
            hidden_changed |= self.hidden.collect(hidden_values, ())
        touched = {n for n in loads | hidden_loads if n in known and self._mutable(n)} | rebound | hidden_changed
        # An identity can come back: what may have been stored is looked at whatever it says.
        touched |= {n for n in pre.stores if n in namespace and n not in space.HIDDEN}
        referred: set[str] = set()
        for name in loads:
            component = known.get(name)
            if component is not None:
                referred.update(component.members)
        changed = self.space.refresh(touched | {n for n in referred if self._mutable(n)}, stamp, rebound)
        components = self.space.components
        writes: dict[str, Any] = {}
        incidental: dict[str, Any] = {}
        blobs: list[bytes] = []
        values: list[dict[str, Any]] = []
        sent: set[str] = set()
        set_anew = self.hidden.set_anew()
        direct = rebound | hidden_changed | referred | loads | hidden_loads | set_anew
        changed = changed | set_anew
        for name in sorted((changed | rebound) - space.HIDDEN):
            component = components.get(name)
            if name not in direct:
                old = known.get(name)
                incidental[name] = old and (old.placed or old.digest)
            if component is None:
                writes[name] = None
                continue
            writes[name] = component.told()
            key = component.placed or component.digest
            if key not in sent and component.uncarryable is None:
                sent.add(key)
                try:
                    data = self.space.carry(component)
                except Exception as error:
                    writes[name]["uncarryable"] = errors.text_of(error, 120) or type(error).__name__
                    continue
                if data is not None:
                    key = component.placed or component.digest
                    values.append({"digest": key, "members": component.members, "size": len(data)})
                    blobs.append(data)
        self.space.told()
        self.bindings = after
        kept = {w["digest"]: w["uncarryable"] for w in writes.values() if w and w["uncarryable"]}
        for written in writes.values():
            if written and written["digest"] in kept:
                written["uncarryable"] = kept[written["digest"]]
        # What shared something with these, or held a definition by their name, follows from what they were.
        left = sorted(n for n in rebound if n in known)
        order = [n for n in bindings.came if n not in space.HIDDEN and isinstance(n, str)]
        clock = self.files.clock | self.clock
        if self.hidden.by_chance:
            clock.add("entropy")
        if calls.ASKER.failed:
            clock.add("an agent, which gave no answer")
        saw_text = failed or self.files.saw_frames or not names.PLACE_WORDS.isdisjoint(pre.words)
        # Where what it made stands is part of that.
        made = [component for name in writes if (component := components.get(name)) is not None]
        kept_alive = any(written and written["uncarryable"] for written in writes.values())
        came_along = any(component.files - {filename} for component in made)
        was_given = _was_given(made, [known[name] for name in reads if name in known], filename)
        if saw_text:
            code = compiled.text_digest(step.source)
        elif kept_alive or came_along:
            code = located
        else:
            code = placed if step.leaves_code() else plain
        observed = {
            "code": code,
            "anywhere": code == plain,
            "saw_places": saw_text or kept_alive or came_along or was_given,
            "reads": reads,
            "unset": sorted(unset.difference(reads, space.HIDDEN)),
            "saw_names": self._seen_names(before, dynamic or pre.ordered) if dynamic or pre.listed else None,
            "saw_order": dynamic or pre.ordered,
            "order": order if len(order) > 1 or bindings.again else [],
            "saw_prefixes": sorted(prefixes),
            "writes": writes,
            "incidental": incidental,
            "rebound": sorted(rebound),
            "left": {n: known[n].placed or known[n].digest for n in left},
            "values": values,
            "files_read": {self.files.relative(p): how for p, how in self.files.reads.items()},
            "files_written": {self.files.relative(p): copy for p, copy in self.files.writes.items()},
            "effects": _effects(self.files, self.hidden.environ, self.imported),
            "clock": sorted(clock),
            "doubts": sorted(set(self.files.doubts)),
            "left_behind": self.held.new,
            "packages": self._packages(pre.tops),
            "answers": self.answers,
            "calls": calls.ASKER.frames,
        }
        return observed, b"".join(blobs)

    def _with_reached(self, used: set[str]) -> set[str]:
        """`used`, with the definitions that these refer to and what the code of either names: the last name of what has a
        finalizer, and hidden state that is a step's function."""
        found: set[str] = set()
        todo = list(used)
        while todo:
            name = todo.pop()
            if name in found:
                continue
            found.add(name)
            component = self.space.components.get(name)
            for member in component.members if component is not None else ():
                reach = self.space.reach_of(member)
                todo += reach.refs
                for code in reach.codes:
                    todo += names.code_names(code).loads
        return found

    @staticmethod
    def _seen_names(before: space.Bindings, in_order: bool) -> list[str]:
        found = [n for n in before.names() if n not in space.HIDDEN and isinstance(n, str)]
        return found if in_order else sorted(found)

    def _mutable(self, name: str) -> bool:
        """Whether a value could change without its name being bound anew."""
        if name.startswith("@"):
            return name not in hidden.PLAIN
        reach = self.space.reaches.get(name)
        return reach is None or bool(reach.ids)

    def _stamp(self, digest: str, reads: dict[str, Any]) -> str:
        """Stands for all that the step used: what it makes is the same when this is the same."""
        # What was absent says only which modules this process happens to have loaded.
        parts = [digest, repr(sorted(item for item in reads.items() if item[1][0] is not None))]
        # A module is looked for only where it was not imported before: that says nothing of what the step makes. Nor does what
        # stood where it wrote.
        for path in sorted(self.files.reads.keys() - self.files.imports - self.files.settled):
            parts.append(f"{self.files.relative(path)} {files.mark(path)}")
        if self.files.clock:
            parts.append(f"{os.getpid()} {time.monotonic_ns()}")
        return hashlib.blake2b("\0".join(parts).encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()

    def _learn_modules(self, pre: closure.Closure, values: dict[str, Any]) -> set[str]:
        """Starts to follow modules that were imported by the step; gives those that were imported at all."""
        fresh = sys.modules.keys() - self.seen_modules if self.hidden.changes.is_changed("") else set()
        tops = {name.split(".")[0] for name in fresh}
        self.hidden.placed.learn(pre.words, fresh, self.imports.looked_for)
        self.imported = sorted(tops - {name.split(".")[0] for name in self.seen_modules}) if tops else []
        for name in fresh:
            self.seen_modules.add(name)
            module = sys.modules.get(name)
            path = getattr(module, "__file__", None)
            if isinstance(module, types.ModuleType):
                self.packages.learn(module)
            if isinstance(path, str) and path.startswith(self.files.root) and type(module) is types.ModuleType:
                self.local[name] = path
                self.hidden.pieces[f"{state_of_modules.PREFIX}{name}"] = state_of_modules.piece(name)
            if name.split(".")[0] in pre.words or name in self.local:
                followed = name in self.hidden.modules  # from its import on
                self.hidden.track(name)
                if name in pre.words:  # imported by its whole name, by the step or a function that it called
                    self.hidden.follow_submodules(name)
                if not followed:  # an attribute that the step's own text sets, on a module that it imported itself
                    self.hidden.unlike(name, pre.attributes)
        for name in self.local:
            base = self.hidden.modules.get(name)
            module = sys.modules.get(name)
            if base is None or module is None:
                continue
            # What a module of the run keeps in a list or dict can change in place: it is state.
            self.hidden.unlike(name, [
                key for key, value in base.items()
                if isinstance(value, (list, dict, set, bytearray)) and not key.startswith("__")
            ])  # fmt: skip
        return set(fresh)

    def _follow_containers(self, pre: closure.Closure) -> None:
        """A list or dict of a module that the step names can change in place: it is state."""
        for name in pre.modules - {"sys", "os", "builtins"}:
            base = self.hidden.modules.get(name)
            if base is not None:
                self.hidden.unlike(name, [word for word in pre.words if type(base.get(word)) in _CONTAINERS])

    def _hidden_reads(self, pre: closure.Closure, known: dict[str, Any], changed: set[str]) -> tuple[set[str], set[str]]:
        uses_libraries = bool(pre.tops)
        words = pre.words_for_pieces()
        found = {name for name, piece in self.hidden.pieces.items() if piece.is_read_by(words, uses_libraries)}
        # What everything prints to may be an object that keeps it, and a function in place of a library's may count its calls.
        found |= {n for n in known if n.startswith(hidden.SHARED)}
        prefixes: set[str] = {hidden.SHARED}
        for name, word in GENERATORS.items():
            # Who draws from a generator changes it.
            if (name in changed and name not in self.hidden.seeded) or word in pre.words:
                found.add(name)
        found |= self.hidden.used
        environ = self.hidden.environ
        found |= {f"@env:{key}" for key in environ.read}
        by_itself = "_data" in pre.words or ("environ" in pre.words and "posix" in pre.modules)
        if environ.all or by_itself or self.files.everything:
            prefixes.add("@env:")
        for name in pre.builtin_names:
            found.add(f"@builtins.{name}")
        for module in pre.modules:
            base = self.hidden.modules.get(module)
            if base is None:
                continue
            start = f"@{module}."
            if module in self.local:
                found.add(f"{state_of_modules.PREFIX}{module}")
            if module in self.local or not pre.words.isdisjoint(names.MODULE_DYNAMIC):
                prefixes.add(start)
                found |= {n for n in known if n.startswith(start)}
            for word in pre.words:
                if word not in base or start + word in known:
                    found.add(start + word)
        # What it set counts as read as well: a setting is changed in part, and an attribute may be added to.
        return found - self.hidden.imported, prefixes

    def _packages(self, tops: set[str]) -> list[dict[str, Any]]:
        """The packages that the step could reach, with those that they use, and those that it was the first to import."""
        local = {name.split(".")[0] for name in self.local}
        tops = tops.union(top for top in self.imported if walk.is_foreign(top)) - local
        return [package._asdict() for package in self.packages.used_by(tops) if package.name not in local]

    # -- carrying and telling -----------------------------------------------------------------------------

    def _load(self, message: dict[str, Any], data: bytes) -> None:
        """Brings values over and takes names away; tells the components as they are then."""
        self.bindings = None
        # What these names held has not died in the run: whatever happens when it does must not.
        going = {*message.get("delete", ()), *(name for value in message.get("values", ()) for name in value["members"])}
        self.undead += [self.space.value(name) for name in going if self.space.reach_of(name).dies and self.space.has(name)]
        touched: set[str] = set()
        bad: list[str] = []
        for name in message.get("delete", ()):
            touched.add(name)
            if name.startswith("@"):
                self.space.hidden.pop(name, None)
                try:
                    self.hidden.reset(name)
                except Exception:  # what it was is not known
                    bad.append(name)
            else:
                self.namespace.pop(name, None)
        at = 0
        view = memoryview(data)
        for value in message.get("values", ()):
            part = view[at : at + value["size"]]
            at += value["size"]
            try:
                values = codec.load(part)
                for name, loaded in zip(value["members"], values):
                    name = sys.intern(name)
                    touched.add(name)
                    if name.startswith("@"):
                        self.hidden.put(name, loaded)
                        self.space.hidden[name] = loaded
                    else:
                        self.namespace[name] = loaded
            except BaseException as error:
                bad += list(value["members"])
                errors.text_of(error)
        for name in message.get("order", ()):
            if name in self.namespace:
                self.namespace[sys.intern(name)] = self.namespace.pop(name)
        imported = self._learn_modules(closure.Closure(self), self.space.hidden)
        self.hidden.collect(self.space.hidden, self.local)
        touched |= self.space.refresh(touched, message.get("stamp", "loaded"))
        # As where a step imported them.
        reaches = [self.space.reach_of(name) for name in touched]
        tops = {module.partition(".")[0] for reach in reaches for module in reach.tops | reach.modules}
        for name in imported:
            if name.partition(".")[0] in tops:
                self.hidden.track(name)
        self.space.told()
        found = {}
        for name, component in self.space.components.items():
            if name in touched:
                found[name] = component.told()
        self.wire.send({"ok": not bad, "bad": bad, "components": found})

    def _inside(self, message: dict[str, Any]) -> None:
        name = message["name"]
        found = inside.look(self.namespace[name], message["path"]) if name in self.namespace else None
        self.wire.send({"inside": found})

    def _state(self, message: dict[str, Any]) -> None:
        wanted = message.get("names") or [n for n in self.space.names() if not (n.startswith("__") and n.endswith("__"))]
        limit = message.get("limit", 65536)
        found = []
        for name in wanted:
            if name in self.namespace:
                item = shown.variable(name, self.namespace[name], limit)
                component = self.space.components.get(name)
                item["digest"] = component.digest if component is not None else None
                found.append(item)
        self.wire.send({"variables": found})


_CONTAINERS = (list, dict, set, bytearray)


def _was_given(made: list[space.Component], used: list[space.Component], filename: str) -> bool:
    """Whether functions gave constants to what was made: those are the very ones of the step in which a function stands."""
    found = set[int]().union(*(component.constants for component in made))
    if not found:
        return False
    found.difference_update(*(component.constants for component in used if not component.files))
    files = {bytecode.CONSTANTS[number][1] for number in found if number in bytecode.CONSTANTS} - {filename}
    return any(not files.isdisjoint(component.files) for component in used)


def _release(value: Any) -> None:
    if value:
        raise ValueError("what another process holds can't be had here")


def _copy_of(fd: int) -> int:
    import fcntl

    # Out of the way of the numbers that steps get.
    try:
        return fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 32)
    except OSError:
        return -1


def _mark_of(fd: int) -> tuple[int, int] | None:
    try:
        found = os.fstat(fd)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _bound(name: str, limit: int | None) -> None:
    """Lowers a limit of the process for good; one that stands lower already stays."""
    if limit is None:
        return
    import resource

    kind = getattr(resource, name)
    _, most = resource.getrlimit(kind)
    least = limit if most == resource.RLIM_INFINITY else min(limit, most)
    resource.setrlimit(kind, (least, least))


def _effects(noted: files.Files, environ: hidden.Environ, imported: list[str]) -> list[list[Any]]:
    found: list[list[Any]] = []
    seen = set()
    read = [] if environ.all else sorted(environ.read)[:200]
    others = [("get env", [name]) for name in read if isinstance(name, str)] + [("import", [name]) for name in imported[:200]]
    for kind, what in [*noted.effects, *others]:
        shown_ = [noted.relative(what)] if isinstance(what, str) else what
        key = (kind, tuple(shown_))
        if key not in seen and len(found) < 2000:
            seen.add(key)
            found.append([kind, shown_])
    return found


def _own_part(trace: types.TracebackType) -> types.TracebackType | None:
    """The traceback without the worker's own frames at its outer end."""
    here: types.TracebackType | None = trace
    while here is not None and here.tb_frame.f_code.co_filename.startswith("<reweave"):
        here = here.tb_next
    return here


def _shows_collected(tree: ast.Module) -> bool:
    """Whether the last thing that a step does is to show how many objects were collected: a fork has others lying about."""
    call = getattr(tree.body[-1], "value", None) if tree.body else None
    return isinstance(call, ast.Call) and ast.unparse(call.func) == "gc.collect"


def _line_reached(trace: Any, filename: str, namespace: dict[str, Any]) -> int | None:
    """The line of a step's own code on which it ended early, where that can be told; nothing after it ran."""
    if type(trace) is not types.TracebackType:
        return None
    code = trace.tb_frame.f_code
    own = code.co_filename == filename and code.co_name == "<module>" and trace.tb_frame.f_globals is namespace
    return trace.tb_lineno if own else None


def _ignore_interrupts() -> None:
    """Between steps an interrupt means nothing; one that comes just now is swallowed."""
    while True:
        try:
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            return
        except KeyboardInterrupt:
            continue


def _let_go(error: BaseException | None) -> None:
    """Frees the frames that a traceback holds: they would keep values alive that the truth has not."""
    seen = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        error.__traceback__ = None
        error = error.__cause__ or error.__context__


def main(fd: int) -> None:
    """Serves on descriptor `fd` until the engine hangs up."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    Worker(wire.Wire(fd)).serve()
