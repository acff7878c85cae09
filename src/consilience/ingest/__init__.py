"""Files to passages: discovery, readers, splitting, roles, language. Names load what they come from when first used."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from consilience.ingest.discover import Found, Skipped, discover

if TYPE_CHECKING:
    from consilience.ingest.language import detect as detect_language
    from consilience.ingest.model import Document, Passage, Skip, TextBlock
    from consilience.ingest.passages import split
    from consilience.ingest.readers import media_type_of, read, reader_id
    from consilience.ingest.roles import ROLES_VERSION, role_of

__all__ = [
    "ROLES_VERSION",
    "Document",
    "Found",
    "Passage",
    "Skip",
    "Skipped",
    "TextBlock",
    "detect_language",
    "discover",
    "media_type_of",
    "read",
    "reader_id",
    "role_of",
    "split",
]

_HOMES = {
    "language": ("detect_language",),
    "model": ("Document", "Passage", "Skip", "TextBlock"),
    "passages": ("split",),
    "readers": ("media_type_of", "read", "reader_id"),
    "roles": ("ROLES_VERSION", "role_of"),
}
_HOME = {name: module for module, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    module = importlib.import_module(f"{__name__}.{_HOME[name]}")
    value = getattr(module, "detect" if name == "detect_language" else name)
    globals()[name] = value
    return value
