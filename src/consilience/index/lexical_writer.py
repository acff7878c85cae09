"""The lexical index as its one writer sees it."""

from __future__ import annotations

import contextlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Final

import tantivy

from consilience.errors import BusyError, IndexUnusableError
from consilience.index._files import WriterLock, remove_tree, replace_json, storage_error
from consilience.index.analysis import FILLER, analyzer
from consilience.index.bm25 import FIELDS
from consilience.index.checksums import LIST, FileSums, forget, listed_sums, note, uncommitted
from consilience.index.lexical import LexicalIndex
from consilience.index.lexical_state import (
    FORMAT,
    MODULE_CODES,
    Engine,
    LexicalStatistics,
    State,
    StateFile,
    check_files,
    engine_errors,
    read_snapshot,
    read_states,
    schema,
)
from consilience.model import Entry

_HEAP: Final = 128_000_000
_SEGMENT_FILE = re.compile(r"[0-9a-f]{32}\..+").fullmatch


class LexicalWriter:
    """Adds entries and commits them. One at a time (a lock file); a context manager."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._lock = WriterLock(directory / "writer.lock")
        self._writer: tantivy.IndexWriter | None = None
        self._list = directory / LIST
        self._listed: FileSums | None = None
        try:
            self._engine, self._state = self._open()
            self._listed = self._immutable()
            self._sweep()
        except BaseException:
            self._lock.release()
            raise
        self._reset()

    def _open(self) -> tuple[tantivy.Index, State]:
        with contextlib.suppress(IndexUnusableError), engine_errors(self._directory):
            if read_states(self._directory) is not None:
                engine = Engine(self._directory / "engine")
                state = read_snapshot(self._directory, engine).state
                check_files(self._directory)
                return engine.index, state
        return self._create()

    def _immutable(self) -> FileSums | None:
        """The checksums of the files of segments, which the engine writes once."""
        with contextlib.suppress(IndexUnusableError):
            if (held := listed_sums(self._list)) is not None:
                return FileSums(files={n: s for n, s in held.files.items() if _SEGMENT_FILE(n)})
        return None

    def _sweep(self) -> None:
        """Remove what tantivy was writing when it was killed; nobody else writes there."""
        for left in (self._directory / "engine").glob(".tmp*"):
            with contextlib.suppress(OSError):
                left.unlink()

    def _create(self) -> tuple[tantivy.Index, State]:
        """An empty index in place of whatever is there. The state goes first, so that a kill leaves none."""
        path = self._directory / "engine"
        forget(self._list)
        self._listed = None
        remove_tree(self._directory / "state.json")
        remove_tree(path)
        try:
            path.mkdir(parents=True)
            engine = tantivy.Index(schema(), path=str(path))
        except (ValueError, OSError) as error:
            raise storage_error(path, error) from error
        state = State()
        replace_json(self._directory / "state.json", StateFile(format=FORMAT, states=(state,)))
        return engine, state

    def _reset(self) -> None:
        self._tokens = [0, 0, 0]
        self._languages: Counter[str] = Counter()
        self._modules: Counter[str] = Counter()

    @property
    def watermark(self) -> int:
        return self._state.watermark

    @property
    def statistics(self) -> LexicalStatistics:
        return self._state.statistics

    def _engine_writer(self) -> tantivy.IndexWriter:
        if self._writer is None:
            forget(self._list)
            tokenizer = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.whitespace()).build()
            self._engine.register_tokenizer("consilience", tokenizer)
            try:
                self._writer = self._engine.writer(_HEAP, 1)
            except ValueError as error:
                if "lock" in str(error).lower():
                    raise BusyError(f"another process is writing the index at {self._directory}") from error
                raise storage_error(self._directory, error) from error
        return self._writer

    def add(self, entries: Iterable[Entry]) -> int:
        """Add entries, ascending and each ordinal once; ones that are covered already are left out. Nothing is
        visible before `commit`. Returns how many were added."""
        writer = self._engine_writer()
        count = 0
        try:
            for document in self._documents(entries):
                writer.add_document(document)
                count += 1
        except ValueError as error:
            raise storage_error(self._directory, error) from error
        return count

    def _documents(self, entries: Iterable[Entry]) -> Iterator[tantivy.Document]:
        for entry in entries:
            if entry.n <= self._state.watermark:
                continue
            analysis = analyzer(entry.language)
            terms = analysis.analyze(entry.text)
            context = analysis.analyze(entry.context).terms if entry.context else []
            bag = terms.terms + [FILLER] * terms.filler
            document = tantivy.Document()
            document.add_integer("n", entry.n)
            document.add_integer("module", MODULE_CODES[entry.module.value])
            for position, values in enumerate((bag, terms.exact, context)):
                document.add_text(FIELDS[position], " ".join(values))
                self._tokens[position] += len(values)
            self._languages[entry.language] += 1
            self._modules[entry.module.value] += 1
            yield document

    def _next(self, watermark: int) -> State:
        held = self._state.statistics
        statistics = LexicalStatistics(
            documents=held.documents + sum(self._modules.values()),
            tokens=(
                held.tokens[0] + self._tokens[0],
                held.tokens[1] + self._tokens[1],
                held.tokens[2] + self._tokens[2],
            ),
            languages=dict(sorted((Counter(held.languages) + self._languages).items())),
            modules=dict(sorted((Counter(held.modules) + self._modules).items())),
        )
        return State(watermark=max(watermark, self._state.watermark), statistics=statistics)

    def commit(self, watermark: int) -> None:
        """Make what was added durable and visible; `watermark` is the largest ordinal covered. Raises
        StorageError."""
        state = self._next(watermark)
        if state == self._state:
            return
        forget(self._list)
        replace_json(self._directory / "state.json", StateFile(format=FORMAT, states=(self._state, state)))
        if state.statistics.documents != self._state.statistics.documents:
            try:
                self._engine_writer().commit()
            except ValueError as error:
                raise storage_error(self._directory, error) from error
        self._state = state
        self._reset()

    def purge(self, ns: Sequence[int]) -> bool:
        """Remove every byte of these entries, at once, by emptying the index if it holds one of them (True then).

        The watermark falls back to 0 and the caller adds what is left: tantivy keeps deleted text in its files
        until a merge that nobody can ask for.
        """
        held = LexicalIndex.open(self._directory)
        if held is None or not held.holds_any(ns):
            return False
        self.clear()
        return True

    def clear(self) -> None:
        """Empty the index at once, so that no byte of any entry stays in its files; the watermark falls back to 0."""
        self._finish()
        self._engine, self._state = self._create()
        self._reset()

    def close(self) -> None:
        """End writing; what was not committed is dropped. Waits for merges, so that files stay few."""
        try:
            self._finish()
            if not self._list.exists():
                engine = self._directory / "engine"
                files = {p for p in engine.iterdir() if p.suffix != ".lock"}
                files -= uncommitted(engine, files)
                note(self._list, [self._directory / "state.json", *files], self._listed)
        except OSError as error:
            raise storage_error(self._directory, error) from error
        finally:
            self._lock.release()

    def _finish(self) -> None:
        writer, self._writer = self._writer, None
        if writer is None:
            return
        try:
            if self._modules:
                writer.rollback()
            writer.wait_merging_threads()
        except ValueError as error:
            raise storage_error(self._directory, error) from error

    def __enter__(self) -> LexicalWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
