"""What a step may come to use: the names, modules and words of its code and of every function that it can reach."""

from __future__ import annotations

import sys
import types
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from . import hidden, names, state_of_modules, walk

if TYPE_CHECKING:
    from . import uses
    from .worker import Worker


class Closure:
    """Names, modules and words that code and the functions that it can reach may use."""

    def __init__(self, worker: Worker) -> None:
        self.worker = worker
        self.names: set[str] = set()
        self.held: set[str] = set()  # definitions that are reached through what refers to them, whatever their names hold by then
        self.stores: set[str] = set()
        self.attributes: set[str] = set()
        self.words: set[str] = set()
        self.modules: set[str] = set()
        self.builtin_names: set[str] = set()
        self.bound: set[str] = set()
        self.done: frozenset[str] = frozenset()  # what was bound for certain before the statement that failed
        self.dynamic = False
        self.listed = False  # whether it sees which names there are
        self.ordered = False  # whether it sees in which order they came to be there
        self.plain: set[str] = set()  # see `names.CodeNames`
        self.tops: set[str] = set()  # packages that it may use, other than Python's own
        self.makers: set[Any] = set()  # modules of functions and classes that it may use

    def add(
        self, loads: Iterable[str], own: names.CodeNames, deferred: dict[str, list[names.CodeNames]],
        bound: frozenset[str] = frozenset(),
    ) -> None:  # fmt: skip
        """Adds what code uses that loads these names; those `bound` hold something of the step's own by then."""
        space_ = self.worker.space
        namespace = self.worker.namespace
        self._take(own)
        todo = list(loads)
        while todo:
            name = todo.pop()
            if name in self.names:
                continue
            self.names.add(name)
            for code in deferred.get(name, ()):
                self._take(code)
                todo += code.loads
            if name in bound:  # what stood there before can't be reached by it any more
                continue
            if name not in namespace:
                self.builtin_names.add(name)
                continue
            if own.attributes and isinstance(namespace[name], type):
                self._add_class(namespace[name])
            # What shares a component can be reached through it.
            component = space_.components.get(name)
            for member in component.members if component is not None else (name,):
                if not space_.has(member):
                    continue
                reach = space_.reach(member)
                for body in reach.codes:
                    code = names.code_names(body)
                    self._take(code)
                    todo += code.loads
                todo += reach.refs
                self.dynamic |= reach.dynamic
                self._add_modules(reach.modules)
                self._add_modules(module for module, _ in reach.places)
                self.words.update(word for _, word in reach.places)
                self.tops |= reach.tops
                self.makers |= reach.makers
        if bound:
            self.held |= space_.referred(self.names - bound)
        self._add_modules([word for word in self.words if word in sys.modules])
        if self.words & names.DYNAMIC:
            self.dynamic = True
        if not self.words.isdisjoint(_BY_NAME) or not (self.words.isdisjoint(_PICKLERS) or self.words.isdisjoint(_UNPICKLING)):
            self.listed |= not self.words.isdisjoint(_BY_NAME)
            more = space_.walker.definitions - self.names
            if more:
                self.add(more, _NOTHING, deferred)

    def _add_class(self, kind: type) -> None:
        """A class of a library, whatever it is called here: attributes of it may be set."""
        if type(kind.__module__) is str and kind.__module__ not in ("__main__", "builtins"):
            self.words.add(kind.__name__)
            self._add_modules([kind.__module__])

    def arrived(self) -> None:
        """After the step: modules that it named and that were not there before."""
        self._add_modules([word for word in self.words if word in sys.modules])

    def _add_modules(self, modules: Iterable[str]) -> None:
        for name in modules:
            if name in self.modules or name not in sys.modules:
                continue
            self.modules.add(name)
            top = name.split(".")[0]
            if walk.is_foreign(top):
                self.tops.add(top)
            if top != name:
                self._add_modules([top])
            path = self.worker.local.get(name)
            if path is not None:
                self.worker.files.reads.setdefault(path, "content")
                for body in state_of_modules.codes(sys.modules[name]):
                    code = names.code_names(body)
                    self.words |= code.words
                    self.attributes |= code.attributes
                    self._add_modules(word for word in code.words if word in sys.modules)
                self._add_modules(
                    value.__name__ for value in vars(sys.modules[name]).values()
                    if type(value) is types.ModuleType and value.__name__ in self.worker.local
                )  # fmt: skip
            for word in list(self.words):
                if f"{name}.{word}" in sys.modules:
                    self._add_modules([f"{name}.{word}"])

    def may_set(self) -> set[str]:
        """Attributes that it sets; each that it names where it sets them by computed names."""
        return self.attributes if self.words.isdisjoint(names.ATTRIBUTE_SETTERS) else self.attributes | self.words

    def words_for_pieces(self) -> set[str]:
        """Its words, and the names of the modules that it uses whatever they are called in it."""
        modules = [*self.modules, *(m for m in self.makers if type(m) is str and m not in ("__main__", "builtins"))]
        return self.words.union(*(module.split(".") for module in modules))

    def _take(self, code: names.CodeNames) -> None:
        self.words |= code.words
        self.stores |= code.global_stores
        self.attributes |= code.attributes
        self.plain |= code.plain
        self.listed |= code.listed
        self.ordered |= code.ordered

    def merge(self, other: Closure, bound: frozenset[str]) -> None:
        """Adds a statement's uses; names that the step bound before it are its own."""
        self.names |= other.names - bound | other.held
        self.held |= other.held
        self.builtin_names |= other.builtin_names - bound
        self.stores |= other.stores
        self.attributes |= other.attributes
        self.words |= other.words
        self.modules |= other.modules
        self.dynamic |= other.dynamic
        self.listed |= other.listed
        self.ordered |= other.ordered
        self.plain |= other.plain
        self.tops |= other.tops
        self.makers |= other.makers


