"""Whether a brain is behind its sources: by what the last sync saw, with hardly a file read."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from consilience.config_sources import SourceConfig
from consilience.errors import ConsilienceError
from consilience.ingest.discover import Found
from consilience.protocol import sha256
from consilience.store import Store
from consilience.sync import seen
from consilience.sync.around import Around
from consilience.sync.kinds import Opened, Plugged, open_source
from consilience.sync.looking import Held, held_by
from consilience.sync.report import SourceStatus

if TYPE_CHECKING:
    from consilience.config import BrainConfig
    from consilience.project import Project

READ_FILES = 100
READ_BYTES = 1 << 20
"""So many files, of at most so many bytes, are read where what the system says of a file does not tell."""


def source_status(
    store: Store, sources: tuple[SourceConfig, ...], around: Around
) -> tuple[SourceStatus, ...]:
    """The sources of the brain in this store, each as it is now. Reports, does not raise on, a source that fails."""
    if not sources:
        return ()
    with store.view() as view:
        held = held_by(view)
    known = seen.load(store.path / "derived")
    met: set[str] = set()
    found = []
    for config in sources:
        try:
            opened = open_source(config, around)
            if isinstance(opened, Plugged):
                found.append(SourceStatus(name=config.name, rule=config.deleted))
                continue
            with closing(opened):
                files, behind = _look(opened, held, known, met)
        except ConsilienceError as error:
            found.append(SourceStatus(name=config.name, rule=config.deleted, error=error.message))
            continue
        found.append(SourceStatus(name=config.name, rule=config.deleted, files=files, behind=behind))
    return tuple(found)


def _look(
    source: Opened, held: Mapping[str, Held], known: Mapping[str, tuple[str, bytes, str]], met: set[str]
) -> tuple[int, int]:
    files = behind = read = 0
    for item, stamp in source.items():
        if item.origin in met or not isinstance(item, Found):
            continue
        met.add(item.origin)
        files += 1
        now, then = held.get(item.origin), known.get(item.origin)
        if then is not None and stamp == then[0] and (then[2] or (now is not None and now.record == then[1])):
            continue
        if now is not None and read < READ_FILES and item.size <= READ_BYTES:
            read += 1
            if _same(item, now):
                continue
        behind += 1
    if source.config.deleted == "hide" and files:
        behind += sum(source.covers(origin) and source.absent(origin) is True for origin in held.keys() - met)
    return files, behind


def _same(item: Found, held: Held) -> bool:
    try:
        return held.blob is not None and sha256(item.read()) == held.blob
    except OSError:
        return False


def declared_status(project: Project, brain: BrainConfig, around: Around) -> tuple[SourceStatus, ...]:
    """The sources of a brain of a project; where its layout is not here, every file is still to be taken."""
    if project.has_layout(brain):
        with project.brain(brain.name, read_only=True) as opened:
            return source_status(opened.store, brain.sources, around)
    with TemporaryDirectory(prefix="csl-status-") as folder, Store.create(Path(folder) / "brain") as store:
        return source_status(store, brain.sources, around)
