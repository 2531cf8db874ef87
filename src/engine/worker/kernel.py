"""What is asked of the kernel directly: views of the file system of a process's own.

The root of a run takes a view for the run before anything of the run is executed: the steps' files and what is the
workbench's are read-only in it. A fork that goes aside takes one of its own, and the root, which never executes a step
and stands behind no wall, mounts in it what is to be seen there: a process behind a wall can't mount anything itself.
"""

from __future__ import annotations

import errno
import os
import sys
from typing import Any

NEWNS, NEWUSER, NEWNET = 0x0002_0000, 0x1000_0000, 0x4000_0000
_RDONLY, _REMOUNT, _BIND, _REC, _PRIVATE, _SLAVE, _RELATIME = 0x1, 0x20, 0x1000, 0x4000, 0x4_0000, 0x8_0000, 0x20_0000
_NOSUID, _NODEV = 0x2, 0x4
_KEPT_FLAGS = 0x2 | 0x4 | 0x8 | 0x400 | 0x800  # nosuid, nodev, noexec, noatime, nodiratime: may not be dropped


class Libc:
    """The C library; afterwards `sys.modules` is as it was, since steps can see it."""

    _ctypes: Any = None

    def __enter__(self) -> Any:
        if Libc._ctypes is None:
            before = set(sys.modules)
            import ctypes

            Libc._ctypes = ctypes
            for name in set(sys.modules) - before:
                del sys.modules[name]
        self.ctypes = Libc._ctypes
        self.libc = self.ctypes.CDLL(None, use_errno=True)
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def call(self, name: str, *given: Any) -> int:
        """A function of the C library; what it refuses is an `OSError`."""
        ctypes = self.ctypes
        function = getattr(self.libc, name)
        function.restype = ctypes.c_long if name == "syscall" else ctypes.c_int
        words = [ctypes.c_char_p(os.fsencode(g)) if isinstance(g, str) else ctypes.c_ulong(g) if isinstance(g, int) else g
                 for g in given]  # fmt: skip
        result: int = function(*words)
        if result < 0:
            code = ctypes.get_errno()
            raise OSError(code, f"{name}: {os.strerror(code)}")
        return result


def _why(error: BaseException) -> str:
    if isinstance(error, OSError) and str(error.strerror).startswith("unshare"):
        if error.errno == errno.ENOSPC:
            return "no user namespace may be made here (user.max_user_namespaces)"
        if error.errno == errno.EPERM:
            return "the system lets this user have no namespace of its own"
    return str(error) or type(error).__name__


_REFUSED = (OSError, ImportError, AttributeError)


class View:
    """The view of the file system that a run's processes share."""

    def __init__(self) -> None:
        self.mounts: str | None = "not taken"  # why there is no view of its own, if there is none
        self.network: str | None = None  # why the network could not be cut off, where it was to be
        self.power: str | None = None  # why root still has power over the system, if so
        self._bound: dict[str, tuple[int, int]] = {}

    def take(self, cut_off: bool) -> None:
        """Takes a view of its own, and with `cut_off` a network of its own that leads nowhere."""
        cwd = os.getcwd()
        try:
            with Libc() as libc:
                self.power = less_powerful_namespaces(libc, NEWNS | (NEWNET if cut_off else 0))
                libc.call("mount", "none", "/", None, _REC | _SLAVE, None)
            os.chdir(cwd)
            self.mounts = None
        except _REFUSED as error:
            self.mounts = _why(error)
            if cut_off:
                self.network = self.mounts
            return
        if cut_off:
            _raise_loopback()

    def own_shared_memory(self, most: int | None) -> None:
        """Shared memory by name is the run's own; a system that refuses leaves it as it is."""
        if self.mounts is not None or not os.path.isdir("/dev/shm"):
            return
        try:
            with Libc() as libc:
                options = "mode=1777" + (f",size={most}" if most else "")
                libc.call("mount", "tmpfs", "/dev/shm", "tmpfs", _NOSUID | _NODEV, options)
        except _REFUSED:
            pass

    def protect(self, paths: list[str]) -> None:
        """Has these files and directories be read-only. A file that was replaced from outside is bound anew."""
        if self.mounts is not None:
            return
        with Libc() as libc:
            for path in paths:
                try:
                    found = os.lstat(path)
                    mark = (found.st_dev, found.st_ino)
                    if self._bound.get(path) == mark or (found.st_mode & 0o170000) not in (0o100000, 0o040000):
                        continue
                    if os.path.basename(path) == ".reweave" and os.path.isdir(path):
                        # Nothing of it is a step's business; and who can read a file can lock it.
                        libc.call("mount", "tmpfs", path, "tmpfs", _NOSUID | _NODEV | _RDONLY, "mode=000")
                        found = os.lstat(path)
                        mark = (found.st_dev, found.st_ino)
                    else:
                        bind_read_only(libc, path, path)
                    self._bound[path] = mark
                except OSError:
                    # It went away just now, or lies where nothing can be bound: whoever starts a step looks again.
                    self._bound.pop(path, None)

    def hide(self, paths: list[str]) -> list[str]:
        """Has nothing be found at these paths; returns those where something still is."""
        left = []
        for path in paths:
            if not os.path.lexists(path):
                continue
            try:
                if self.mounts is not None:
                    raise OSError("no view of its own")
                with Libc() as libc:
                    if os.path.isdir(path):
                        libc.call("mount", "tmpfs", path, "tmpfs", _NOSUID | _NODEV | _RDONLY, "mode=000")
                    else:
                        libc.call("mount", os.devnull, path, None, _BIND, None)
            except _REFUSED:
                left.append(path)
        return left


