"""What libraries keep for the whole process: each a piece of hidden state, once the library is there."""

from __future__ import annotations

import collections
import sys
from typing import Any, Callable

from . import standard
from .piece import LIBRARIES, OTHERWISE, USED, Late, Piece, Value

_ABSENT = object()


def _numpy_random() -> Piece | None:
    mtrand = sys.modules.get("numpy.random.mtrand")
    if mtrand is None or not hasattr(mtrand, "_rand"):
        return None

    def get() -> Value:
        state = mtrand._rand.get_state()
        if not isinstance(state, tuple):
            return repr(state)  # of a generator that was put in its place: it can't be set again by its state
        name, keys, at, has, cached = state
        return (name, keys.tobytes(), at, has, cached)

    def put(value: Value) -> None:
        import numpy

        mtrand._rand.set_state((value[0], numpy.frombuffer(value[1], dtype=numpy.uint32), *value[2:]))

    return Piece(get, put, OTHERWISE)


def _numpy_print() -> Piece | None:
    numpy = sys.modules.get("numpy")
    if numpy is None or not hasattr(numpy, "set_printoptions"):
        return None

    def get() -> Value:
        options = dict(numpy.get_printoptions())
        options.pop("override_repr", None)
        return (options, numpy.geterr())

    def put(value: Value) -> None:
        numpy.set_printoptions(**value[0])
        numpy.seterr(**value[1])

    return Piece(get, put, LIBRARIES)


def _pandas() -> Piece | None:
    config = sys.modules.get("pandas._config.config")
    if config is None or not hasattr(config, "_global_config"):
        return None

    seen: list[dict[str, Any]] = [{}, {}]

    def nested(tree: Any) -> Any:
        return {key: nested(value) for key, value in tree.items()} if isinstance(tree, dict) else tree

    def get() -> dict[str, Any]:
        # To compare is cheaper than to make the flat form, and nearly always all that is needed.
        if seen[0] != config._global_config:
            seen[:] = nested(config._global_config), flat(config._global_config)
        return seen[1]

    def flat(tree: Any, prefix: str = "") -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key, value in tree.items():
            if isinstance(value, dict):
                found.update(flat(value, f"{prefix}{key}."))
            else:
                found[prefix + key] = value
        return found

    def put(value: Value) -> None:
        now = flat(config._global_config)
        for key, wanted in value.items():
            if now.get(key, _ABSENT) != wanted:
                config.set_option(key, wanted)

    return Piece(get, put, LIBRARIES)


def _rc_params() -> Piece | None:
    matplotlib = sys.modules.get("matplotlib")
    if matplotlib is None or not hasattr(matplotlib, "rcParams"):
        return None

    def put(value: Value) -> None:
        dict.update(matplotlib.rcParams, value)

    return Piece(lambda: dict(dict.items(matplotlib.rcParams)), put, LIBRARIES)


class _Figures(collections.OrderedDict):  # type: ignore[type-arg]
    """Stands in place of pyplot's table of open figures, and tells when it is looked into."""


def _telling(name: str) -> Callable[..., Any]:
    wrapped = getattr(collections.OrderedDict, name)

    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        USED.add("@matplotlib:figures")
        return wrapped(self, *args, **kwargs)

    return call


for _name in ("__getitem__ __setitem__ __delitem__ __iter__ __reversed__ __contains__ __len__ get keys values items pop popitem "
              "setdefault move_to_end clear update").split():  # fmt: skip
    setattr(_Figures, _name, _telling(_name))


def _figures() -> Piece | None:
    table = getattr(sys.modules.get("matplotlib._pylab_helpers"), "Gcf", None)
    if table is None:
        return None
    table.figs = _Figures(table.figs)

    def unnoted(function: Callable[[], Any]) -> Any:
        known = "@matplotlib:figures" in USED
        found = function()
        if not known:
            USED.discard("@matplotlib:figures")
        return found

    def put(value: Value) -> None:
        if value:
            raise ValueError("open figures can't be set")
        unnoted(table.destroy_all)

    return Piece(lambda: unnoted(lambda: [(number, held.canvas.figure) for number, held in table.figs.items()]), put, OTHERWISE)


