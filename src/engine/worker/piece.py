"""One piece of hidden state."""

from __future__ import annotations

from typing import Any, Callable

Value = Any


class Piece:
    """How to read it and how to set it. `module` is the library whose users may come by it."""

    __slots__ = ("get", "put", "module")

    def __init__(self, get: Callable[[], Value], put: Callable[[Value], None], module: str | None = None) -> None:
        self.get, self.put, self.module = get, put, module
