"""Messages between a worker and the engine: a 12-byte header, a JSON object, and raw bytes.

The header is the length of the JSON (4 bytes) and of the bytes (8 bytes), little-endian. Descriptors may
travel with the header (SCM_RIGHTS). Functions of the standard library that steps could replace are bound
here, before any step runs.
"""

from __future__ import annotations

import array
import fcntl
import json
import os
import socket
import struct
from typing import Any

_HEADER = struct.Struct("<IQ")
_SMALL = 1 << 16  # bytes that are copied rather than sent by themselves, so that the engine is woken once
_dumps = json.JSONEncoder(ensure_ascii=True, separators=(",", ":")).encode
_loads = json.loads
_exit = os._exit
_HIGH = 200


def _out_of_the_way(fd: int) -> int:
    """The same under a number that steps don't come to: theirs are the low ones, as in plain Python, in any process."""
    try:
        high = fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, _HIGH)
    except OSError:  # not so many may be open
        os.set_inheritable(fd, False)
        return fd
    os.close(fd)
    return high


class Wire:
    """One end of a connection to the engine. When the other end closes, the process ends."""

    def __init__(self, fd: int) -> None:
        self._socket = socket.socket(fileno=fd)
        self._send = self._socket.sendall
        self._recv_into = self._socket.recv_into
        self._recvmsg = self._socket.recvmsg

    def fileno(self) -> int:
        return self._socket.fileno()

    def close(self) -> None:
        self._socket.close()

    def send(self, message: dict[str, Any], data: bytes = b"", fds: list[int] | None = None) -> None:
        """Sends a message, and descriptors with it; a vanished engine ends the process."""
        text = _dumps(message).encode()
        head = _HEADER.pack(len(text), len(data)) + text
        try:
            if fds:
                rights = array.array("i", fds).tobytes()
                sent = self._socket.sendmsg([head], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, rights)])
                self._send(head[sent:])
                self._send(data)
            elif len(data) <= _SMALL:
                self._send(head + data)
            else:
                self._send(head)
                self._send(data)
        except OSError:
            _exit(0)

    def await_next(self) -> None:
        """Waits until there is a message, and leaves it."""
        try:
            if not self._socket.recv(1, socket.MSG_PEEK):
                _exit(0)
        except OSError:
            _exit(0)

    def receive(self) -> tuple[dict[str, Any], bytes, list[int]]:
        """Waits for a message: the object, its bytes, and the descriptors that came with it."""
        fds: list[int] = []
        try:
            head, ancillary, _, _ = self._recvmsg(_HEADER.size, socket.CMSG_SPACE(16 * 4))
        except OSError:
            _exit(0)
        for level, kind, data in ancillary:
            if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                numbers = array.array("i")
                numbers.frombytes(data[: len(data) - len(data) % numbers.itemsize])
                fds.extend(numbers)
        fds = [_out_of_the_way(fd) for fd in fds]
        head += self._exactly(_HEADER.size - len(head)) if head else _exit(0) or b""
        length, size = _HEADER.unpack(head)
        return _loads(self._exactly(length).decode()), self._exactly(size), fds

    def _exactly(self, size: int) -> bytes:
        data = bytearray(size)
        view = memoryview(data)
        while size:
            try:
                got = self._recv_into(view[-size:], size)
            except OSError:
                got = 0
            if not got:
                _exit(0)
            size -= got
        return bytes(data)
