"""Reads Python sources and runs none of them: one question a line on standard input, one answer a line.

A question is {"source": text, "tree": bool}.  An answer is {"error": null} or
{"error": {"message", "line", "column"}}, and with "tree" also {"nodes": [[kind, start, end, fields], ...]}: each node
after those that it holds, the module last; start and end are bytes of the source in UTF-8; in fields a number is
a node, a list a list of them (or of names), a string a name.
"""
import ast
import json
import sys
import warnings

TOP_LEVEL_AWAIT = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
NUMBER_FIELDS = {("ImportFrom", "level")}
SKIPPED = {"ctx", "type_comment", "type_ignores", "conversion", "simple", "is_async", "ops", "kind", "str"}


def line_starts(data):
    starts = [0]
    at = 0
    size = len(data)
    while at < size:
        byte = data[at]
        at += 1
        if byte == 10 or (byte == 13 and data[at:at + 1] != b"\n"):
            starts.append(at)
    return starts


def constant(value):
    if isinstance(value, str):
        # A lone surrogate has no place in JSON, and in no name.
        return {"text": value.encode("utf-8", "replace").decode()}
    if value is True or value is False or value is None:
        return {"constant": str(value)}
    if value is Ellipsis:
        return {"constant": "Ellipsis"}
    if isinstance(value, bytes):
        return {"constant": "bytes" if value else "None"}
    if isinstance(value, int):
        return {"constant": "one" if value else "zero"}
    return {"constant": "number"}


def flatten(root, starts, size):
    """The nodes after one another, without recursion: a tree can be deeper than the stack."""
    nodes = []
    number = {}
    stack = [(root, False)]
    while stack:
        node, ready = stack.pop()
        children = []
        if not ready:
            stack.append((node, True))
            for name in node._fields:
                value = getattr(node, name, None)
                if name in SKIPPED:
                    continue
                if isinstance(value, ast.AST) and not isinstance(value, (ast.operator, ast.unaryop, ast.boolop)):
                    children.append(value)
                elif isinstance(value, list):
                    children.extend(item for item in value if isinstance(item, ast.AST))
            stack.extend((child, False) for child in reversed(children))
            continue
        fields = {}
        kind = type(node).__name__
        if kind == "Constant":
            fields = constant(node.value)
        else:
            for name in node._fields:
                value = getattr(node, name, None)
                if value is None or name in SKIPPED:
                    continue
                if isinstance(value, (ast.operator, ast.unaryop, ast.boolop)):
                    fields[name] = type(value).__name__
                elif isinstance(value, ast.AST):
                    fields[name] = number[id(value)]
                elif isinstance(value, list):
                    fields[name] = [number[id(item)] if isinstance(item, ast.AST) else item for item in value]
                elif isinstance(value, str) or (kind, name) in NUMBER_FIELDS:
                    fields[name] = value
        start = end = 0
        if getattr(node, "lineno", None) and getattr(node, "end_lineno", None):
            if node.lineno <= len(starts) and node.end_lineno <= len(starts):
                start = min(starts[node.lineno - 1] + node.col_offset, size)
                end = min(starts[node.end_lineno - 1] + node.end_col_offset, size)
        number[id(node)] = len(nodes)
        nodes.append([kind, start, max(start, end), fields])
    return nodes


def judge(source, tree):
    try:
        data = source.encode("utf-8")
    except UnicodeEncodeError as error:
        return {"error": {"message": str(error), "line": 1, "column": 1}}
    try:
        parsed = compile(source, "<step>", "exec", ast.PyCF_ONLY_AST | TOP_LEVEL_AWAIT, dont_inherit=True)
        compile(source, "<step>", "exec", TOP_LEVEL_AWAIT, dont_inherit=True)
    except SyntaxError as error:
        return {"error": {"message": error.msg or "invalid syntax", "line": error.lineno or 1,
                          "column": max(error.offset or 1, 1)}}
    except (ValueError, RecursionError, MemoryError, OverflowError) as error:
        return {"error": {"message": f"{type(error).__name__}: {error}", "line": 1, "column": 1}}
    answer = {"error": None}
    if tree:
        answer["nodes"] = flatten(parsed, line_starts(data), len(data))
    return answer


def main():
    warnings.simplefilter("ignore")
    answers = sys.stdout.buffer
    answers.write(json.dumps({"version": list(sys.version_info[:2])}).encode() + b"\n")
    for line in sys.stdin.buffer:
        question = json.loads(line)
        answer = judge(question["source"], question.get("tree", False))
        answers.write(json.dumps(answer).encode() + b"\n")
        answers.flush()


main()
