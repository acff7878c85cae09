"""What the lexical index is on disk, and how one committed state of it is found.

`state.json` and `engine/` (tantivy's files). A commit writes `state.json` with two states, the last one and the one
about to be, and then commits in tantivy; how many documents tantivy holds says which of the two is true. So a kill at
any point leaves one consistent state (docs/decisions/0052).
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

import msgspec
import tantivy

from consilience.index._files import read_json, unusable
from consilience.index.bm25 import FIELDS, Field
from consilience.model import Value
from consilience.protocol import MemoryType

FORMAT: Final = 3
"""Raise it when analysis, schema or state change: an index of another format is rebuilt."""

MODULE_CODES: Final = {module.value: code for code, module in enumerate(MemoryType)}
"""What the engine holds for a module; an addition to the protocol goes behind."""

_SEGMENT_FILES: Final = ("fast", "fieldnorm", "idx", "pos", "store", "term")


class LexicalStatistics(Value, frozen=True, kw_only=True):
    """What the index holds: entries, terms per field (terms, exact, context), entries per language and per
    module."""

    documents: int = 0
    tokens: tuple[int, int, int] = (0, 0, 0)
    languages: dict[str, int] = msgspec.field(default_factory=dict)
    modules: dict[str, int] = msgspec.field(default_factory=dict)


class State(Value, frozen=True, kw_only=True):
    watermark: int = 0
    statistics: LexicalStatistics = LexicalStatistics()


class _Segment(Value, frozen=True, kw_only=True):
    segment_id: str


class _Meta(Value, frozen=True, kw_only=True):
    """The part of tantivy's meta.json that is read here."""

    segments: tuple[_Segment, ...]


class StateFile(Value, frozen=True, kw_only=True):
    format: int
    states: tuple[State, ...]


def schema() -> tantivy.Schema:
    builder = tantivy.SchemaBuilder()
    builder.add_integer_field("n", indexed=True, fast=True)
    builder.add_integer_field("module", indexed=True, fast=True)
    builder.add_text_field("terms", tokenizer_name="consilience", index_option="freq")
    builder.add_text_field("exact", tokenizer_name="consilience", index_option="position")
    builder.add_text_field("context", tokenizer_name="consilience", index_option="freq")
    return builder.build()


class Engine:
    """tantivy on one folder, for reading.

    tantivy takes a lock file to read, so that no writer removes what is being opened. Where the folder cannot be
    written, no writer can remove anything either, and the engine opens a temporary folder of links instead.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._links: tempfile.TemporaryDirectory[str] | None = None
        try:
            self.index = self._open(path)
        except ValueError as error:
            if "Lockfile" not in str(error) or os.access(path, os.W_OK):
                raise
            self._link()

    @staticmethod
    def _open(path: Path) -> tantivy.Index:
        index = tantivy.Index.open(str(path))
        index.config_reader("manual", 0)
        return index

    def _link(self) -> None:
        self._links = tempfile.TemporaryDirectory(prefix="consilience-", ignore_cleanup_errors=True)
        for each in self._path.iterdir():
            if each.suffix != ".lock":
                (Path(self._links.name) / each.name).symlink_to(each.absolute())
        self.index = self._open(Path(self._links.name))

    def searcher(self) -> tantivy.Searcher:
        """The last commit."""
        if self._links is not None:
            self._link()
        self.index.reload()
        return self.index.searcher()


def read_states(directory: Path) -> tuple[State, ...] | None:
    held = read_json(directory / "state.json", StateFile)
    if held is None:
        if (directory / "engine").exists():
            raise unusable(directory, "state.json is missing")
        return None
    if held.format != FORMAT:
        raise unusable(directory, f"format {held.format}, this version reads {FORMAT}")
    return held.states


@contextlib.contextmanager
def engine_errors(directory: Path) -> Iterator[None]:
    """Whatever tantivy makes of damaged files, a panic in it included, becomes IndexUnusableError."""
    try:
        yield
    except (ValueError, OSError) as error:
        raise unusable(directory, str(error)) from error
    except BaseException as error:
        if type(error).__name__ != "PanicException":
            raise
        raise unusable(directory, f"the engine gave up ({error})") from error


def stamp_of(directory: Path) -> tuple[int, ...]:
    """What changes with every commit, read without opening anything."""
    found: list[int] = []
    for path in (directory / "state.json", directory / "engine" / "meta.json"):
        try:
            status = path.stat()
        except OSError as error:
            raise unusable(path, error.strerror or str(error)) from error
        found += (status.st_ino, status.st_mtime_ns, status.st_size)
    return tuple(found)


class Snapshot(NamedTuple):
    """One committed state: the engine's searcher and what describes it."""

    searcher: tantivy.Searcher
    state: State
    stamp: tuple[int, ...]

    @property
    def documents(self) -> int:
        return self.state.statistics.documents

    def total_length(self, field: Field) -> int:
        return self.state.statistics.tokens[FIELDS.index(field)]

    def frequency(self, field: Field, term: str) -> int:
        return self.searcher.doc_freq(field, term)


def check_files(directory: Path) -> None:
    """That no segment lacks a file: tantivy opens some of them late. Raises IndexUnusableError."""
    meta = read_json(directory / "engine" / "meta.json", _Meta)
    while meta is not None:
        held = {path.name for path in (directory / "engine").iterdir()}
        names = [segment.segment_id.replace("-", "") for segment in meta.segments]
        missing = [f"{n}.{s}" for n in names for s in _SEGMENT_FILES if f"{n}.{s}" not in held]
        if not missing:
            return
        before, meta = meta, read_json(directory / "engine" / "meta.json", _Meta)
        if meta == before:  # else a merge took the files away meanwhile
            raise unusable(directory, f"{missing[0]} is missing")


def read_snapshot(directory: Path, engine: Engine) -> Snapshot:
    """The last committed state, also while a writer commits in between. Raises IndexUnusableError."""
    for _ in range(5):
        stamp = stamp_of(directory)
        searcher = engine.searcher()
        fitting = [
            state for state in read_states(directory) or () if state.statistics.documents == searcher.num_docs
        ]
        if fitting:
            return Snapshot(searcher, fitting[-1], stamp)
    raise unusable(directory, "state.json describes other documents than the engine holds")
