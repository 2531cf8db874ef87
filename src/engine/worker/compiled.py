"""A step's text as code, and what tells one such code from another."""

from __future__ import annotations

import ast
import hashlib
import types
from typing import Any, NamedTuple

from . import bytecode, magics

FLAGS = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
FAULTS = (SyntaxError, ValueError, RecursionError, MemoryError, OverflowError)  # of texts that are no steps
# Code that always ends where it stands: nobody can hold it afterwards, but for what a generator expression makes.
_PASSING = frozenset({"<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>"})


class Compiled(NamedTuple):
    """A step that can run."""

    source: str
    tree: ast.Module
    code: types.CodeType  # all of it
    tail: types.CodeType | None  # of the expression that it ends with, whose value is shown
    silent: bool  # whether a notebook would not show that, for a final semicolon

    def digest(self) -> str:
        """Of what runs: comments, blank lines and other ways to write the same leave it as it is."""
        # The compiler leaves an expression out that does nothing, but the last one is shown.
        shown = (bytecode.code_parts(self.tail), self.silent) if self.tail is not None else None
        return _digest(bytecode.code_parts(self.code), shown)

    def digests(self) -> list[str]:
        """That; the same with where the functions stand that are made in it; and with where all of it stands."""
        plain, lines = self.digest(), self.source.splitlines()
        made = [bytecode.code_places(code, lines) for code in self.code.co_consts if isinstance(code, types.CodeType)]
        return [plain, _digest(plain, made), _digest(plain, bytecode.code_places(self.code, lines))]

    def submodules(self) -> set[str]:
        """What it imports, or may, of packages: whole names."""
        found: set[str] = set()
        if "import" in self.source:
            for node in ast.walk(self.tree):
                if isinstance(node, ast.Import):
                    found.update(alias.name for alias in node.names)
                elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                    found.update(f"{node.module}.{alias.name}" for alias in node.names)
                    found.add(node.module)
        return {name for name in found if "." in name}

    def leaves_code(self) -> bool:
        """Whether it makes functions or classes, which others may hold after it."""
        inner = (code.co_name for code in self.code.co_consts if isinstance(code, types.CodeType))
        return not _PASSING.issuperset(inner)


def compiled(source: str, filename: str) -> Compiled:
    """Raises what the compiler does for a text that is no step."""
    tree, text = magics.parse(source, filename)
    code = compile(tree, filename, "exec", flags=FLAGS, dont_inherit=True)
    last = tree.body[-1] if tree.body else None
    if not isinstance(last, ast.Expr):
        return Compiled(source, tree, code, None, False)
    tail = compile(ast.Expression(last.value), filename, "eval", flags=FLAGS, dont_inherit=True)
    return Compiled(source, tree, code, tail, magics.ends_silently(text, last))


def text_digest(source: str) -> str:
    """Of the text itself, for who has seen that."""
    return hashlib.blake2b(b"text\0" + source.encode("utf-8", "surrogatepass"), digest_size=32).hexdigest()


def _digest(*parts: Any) -> str:
    return hashlib.blake2b(repr(parts).encode("utf-8", "surrogatepass"), digest_size=32).hexdigest()
