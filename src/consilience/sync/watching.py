"""When the sources of a brain are worth another sync: by what the system says of the files, none of which is read."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from contextlib import closing

from consilience.config_sources import SourceConfig
from consilience.errors import ConsilienceError
from consilience.ingest.discover import Found
from consilience.sync.around import Around
from consilience.sync.kinds import Plugged, open_source

PATIENCE = 10
"""Looks after which files that never stand still are taken as they are."""


class Watch:
    """Tells when to sync: at first, and then whenever something differs from when it was synced, as soon as every file
    has stood still for two seconds."""

    def __init__(self, sources: Sequence[SourceConfig], around: Around) -> None:
        self._sources, self._around = tuple(sources), around
        self._synced: bytes | None = None
        self._seen: bytes = b""
        self._waited = 0

    def due(self) -> bool:
        """Look at every file of every source; whether a sync is due now. Raises nothing that a source raises: a source
        that fails, or works again, is a difference."""
        self._seen, settled = self._look()
        if self._synced is None:
            return True
        if self._seen == self._synced:
            self._waited = 0
            return False
        self._waited += 1
        return settled or self._waited >= PATIENCE

    def synced(self) -> None:
        """What the last look saw is in."""
        self._synced, self._waited = self._seen, 0

    def _look(self) -> tuple[bytes, bool]:
        state, settled = hashlib.sha256(), True
        for config in self._sources:
            try:
                opened = open_source(config, self._around)
                with closing(opened):
                    for item, stamp in opened.items():
                        if not isinstance(item, Found):
                            continue
                        settled = settled and bool(stamp or isinstance(opened, Plugged))
                        state.update(repr((item.origin, stamp, item.size)).encode("utf-8", "surrogatepass"))
            except ConsilienceError as error:
                state.update(error.message.encode("utf-8", "surrogatepass"))
        return state.digest(), settled
