"""What a process holds that a fork of it can't take along: threads, children, sockets, files open for writing.

It is state (`@held`) that has no form as bytes. A fork of a process that holds any is looked at and never run from.
"""

from __future__ import annotations

import os
import stat
import sys
import time
from collections.abc import Collection
from typing import Any

from . import codec

try:
    import fcntl
except ImportError:  # where nothing forks
    fcntl = None  # type: ignore[assignment]

_WRITABLE = ", open for writing"
_listdir, _readlink, _fstat = os.listdir, os.readlink, os.stat
_open, _read_some, _close = os.open, os.read, os.close
_monotonic, _sleep = time.monotonic, time.sleep
# How long a thread that Python has done with, or a process, is given to end, in seconds.
_MOMENT = 0.05


class Held(list):  # type: ignore[type-arg]
    """The things by their marks, sorted."""

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise codec.Uncarryable("threads, processes or descriptors that a step left open")


class Raw(Held):
    """What was done to open descriptors by their numbers, by what did it: the sign of a state that can't be looked at."""


# How that is done, with `os`.
_BY_NUMBER = frozenset(
    "open fdopen dup dup2 pipe pipe2 openpty memfd_create read readv pread preadv write writev pwrite pwritev lseek "
    "ftruncate posix_fallocate sendfile splice copy_file_range".split()
)


class Holdings:
    """What this process holds besides what it began with."""

    def __init__(self) -> None:
        self.words: dict[str, str] = {}  # by mark, of those that are there now
        self._own: set[str] = set()  # descriptors that are no step's
        self.written: set[str] = set()  # files that are open for writing
        self.new: list[str] = []  # what the last step left, in words
        self.consumed: set[str] = set()  # files that the last step read on, through descriptors from before it
        self._stood: dict[str, tuple[str, int]] = {}  # descriptor -> its file, and how far that was read
        self._pythons: set[str] = set()  # threads that were Python's when last looked at
        self.raw = Raw()
        self.settle()

    def settle(self, others: Collection[str] = ()) -> None:
        """Takes what is open now, but for `others`, as the process's own."""
        self._own = {number for number in _descriptors() if number not in others}

    def opened(self) -> list[str]:
        """The descriptors that are open and not the process's own."""
        return [number for number in _entries("/proc/self/fd") if number not in self._own and _is_open(int(number))]

    def look(self, children: Collection[int]) -> None:
        """Finds what is held now; `children` are the process's own."""
        found: dict[str, str] = {}
        own = {str(pid) for pid in children}
        threads = self._threads()
        for tid in threads:
            found[f"thread {tid}"] = "a thread"
        for pid in self._processes(threads, own):
            found[f"process {pid}"] = "a process"
        self.written.clear()
        self.consumed.clear()
        stood, self._stood = self._stood, {}
        for number in self.opened():
            self._stood[number] = here = _readlink_or(number), _offset(number)
            if number in stood and stood[number] != here and stood[number][0] == here[0]:
                self.consumed.add(here[0])
            what = _descriptor(number)
            if what is not None:
                found[f"fd {number} {what[0]}"] = what[1]
                if what[1].endswith(_WRITABLE):
                    self.written.add(what[0])
        self.new = sorted(words for mark, words in found.items() if mark not in self.words)
        self.words = found

    def has_children(self) -> bool:
        """Whether processes that steps started were running when this was last looked at."""
        return any(mark.startswith("process ") for mark in self.words)

    def _processes(self, threads: list[str], own: Collection[str]) -> list[str]:
        """Those that it started, and that run. One is still there for a moment after the end of what it says was read."""
        until = _monotonic() + _MOMENT
        while True:
            started = [pid for tid in [str(os.getpid()), *threads] for pid in _read(f"/proc/self/task/{tid}/children").split()]
            # One that has ended holds nothing.
            running = [pid for pid in started if pid not in own and _state_of(pid) not in ("", "Z", "X")]
            if all(f"process {pid}" in self.words for pid in running) or _monotonic() > until:
                return running
            _sleep(0.0005)

    def _threads(self) -> list[str]:
        """The other threads. One that was joined is still there for a moment, after Python has done with it."""
        until = _monotonic() + _MOMENT
        while True:
            threads = [tid for tid in _entries("/proc/self/task") if tid != str(os.getpid()) and not _forks(tid)]
            known = {tid for tid in threads if f"thread {tid}" in self.words and tid not in self._pythons}
            alive = _python_threads()
            if known.union(alive).issuperset(threads) or _monotonic() > until:
                self._pythons = alive
                return threads
            _sleep(0.0005)

    def may_touch(self, words: Collection[str], modules: Collection[str]) -> bool:
        """Whether a step that names these may use descriptors that stay open, by their numbers."""
        by_number = not _BY_NUMBER.isdisjoint(words) and not {"os", "posix"}.isdisjoint(modules)
        return by_number and bool(self._stood or self.raw)

    def touched(self, stamp: str) -> Raw:
        """They are as `stamp`, which stands for all that the step used, has left them."""
        self.raw = Raw([stamp] if self._stood else [])
        return self.raw

    def value(self) -> Held:
        """What stands for all of it."""
        return Held(sorted(self.words))

    @staticmethod
    def offsets(opened: list[str]) -> dict[int, int]:
        """Where each file stands that is only read."""
        found: dict[int, int] = {}
        for number in opened:
            try:
                # Nothing to see to where it is gone by now, or is no file.
                if _descriptor(number) is None and stat.S_ISREG(_fstat(int(number)).st_mode):
                    found[int(number)] = os.lseek(int(number), 0, os.SEEK_CUR)
            except OSError:
                continue
        return found

    @staticmethod
    def part(opened: list[str], offsets: dict[int, int]) -> None:
        """In a fork: lets go of what it can't share, and gives files that are read a place of their own.

        A pipe or a socket ends for who waits at its other end only when nobody holds this one any more.
        """
        nothing = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
        for name in opened:
            if _descriptor(name) is not None:
                os.dup2(nothing, int(name), False)
        os.close(nothing)
        for number, offset in offsets.items():
            try:
                own = os.open(f"/proc/self/fd/{number}", os.O_RDONLY | os.O_CLOEXEC)
                try:
                    os.lseek(own, offset, os.SEEK_SET)
                    os.dup2(own, number, os.get_inheritable(number))
                finally:
                    os.close(own)
            except OSError:
                continue


