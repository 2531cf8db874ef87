"""In which order a set gives its members, and will give those that come: that hangs on what it went through.

The members lie in a table by their hashes. How large it is, what lies in it of members that went, and from where `pop`
looks, is told by no method, so it is read where CPython has it. A set is brought over if one that is like it in all of that can
be made of its members.
"""

from __future__ import annotations

import operator
import sys
from typing import Any, NamedTuple

from . import kernel
from .referred import identity

_SMALLEST = 7  # the mask of a table of eight


class Table(NamedTuple):
    """What a set is beside its members."""

    mask: int  # one less than the entries of the table
    left: int  # entries of members that went
    finger: int  # from where `pop` looks


def _start() -> Any:
    """A way to read a set's table that raises no audit event; nothing where sets are not as up to 3.13."""
    if sys.implementation.name != "cpython" or sys.maxsize < 2**32:
        return None
    try:
        with kernel.Libc() as libc:
            numbers = libc.ctypes.POINTER(libc.ctypes.c_ssize_t)()
        address = memoryview(numbers).cast("B").cast("Q")

        def read(value: Any, hashes: bool = False) -> Any:
            address[0] = (identity(value) << 4) + object.__basicsize__
            fill, used, mask, table, _, finger = numbers[0:6]
            if not hashes:
                return Table(mask, fill - used, finger)
            address[0] = table
            entries = numbers[0 : 2 * (mask + 1)]
            return [(at, entries[2 * at + 1]) for at in range(mask + 1) if entries[2 * at]]

        tried = set(range(5))
        tried.discard(2)
        few, copied = {1, 2}, set(frozenset(range(5)))
        works = (read(tried), read(few), read(copied)) == (Table(31, 1, 0), Table(7, 0, 0), Table(15, 0, 0))
        return read if works and tried.pop() == 0 and read(tried).finger else None
    except (ImportError, AttributeError, OSError, ValueError, TypeError):
        return None


_read = _start()


def table_of(value: Any) -> Table | None:
    """The table of a set or frozenset, where that can be told."""
    return None if _read is None else _read(value)


_by_address: Any = object.__hash__


class Recipe(NamedTuple):
    """How a set is made."""

    members: list[Any]  # in the order in which they come, with what stands in for those that went
    merged: int  # how many of them are taken over at once, which makes another table than one after the other
    gone: list[int]  # what stands in for members that went
    popped: bool  # whether `pop` took them

    def follow(self, made: set[Any]) -> None:
        """Fills an empty set."""
        made.update(frozenset(self.members[: self.merged]))
        for member in self.members[self.merged :]:
            made.add(member)
        for stand_in in self.gone:
            if self.popped:
                made.pop()
            else:
                made.discard(stand_in)

    def frozen(self) -> frozenset[Any]:
        """A set that can't be filled any more."""
        return frozenset(set(frozenset(self.members))) if self.merged else frozenset(self.members)


def is_ordered(members: list[Any]) -> bool:
    """Whether the order of a set of these is the same wherever it is made, and to ask for it runs no code of a step."""
    kinds = set(map(type, members))
    for kind in (tuple, frozenset):
        if kind in kinds:
            kinds.discard(kind)
            if not all(is_ordered([*member]) for member in members if type(member) is kind):
                return False
    return all(kind.__module__ != "__main__" and kind.__hash__ is not _by_address for kind in kinds)


def recipe(value: Any, kind: Any) -> Recipe | None:
    """How a set that is like `value` is made; nothing where there is no way. `kind` is `set` or `frozenset`."""
    members, table = [*kind.__iter__(value)], table_of(value)
    if table is None:
        table, entries = Table(_SMALLEST, 0, 0), {}
    else:
        entries = dict(_read(value, True)) if table.mask < _LARGE else {}
    # Each is found where the member lay that it stands in for.
    gone = {at: at + (table.mask + 1 << 32) for at, number in entries.items() if number == -1}
    if (table.finger and members) or table.left != len(gone):
        return None
    orders = [members]
    while orders:
        order = orders.pop()
        ways = [0]
        if table.mask > _SMALLEST:
            # To take over `n` at once makes a table of the next power of two above `2 * n`.
            least = (table.mask + 1) // 4
            ways += [least, len(order)] if kind is set and least < len(order) else [len(order)]
        for found in (Recipe(order, merged, [*gone.values()], table.finger > 0) for merged in ways if order or not gone):
            made: Any = found.frozen() if kind is frozenset else set()
            if kind is set:
                found.follow(made)
            # By which they are: a number may be equal to another.
            same = len(made) == len(members) and all(map(operator.is_, made, members))
            if same and table_of(made) in (None, table) and (not entries or dict(_read(made, True)) == entries):
                return found
        if order is members and entries:
            orders.append(_as_they_came(entries, members, gone, table.mask))
    return None


_LARGE = 1 << 16


def _as_they_came(entries: dict[int, int], held: list[Any], gone: dict[int, int], mask: int) -> list[Any]:
    """The members, those first that lie where their hashes say, and each before those that had to give way to it."""
    members = {**dict(zip((at for at in entries if at not in gone), held)), **gone}
    order: dict[int, Any] = {at: members[at] for at, number in entries.items() if at in gone or number & mask == at}
    for start in entries:
        todo = [start]
        while todo:
            at = todo[-1]
            before = [] if at in order else [other for other in _looked_at(entries[at], at, mask) if other not in order]
            if before and len(todo) <= len(entries):
                todo += before
            else:
                order[at] = members[todo.pop()]
    return [*order.values()]


def _looked_at(number: int, end: int, mask: int) -> list[int]:
    """The entries that are found taken for a hash, until the one at `end` (`set_add_entry` in CPython's setobject.c)."""
    found: list[int] = []
    at, perturb = number & mask, number & 0xFFFF_FFFF_FFFF_FFFF
    while len(found) <= 8 * mask:
        for here in range(at, at + 10 if at + 9 <= mask else at + 1):
            if here == end:
                return found
            found.append(here)
        perturb >>= 5
        at = (at * 5 + 1 + perturb) & mask
    return []
