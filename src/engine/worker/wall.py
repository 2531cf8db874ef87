"""The wall around what executes steps: Landlock for files, ports and signals, seccomp for system calls.

It is put up in a fresh fork of the root before anything of a step runs there, holds for every fork and every program
that comes of it, and can't be taken down. What depends on an answer is not decided here: those calls wait until the
engine has decided (seccomp's user notification), which is handed the listening descriptor.
"""

from __future__ import annotations

import errno
import os
import socket
import struct
import sys
from typing import Any

from . import kernel

_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_MAKE_CHAR, _MAKE_BLOCK, _REFER, _TRUNCATE, _IOCTL_DEV = 1 << 6, 1 << 11, 1 << 13, 1 << 14, 1 << 15
_READING = _EXECUTE | _READ_FILE | _READ_DIR
_OF_FILES = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL_DEV
_BIND_TCP, _CONNECT_TCP = 1 << 0, 1 << 1
_ABSTRACT_SOCKETS, _SIGNALS = 1 << 0, 1 << 1
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_NO_NEW_PRIVS, _SUBREAPER = 38, 36

# What a preset leaves open for reading: where programs, libraries, fonts, time zones and certificates live.
_SYSTEM = (
    "/usr /bin /sbin /lib /lib32 /lib64 /libx32 /opt /nix/store /gnu/store /proc /sys /var/cache/fontconfig "
    "/var/lib/ca-certificates /run/systemd/resolve /run/resolvconf /run/current-system /dev/urandom /dev/random"
).split()
_ETC = (
    "ld.so.cache ld.so.conf ld.so.conf.d ld.so.preload localtime timezone ssl/certs ssl/cert.pem ssl/openssl.cnf "
    "ca-certificates ca-certificates.conf pki crypto-policies fonts mime.types passwd group hosts hostname resolv.conf "
    "nsswitch.conf host.conf gai.conf services protocols networks os-release lsb-release debian_version redhat-release "
    "alternatives profile profile.d bash.bashrc inputrc terminfo locale.alias locale.conf magic matplotlibrc ipython "
    "jupyter machine-id gitconfig wgetrc shells OpenCL java R perl texmf odbc.ini odbcinst.ini ImageMagick-6 "
    "ImageMagick-7 papersize nvidia vulkan zoneinfo"
).split()
_HOME = ".fonts .local/share/fonts .gitconfig .config/git/config .config/fontconfig .cache/fontconfig".split()
_DEVICES = "/dev/null /dev/zero /dev/full /dev/random /dev/urandom".split()


def _readable() -> list[str]:
    found = [*_SYSTEM, *(f"/etc/{name}" for name in _ETC)]
    found += [sys.prefix, sys.base_prefix, sys.exec_prefix, sys.base_exec_prefix]
    found.append(os.path.dirname(os.path.realpath(sys.executable)))
    found += [path for path in sys.path if path]
    home = os.path.expanduser("~")
    found += [os.path.join(home, name) for name in _HOME]
    found += [path for path in os.environ.get("PATH", "").split(":") if path.startswith("/") and path.rstrip("/") != home]
    for name in ("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "LD_LIBRARY_PATH", "FONTCONFIG_PATH",
                 "FONTCONFIG_FILE", "TZDIR", "PYTHONTZPATH", "CUDA_HOME"):  # fmt: skip
        found += [path for path in os.environ.get(name, "").split(":") if path.startswith("/")]
    return [path for path in found if path != "/"]


