"""What the run's module holds besides the names of steps: what Python itself puts there, and steps may set."""

from __future__ import annotations

from typing import Any

from . import names
from .piece import ALWAYS, Piece, Readers

_LISTS = names.DYNAMIC | {"get_type_hints", "get_annotations"}  # who looks at them without their name
_READERS: dict[str, Readers] = {
    # Every class and function that is made takes it over.
    "__name__": ALWAYS,
    "__doc__": _LISTS | {"__doc__"},
    "__package__": _LISTS | {"__package__"},
    "__annotations__": _LISTS | {"__annotations__"},
}


def pieces(namespace: dict[str, Any]) -> dict[str, Piece]:
    """By the names under which hidden state is known."""
    return {f"@main:{name}": _piece(namespace, name, readers) for name, readers in _READERS.items()}


def _piece(namespace: dict[str, Any], name: str, readers: Readers) -> Piece:
    def get() -> Any:
        value = namespace.get(name)
        # Annotations are added to in place, and in an order.
        return [*value.items()] if type(value) is dict else value

    def put(value: Any) -> None:
        if type(value) is list:
            value = dict(value)
        if value is None and name == "__annotations__":
            namespace.pop(name, None)
        else:
            namespace[name] = value

    return Piece(get, put, readers)
