"""What a step does with files and beyond its process: an audit hook, and wrappers where none is raised.

The hook observes; it is no wall. It only appends to a list that is empty outside a step.
"""

from __future__ import annotations

import _posixsubprocess
import errno
import hashlib
import os
import stat
import sys
from _thread import get_ident as _get_ident
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Callable

_MOST_FOLLOWED = 5_000  # files of a run, where a step may read and change any; as in `opens.rs`
# Bytes: of a larger file no copy is made where a step only might change it. As in `contents.rs`.
_KEPT = 256 << 20
_MORE = (None, "exists", "content", "list")  # what is asked of a path, by how much it tells: a directory has no content
_WRITE_FLAGS = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_fsdecode, _getcwd, _stat = os.fsdecode, os.getcwd, os.stat
_addaudithook = sys.addaudithook  # what steps find there is another
_open, _read, _close, _fstat, _listdir = os.open, os.read, os.close, os.fstat, os.listdir
_readlink = os.readlink


def _own_prefixes() -> tuple[str, ...]:
    """Where the interpreter and its packages live: known by their versions, not by each file."""
    found = {sys.prefix, sys.base_prefix, sys.exec_prefix, sys.base_exec_prefix}
    found |= {path for path in sys.path if path}
    own = sorted(os.path.join(path, "") for path in found if path not in ("", "/", "/usr"))
    return (*own, "/proc/", "/sys/", "/dev/", "/usr/lib/", "/usr/share/", "/lib/", "/lib64/", "/etc/")


