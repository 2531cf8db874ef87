"""What a step's text uses, statement by statement, before it runs.

A name that a statement binds for certain is the step's own from there on: what stood under it before is not
used. The body of a plain function, or of a method of a plain class, is used only by who can reach its name.
"""

from __future__ import annotations

import ast
import types
from typing import Iterator, NamedTuple

from . import names


class Statement(NamedTuple):
    """One top-level statement."""

    used: names.CodeNames  # what it names when it runs, deferred bodies left out
    binds: frozenset[str]  # names that it binds for certain when it completes


class Uses(NamedTuple):
    """A step, statement by statement, and the bodies that are only run through a name."""

    statements: list[Statement]
    deferred: dict[str, list[names.CodeNames]]
    whole: names.CodeNames


def uses_of(tree: ast.Module, code: types.CodeType, filename: str) -> Uses:
    """Reads the uses off a parsed and compiled step."""
    whole = names.code_names(code)
    deferred: dict[str, list[names.CodeNames]] = {}
    bodies = {(c.co_name, c.co_firstlineno): c for c in _codes(code, 2)}
    skip: set[types.CodeType] = set()
    for node, owner in _plain_definitions(tree.body):
        body = bodies.get((node.name, node.lineno))
        if body is not None:
            deferred.setdefault(owner, []).append(names.code_names(body))
            skip.add(body)
    statements: list[Statement] = []
    if len(tree.body) > 200:
        statements.append(Statement(_without(code, skip), frozenset()))
    else:
        for node in tree.body:
            part = code
            if len(tree.body) > 1:
                alone = ast.Module([node], [])
                part = compile(alone, filename, "exec", dont_inherit=True, flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
            inner = {(c.co_name, c.co_firstlineno) for c in skip}
            drop = {c for c in _codes(part, 2) if (c.co_name, c.co_firstlineno) in inner}
            statements.append(Statement(_without(part, drop), frozenset(_binds(node))))
    return Uses(statements, deferred, whole)


def _codes(code: types.CodeType, depth: int) -> Iterator[types.CodeType]:
    for const in code.co_consts:
        if isinstance(const, types.CodeType):
            yield const
            if depth > 1:
                yield from _codes(const, depth - 1)


def _without(code: types.CodeType, skip: set[types.CodeType]) -> names.CodeNames:
    """The names of `code` and what is nested in it, except in the bodies to skip."""
    parts = [names._scan(code, nested=False)]
    for const in code.co_consts:
        if isinstance(const, types.CodeType) and const not in skip:
            inner = _without(const, skip)
            parts.append(inner._replace(stores=inner.global_stores))
    return names.joined(parts)


_BODIES = ("body", "orelse", "finalbody")


def _plain_definitions(body: list[ast.stmt]) -> Iterator[tuple[ast.FunctionDef | ast.AsyncFunctionDef, str]]:
    """Functions without decorators, and methods of classes that nothing else takes part in making."""
    for node in body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            if not node.decorator_list:
                yield node, node.name
        elif isinstance(node, ast.ClassDef):
            if not node.decorator_list and not node.bases and not node.keywords:
                for part in node.body:
                    if isinstance(part, (ast.FunctionDef, ast.AsyncFunctionDef)) and not part.decorator_list:
                        if part.name not in ("__init_subclass__", "__set_name__", "__class_getitem__"):
                            yield part, node.name
        elif isinstance(node, (ast.If, ast.For, ast.While, ast.With, ast.Try)):
            for name in _BODIES:
                yield from _plain_definitions(getattr(node, name, []))


def _binds(node: ast.stmt) -> Iterator[str]:
    """Names that a statement binds whenever it completes."""
    if isinstance(node, ast.Assign):
        for target in node.targets:
            yield from _target(target)
    elif isinstance(node, (ast.AugAssign, ast.AnnAssign)):
        if getattr(node, "value", None) is not None:
            yield from _target(node.target)
    elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        yield node.name
    elif isinstance(node, ast.Import):
        for alias in node.names:
            yield alias.asname or alias.name.split(".")[0]
    elif isinstance(node, ast.ImportFrom):
        for alias in node.names:
            if alias.name != "*":
                yield alias.asname or alias.name
    elif isinstance(node, ast.Delete):
        for target in node.targets:
            yield from _target(target)
    elif isinstance(node, ast.With) and all(isinstance(i.context_expr, ast.Call) for i in node.items):
        for item in node.items:
            if item.optional_vars is not None:
                yield from _target(item.optional_vars)


def _target(node: ast.expr) -> Iterator[str]:
    if isinstance(node, ast.Name):
        yield node.id
    elif isinstance(node, (ast.Tuple, ast.List)):
        for item in node.elts:
            yield from _target(item)
    elif isinstance(node, ast.Starred):
        yield from _target(node.value)
