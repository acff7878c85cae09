"""Brains kept in step with their declared sources. Names load what they come from when first used."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from consilience.sync.kinds import Listed, Source
    from consilience.sync.run import sync, sync_declared

__all__ = ["Listed", "Source", "sync", "sync_declared"]

_HOME = {"Listed": "kinds", "Source": "kinds", "sync": "run", "sync_declared": "run"}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    value = getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)
    globals()[name] = value
    return value
