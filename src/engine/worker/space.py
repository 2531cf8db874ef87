"""The run's namespace: which names share mutable objects, and a digest for each such component.

A name that starts with `@` stands for hidden state (see `hidden.py`); it takes part like any other.
"""

from __future__ import annotations

import hashlib
from typing import Any, Iterable, NamedTuple

from . import codec, walk

HIDDEN = frozenset(
    "__name__ __builtins__ __file__ __doc__ __package__ __loader__ __spec__ __annotations__ __annotate__ "
    "__conditional_annotations__ __cached__ __warningregistry__".split()
)


class Component(NamedTuple):
    """The names whose values share mutable objects."""

    members: tuple[str, ...]
    digest: str
    refs: tuple[str, ...]  # definitions that its values refer to by name
    uncarryable: str | None  # why it has no faithful form as bytes


class Space:
    """What stands in the namespace, and what was found of it."""

    def __init__(self, namespace: dict[str, Any]) -> None:
        self.namespace = namespace
        self.hidden: dict[str, Any] = {}  # values of hidden names
        self.walker = walk.Walker(namespace)
        self.reaches: dict[str, walk.Reach] = {}
        self.components: dict[str, Component] = {}
        self._holder: dict[int, str] = {}  # id of a mutable object -> a name that reaches it

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

    def refresh(self, touched: set[str], stamp: str) -> set[str]:
        """Looks at `touched` anew; returns the names whose component is another than before.

        `stamp` stands for all that the step used: it makes the digest of what can't be pickled. A step that
        uses the same makes the same.
        """
        walk.learn_atoms()
        touched = set(touched)
        owner = self.walker.find_owners(self.namespace)
        if owner != self.walker.owner:
            moved = set(owner.values()) ^ set(self.walker.owner.values())
            moved |= {n for i, n in owner.items() if self.walker.owner.get(i, n) != n}
            self.walker.owner = owner
            for name, reach in self.reaches.items():
                if not moved.isdisjoint(reach.refs):
                    touched.add(name)
        before = self.components
        touched = self.closed(touched)
        # Names that a touched definition's referrers hold by name stay as they are; a definition that came
        # or went is looked for in what holds it by value.
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

        while todo:
            name = todo.pop()
            if name in group:
                continue
            group[name] = name
            reach = self.walker.reach(name, self.value(name))
            self.reaches[name] = reach
            for number in reach.ids:
                holder = self._holder.get(number)
                if holder is None:
                    self._holder[number] = name
                elif holder in group:
                    group[find(holder)] = find(name)
                elif holder != name:
                    # An untouched component is reached after all: it is looked at anew with this one.
                    more = self.closed([holder])
                    for other in more:
                        self._forget(other)
                    self._holder[number] = name
                    touched |= more
                    todo += [other for other in more if self.has(other)]
        self._join_cycles(group, find)
        members: dict[str, list[str]] = {}
        for name in group:
            members.setdefault(find(name), []).append(name)
        changed = set(gone) & set(before)
        self.components = {n: c for n, c in before.items() if n not in touched}
        for names in members.values():
            component = self._digest(tuple(sorted(names)), stamp)
            for name in names:
                self.components[name] = component
                old = before.get(name)
                if old is None or old.digest != component.digest or old.members != component.members:
                    changed.add(name)
        return changed

    def _forget(self, name: str) -> None:
        reach = self.reaches.pop(name, None)
        if reach is not None:
            for number in reach.ids:
                if self._holder.get(number) == name:
                    del self._holder[number]

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

    def _digest(self, members: tuple[str, ...], stamp: str) -> Component:
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
                data = codec.dump(values, self.walker.owner, frozenset(members), True)
                hasher = hashlib.blake2b(repr(members).encode("utf-8", "surrogatepass"), digest_size=32)
                hasher.update(data)
                return Component(members, hasher.hexdigest(), tuple(sorted(refs)), None)
            except codec.Uncarryable as error:
                why = str(error)
            except RecursionError:
                why = "nested too deeply"
            except Exception as error:
                why = _short(error)
        unlike = hashlib.blake2b(f"{stamp}\0{members}".encode(), digest_size=32).hexdigest()
        return Component(members, unlike, tuple(sorted(refs)), why)

    def carry(self, component: Component) -> bytes:
        """The component as bytes; raises where it can't be."""
        if component.uncarryable:
            raise codec.Uncarryable(component.uncarryable)
        values = [self.value(name) for name in component.members]
        return codec.dump(values, self.walker.owner, frozenset(component.members), False)


def _short(error: BaseException) -> str:
    try:
        text = str(error)
    except Exception:
        text = ""
    return f"{type(error).__name__}: {text}"[:120]
