"""Archives have no text of their own: their files are taken one by one (`consilience.ingest.archives`)."""

from __future__ import annotations

from consilience.ingest.model import Skip


def read(data: bytes, name: str) -> Skip:
    """Why there is no one document."""
    return Skip("an archive: each file in it is read by itself")