class Wall:
    """What stands between the steps and the rest of the machine; made in the root, put up in its forks."""

    def __init__(self, wanted: dict[str, Any]) -> None:
        self.wanted = wanted
        self.rules: int | None = None
        self.abi = 0
        self.files: str | None = None  # why files are not held back, if so

    def prepare(self) -> None:
        """Makes the rules of Landlock, which a fork then only has to take on."""
        try:
            with kernel.Libc() as libc:
                self._rules(libc)
        except (OSError, ImportError, AttributeError) as error:
            lacks = isinstance(error, OSError) and error.errno in (errno.ENOSYS, errno.EOPNOTSUPP)
            self.files = "this kernel has no Landlock" if lacks else str(error) or type(error).__name__

    def _rules(self, libc: Any) -> None:
        self.abi = libc.call("syscall", _CREATE_RULESET, None, 0, 1)
        everything = (1 << 13) - 1
        for least, right in ((2, _REFER), (3, _TRUNCATE), (5, _IOCTL_DEV)):
            if self.abi >= least:
                everything |= right
        network = self.wanted["network"]
        ports = _BIND_TCP | _CONNECT_TCP if self.abi >= 4 and network == "none" else 0
        scopes = (_SIGNALS | (_ABSTRACT_SOCKETS if network != "open" else 0)) if self.abi >= 6 else 0
        attributes = struct.pack("QQQ", everything, ports, scopes)[: 8 if self.abi < 4 else 16 if self.abi < 6 else 24]
        buffer = libc.ctypes.create_string_buffer(attributes, len(attributes))
        self.rules = libc.call("syscall", _CREATE_RULESET, libc.ctypes.byref(buffer), len(attributes), 0)
        os.set_inheritable(self.rules, False)
        writing = everything & ~(_MAKE_CHAR | _MAKE_BLOCK | _IOCTL_DEV)
        reading = everything & _READING
        read, write = self.wanted["read"], self.wanted["write"]
        for path in ["/"] if read is None else _readable() + read:
            self._allow(libc, path, reading)
        for path in ["/"] if write is None else write:
            self._allow(libc, path, writing)
        for path in _DEVICES:
            self._allow(libc, path, everything & (_READ_FILE | _WRITE_FILE | _TRUNCATE | _IOCTL_DEV))
        self._allow(libc, "/dev/shm", writing)

    def _allow(self, libc: Any, path: str, rights: int) -> None:
        try:
            fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
        except OSError:
            return
        try:
            if (os.fstat(fd).st_mode & 0o170000) != 0o040000:
                rights &= _OF_FILES
            rule = libc.ctypes.create_string_buffer(struct.pack("=Qi", rights, fd), 12)
            libc.call("syscall", _ADD_RULE, self.rules, 1, libc.ctypes.byref(rule), 0)
        finally:
            os.close(fd)

    def put_up(self, mounted: bool) -> tuple[dict[str, str | None], int | None]:
        """Puts the wall up around this process. Tells for each part why it does not stand, and the listener.

        `mounted`: the run's own files are read-only already, and only directories above them can be moved away.
        """
        self.mounted = mounted
        told: dict[str, str | None] = {"files": self.files, "signals": None, "calls": None, "asking": None}
        listener = None
        try:
            with kernel.Libc() as libc:
                libc.call("prctl", _NO_NEW_PRIVS, 1, 0, 0, 0)
                if self.rules is not None:
                    libc.call("syscall", _RESTRICT_SELF, self.rules, 0)
                    os.close(self.rules)
                    self.rules = None
                if self.abi < 6:
                    told["signals"] = self.files or f"the kernel's Landlock is of version {self.abi}, and this needs 6"
                listener = self._filter(libc, told)
        except (OSError, ImportError, AttributeError) as error:
            told["calls"] = told["asking"] = str(error) or type(error).__name__
        return told, listener

    def _filter(self, libc: Any, told: dict[str, str | None]) -> int | None:
        machine = os.uname().machine
        numbers = _NUMBERS.get(machine)
        if numbers is None or struct.calcsize("P") != 8:
            raise OSError(f"system calls of {machine} are not known here")
        try:
            _try_fetching(libc)
        except OSError as error:
            told["asking"] = f"a process's descriptors can't be had: {error}"
        for asking in (True, False) if told["asking"] is None else (False,):
            program = _program(numbers, self.wanted, asking, self.mounted)
            steps = b"".join(struct.pack("HBBI", *step) for step in program)
            code = libc.ctypes.create_string_buffer(steps, len(steps))
            head = struct.pack("HxxxxxxQ", len(program), libc.ctypes.addressof(code))
            given = libc.ctypes.create_string_buffer(head, len(head))
            try:
                flags = 1 << 3 if asking else 0
                fd = libc.call("syscall", numbers["seccomp"], 1, flags, libc.ctypes.byref(given))
                return fd if asking else None
            except OSError as error:
                if not asking:
                    raise
                told["asking"] = "this kernel can't" if error.errno == errno.EINVAL else str(error)
        return None


def _try_fetching(libc: Any) -> None:
    """The engine fetches descriptors to do calls with them: a kernel that can't do that has nothing to ask with."""
    process = libc.call("syscall", 434, os.getpid(), 0)
    try:
        os.close(libc.call("syscall", 438, process, 0, 0))
    finally:
        os.close(process)


def be_reaper() -> None:
    """What is left behind by steps becomes this process's child, and is collected by the kernel when it ends."""
    import signal

    try:
        with kernel.Libc() as libc:
            libc.call("prctl", _SUBREAPER, 1, 0, 0, 0)
    except (OSError, ImportError, AttributeError):
        return
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)


_LOOK_UP = "\0reweave-look-up:"