class Files:
    """Notes of one process about the files that the running step looks at and changes."""

    def __init__(self, directory: str, spool: str) -> None:
        self.directory = directory
        self.root = os.path.join(directory, "")
        self.roots: tuple[str, ...] = (self.root,)  # that, and where it was before this process moved
        self.spool = spool  # a directory for copies of files as they were before a step changed them
        self.active = False
        self.ignored: frozenset[str] = frozenset()
        self.apart: set[int] = set()  # threads in which a call is made whose result is kept
        self.may_look_up: Callable[[str], bool] | None = None  # asks whoever decides, where somebody does
        self._own = _own_prefixes()
        self._serial = 0
        self.clear()
        self._wrap()
        _addaudithook(self._hook)

    def move(self, directory: str) -> None:
        """Follows another directory from now on."""
        self.directory = directory
        self.root = os.path.join(directory, "")
        self.roots += (self.root,)

    def clear(self) -> None:
        self.reads: dict[str, str] = {}  # path -> "content", "exists" or "list"
        self.writes: dict[str, str | None] = {}  # path -> copy of what was there before (see `_copy`), None if nothing was
        self.imports: set[str] = set()  # those of the reads that only the import system made
        self.settled: set[str] = set()  # and those that were written as they stood
        self.effects: list[tuple[str, Any]] = []
        self.doubts: list[str] = []
        self.clock: set[str] = set()
        self.everything = False
        self.there: set[str] = set()  # what there was before, if everything is noted
        self.watched: dict[str, Any] = {}  # written to through descriptors from before the step, perhaps
        self.saw_frames = False  # whether something looked at the frames of the step
        self.asks_entries = False  # whether entries of a directory may be asked for their size

    def relative(self, path: str) -> str:
        if path.startswith(self.root):
            return path[len(self.root) :]
        return "." if path == self.directory else path

    def _path(self, given: Any) -> str | None:
        if isinstance(given, int):
            return None
        try:
            text = _fsdecode(given)
        except (TypeError, ValueError):
            return None
        if not text.startswith("/"):
            text = _getcwd() + "/" + text
        path = os.path.normpath(text)
        if "/__pycache__" in path or (path.startswith(self._own) and not path.startswith(self.root)):
            return None
        relative = self.relative(path)
        if relative.split("/", 1)[0] == ".reweave" or relative in self.ignored or path.startswith(self.spool):
            return None
        return path

    @contextmanager
    def unnoted(self) -> Iterator[None]:
        """What this thread looks at meanwhile is not the step's doing. What it changes is."""
        here = _get_ident()
        outer = here in self.apart
        self.apart.add(here)
        try:
            yield
        finally:
            if not outer:
                self.apart.discard(here)

    def note_read(self, given: Any, how: str) -> None:
        if self.apart and _get_ident() in self.apart:
            return
        path = self._path(given)
        if path is not None and (path not in self.writes or path in self.watched):
            if _MORE.index(how) > _MORE.index(self.reads.get(path)):
                self.reads[path] = how

    def note_import(self, name: str, path: Any) -> None:
        """The import system looks for a module: what the run's directory holds of that name decides."""
        if self.apart and _get_ident() in self.apart:
            return
        if not self.active or (path is not None and not any(str(p).startswith(self.root) for p in path)):
            return
        place = self.root + name.replace(".", "/")
        for candidate in (place, place + ".py"):
            self.imports.add(candidate)
            self.reads.setdefault(candidate, "exists")

    def note_clock(self, what: str) -> None:
        """Something was consulted that gives another answer each time."""
        if _get_ident() not in self.apart:
            self.clock.add(what)

    def note_write(self, given: Any, effect: str) -> None:
        path = self._path(given)
        if path is None:
            return
        self.effects.append((effect, path))
        if path not in self.writes:
            self.writes[path] = self._copy(path)
            if effect == "write":
                for other in self._other_names(path):
                    self.writes.setdefault(other, self._copy(other))

    def _other_names(self, path: str) -> list[str]:
        """Where else in the run's directory the very file stands: hard links."""
        try:
            found = _stat(path, follow_symlinks=False)
        except OSError:
            return []
        if found.st_nlink < 2 or not stat.S_ISREG(found.st_mode):
            return []
        others = []
        for parent, folders, names in os.walk(self.directory):
            folders[:] = [f for f in folders if f not in (".reweave", "__pycache__", ".git", "patches")]
            for other in (os.path.join(parent, name) for name in names):
                if other != path and _stamp_is(other, found) and self._path(other) is not None:
                    others.append(other)
        return others

    def led_to(self, given: Any) -> list[Any]:
        """What is opened by a path: that, and where links lead from there."""
        path = self._path(given)
        if path is None or not path.startswith(self.roots):
            return [given]
        real = os.path.realpath(path)
        if real == path or real == os.path.realpath(self.directory) + path[len(self.root) - 1 :]:
            return [given]
        return [given, real]

    def note_tree(self, given: Any, effect: str) -> None:
        """A whole tree is renamed or removed: every file in it is."""
        path = self._path(given)
        if path is None:
            return
        if os.path.isdir(path) and not os.path.islink(path):
            for parent, folders, names in os.walk(path, topdown=False):
                for name in [*names, *folders]:
                    self.note_write(os.path.join(parent, name), effect)
        self.note_write(path, effect)

    def note_everything(self) -> None:
        """Another process may read and change any file of the run: all are read, and kept as they are."""
        if self.everything:
            return
        self.everything = True
        self.there = set(self._tree())
        if len(self.there) > _MOST_FOLLOWED:
            self.doubts.append(f"what it started may read more files than are followed ({_MOST_FOLLOWED})")
            return
        self.note_read(self.directory, "list")
        for path in self.there:
            if os.path.isdir(path):
                # Whoever reads what there is may read what comes.
                if not os.path.islink(path):
                    self.note_read(path, "list")
                continue
            self.reads.setdefault(path, "content")
            if path not in self.writes:
                self.writes[path] = self._large(path) or self._copy(path)

    def _large(self, path: str) -> str | None:
        """How a file is told that is larger than what is kept: in the words of `contents.rs`, which tells what it is after."""
        found = _stat(path, follow_symlinks=False) if os.path.lexists(path) else None
        if found is None or not stat.S_ISREG(found.st_mode) or found.st_size <= _KEPT:
            return None
        return f"{found.st_size} {found.st_mtime_ns}"

    def _tree(self) -> Iterator[str]:
        """What is below the run's directory, without what is reweave's own."""
        for parent, folders, names in os.walk(self.directory):
            folders[:] = [f for f in folders if f not in (".reweave", "__pycache__", ".git", "patches")]
            for name in (*folders, *names):
                path = os.path.join(parent, name)
                if self._path(path) is not None:
                    yield path

    def watch(self, paths: Iterable[str]) -> None:
        """Before the step: what it writes to these comes through descriptors that were left open, and raises no event."""
        self.watched = {}
        for given in paths:
            path = self._path(given)
            if path is not None:
                self.watched[path] = _stamp(path)
                self.writes[path] = self._copy(path)

    def settle(self) -> None:
        """After the step: those that it did not write to are as they were."""
        touched = {what for kind, what in self.effects if kind != "read" and isinstance(what, str)}
        for path, before in self.watched.items():
            if path not in touched and _stamp(path) == before:
                del self.writes[path]
        # What came to nothing leaves what there was: a rename that failed, a file that is written as it stood.
        active, self.active = self.active, False
        for path, copy in self.writes.items():
            if self.reads.get(path) not in ("content", "list") and _is_as_before(path, copy):
                self.reads[path] = "exists" if copy is not None and copy.startswith("directory:") else "content"
                self.settled.add(path)
        self.active = active

    def note_new(self) -> None:
        """After the step: files that a program that it started left."""
        if not self.everything:
            return
        for path in self._tree():
            if path not in self.there and path not in self.writes:
                self.writes[path] = None

    def _copy(self, path: str) -> str | None:
        """A copy of what stands at `path` now, before the step changes it; its name ends with the permissions. A word for
        what is no file (see `_word`)."""
        word = _word(path)
        if word != "file":
            return word
        active, self.active = self.active, False
        try:
            fd = _open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        except OSError:
            return "unreadable"
        finally:
            self.active = active
        try:
            self.active = False
            self._serial += 1
            mode = stat.S_IMODE(_fstat(fd).st_mode)
            name = os.path.join(self.spool, f"{os.getpid()}-{self._serial}-{mode:o}")
            out = _open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            try:
                while True:
                    data = _read(fd, 1 << 20)
                    if not data:
                        return name
                    os.write(out, data)
            finally:
                _close(out)
        except OSError:
            return "unreadable"
        finally:
            _close(fd)
            self.active = active

    def _hook(self, event: str, args: tuple[Any, ...]) -> None:
        if not self.active:
            return
        handler = _HANDLERS.get(event)
        if handler is not None:
            self.active = False
            try:
                handler(self, args)
            finally:
                self.active = True

    def _wrap(self) -> None:
        """Stands between steps and the calls that raise no audit event."""
        note = self

        def watching(name: str, how: str) -> None:
            wrapped: Callable[..., Any] | None = getattr(os, name, None)
            if wrapped is None:
                return

            def call(*args: Any, **kwargs: Any) -> Any:
                if note.active:
                    path = args[0] if args else kwargs.get("path", ".")
                    if kwargs.get("dir_fd") is None:
                        note.active = False
                        try:
                            if how == "write":
                                note.note_write(path, how)
                            else:
                                note.note_read(path, how)
                        finally:
                            note.active = True
                return wrapped(*args, **kwargs)

            call.__name__, call.__qualname__, call.__module__, call.__doc__ = name, name, "os", wrapped.__doc__
            setattr(os, name, call)
            for group in (os.supports_dir_fd, os.supports_fd, os.supports_follow_symlinks, os.supports_effective_ids):
                if wrapped in group:
                    group.add(call)

        start = _posixsubprocess.fork_exec

        def fork_exec(*args: Any) -> Any:
            note._hook("os.fork", ())  # as `multiprocessing` starts its servers and workers
            return start(*args)

        fork_exec.__module__, fork_exec.__doc__ = "_posixsubprocess", start.__doc__
        _posixsubprocess.fork_exec = fork_exec
        for name in ("stat", "lstat", "access", "readlink"):
            watching(name, "exists")
        for name in ("mkfifo", "mknod"):
            watching(name, "write")
        watching("scandir", "list")
        watching("listdir", "list")