def _readlink_or(number: str) -> str:
    try:
        return _readlink(f"/proc/self/fd/{number}")
    except OSError:
        return ""


def _offset(number: str) -> int:
    """How far a file is read or written; nothing of what is no file."""
    try:
        return os.lseek(int(number), 0, os.SEEK_CUR) if stat.S_ISREG(_fstat(int(number)).st_mode) else 0
    except OSError:
        return 0


def _python_threads() -> set[str]:
    try:
        return {str(thread.native_id) for thread in list(sys.modules["threading"]._active.values())}
    except Exception:  # there are none, or a step has put something else there
        return set()


def _forks(tid: str) -> bool:
    """Whether a thread is one that its library stops before a fork and has again after it: those of the allocator that
    pyarrow brings with it only give memory back."""
    return _read(f"/proc/self/task/{tid}/comm") == "jemalloc_bg_thd\n"


def _entries(path: str) -> list[str]:
    try:
        return _listdir(path)
    except OSError:
        return []


def _descriptors() -> list[str]:
    # The one that the listing itself takes is gone by now.
    return [number for number in _entries("/proc/self/fd") if _is_open(int(number))]


def _is_open(number: int) -> bool:
    try:
        _fstat(number)
    except OSError:
        return False
    return True


def _state_of(pid: str) -> str:
    """The letter that tells what a process does; empty where there is none any more."""
    return "".join(_read(f"/proc/{pid}/stat").rpartition(")")[2].split()[:1])


def _read(path: str) -> str:
    try:
        fd = _open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            parts = []
            while part := _read_some(fd, 1 << 16):
                parts.append(part)
        finally:
            _close(fd)
    except OSError:
        return ""
    return b"".join(parts).decode("ascii", "replace")


def _descriptor(number: str) -> tuple[str, str] | None:
    """What a descriptor is that can't be shared with a fork; nothing where it can, or is gone."""
    try:
        target = _readlink(f"/proc/self/fd/{number}")
        mode = _fstat(int(number)).st_mode
        flags = fcntl.fcntl(int(number), fcntl.F_GETFL)
    except OSError:
        return None
    if stat.S_ISSOCK(mode):
        return target, "a socket"
    if stat.S_ISFIFO(mode):
        return target, "a pipe"
    if stat.S_ISREG(mode):
        writable = flags & os.O_ACCMODE != os.O_RDONLY
        return (target, os.path.basename(target)[:80] + _WRITABLE) if writable else None
    return (target, "an event descriptor") if target.startswith("anon_inode:") else None
