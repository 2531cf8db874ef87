"""What a step's text uses, statement by statement, before it runs.

A name that is bound on every way to a statement is the step's own there: what stood under it before is not used.
The body of a plain function, or of a method of a plain class, is used only by who can reach its name.
"""

from __future__ import annotations

import ast
import types
from collections.abc import Iterator
from typing import Any, NamedTuple

from . import names


class Statement(NamedTuple):
    """One statement, or the head of one that holds others."""

    used: names.CodeNames  # what it names when it runs, deferred bodies left out
    bound: frozenset[str]  # names that the step bound for certain before it
    line: int  # where the statement of the step's own begins that it is, or is in


class Uses(NamedTuple):
    """A step, statement by statement, and the bodies that are only run through a name."""

    statements: list[Statement]
    deferred: dict[str, list[names.CodeNames]]
    whole: names.CodeNames
    bound: frozenset[str]  # names that it bound for certain when it completes


def uses_of(tree: ast.Module, code: types.CodeType, filename: str) -> Uses:
    """Reads the uses off a parsed and compiled step."""
    whole = names.code_names(code)
    deferred: dict[str, list[names.CodeNames]] = {}
    bodies = {(c.co_name, c.co_firstlineno): c for c in _codes(code, 2)}
    skip: set[types.CodeType] = set()
    for definition, owner in _plain_definitions(tree.body):
        body = bodies.get((definition.name, definition.lineno))
        if body is not None:
            deferred.setdefault(owner, []).append(names.code_names(body))
            skip.add(body)
    if len(tree.body) > 200:
        return Uses([Statement(_without(code, skip), frozenset(), 0)], deferred, whole, frozenset())
    inner = {(c.co_name, c.co_firstlineno) for c in skip}

    def used(node: ast.stmt) -> names.CodeNames:
        part = code
        if len(tree.body) > 1 or node is not tree.body[0]:
            alone = ast.Module([node], [])
            part = compile(alone, filename, "exec", dont_inherit=True, flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
        return _without(part, {c for c in _codes(part, 2) if (c.co_name, c.co_firstlineno) in inner})

    statements: list[Statement] = []
    bound: frozenset[str] = frozenset()
    for node in tree.body:
        own = used(node)
        line = min(part.lineno for part in [node, *getattr(node, "decorator_list", ())])
        parts = [Statement(own, bound, line)]
        # Looked into only where it may name what it binds.
        if isinstance(node, _COMPOUND) and not own.loads.isdisjoint(own.stores):
            try:
                parts = [Statement(used(part), before, line) for part, before in _parts(node, bound)]
            except SyntaxError:  # a part that can't stand alone
                pass
        statements += parts
        bound = _after(node, bound) or bound
    return Uses(statements, deferred, whole, bound)


def exposed(used: Uses) -> set[str]:
    """Names that the step, or a function of it that stands under a name, may find as they were before it."""
    loads: set[str] = set()
    for statement in used.statements:
        loads |= statement.used.loads - statement.bound
    for bodies in used.deferred.values():
        for body in bodies:
            loads |= body.loads - used.bound
    return loads


def imports(tree: ast.Module) -> dict[str, str]:
    """Names that the step binds by one import and by nothing else, each with what is imported."""
    found: dict[str, str] = {}
    others: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            module = "." * (getattr(node, "level", 0) or 0) + (getattr(node, "module", None) or "")
            for alias in node.names:
                name = alias.asname or alias.name
                target = f"{module}:{alias.name}"
                if isinstance(node, ast.Import) and not alias.asname:
                    # `import os.path` binds the package.
                    name = name.split(".")[0]
                    target = f":{name}"
                if found.setdefault(name, target) != target:
                    others.add(name)
        elif isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            others.add(node.id)
        elif not isinstance(node, ast.alias):
            given = getattr(node, "name", None)  # of a definition, a handler or a pattern
            if isinstance(given, str):
                others.add(given)
    return {name: target for name, target in found.items() if name not in others}


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


_COMPOUND = (ast.If, ast.For, ast.AsyncFor, ast.While, ast.With, ast.AsyncWith, ast.Try)


def _parts(node: ast.stmt, bound: frozenset[str]) -> Iterator[tuple[ast.stmt, frozenset[str]]]:
    """The statements in a statement, each with the names that are bound for certain before it."""
    head: Any
    if isinstance(node, ast.If):
        yield ast.copy_location(ast.Expr(node.test), node), bound
        bound |= _walrus(node.test)
        yield from _in_turn(node.body, bound)
        yield from _in_turn(node.orelse, bound)
    elif isinstance(node, (ast.For, ast.AsyncFor)):
        head = type(node)(node.target, node.iter, [ast.copy_location(ast.Pass(), node)], [])
        yield ast.copy_location(head, node), bound
        yield from _in_turn(node.body, bound.union(_target(node.target)))
        yield from _in_turn(node.orelse, bound)
    elif isinstance(node, ast.While):
        yield ast.copy_location(ast.Expr(node.test), node), bound
        bound |= _walrus(node.test)
        yield from _in_turn(node.body, bound)
        yield from _in_turn(node.orelse, bound)
    elif isinstance(node, (ast.With, ast.AsyncWith)):
        head = type(node)(node.items, [ast.copy_location(ast.Pass(), node)])
        yield ast.copy_location(head, node), bound
        yield from _in_turn(node.body, bound.union(*map(_target, _as(node))))
    elif isinstance(node, ast.Try):
        yield from _in_turn(node.body, bound)
        for handler in node.handlers:
            if handler.type is not None:
                yield ast.copy_location(ast.Expr(handler.type), handler), bound
            yield from _in_turn(handler.body, bound | {handler.name} if handler.name else bound)
        yield from _in_turn(node.orelse, _through(node.body, bound) or bound)
        yield from _in_turn(node.finalbody, bound)
    elif not isinstance(node, (ast.Break, ast.Continue, ast.Pass)):
        yield node, bound


def _in_turn(body: list[ast.stmt], bound: frozenset[str]) -> Iterator[tuple[ast.stmt, frozenset[str]]]:
    for node in body:
        yield from _parts(node, bound)
        bound = _after(node, bound) or bound


def _through(body: list[ast.stmt], bound: frozenset[str]) -> frozenset[str] | None:
    """Names that are bound for certain after `body`; nothing where its end is never come to."""
    here: frozenset[str] | None = bound
    for node in body:
        if here is not None:
            here = _after(node, here)
    return here


def _after(node: ast.stmt, bound: frozenset[str]) -> frozenset[str] | None:
    """Names that are bound for certain when a statement completes; nothing where it never does."""
    if isinstance(node, (ast.Raise, ast.Return, ast.Break, ast.Continue)):
        return None
    if isinstance(node, ast.If):
        bound |= _walrus(node.test)
        return _either([_through(node.body, bound), _through(node.orelse, bound)])
    if isinstance(node, (ast.For, ast.AsyncFor)):
        elements = getattr(node.iter, "elts", None)
        if elements and not any(isinstance(element, ast.Starred) for element in elements):
            bound = bound.union(_target(node.target))  # it is gone through at least once
            if not any(isinstance(part, (ast.Break, ast.Continue)) for part in ast.walk(node)):
                return _through(node.body, bound)
        return bound
    if isinstance(node, ast.While):
        return bound | _walrus(node.test)
    if isinstance(node, (ast.With, ast.AsyncWith)):
        # What it manages may swallow what its body raises, and what a second manager does.
        first = _as(node)[:1] if node.items[0].optional_vars is not None else []
        return bound.union(target.id for target in first if isinstance(target, ast.Name))
    if isinstance(node, ast.Try):
        whole = _through(node.body, bound)
        if whole is not None:
            whole = _through(node.orelse, whole)
        ends = [whole, *(_through(handler.body, bound) for handler in node.handlers)]
        last = _through(node.finalbody, bound)
        return None if last is None or (either := _either(ends)) is None else either | last
    return bound.union(_binds(node))


def _either(ends: list[frozenset[str] | None]) -> frozenset[str] | None:
    """What is bound on every way that comes to an end."""
    come = [end for end in ends if end is not None]
    return frozenset.intersection(*come) if come else None


def _as(node: ast.With | ast.AsyncWith) -> list[ast.expr]:
    return [item.optional_vars for item in node.items if item.optional_vars is not None]


def _walrus(node: ast.expr) -> frozenset[str]:
    """Names that an expression binds by `:=` whenever it is evaluated."""
    if isinstance(node, ast.NamedExpr):
        return frozenset(_target(node.target)) | _walrus(node.value)
    if isinstance(node, ast.Compare):
        return _walrus(node.left)
    if isinstance(node, ast.BoolOp):
        return _walrus(node.values[0])
    return _walrus(node.operand) if isinstance(node, ast.UnaryOp) else frozenset()


def _binds(node: ast.stmt) -> Iterator[str]:
    """Names that a simple statement or a definition binds whenever it completes."""
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
    elif isinstance(node, ast.Expr):
        yield from _walrus(node.value)


def _target(node: ast.expr) -> Iterator[str]:
    if isinstance(node, ast.Name):
        yield node.id
    elif isinstance(node, (ast.Tuple, ast.List)):
        for item in node.elts:
            yield from _target(item)
    elif isinstance(node, ast.Starred):
        yield from _target(node.value)