def _matplotlib_registries() -> Piece | None:
    """Colour maps by name, and the fonts that were added."""
    colours = getattr(getattr(sys.modules.get("matplotlib"), "colormaps", None), "_cmaps", None)
    fonts = getattr(getattr(sys.modules["matplotlib.font_manager"], "fontManager", None), "ttflist", None)
    if not isinstance(colours, dict) or not isinstance(fonts, list):
        return None
    known = dict(colours)

    def get() -> Value:
        return {name: held for name, held in colours.items() if known.get(name) is not held}, list(fonts)

    def put(value: Value) -> None:
        colours.clear()
        colours.update({**known, **value[0]})
        fonts[:] = value[1]

    return Piece(get, put, LIBRARIES)


_REGISTER = {
    "DataFrame": "register_dataframe_accessor", "Series": "register_series_accessor", "Index": "register_index_accessor",
}  # fmt: skip


def _pandas_accessors() -> Piece | None:
    """What was registered to be found under names of its own in frames, series and indexes."""
    pandas = sys.modules["pandas"]
    kinds = [kind for name in _REGISTER if isinstance(kind := getattr(pandas, name, None), type)]

    def held() -> dict[tuple[str, str], Any]:
        return {(kind.__name__, name): kind.__dict__.get(name) for kind in kinds for name in kind.__dict__.get("_accessors", ())}

    first = held()

    def get() -> Value:
        return {key: getattr(now, "_accessor", None) for key, now in held().items() if first.get(key) is not now}

    def put(value: Value) -> None:
        if get().keys() - value.keys() or any(key in first for key in value):
            raise ValueError("what was registered stays so")
        for (kind, name), accessor in value.items():
            getattr(pandas.api.extensions, _REGISTER[kind])(name)(accessor)

    return Piece(get, put, LIBRARIES)


def _sklearn() -> Piece | None:
    sklearn = sys.modules["sklearn"]
    return Piece(sklearn.get_config, lambda value: sklearn.set_config(**value), LIBRARIES)


def _torch_random() -> Piece | None:
    torch = sys.modules["torch"]

    def put(value: Value) -> None:
        torch.set_rng_state(torch.tensor(list(value), dtype=torch.uint8))

    return Piece(lambda: torch.get_rng_state().numpy().tobytes(), put, OTHERWISE)


def _torch() -> Piece | None:
    """What its tensors are made with."""
    torch = sys.modules["torch"]

    def put(value: Value) -> None:
        torch.set_default_dtype(getattr(torch, value[0].rpartition(".")[2]))
        torch.set_grad_enabled(value[1])

    return Piece(lambda: (str(torch.get_default_dtype()), torch.is_grad_enabled()), put, LIBRARIES)


# What libraries make when they first need it, from settings that are followed: they make it anew elsewhere.
MADE_LATE = frozenset((
    ("matplotlib.pyplot", "_backend_mod"), ("matplotlib.pyplot", "_REPL_DISPLAYHOOK"), ("matplotlib.backends", "backend"),
    ("asyncio.events", "_event_loop_policy"),  # another than the usual one is a part of "@asyncio:loop"
    # After a fork.
    ("threading", "_active_limbo_lock"), ("threading", "_main_thread"), ("threading", "_shutdown_locks_lock"),
    ("threading", "_shutdown_locks"),
))  # fmt: skip

# What one holds right after the import of its module is what a run begins with: a step may import it and set it in one go.
LATE = {
    "@numpy:random": Late("numpy.random.mtrand", _numpy_random, True),
    "@numpy:options": Late("numpy", _numpy_print),
    "@pandas:options": Late("pandas", _pandas),
    "@pandas:accessors": Late("pandas", _pandas_accessors),
    "@matplotlib:rc": Late("matplotlib", _rc_params),
    "@matplotlib:figures": Late("matplotlib._pylab_helpers", _figures),
    "@matplotlib:registries": Late("matplotlib.font_manager", _matplotlib_registries),
    "@sklearn": Late("sklearn", _sklearn),
    "@torch": Late("torch", _torch, True),
    "@torch:random": Late("torch", _torch_random, True),
    **standard.LATE,
}
