"""`IPython` and `IPython.display` for steps whose interpreter has no IPython: what is shown, and no more.

Notebooks import these where nothing else of IPython is needed. Where it is installed, it is used itself.
"""

from __future__ import annotations

import base64
import importlib.util
import sys
import types
from typing import Any, Callable


class _Shown:
    """Something that is shown in one form."""

    _mime = "text/plain"

    def __init__(self, data: Any = None, url: Any = None, filename: Any = None, **options: Any) -> None:
        if data is None and filename is not None:
            with open(filename, "rb") as file:
                data = file.read()
        self.data = data if data is not None else url

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        data = self.data
        if isinstance(data, bytes):
            data = base64.b64encode(data).decode()
        return {self._mime: str(data)}

    def __repr__(self) -> str:
        return f"<IPython.core.display.{type(self).__name__} object>"


def _kind(name: str, mime: str) -> type:
    return type(name, (_Shown,), {"_mime": mime, "__module__": "IPython.display"})


def install(display: Callable[..., None], shell: Any) -> None:
    """Makes the two modules, unless the real ones can be imported."""
    if "IPython" in sys.modules or importlib.util.find_spec("IPython") is not None:
        return
    package, module = types.ModuleType("IPython"), types.ModuleType("IPython.display")
    package.__path__ = []
    for name, mime in (
        ("HTML", "text/html"), ("Markdown", "text/markdown"), ("Latex", "text/latex"), ("Math", "text/latex"),
        ("SVG", "image/svg+xml"), ("Image", "image/png"), ("JSON", "application/json"),
        ("Javascript", "application/javascript"), ("Pretty", "text/plain"), ("Code", "text/plain"),
    ):  # fmt: skip
        setattr(module, name, _kind(name, mime))
    module.display = display  # type: ignore[attr-defined]
    module.clear_output = lambda wait=False: None  # type: ignore[attr-defined]
    package.display = module  # type: ignore[attr-defined]
    package.get_ipython = lambda: shell  # type: ignore[attr-defined]
    package.version_info, package.__version__ = (9, 0, 0, ""), "9.0.0"  # type: ignore[attr-defined]
    sys.modules["IPython"], sys.modules["IPython.display"] = package, module
