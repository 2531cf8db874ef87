"""What an interpreter is, and what this machine lets its children do: one JSON object on standard output.

Each trial runs in a child of its own, which ends right after it. Runs on CPython 3.9 and later.
"""
import json
import os
import platform
import sys
import tempfile
import time

NEWNS, NEWUSER, NEWPID, NEWNET = 0x00020000, 0x10000000, 0x20000000, 0x40000000
REC_PRIVATE, BIND = 0x4000 | 0x40000, 0x1000
LANDLOCK_CREATE_RULESET = 444  # the same number on every architecture that has it
PR_SET_NO_NEW_PRIVS = 38


def trial(try_it):
    """None if `try_it` worked in a child, else what stood in its way."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        why = b""
        try:
            try_it()
        except OSError as error:
            why = (error.strerror or str(error)).lower().encode()
        except BaseException as error:
            why = str(error).encode() or b"failed"
        os.write(writer, why)
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as file:
        why = file.read().decode("utf-8", "replace")
    os.waitpid(child, 0)
    return why or None


def fork_cost():
    """The best of five forks with their wait, in milliseconds."""
    best = None
    for _ in range(5):
        start = time.perf_counter()
        child = os.fork()
        if child == 0:
            os._exit(0)
        os.waitpid(child, 0)
        took = (time.perf_counter() - start) * 1000
        best = took if best is None else min(best, took)
    return round(best, 2)


def kernel():
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)

    def call(function, *arguments):
        result = function(*arguments)
        if result < 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))
        return result

    def text(value):
        return ctypes.c_char_p(value) if value is None else ctypes.c_char_p(value.encode())

    def mount(source, target, kind, flags, data=None):
        call(libc.mount, text(source), text(target), text(kind), ctypes.c_ulong(flags), text(data))

    def apart(flags):
        # Root needs no user namespace for the others; anybody else does, and becomes root in it.
        user, group = os.geteuid(), os.getegid()
        call(libc.unshare, flags if user == 0 else flags | NEWUSER)
        if user != 0:
            for name, line in (("setgroups", "deny"), ("uid_map", f"0 {user} 1"), ("gid_map", f"0 {group} 1")):
                with open(f"/proc/self/{name}", "w") as file:
                    file.write(line)

    def bind():
        apart(NEWNS)
        mount(None, "/", None, REC_PRIVATE)
        with tempfile.TemporaryDirectory() as directory:
            mount(directory, directory, None, BIND)
            call(libc.umount2, text(directory), 2)

    def overlay():
        outside = os.getuid()
        apart(NEWNS)
        mount(None, "/", None, REC_PRIVATE)
        with tempfile.TemporaryDirectory() as directory:
            lower, upper, work, at = (os.path.join(directory, name) for name in ("lower", "upper", "work", "at"))
            for part in (lower, upper, work, at):
                os.mkdir(part)
            options = f"lowerdir={lower},upperdir={upper},workdir={work}"
            mount("overlay", at, "overlay", 0, options if os.getuid() == outside else f"userxattr,{options}")
            call(libc.umount2, text(at), 2)

    def landlock():
        libc.syscall.restype = ctypes.c_long
        return call(libc.syscall, ctypes.c_long(LANDLOCK_CREATE_RULESET), None, ctypes.c_size_t(0), ctypes.c_uint(1))

    try:
        abi = landlock()
        landlock_fault = None
    except OSError as error:
        abi, landlock_fault = None, error.strerror.lower()
    return {
        "user_namespace": trial(lambda: call(libc.unshare, NEWUSER)),
        "bind_mount": trial(bind),
        "overlay": trial(overlay),
        "network_namespace": trial(lambda: apart(NEWNET)),
        "pid_namespace": trial(lambda: apart(NEWPID)),
        "no_new_privs": trial(lambda: call(libc.prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)),
        "landlock_abi": abi,
        "landlock": landlock_fault,
    }


def packages():
    """Versions of what steps use most, without importing any of it."""
    from importlib import metadata

    found = {}
    for name in ("numpy", "pandas", "matplotlib", "scipy", "scikit-learn", "polars", "torch"):
        try:
            found[name] = metadata.version(name)
        except Exception:
            pass
    return found


def main():
    told = {
        "implementation": platform.python_implementation(),
        "version": platform.python_version(),
        "version_info": list(sys.version_info[:3]),
        "executable": sys.executable,
        "prefix": sys.prefix,
        "environment": sys.prefix != sys.base_prefix,
        "packages": packages(),
        "fork": hasattr(os, "fork"),
        "free_threaded": bool(getattr(sys, "_is_gil_enabled", lambda: True)() is False),
    }
    if told["fork"]:
        told["fork_ms"] = fork_cost()
    if sys.platform == "linux":
        try:
            told["kernel"] = kernel()
        except Exception as error:
            told["kernel_unknown"] = str(error)
    json.dump(told, sys.stdout)


main()
