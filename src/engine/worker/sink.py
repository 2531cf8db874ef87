"""Where a pickle goes: hashed as it is made, kept up to a limit, the memory of arrays left where it is."""

from __future__ import annotations

import _thread
import hashlib
import os
import pickle
import struct
from typing import Any

# The memory of the array that is being pickled: hashed and kept where it is, never copied into the pickle.
own_buffer: list[pickle.PickleBuffer] = []

_PART = 8 << 20  # bytes that one thread hashes at a time

_HELPERS = min(len(os.sched_getaffinity(0)), 8) - 1 if hasattr(os, "sched_getaffinity") else 0


def _digests(raw: memoryview) -> bytes:
    """The digests of the parts of a large array, one after the other, made on all processors: the step waits for them.

    Python's own threads have names that count up, which a step would see; these have none.
    """
    parts = [raw[at : at + _PART] for at in range(0, raw.nbytes, _PART)]
    found: list[bytes] = [b""] * len(parts)
    todo = list(range(len(parts)))

    def work(done: Any = None) -> None:
        try:
            while todo:
                try:
                    at = todo.pop()
                except IndexError:
                    break
                found[at] = hashlib.sha256(parts[at]).digest()
        finally:
            if done is not None:
                done.release()

    waits = []
    for _ in range(min(_HELPERS, len(parts) - 1)):
        done = _thread.allocate_lock()
        done.acquire()
        try:
            _thread.start_new_thread(work, (done,))
        except (RuntimeError, OSError):  # no more are to be had
            break
        waits.append(done)
    work()
    for done in waits:
        done.acquire()
    # One that had no memory for its part is gone without it.
    return b"".join(digest or hashlib.sha256(part).digest() for digest, part in zip(found, parts))


class Sink:
    """Takes a pickle as it is made: hashes it, keeps it up to a limit, or both."""

    def __init__(self, hashed: bool, limit: int) -> None:
        self._stream = hashlib.sha256() if hashed else None
        self._blocks = hashlib.sha256() if hashed else None
        self._room = limit
        self._parts: list[bytes] = []
        self._buffers: list[memoryview] = []

    def write(self, data: Any) -> int:
        if self._stream is not None:
            self._stream.update(data)
        self._room -= len(data)
        if self._room >= 0:
            self._parts.append(bytes(data))
        return len(data)

    def buffer(self, buffer: pickle.PickleBuffer) -> bool:
        """Takes the memory of an array; whether a buffer of something else belongs into the pickle itself."""
        if not any(own is buffer for own in own_buffer):
            return True
        raw = buffer.raw()
        if self._blocks is not None:
            self._blocks.update(_LENGTH.pack(raw.nbytes))
            if raw.nbytes <= _PART:
                self._blocks.update(raw)
            else:
                self._blocks.update(_digests(raw))
        self._room -= raw.nbytes
        self._buffers.append(raw)
        return False

    def digest(self, members: tuple[str, ...], more: list[Any]) -> str:
        """Stands for all that was taken, and for what else there is to tell."""
        assert self._stream is not None and self._blocks is not None
        whole = hashlib.sha256(repr((members, more) if more else members).encode("utf-8", "surrogatepass"))
        whole.update(self._stream.digest())
        whole.update(self._blocks.digest())
        return whole.hexdigest()

    def bytes(self) -> bytes | None:
        """All that was taken, for [`load`]; nothing if it was more than the limit."""
        if self._room < 0:
            return None
        if not self._buffers:
            return b"".join(self._parts)
        sizes = [sum(map(len, self._parts)), *(buffer.nbytes for buffer in self._buffers)]
        head = _WITH_BLOCKS + _LENGTH.pack(len(sizes)) + b"".join(map(_LENGTH.pack, sizes))
        return b"".join([head, *self._parts, *self._buffers])


_LENGTH = struct.Struct("<Q")

_WITH_BLOCKS = b"\1"  # a pickle begins with 0x80


def forget_buffer() -> None:
    """Lets the memory of an array go that was pickled last."""
    own_buffer.clear()


def parts_of(data: memoryview) -> list[memoryview]:
    """What [`Sink.bytes`] gave, taken apart: the pickle, and the memory of its arrays."""
    if data[:1] != _WITH_BLOCKS:
        return [data]
    count = _LENGTH.unpack_from(data, 1)[0]
    at = 9 + 8 * count
    parts = []
    for n in range(count):
        size = _LENGTH.unpack_from(data, 9 + 8 * n)[0]
        parts.append(data[at : at + size])
        at += size
    return parts