def _raise_loopback() -> None:
    """A network of its own begins with everything down; a machine without one has no use for it."""
    import fcntl
    import socket
    import struct

    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
            fcntl.ioctl(one, 0x8914, struct.pack("16sh", b"lo", 0x1 | 0x40))
    except OSError:
        pass


def bind_read_only(libc: Any, source: str, place: str) -> None:
    libc.call("mount", source, place, None, _BIND | _REC, None)
    flags = os.statvfs(place).f_flag
    kept = flags & _KEPT_FLAGS | (_RELATIME if flags & 0x1000 else 0)
    libc.call("mount", "none", place, None, _REMOUNT | _BIND | _RDONLY | kept, None)


def apart() -> str | None:
    """Gives this process, a fresh fork, a view of its own that is still as it was. Returns why not, if so."""
    try:
        with Libc() as libc:
            own_namespaces(libc, NEWNS)
            try:
                libc.call("mount", "none", "/", None, _REC | _PRIVATE, None)
            except OSError:
                pass  # behind a wall; what is mounted here comes from `put`, which does so first
    except _REFUSED as error:
        return _why(error)
    return None


def put(places: list[tuple[str, str]], borrowed: list[tuple[str, str]]) -> str | None:
    """Has this process's view show other directories: `(what, where)`; what is borrowed shows through, read-only.

    Returns why that can't be, if it can't; then nothing changed that matters.
    """
    cwd = os.getcwd()
    try:
        with Libc() as libc:
            libc.call("mount", "none", "/", None, _REC | _PRIVATE, None)
            for source, place in borrowed:
                bind_read_only(libc, source, place)
            for source, place in places:
                libc.call("mount", source, place, None, _BIND | _REC, None)
        os.chdir(cwd)
    except _REFUSED as error:
        return _why(error)
    return None


def put_for(pid: int, places: list[tuple[str, str]], borrowed: list[tuple[str, str]]) -> str | None:
    """As `put`, in the view of another process that called `apart`: a short-lived fork enters it and mounts there."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        why: str | None = "failed"
        try:
            os.close(reader)
            with Libc() as libc:
                fd = os.open(f"/proc/{pid}/ns/mnt", os.O_RDONLY | os.O_CLOEXEC)
                if os.fstat(fd).st_ino == os.stat("/proc/self/ns/mnt").st_ino:
                    raise OSError("it has no view of its own")
                libc.call("setns", fd, NEWNS)
            os.chdir("/")
            why = put(places, borrowed)
        except BaseException as error:
            why = _why(error)
        finally:
            os.write(writer, (why or "").encode()[:4000])
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as file:
        told = file.read().decode("utf-8", "replace")
    try:
        os.waitpid(child, 0)
    except OSError:
        pass  # the root's children are collected by the kernel
    return told or None


def own_namespaces(libc: Any, flags: int) -> None:
    """Namespaces of its own by its own right, where it has that; else as the owner of a new user namespace."""
    try:
        libc.call("unshare", flags)
    except OSError:
        _own_user(libc, flags)


def less_powerful_namespaces(libc: Any, flags: int) -> str | None:
    """As the owner of a new user namespace where that can be: there root has power over files, and over the system no
    more than anybody. Returns why it still has, if so."""
    try:
        _own_user(libc, flags)
    except OSError as error:
        if os.geteuid() != 0:
            raise
        libc.call("unshare", flags)
        return _why(error)
    return None


def _own_user(libc: Any, flags: int) -> None:
    uid, gid = os.geteuid(), os.getegid()
    maps = {"uid_map": f"{uid} {uid} 1", "gid_map": f"{gid} {gid} 1"}
    if uid != 0:
        libc.call("unshare", NEWUSER | flags)
        _write_maps("self", {"setgroups": "deny", **maps})
        return
    # Root may map everybody, so that all files keep their owners; but only from outside.
    for name in maps:
        with open(f"/proc/self/{name}") as file:
            maps[name] = "\n".join(f"{line[0]} {line[0]} {line[2]}" for line in map(str.split, file))
    me = os.getpid()
    (ready, go), (answer, tell) = os.pipe(), os.pipe()
    child = os.fork()
    if child == 0:
        why = b"failed"
        try:
            os.close(go)
            if os.read(ready, 1) == b"g":
                _write_maps(str(me), maps)
                why = b""
        except BaseException as error:
            why = _why(error).encode()
        finally:
            os.write(tell, why)
            os._exit(0)
    os.close(tell)
    os.close(ready)
    try:
        libc.call("unshare", NEWUSER | flags)
        os.write(go, b"g")
        os.close(go)
        why = os.read(answer, 4096)
    except OSError:
        os.close(go)
        raise
    finally:
        os.close(answer)
        try:
            os.waitpid(child, 0)
        except OSError:
            pass  # collected by the kernel
    if why:
        raise OSError(why.decode("utf-8", "replace"))


def _write_maps(process: str, maps: dict[str, str]) -> None:
    for name, text in maps.items():
        with open(f"/proc/{process}/{name}", "w") as file:
            file.write(text)