_CALLED = frozenset("@signals @trace @logging @codecs @codecs:errors @copyreg @sqlite3 @pandas:accessors".split())
# Who unpickles, and who goes through what is defined, has the use of every function and class that stands under a name.
_PICKLERS = frozenset("pickle _pickle cloudpickle dill joblib shelve".split())
_UNPICKLING = frozenset("load loads Unpickler open".split())
_BY_NAME = frozenset("read_pickle __subclasses__ unittest".split())
_NOTHING = names.joined(())


class Ahead:
    """What a step, and the functions that it could reach, may come to use, statement by statement; before it runs."""

    def __init__(self, worker: Worker, used: uses.Uses) -> None:
        self.worker = worker
        self.parts: list[tuple[uses.Statement, Closure]] = []
        for statement in used.statements:
            part = Closure(worker)
            part.add(statement.used.loads, statement.used, used.deferred, statement.bound)
            part.stores |= statement.used.stores
            self.parts.append((statement, part))
        found = Closure(worker)
        for statement, part in self.parts:
            found.merge(part, statement.bound)
        self.called = self._called_by_any(found)
        found.merge(self.called, frozenset())
        # Builtins whose name stands for something else, or may: the step can give it to something of its own first.
        self.taken = {
            word for word in found.plain
            if word in worker.namespace or word in used.whole.stores or f"{hidden.SHARED}builtins.{word}" in worker.space.hidden
        }  # fmt: skip
        found.dynamic |= bool(self.taken)
        found.bound = set(used.bound)
        # Of what is bound under a name only who can reach the name makes use, but bound it may be.
        found.stores |= used.whole.stores
        found.attributes |= used.whole.attributes
        self.whole = found  # all of it

    def until(self, line: int) -> Closure:
        """Only that of the statements that begin before or on a line: those after it did not come to run."""
        found = Closure(self.worker)
        reached = [(statement, part) for statement, part in self.parts if statement.line <= line]
        for statement, part in reached:
            found.merge(part, statement.bound)
        last = max((statement.line for statement, _ in reached), default=line)
        # Of several statements on one line, the first may be the one that failed.
        found.done = next((statement.bound for statement, _ in reached if statement.line == last), frozenset())
        found.merge(self.called, frozenset())
        found.dynamic |= not self.taken.isdisjoint(found.plain)
        # The table for annotations is set up before the first statement, wherever one of them stands.
        found.words |= self.whole.words & {"__annotations__"}
        return found

    def _called_by_any(self, own: Closure) -> Closure:
        """What a step may come to call without naming it: handlers, what stands in place of libraries' functions."""
        worker = self.worker
        found = Closure(worker)
        for name in worker.space.hidden:
            called = name in _CALLED and worker.hidden.pieces[name].is_read_by(own.words_for_pieces(), bool(own.tops))
            if called or name.startswith(hidden.SHARED):
                reach = worker.space.reach(name)
                found.add(reach.refs, _NOTHING, {})
                for body in reach.codes:
                    code = names.code_names(body)
                    found.add(code.loads, code, {})
        return found
