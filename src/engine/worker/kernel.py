"""What is asked of the kernel directly: a view of the file system of this process's own.

Everything here is called in a fresh fork, which has one thread, as the kernel asks for a new user namespace.
"""

from __future__ import annotations

import os
import sys
from typing import Any

_NEWNS, _NEWUSER = 0x0002_0000, 0x1000_0000
_RDONLY, _REMOUNT, _BIND, _REC, _PRIVATE, _RELATIME = 0x1, 0x20, 0x1000, 0x4000, 0x4_0000, 0x20_0000
_KEPT_FLAGS = 0x2 | 0x4 | 0x8 | 0x400 | 0x800  # nosuid, nodev, noexec, noatime, nodiratime: may not be dropped


class Libc:
    """The C library; afterwards `sys.modules` is as it was, since steps can see it."""

    def __enter__(self) -> Any:
        self.before = set(sys.modules)
        import ctypes

        self.ctypes = ctypes
        return self

    def __exit__(self, *_: object) -> None:
        for name in set(sys.modules) - self.before:
            del sys.modules[name]

    def call(self, name: str, *given: Any) -> None:
        ctypes = self.ctypes
        function = getattr(ctypes.CDLL(None, use_errno=True), name)
        words = [ctypes.c_char_p(os.fsencode(g)) if isinstance(g, str) else ctypes.c_ulong(g) if isinstance(g, int) else None
                 for g in given]  # fmt: skip
        if function(*words) != 0:
            code = ctypes.get_errno()
            raise OSError(code, f"{name}: {os.strerror(code)}")


def isolate(directory: str, copy: str, borrowed: list[str]) -> str | None:
    """Has this process see `copy` at `directory`, and nobody else; what is in `borrowed` shows through, read-only.

    Returns why that can't be, if it can't; then nothing changed that matters.
    """
    cwd = os.getcwd()
    try:
        with Libc() as libc:
            _own_mounts(libc)
            libc.call("mount", "none", "/", None, _REC | _PRIVATE, None)
            for name in borrowed:
                real, place = os.path.join(directory, name), os.path.join(copy, name)
                libc.call("mount", real, place, None, _BIND | _REC, None)
                flags = os.statvfs(place).f_flag
                kept = flags & _KEPT_FLAGS | (_RELATIME if flags & 0x1000 else 0)
                libc.call("mount", "none", place, None, _REMOUNT | _BIND | _RDONLY | kept, None)
            libc.call("mount", copy, directory, None, _BIND | _REC, None)
        os.chdir(cwd)
    except (OSError, ImportError, AttributeError) as error:
        return str(error) or type(error).__name__
    return None


def _own_mounts(libc: Any) -> None:
    uid, gid = os.getuid(), os.getgid()
    if os.geteuid() == 0:
        try:
            libc.call("unshare", _NEWNS)
            return
        except OSError:
            pass
    libc.call("unshare", _NEWUSER | _NEWNS)
    for name, text in (("setgroups", "deny"), ("uid_map", f"{uid} {uid} 1"), ("gid_map", f"{gid} {gid} 1")):
        with open(f"/proc/self/{name}", "w") as file:
            file.write(text)
