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

        try:
            spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        except AttributeError:
            return None
        return spec
