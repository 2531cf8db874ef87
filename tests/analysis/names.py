"""The names in each file of this interpreter's standard library, as its own `symtable` and `ast` give them.

`names.py LIMIT`: one JSON line a file on standard output, with

  path, source       the file, decoded as the interpreter decodes it
  error              why it can't be compiled, or null
  reads              names that some scope looks up in the module's namespace
  may_read           those that a class's body looks up there only where it has not bound them itself
  binds              names bound or deleted in the module's namespace
  declared           names annotated without a value, in the module or by a `global`
  never              names in annotations of a function's variables: symtable counts them, nothing evaluates them
  postponed          whether annotations are not evaluated at all in the file

LIMIT 0 is no limit; otherwise files are taken evenly from the whole.
"""
import ast
import json
import os
import symtable
import sys
import sysconfig
import tokenize
import warnings

# Made by the compiler, written by nobody.
MADE = {"__class__", "__classdict__", "__static_attributes__", "__firstlineno__", "__conditional_annotations__"}


def mangled(name, cls):
    if cls and name.startswith("__") and not name.endswith("__") and "." not in name and cls.strip("_"):
        return "_" + cls.lstrip("_") + name
    return name


def is_global(table, symbol):
    # symtable takes a function that is called `top` for the module.
    if table.get_type() == "function":
        return symbol.get_name() in table.get_globals()
    return symbol.is_global()


def from_symtable(source):
    reads, may_read, binds = set(), set(), set()

    def visit(table, top):
        for symbol in table.get_symbols():
            name = symbol.get_name()
            if name in MADE and not symbol.is_declared_global() or name.startswith("."):
                continue
            bound = symbol.is_assigned() or symbol.is_imported()
            if top:
                if symbol.is_referenced():
                    reads.add(name)
                if bound:
                    binds.add(name)
            elif is_global(table, symbol):
                if symbol.is_referenced():
                    reads.add(name)
                if bound:
                    binds.add(name)
            elif table.get_type() == "class" and symbol.is_local() and symbol.is_referenced():
                may_read.add(name)
        for child in table.get_children():
            visit(child, False)

    visit(symtable.symtable(source, "<file>", "exec"), True)
    return reads, may_read, binds


class Extra(ast.NodeVisitor):
    """What symtable does not tell: that `x += 1` reads, what is bound at the top itself (a comprehension that was
    inlined is told as part of the scope around it), and annotations that nothing evaluates."""

    def __init__(self):
        self.augmented, self.annotations, self.comprehension, self.declared = set(), [], set(), set()

    def visit_AugAssign(self, node):
        if isinstance(node.target, ast.Name):
            self.augmented.add(node.target.id)
        self.generic_visit(node)

    def visit_AnnAssign(self, node):
        if isinstance(node.target, ast.Name) and node.value is None:
            self.declared.add(node.target.id)
        self.generic_visit(node)

    def visit_FunctionDef(self, node):
        for inner in ast.walk(node):
            if isinstance(inner, ast.AnnAssign):
                self.annotations.append(inner.annotation)
        self.generic_visit(node)

    visit_AsyncFunctionDef = visit_FunctionDef

    def comp(self, node):
        for generator in node.generators:
            for inner in ast.walk(generator.target):
                if isinstance(inner, ast.Name):
                    self.comprehension.add(inner.id)
        self.generic_visit(node)

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = comp


def names(source):
    tree = ast.parse(source)
    compile(source, "<file>", "exec", dont_inherit=True)
    reads, may_read, binds = from_symtable(source)
    extra = Extra()
    extra.visit(tree)
    never = {n.id for annotation in extra.annotations for n in ast.walk(annotation) if isinstance(n, ast.Name)}
    postponed = any(isinstance(s, ast.ImportFrom) and s.module == "__future__"
                    and any(a.name == "annotations" for a in s.names) for s in tree.body)
    return {"reads": sorted(reads), "may_read": sorted(may_read), "binds": sorted(binds), "never": sorted(never),
            "augmented": sorted(extra.augmented), "declared": sorted(extra.declared), "comprehension": sorted(extra.comprehension), "postponed": postponed}


def main():
    warnings.simplefilter("ignore")
    sys.setrecursionlimit(20000)
    limit = int(sys.argv[1])
    root = sysconfig.get_path("stdlib")
    files = []
    for folder, folders, found in os.walk(root):
        folders[:] = sorted(folder for folder in folders if folder != "site-packages")
        files.extend(os.path.join(folder, name) for name in sorted(found) if name.endswith(".py"))
    if limit and limit < len(files):
        files = [files[i * len(files) // limit] for i in range(limit)]
    for path in files:
        try:
            with tokenize.open(path) as file:
                source = file.read()
        except (SyntaxError, UnicodeDecodeError, LookupError):
            continue
        answer = {"path": os.path.relpath(path, root), "source": source, "error": None}
        try:
            source.encode()
        except UnicodeEncodeError:
            continue
        try:
            answer.update(names(source))
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            answer["error"] = f"{type(error).__name__}: {error}"
        print(json.dumps(answer))


main()