def _stamp(path: str) -> tuple[int, ...] | None:
    try:
        found = _stat(path)
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns, found.st_mode


def _word(path: str) -> str | None:
    """What stands at `path`: "file", or how what is none is told."""
    try:
        found = _stat(path, follow_symlinks=False)
        if stat.S_ISLNK(found.st_mode):
            return f"link:{_fsdecode(_readlink(path))}"
    except OSError:
        return None
    if stat.S_ISREG(found.st_mode):
        return "file"
    if stat.S_ISDIR(found.st_mode):
        return f"directory:{stat.S_IMODE(found.st_mode):o}"
    return "fifo" if stat.S_ISFIFO(found.st_mode) else "special"


def _is_as_before(path: str, copy: str | None) -> bool:
    """Whether `path` holds what it held when `copy` was made of it."""
    word = _word(path)
    if word != "file" or copy is None or not copy.startswith("/"):
        return word == copy or (word == "file" and copy == "unreadable")
    try:
        found = _stat(path, follow_symlinks=False)
    except OSError:
        return False
    if f"{stat.S_IMODE(found.st_mode):o}" != copy.rpartition("-")[2]:
        return False
    try:
        with open(path, "rb") as now, open(copy, "rb") as before:
            if _fstat(before.fileno()).st_size != found.st_size:
                return False
            while True:
                part = now.read(1 << 20)
                if part != before.read(1 << 20):
                    return False
                if not part:
                    return True
    except OSError:
        return False