def may_look_up(host: str) -> bool:
    """Asks the engine whether a name may be looked up, by a connection that leads nowhere: the call waits for the
    answer like any other, and is refused either way."""
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as one:
            one.connect(_LOOK_UP + host[:80])
    except OSError as error:
        return error.errno == errno.ECONNREFUSED
    return True


# -- the filter: a program of the classic packet filter over (number, architecture, pointer, six arguments) ------------

_LOAD, _EQUAL, _ABOVE, _ANY, _RETURN, _AND = 0x20, 0x15, 0x35, 0x45, 0x06, 0x54
_ALLOW, _NOTIFY = 0x7FFF_0000, 0x7FC0_0000
_NAMESPACES = 0x7E02_0000
_FAST_OPEN = 0x2000_0000
_TO_WRITE = 0x243  # to write, to read and write, to make, to cut: the same on these architectures
_Program = list  # of (code, jump if true, jump if false, constant)


def _refuse(number: int) -> tuple[int, int, int, int]:
    return (_RETURN, 0, 0, 0x0005_0000 | number)


def _low(argument: int) -> tuple[int, int, int, int]:
    return (_LOAD, 0, 0, 16 + 8 * argument)


def _program(numbers: dict[str, Any], wanted: dict[str, Any], asking: bool, mounted: bool) -> _Program[tuple[int, int, int, int]]:
    allow = (_RETURN, 0, 0, _ALLOW)
    denied = _refuse(errno.EPERM)
    no_access = _refuse(errno.EACCES)
    ask = (_RETURN, 0, 0, _NOTIFY) if asking else no_access
    program: Any = [(_LOAD, 0, 0, 4), (_EQUAL, 1, 0, numbers["architecture"]), denied, (_LOAD, 0, 0, 0)]
    if numbers["architecture"] == 0xC000_003E:
        program += [(_ABOVE, 0, 1, 0x4000_0000), _refuse(errno.ENOSYS)]

    def on(name: str, *block: tuple[int, int, int, int]) -> None:
        number = numbers.get(name)
        if number is not None:
            program.extend([(_EQUAL, 0, len(block), number), *block])

    for number in numbers["never"]:
        program += [(_EQUAL, 0, 1, number), denied]
    for number in (435, 425, 426, 427):  # clone3, whose flags can't be seen here; io_uring, which passes by here
        program += [(_EQUAL, 0, 1, number), _refuse(errno.ENOSYS)]
    # A view of its own gives nothing that the wall took; other namespaces would.
    on("unshare", _low(0), (_EQUAL, 0, 1, kernel.NEWNS), allow, (_ANY, 0, 1, _NAMESPACES), denied, allow)
    fork = ask if asking and wanted["count"] else allow
    on("clone", _low(0), (_ANY, 0, 1, _NAMESPACES), denied, fork)
    on("fork", fork)
    on("vfork", fork)
    on("ioctl", _low(1), (_EQUAL, 1, 0, 0x5412), (_EQUAL, 0, 1, 0x541C), denied, allow)  # typing into a terminal
    if asking:
        for number in numbers["renames"]:
            program += [(_EQUAL, 0, 1, number), ask]
    if asking and not mounted:
        for number in numbers["changes"]:
            program += [(_EQUAL, 0, 1, number), ask]
        on("open", _low(1), (_ANY, 0, 1, _TO_WRITE), ask, allow)
        on("openat", _low(2), (_ANY, 0, 1, _TO_WRITE), ask, allow)
        # A lock on the record would have the workbench wait.
        on("flock", ask)
        on("fcntl", _low(1), (_EQUAL, 3, 0, 6), (_EQUAL, 2, 0, 7), (_EQUAL, 1, 0, 37), (_EQUAL, 0, 1, 38), ask, allow)
        program += [(_EQUAL, 0, 1, 437), _refuse(errno.ENOSYS)]  # openat2, whose flags can't be seen here
    # Limits, priorities and processors of other processes: only of the step's own, which somebody has to find out.
    others = ask if asking else denied
    for name in ("sched_setparam", "sched_setscheduler", "sched_setaffinity", "sched_setattr"):
        on(name, _low(0), (_EQUAL, 0, 1, 0), allow, others)
    on("prlimit64", _low(0), (_EQUAL, 4, 0, 0), _low(2), (_EQUAL, 0, 3, 0), (_LOAD, 0, 0, 16 + 8 * 2 + 4), (_EQUAL, 0, 1, 0),
       allow, others)  # fmt: skip
    on("setpriority", _low(0), (_EQUAL, 0, 4, 0), _low(1), (_EQUAL, 1, 0, 0), others, allow, denied)
    on("ioprio_set", _low(0), (_EQUAL, 0, 4, 1), _low(1), (_EQUAL, 1, 0, 0), others, allow, denied)
    programs = {"open": allow, "ask": ask, "none": no_access}[wanted["process"]]
    on("execve", programs)
    on("execveat", programs)
    if wanted["network"] != "open":
        unknown = _refuse(errno.EAFNOSUPPORT)
        on(
            "socket", _low(0), (_EQUAL, 9, 0, 16), (_EQUAL, 2, 0, 1), (_EQUAL, 1, 0, 2), (_EQUAL, 0, 5, 10),
            _low(1), (_AND, 0, 0, 0xF), (_EQUAL, 3, 0, 1), (_EQUAL, 0, 1, 2), ask, unknown, allow,
        )  # fmt: skip
        on("connect", ask)
        on("bind", ask)
        on("listen", ask)
        # Sockets made in pairs are connected; one for datagrams can send elsewhere all the same.
        on("socketpair", _low(1), (_AND, 0, 0, 0xF), (_EQUAL, 0, 1, 2), no_access, allow)
        on("sendto", _low(3), (_ANY, 0, 1, _FAST_OPEN), denied, _low(4), (_EQUAL, 0, 2, 0), (_LOAD, 0, 0, 16 + 8 * 4 + 4),
           (_EQUAL, 1, 0, 0), ask, allow)  # fmt: skip
        # Without a network there is no socket for datagrams.
        message = ask if asking and wanted["network"] == "ask" else allow
        on("sendmsg", _low(2), (_ANY, 0, 1, _FAST_OPEN), denied, message)
        on("sendmmsg", _low(3), (_ANY, 0, 1, _FAST_OPEN), denied, message)
    return [*program, allow]


