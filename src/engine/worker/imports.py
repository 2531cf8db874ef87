"""Sees what steps import."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from . import files, hidden, piece, placed


class Imports:
    """Sees what is imported: takes down what was looked for, and what libraries begin with; seeds numpy's generator."""

    def __init__(self, seed: int, noted: files.Files, held: hidden.Hidden) -> None:
        self.seed = seed
        self.files = noted
        self.hidden = held
        self.busy = False
        self.looked_for: set[str] = set()  # by the step
        self.eager: Collection[str] = ()  # words: modules of these names are followed from their import on
        self.set: Collection[str] = ()  # attributes: classes of such modules are followed under these names

    def before_step(self, words: Collection[str], may_set: Collection[str]) -> None:
        """A step that sets attributes may do so to a module as soon as it is imported, and keep what stood there."""
        self.looked_for.clear()
        self.eager, self.set = words if may_set else (), may_set

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        self.files.note_import(name, path)
        self.looked_for.add(name)
        piece.USED.add(placed.NAME)  # what would have been there is as much of an answer
        if self.busy or (name not in hidden.LIBRARIES and name.rpartition(".")[2] not in self.eager):
            return None
        import importlib.util

        self.busy = True
        try:
            spec = importlib.util.find_spec(name)
        finally:
            self.busy = False
        if spec is None or spec.loader is None or isinstance(spec.loader, type):
            return None
        run = spec.loader.exec_module

        def exec_module(module: Any) -> None:
            run(module)
            if name == "numpy.random.mtrand":
                module.seed(self.seed)
                self.hidden.follow_numpy(module)
            if name in hidden.LIBRARIES:
                self.hidden.learn(name)
            else:
                self.hidden.track(name)
                self.hidden.follow_classes([name], self.eager, self.set, afresh=False)

        try:
            spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        except AttributeError:
            return None
        return spec