def _stamp_is(path: str, found: os.stat_result) -> bool:
    """Whether the very file stands at `path`."""
    try:
        here = _stat(path, follow_symlinks=False)
    except OSError:
        return False
    return (here.st_dev, here.st_ino) == (found.st_dev, found.st_ino)


def mark(path: str) -> str:
    """What a file holds, in short: by content while that is cheap, else by size and time."""
    try:
        fd = _open(path, os.O_RDONLY | os.O_NONBLOCK)
    except OSError:
        return "absent"
    try:
        found = _fstat(fd)
        if stat.S_ISDIR(found.st_mode):
            names = sorted(n for n in _listdir(fd) if n not in (".reweave", "__pycache__"))
            return hashlib.blake2b(repr(names).encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
        if not stat.S_ISREG(found.st_mode) or found.st_size > 1 << 24:
            return f"{found.st_mode} {found.st_size} {found.st_mtime_ns}"
        hasher = hashlib.blake2b(digest_size=16)
        while True:
            data = _read(fd, 1 << 20)
            if not data:
                return hasher.hexdigest()
            hasher.update(data)
    except OSError:
        return "unreadable"
    finally:
        _close(fd)


def _on_open(files: Files, args: tuple[Any, ...]) -> None:
    path, _mode, flags = args
    if isinstance(path, int):
        return
    flags = flags if isinstance(flags, int) else 0
    places = files.led_to(path)
    if flags & _WRITE_FLAGS and len(places) > 1:
        files.note_read(places.pop(0), "exists")  # a link stays what it is
    for place in places:
        _note_opened(files, place, flags)


def _note_opened(files: Files, path: Any, flags: int) -> None:
    if flags & _WRITE_FLAGS:
        if not flags & os.O_TRUNC:
            files.note_read(path, "content")  # what it makes depends on what was there
        files.note_write(path, "write")
    else:
        files.note_read(path, "content")
        known = files._path(path)
        if known is not None:
            files.effects.append(("read", known))


def _within(path: Any, args: tuple[Any, ...], at: int) -> Any:
    """A path that goes from a directory which is open; -1 stands for the one that the process works in."""
    fd = args[at] if len(args) > at else None
    if not isinstance(fd, int) or fd < 0:
        return path
    try:
        return os.path.join(os.readlink(f"/proc/self/fd/{fd}"), _fsdecode(path))
    except (OSError, TypeError, ValueError):
        return path


def _on_remove(files: Files, args: tuple[Any, ...]) -> None:
    path = _within(args[0], args, 1)
    files.note_read(path, "exists")
    files.note_write(path, "delete")


def _on_rename(files: Files, args: tuple[Any, ...]) -> None:
    args = (_within(args[0], args, 2), _within(args[1], args, 3))
    files.note_read(args[0], "content")
    told = len(files.effects)
    source, target = files._path(args[0]), files._path(args[1])
    if source is not None and os.path.isdir(source) and not os.path.islink(source):
        for parent, _, names in os.walk(source):
            files.note_read(parent, "list")
            for name in names:
                files.note_read(os.path.join(parent, name), "content")
    files.note_tree(args[0], "delete")
    files.note_tree(args[1], "write")
    if source is not None and target is not None:
        # One thing was done, whatever it comes to for each file.
        files.effects[told:] = [("rename", [files.relative(source), files.relative(target)])]
    if source is not None and target is not None and os.path.isdir(source):
        for parent, folders, names in os.walk(source):
            for name in [*names, *folders]:
                inner = os.path.join(parent, name)
                files.writes.setdefault(target + inner[len(source) :], None)


def _on_change(files: Files, args: tuple[Any, ...]) -> None:
    """Length or permissions of a file, given by its path or its descriptor."""
    given = args[0]
    path = _within("", args, 0) if isinstance(given, int) else _within(given, args, 2)
    files.note_read(path, "content")  # the rest stays
    files.note_write(path, "write")


def _on_path_within(files: Files, args: tuple[Any, ...]) -> None:
    files.note_write(_within(args[0], args, 2), "write")


def _on_symlink(files: Files, args: tuple[Any, ...]) -> None:
    files.note_write(_within(args[1], args, 2), "write")


def _on_link(files: Files, args: tuple[Any, ...]) -> None:
    files.note_read(_within(args[0], args, 2), "content")
    files.note_write(_within(args[1], args, 3), "write")


def _on_process(files: Files, args: tuple[Any, ...]) -> None:
    files.note_everything()
    command = args[1] if len(args) > 1 else args[0]
    words = command if isinstance(command, (list, tuple)) else [command]
    try:
        files.effects.append(("process", [_fsdecode(w)[:1000] for w in words][:50]))
    except (TypeError, ValueError):
        files.effects.append(("process", [repr(args[0])[:200]]))


def _on_another(files: Files, args: tuple[Any, ...]) -> None:
    """A process, or code, whose doings raise no event here."""
    files.note_everything()


def _on_connect(files: Files, args: tuple[Any, ...]) -> None:
    address = args[1] if len(args) > 1 else ""
    files.effects.append(("connect", repr(address)[:200]))
    files.note_clock("the network")


def _on_resolve(files: Files, args: tuple[Any, ...]) -> None:
    host = args[0].decode("ascii", "replace") if isinstance(args[0], bytes) else str(args[0])
    files.effects.append(("resolve", host[:200]))
    files.note_clock("the network")
    # Which addresses a name stands for is not to be seen in the calls that follow, so the name is asked about here.
    if args[0] and files.may_look_up is not None and not files.may_look_up(host):
        raise PermissionError(errno.EACCES, f"the policy does not let this run reach {host[:200]}")


def _on_library(files: Files, args: tuple[Any, ...]) -> None:
    name = str(args[0])
    if "/" in name and files._path(name) is not None:
        files.effects.append(("load", name))


def _on_setenv(files: Files, args: tuple[Any, ...]) -> None:
    name = args[0]
    files.effects.append(("set env", [_fsdecode(name)[:200] if isinstance(name, (str, bytes)) else str(name)[:200]]))


def _on_import(files: Files, args: tuple[Any, ...]) -> None:
    # Raised with a file only for native code.
    path = args[1] if len(args) > 1 else None
    if isinstance(path, str) and files._path(path) is not None:
        files.effects.append(("load", path))


def _on_look(files: Files, args: tuple[Any, ...]) -> None:
    """What goes well only where there is a file: `Path.touch` makes one otherwise."""
    if not isinstance(args[0], int):
        files.note_read(args[0], "exists")


def _on_list(files: Files, args: tuple[Any, ...]) -> None:
    if sys._getframe(2).f_code.co_filename.startswith("<frozen importlib"):
        return  # it looks for one name, and lists only to be fast: `note_import` has the name
    given = args[0] if args and args[0] is not None else "."
    files.note_read(given, "list")
    if files.asks_entries and not isinstance(given, int):  # which raises nothing
        try:
            names = _listdir(given)
        except OSError:
            return
        for name in names:
            files.note_read(os.path.join(given, name), "content")


def _on_frame(files: Files, args: tuple[Any, ...]) -> None:
    """Who asks for a frame may go on to those below it, and see on which lines they are."""
    frame = args[0] if args else None
    while frame is not None and not files.saw_frames:
        name = frame.f_code.co_filename
        if name.startswith("<frozen importlib"):
            return  # modules look at who imports them to name what they make
        files.saw_frames = name.startswith(files.roots)
        frame = frame.f_back


_HANDLERS: dict[str, Callable[[Files, tuple[Any, ...]], None]] = {
    "sys._getframe": _on_frame,
    "open": _on_open,
    "os.remove": _on_remove,
    "os.rmdir": _on_remove,
    "os.rename": _on_rename,
    "os.mkdir": _on_path_within,
    "os.truncate": _on_change,
    "os.symlink": _on_symlink,
    "os.link": _on_link,
    "os.chmod": _on_change,
    **dict.fromkeys(("os.utime", "os.chown", "os.getxattr", "os.setxattr", "os.listxattr"), _on_look),
    "os.listdir": _on_list,
    "os.scandir": _on_list,
    "subprocess.Popen": _on_process,
    "os.system": _on_process,
    "os.posix_spawn": _on_process,
    "os.exec": _on_process,
    "pty.spawn": _on_process,
    "os.fork": _on_another,
    "os.forkpty": _on_another,
    "socket.connect": _on_connect,
    "socket.getaddrinfo": _on_resolve,
    "socket.gethostbyname": _on_resolve,
    "ctypes.dlopen": _on_library,
    "ctypes.dlsym": _on_another,
    "import": _on_import,
    "os.putenv": _on_setenv,
    "os.unsetenv": _on_setenv,
    "sqlite3.connect": lambda files, args: _on_open(files, (args[0], None, os.O_RDWR)),
}
