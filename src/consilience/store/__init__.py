"""One brain's bytes on disk: a SQLite file as the truth, large originals beside it."""

from consilience.store.store import Store
from consilience.store.values import Hidden, ModuleState, Registered, SnapshotInfo, StoredBlock
from consilience.store.view import View
from consilience.store.writer import Writer

__all__ = ["Hidden", "ModuleState", "Registered", "SnapshotInfo", "Store", "StoredBlock", "View", "Writer"]
