"""The run's namespace: which names share mutable objects, and a digest for each such component.

A name that starts with `@` stands for hidden state (see `hidden.py`); it takes part like any other.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from itertools import compress
from operator import ne
from typing import Any, NamedTuple

from . import codec, walk
from .referred import identity

HIDDEN = frozenset(
    "__name__ __builtins__ __file__ __doc__ __package__ __loader__ __spec__ __annotations__ __annotate__ "
    "__conditional_annotations__ __cached__ __warningregistry__".split()
)


CARRY_LIMIT = 64_000_000  # bytes; what is larger is made again rather than brought over


class Bindings:
    """Which object stood under which name. Identities only: to hold the values would keep them from dying when the
    step drops them."""

    def __init__(self, namespace: dict[str, Any]) -> None:
        self._keys, self._ids = [*namespace], [*map(identity, namespace.values())]
        if "__file__" in namespace:  # another for every step, and among the first
            self._ids[self._keys.index("__file__")] = 0

    def names(self) -> list[str]:
        return list(self._keys)

    def since(self, before: Bindings) -> Bound:
        """What became of the names that stood there `before`."""
        keys, ids, count = self._keys, self._ids, len(before._keys)
        if keys[:count] == before._keys:
            came = keys[count:]
            return Bound({*came, *compress(keys, map(ne, ids, before._ids))}, came, False)
        now, then = dict(zip(keys, ids)), dict(zip(before._keys, before._ids))
        changed = {n for n, number in now.items() if then.get(n) != number} | (then.keys() - now.keys())
        # What was there before stands as it stood, until the first that came.
        places = {name: at for at, name in enumerate(before._keys)}
        last, stay = -1, 0
        for name in keys:
            place = places.get(name, -1)
            if place <= last:
                break
            last, stay = place, stay + 1
        return Bound(changed, keys[stay:], any(name in places for name in keys[stay:]))


class Bound(NamedTuple):
    """What a step did to the names of the namespace."""

    changed: set[str]  # those that came, went, or stand for another object
    came: list[str]  # those that came, or went and came again, in the order in which they stand
    again: bool  # whether one of these went and came again


class Component(NamedTuple):
    """The names whose values share mutable objects."""

    members: tuple[str, ...]
    digest: str
    refs: tuple[str, ...]  # definitions that its values refer to by name
    uncarryable: str | None  # why it has no faithful form as bytes
    placed: str | None = None  # where there is code in it: a digest that tells where that stands as well
    files: frozenset[str] = frozenset()  # that the code in it comes from
    constants: frozenset[int] = frozenset()  # ids of the constants of steps that are in it

    def told(self) -> dict[str, Any]:
        """As the engine hears of it."""
        return {
            "digest": self.digest, "members": self.members, "refs": self.refs, "uncarryable": self.uncarryable,
            "placed": self.placed,
        }  # fmt: skip


class Space:
    """What stands in the namespace, and what was found of it."""

    def __init__(self, namespace: dict[str, Any]) -> None:
        self.namespace = namespace
        self.hidden: dict[str, Any] = {}  # values of hidden names
        self.walker = walk.Walker(namespace)
        self.reaches: dict[str, walk.Reach] = {}
        self.components: dict[str, Component] = {}
        self._holder: dict[int, str] = {}  # id of a mutable object -> a name that reaches it
        self._lying: dict[int, set[str]] = {}  # id of an array -> names of frames that lie in its memory
        self._bound: dict[str, int] = {}  # name -> id of the value that was looked at
        self._shape: dict[tuple[str, ...], tuple[set[int], set[int]]] = {}  # members -> ids they reach, and those pickled
        self._dumped: dict[tuple[str, ...], codec.Dumped] = {}  # members -> what was made of them in this look
        self._pickled: dict[str, bytes | None] = {}  # digest -> the bytes, until the step was told

    def names(self) -> list[str]:
        """The names that are there, without what Python itself puts there."""
        return [name for name in self.namespace if name not in HIDDEN and isinstance(name, str)]

    def value(self, name: str) -> Any:
        return self.hidden[name] if name.startswith("@") else self.namespace[name]

    def has(self, name: str) -> bool:
        return name in self.hidden if name.startswith("@") else name in self.namespace

    def reach(self, name: str) -> walk.Reach:
        """What the value of `name` reaches, as of now if it was not walked before."""
        found = self.reaches.get(name)
        if found is None:
            found = self.walker.reach(name, self.value(name))
        return found

    def reach_of(self, name: str) -> walk.Reach:
        """What the value of `name` reached when it was looked at last; nothing where that was never."""
        return self.reaches.get(name) or walk.Reach()

    def referred(self, names: Iterable[str]) -> set[str]:
        """The definitions that `names`, or what shares something with them, refer to, and these in turn."""
        found: set[str] = set()
        todo = list(names)
        while todo:
            component = self.components.get(todo.pop())
            for member in component.members if component is not None else ():
                more = self.reach_of(member).refs - found
                found |= more
                todo += more
        return found

    def closed(self, names: Iterable[str]) -> set[str]:
        """`names` with all that share something with them."""
        found: set[str] = set()
        for name in names:
            component = self.components.get(name)
            if component is None:
                found.add(name)
            else:
                found.update(component.members)
        return found

    def refresh(self, touched: set[str], stamp: str, rebound: set[str] = frozenset()) -> set[str]:  # type: ignore[assignment]
        """Looks at `touched` anew; returns the names whose component is another than before.

        Names in `rebound` are known to hold another object than before. What is not in `touched`, and is looked at for having
        lost a companion or a definition's name, holds what it held.
        `stamp` stands for all that the step used: it makes the digest of what can't be pickled. A step that
        uses the same makes the same.
        """
        walk.learn_atoms()
        used = frozenset(touched)
        touched = set(touched)
        reachable = touched - rebound
        owner = self.walker.find_owners(touched | rebound)
        if owner != self.walker.owner:
            # A definition that went from its name, or stands under another: who held it by that name holds it still.
            moved = {name for number, name in self.walker.owner.items() if owner.get(number) != name}
            moved |= {name for number, name in owner.items() if self.walker.owner.get(number) != name}
            self.walker.owner = owner
            for name, reach in self.reaches.items():
                if not moved.isdisjoint(reach.refs):
                    touched.add(name)
                    reachable.discard(name)
            reachable -= moved
        before = self.components
        self._dumped.clear()
        afresh = self.closed(touched - reachable)
        touched = self.closed(touched)
        same: dict[str, Component] = {}  # names whose component was found to be as it was, objects and all
        for component in {before[name] for name in touched if name in before}:
            if afresh.isdisjoint(component.members) and self._is_same(component):
                same.update((name, component) for name in component.members)
        # Names that a touched definition's referrers hold by name stay as they are; a definition that came
        # or went is looked for in what holds it by value.
        touched -= same.keys()
        gone = [name for name in touched if not self.has(name)]
        for name in touched:
            self._forget(name)
        todo = [name for name in touched if self.has(name)]
        group: dict[str, str] = {}

        def find(name: str) -> str:
            while group[name] != name:
                group[name] = group[group[name]]
                name = group[name]
            return name

        def meet(name: str, other: str | None) -> None:
            """`name` shares something with `other`."""
            nonlocal touched, todo
            if other is None or other == name:
                return
            if other in group:
                group[find(other)] = find(name)
            elif other in same:
                for member in same[other].members:
                    group[member] = name
                    touched.add(member)
            else:
                # An untouched component is reached after all: it is looked at anew with this one.
                more = self.closed([other])
                for member in more:
                    self._forget(member)
                touched |= more
                todo += [member for member in more if self.has(member)]

        while todo:
            name = todo.pop()
            if name in group:
                continue
            group[name] = name
            value = self.value(name)
            reach = self.walker.reach(name, value)
            self.reaches[name] = reach
            self._bound[name] = identity(value)
            for number in reach.ids:
                holder = self._holder.setdefault(number, name)
                if holder != name:
                    meet(name, holder)
                    self._holder.setdefault(number, name)
            for number in reach.ids.intersection(self._lying):
                for other in [*self._lying[number]]:
                    meet(name, other)
            for number in reach.memory:
                meet(name, self._holder.get(number))
                self._lying.setdefault(number, set()).add(name)
        self._join_cycles(group, find)
        members: dict[str, list[str]] = {}
        for name in group:
            members.setdefault(find(name), []).append(name)
        changed = set(gone) & set(before)
        self.components = before.copy()
        for name in touched:
            self.components.pop(name, None)
        for names in members.values():
            component = self._digest(tuple(sorted(names)), stamp, rebound, before, used)
            for name in names:
                self.components[name] = component
                old = before.get(name)
                alike = old is not None and old.digest == component.digest and old.placed == component.placed
                if old is None or not alike or old.members != component.members:
                    changed.add(name)
        return changed

    def _is_same(self, component: Component) -> bool:
        """Whether the same objects stand there with the same content: one pass in C instead of a walk."""
        shape = self._shape.get(component.members)
        # Code that came to stand elsewhere has the same digest.
        if component.uncarryable is not None or component.files or shape is None:
            return False
        for name in component.members:
            if not self.has(name) or self._bound.get(name) != identity(self.value(name)):
                return False
        try:
            values = [self.value(name) for name in component.members]
            dumped = codec.dump(values, self.walker.owner, component.members, True, 0)
        except Exception:
            return False
        self._dumped[component.members] = dumped
        return dumped.digest == component.digest and shape[0] & dumped.ids == shape[1]

    def _forget(self, name: str) -> None:
        reach = self.reaches.pop(name, None)
        if reach is not None:
            for number in reach.ids:
                if self._holder.get(number) == name:
                    del self._holder[number]
            for number in reach.memory:
                lying = self._lying.get(number, set())
                lying.discard(name)
                if not lying:
                    self._lying.pop(number, None)

    def _join_cycles(self, group: dict[str, str], find: Any) -> None:
        """Definitions that refer to one another are one component: neither can be brought over first."""
        state: dict[str, int] = {}

        def visit(name: str, path: list[str]) -> None:
            state[name] = 1
            path.append(name)
            reach = self.reaches.get(name)
            for ref in sorted(reach.refs) if reach is not None else ():
                if state.get(ref) == 1 and ref in path:
                    for other in path[path.index(ref) :]:
                        if other in group and ref in group:
                            group[find(other)] = find(ref)
                elif ref not in state and ref in self.reaches:
                    visit(ref, path)
            path.pop()
            state[name] = 2

        for name in list(group):
            if name not in state:
                visit(name, [])

    def _digest(
        self, members: tuple[str, ...], stamp: str, rebound: set[str], before: dict[str, Component], used: frozenset[str]
    ) -> Component:
        refs: set[str] = set()
        why = None
        for name in members:
            reach = self.reaches[name]
            refs |= reach.refs
            why = why or reach.opaque
        refs -= set(members)
        if why is None:
            try:
                values = [self.value(name) for name in members]
                dumped = self._dumped.get(members) or codec.dump(values, self.walker.owner, members, True, CARRY_LIMIT)
                reached = set().union(*(self.reaches[name].ids for name in members))
                self._shape[members] = (reached, reached & dumped.ids)
                if not dumped.differs and members not in self._dumped:
                    self._pickled[dumped.digest] = dumped.data
                placed = None
                if dumped.files:
                    where = codec.dump(values, self.walker.owner, members, True, 0, placed=True).digest
                    placed = hashlib.blake2b(f"{dumped.digest}\0{where}".encode(), digest_size=32).hexdigest()
                return Component(members, dumped.digest, tuple(sorted(refs)), None, placed, dumped.files, dumped.constants)
            except codec.Uncarryable as error:
                why = str(error)
            except RecursionError:
                why = "nested too deeply"
            except Exception as error:
                why = _short(error)
        # What still stands under its name may be what stood there: a step that binds it at its end, and fails before.
        had = [(name, before[name].digest) for name in members if name not in rebound and name in before]
        if used.isdisjoint(members):
            # However it came about that it stays behind, a value loaded or a step executed, it is the same.
            lost = {ref for name in members if name in before for ref in before[name].refs} - refs - set(members)
            stamp = f"stays {sorted((ref, before[ref].digest if ref in before else None) for ref in lost)}"
        unlike = hashlib.blake2b(f"{stamp}\0{members}\0{had}".encode(), digest_size=32).hexdigest()
        return Component(members, unlike, tuple(sorted(refs)), why)

    def carry(self, component: Component) -> bytes | None:
        """The component as bytes, if it is not too large for that; raises where it has no faithful form."""
        if component.uncarryable:
            raise codec.Uncarryable(component.uncarryable)
        if component.digest in self._pickled:
            return self._pickled.pop(component.digest)
        values = [self.value(name) for name in component.members]
        return codec.dump(values, self.walker.owner, component.members, False, CARRY_LIMIT).data

    def told(self) -> None:
        """What the last step made was told: its bytes are needed no more, nor what is known of names that went."""
        self._pickled.clear()
        if len(self._shape) > 2 * len(self.components) + 16:
            alive = {component.members for component in self.components.values()}
            self._shape = {members: shape for members, shape in self._shape.items() if members in alive}


def _short(error: BaseException) -> str:
    try:
        text = str(error)
    except Exception:
        text = ""
    return f"{type(error).__name__}: {text}"[:120]
