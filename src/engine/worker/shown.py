"""What a step shows: displayed values in several forms, figures, and variables in short."""

from __future__ import annotations

import base64
import sys
import types
from typing import Any

_MIME_METHODS = (
    ("text/html", "_repr_html_"),
    ("text/markdown", "_repr_markdown_"),
    ("text/latex", "_repr_latex_"),
    ("image/svg+xml", "_repr_svg_"),
    ("image/png", "_repr_png_"),
    ("image/jpeg", "_repr_jpeg_"),
    ("application/json", "_repr_json_"),
)
_MOST = 8_000_000


class Shown:
    """Collects what the running step displays."""

    def __init__(self) -> None:
        self.items: list[dict[str, Any]] = []
        self.inline = False  # figures are shown and closed after each step, as notebooks do

    def display(self, *values: Any, **options: Any) -> None:
        """Shows values as notebooks do: the text form and whatever richer forms they have."""
        for value in values:
            self.items.append(forms(value))

    def figures(self, close: bool) -> None:
        """Shows the open figures of matplotlib."""
        pyplot = sys.modules.get("matplotlib.pyplot")
        if pyplot is None:
            return
        for number in pyplot.get_fignums():
            figure = pyplot.figure(number)
            picture = figure_png(figure)
            self.items.append({"repr": f"<Figure {number}>", "mime": {"image/png": picture} if picture else {}})
        if close:
            pyplot.close("all")


def figure_png(figure: Any) -> str | None:
    import io

    try:
        file = io.BytesIO()
        figure.savefig(file, format="png", bbox_inches="tight")
        return base64.b64encode(file.getvalue()).decode()
    except Exception as error:
        print(f"reweave: a figure could not be drawn: {error}", file=sys.stderr)
        return None


def forms(value: Any) -> dict[str, Any]:
    """A value as text and in its richer forms."""
    item: dict[str, Any] = {"repr": repr(value), "mime": {}}
    kind = type(value)
    if kind.__module__ == "builtins":
        return item
    for mime, name in _MIME_METHODS:
        method = getattr(kind, name, None)
        if method is None:
            continue
        try:
            data = method(value)
        except Exception:
            continue
        if isinstance(data, tuple):
            data = data[0]
        if isinstance(data, bytes):
            data = base64.b64encode(data).decode()
        if isinstance(data, str) and len(data) <= _MOST:
            item["mime"][mime] = data
    bundle = getattr(kind, "_repr_mimebundle_", None)
    if bundle is not None:
        try:
            found = bundle(value)
            found = found[0] if isinstance(found, tuple) else found
            for mime, data in found.items():
                if isinstance(data, str) and len(data) <= _MOST and mime != "text/plain":
                    item["mime"].setdefault(mime, data)
        except Exception:
            pass
    if kind.__module__ == "matplotlib.figure":
        picture = figure_png(value)
        if picture:
            item["mime"]["image/png"] = picture
    return item


def variable(name: str, value: Any, limit: int) -> dict[str, Any]:
    """A variable in short. Runs code of the value: only ever called in a process that may be spoilt."""
    try:
        text = repr(value)
        if type(text) is not str:
            text = str.__str__(text)
    except BaseException as error:
        text = f"<repr() raised {type(error).__name__}>"
    found: dict[str, Any] = {"name": name, "type": type(value).__name__, "repr": text[:limit], "truncated": len(text) > limit}
    shape = shape_of(value)
    if shape:
        found["shape"] = shape
    return found


def shape_of(value: Any) -> str | None:
    """How large a value is, in words."""
    kind = type(value)
    try:
        if kind.__module__ in ("numpy",) and hasattr(value, "shape"):
            return f"{'×'.join(map(str, value.shape)) or 'scalar'} {value.dtype}"
        if kind.__module__.startswith("pandas.") and hasattr(value, "shape"):
            return "×".join(map(str, value.shape))
        if kind in (list, tuple, dict, set, frozenset, str, bytes, bytearray):
            return f"len {len(value)}"
        if isinstance(value, types.FunctionType):
            return f"{value.__code__.co_argcount} arguments"
    except Exception:
        pass
    return None