_NEW_MOUNTS = [428, 429, 430, 431, 432, 433, 438, 442]  # and pidfd_getfd: the same everywhere
_NUMBERS: dict[str, dict[str, Any]] = {
    "x86_64": {
        "architecture": 0xC000_003E, "seccomp": 317, "unshare": 272, "clone": 56, "fork": 57, "vfork": 58, "ioctl": 16,
        "execve": 59, "execveat": 322, "socket": 41, "connect": 42, "bind": 49, "sendto": 44, "sendmsg": 46, "sendmmsg": 307,
        "listen": 50, "socketpair": 53, "fcntl": 72, "flock": 73, "prlimit64": 302, "setpriority": 141, "ioprio_set": 251,
        "sched_setparam": 142, "sched_setscheduler": 144, "sched_setaffinity": 203, "sched_setattr": 314,
        "open": 2, "openat": 257, "renames": [82, 264, 316],
        # creat, truncate, unlink, unlinkat, mkdir, mkdirat, mknod, mknodat, link, linkat, symlink, symlinkat, chmod, fchmodat,
        # fchmodat2, chown, lchown, fchownat, fchmod, fchown
        "changes": [85, 76, 87, 263, 83, 258, 133, 259, 86, 265, 88, 266, 90, 268, 452, 92, 94, 260, 91, 93],
        # mount, umount2, pivot_root, setns, chroot, ptrace, process_vm_*, kcmp, bpf, perf_event_open, userfaultfd, keys,
        # modules, kexec, reboot, swap, acct, quotactl, open_by_handle_at, iopl, ioperm, clocks, host name, syslog, vhangup
        "never": [165, 166, 155, 308, 161, 101, 310, 311, 312, 321, 298, 323, 248, 249, 250, 175, 313, 176, 246, 320, 169, 167,
                  168, 163, 179, 304, 172, 173, 164, 227, 305, 170, 171, 103, 153, *_NEW_MOUNTS],
    },
    "aarch64": {
        "architecture": 0xC000_00B7, "seccomp": 277, "unshare": 97, "clone": 220, "ioctl": 29, "execve": 221, "execveat": 281,
        "socket": 198, "connect": 203, "bind": 200, "sendto": 206, "sendmsg": 211, "sendmmsg": 269,
        "listen": 201, "socketpair": 199, "fcntl": 25, "flock": 32, "prlimit64": 261, "setpriority": 140, "ioprio_set": 30,
        "sched_setparam": 118, "sched_setscheduler": 119, "sched_setaffinity": 122, "sched_setattr": 274,
        "openat": 56, "renames": [38, 276], "changes": [45, 35, 34, 33, 37, 36, 53, 452, 54, 52, 55],
        "never": [40, 39, 41, 268, 51, 117, 270, 271, 272, 280, 241, 282, 217, 218, 219, 105, 273, 106, 104, 294, 142, 224, 225,
                  89, 60, 265, 170, 112, 266, 161, 162, 116, 58, *_NEW_MOUNTS],
    },
}  # fmt: skip
