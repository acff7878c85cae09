"""The lexical index: tantivy, append-only, keyed by the store's ordinal.

On disk: `state.json` and `engine/` (tantivy's files). A commit writes `state.json` with two states, the
last one and the one about to be, and then commits in tantivy; how many documents tantivy holds says which
of the two is true. So a kill at any point leaves one consistent state (docs/decisions/0052).
"""

from __future__ import annotations

import contextlib
import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Final

import msgspec
import tantivy
from tantivy import Occur, Query

from consilience.errors import BusyError, IndexUnusableError, StorageError
from consilience.index._files import WriterLock, read_json, remove_tree, replace_json, unusable
from consilience.index.analysis import analyzer
from consilience.index.bm25 import PHRASE_WEIGHT, Field, Scorer, rounded
from consilience.index.question import LexicalQuery, analyze_question
from consilience.model import Entry, Hit, Hits, Value
from consilience.protocol import MemoryType

FORMAT: Final = 1
"""Raise it when analysis, schema or state change: an index of another format is rebuilt."""

PUSH_DOWN_LIMIT: Final = 20_000
"""Eligible ordinals up to which a filter is cheaper inside the engine than after it."""

_HEAP: Final = 128_000_000
_MARGIN: Final = 16
_TIES_LIMIT: Final = 20_000


class LexicalStatistics(Value, frozen=True, kw_only=True):
    """What the index holds: entries, terms per field (terms, exact, context), entries per language and per
    module."""

    documents: int = 0
    tokens: tuple[int, int, int] = (0, 0, 0)
    languages: dict[str, int] = msgspec.field(default_factory=dict)
    modules: dict[str, int] = msgspec.field(default_factory=dict)


class _State(Value, frozen=True, kw_only=True):
    watermark: int = 0
    statistics: LexicalStatistics = LexicalStatistics()


class _StateFile(Value, frozen=True, kw_only=True):
    format: int
    states: tuple[_State, ...]


def _schema() -> tantivy.Schema:
    builder = tantivy.SchemaBuilder()
    builder.add_integer_field("n", indexed=True, fast=True)
    builder.add_text_field("module", tokenizer_name="raw", index_option="basic")
    builder.add_text_field("terms", tokenizer_name="consilience", index_option="freq")
    builder.add_text_field("exact", tokenizer_name="consilience", index_option="position")
    builder.add_text_field("context", tokenizer_name="consilience", index_option="freq")
    return builder.build()


def _open_engine(path: Path) -> tantivy.Index:
    index = tantivy.Index.open(str(path))
    index.config_reader("manual", 0)
    return index


def _read_states(directory: Path) -> tuple[_State, ...] | None:
    held = read_json(directory / "state.json", _StateFile)
    if held is None:
        if (directory / "engine").exists():
            raise unusable(directory, "state.json is missing")
        return None
    if held.format != FORMAT:
        raise unusable(directory, f"format {held.format}, this version reads {FORMAT}")
    return held.states


def _pick(directory: Path, states: Sequence[_State], documents: int) -> _State | None:
    """The state that describes an engine with this many documents: the newest that fits."""
    fitting = [state for state in states if state.statistics.documents == documents]
    return fitting[-1] if fitting else None


class LexicalIndex:
    """A reader. Thread-safe; sees the state of its opening until `refresh`."""

    def __init__(
        self, directory: Path, engine: tantivy.Index, searcher: tantivy.Searcher, state: _State
    ) -> None:
        self._directory = directory
        self._engine = engine
        self._schema = engine.schema
        self._view = (searcher, state)
        self._lock = threading.Lock()

    @classmethod
    def open(cls, directory: Path) -> LexicalIndex | None:
        """The index in `directory`, None where there is none. Raises IndexUnusableError."""
        if _read_states(directory) is None:
            return None
        try:
            engine = _open_engine(directory / "engine")
            searcher, state = cls._consistent(directory, engine)
        except (ValueError, OSError) as error:
            raise unusable(directory, str(error)) from error
        return cls(directory, engine, searcher, state)

    @classmethod
    def open_for_write(cls, directory: Path) -> LexicalWriter:
        """The one writer. An index that cannot be used is removed first. Raises BusyError, StorageError."""
        return LexicalWriter(directory)

    @staticmethod
    def _consistent(directory: Path, engine: tantivy.Index) -> tuple[tantivy.Searcher, _State]:
        """A searcher and the state that describes it, also while a writer commits in between."""
        for _ in range(5):
            engine.reload()
            searcher = engine.searcher()
            state = _pick(directory, _read_states(directory) or (), searcher.num_docs)
            if state is not None:
                return searcher, state
        raise unusable(directory, "state.json describes other documents than the engine holds")

    def refresh(self) -> bool:
        """See what was committed since; True where that is something. Raises IndexUnusableError."""
        with self._lock:
            before = self._view[1]
            try:
                self._view = self._consistent(self._directory, self._engine)
            except (ValueError, OSError) as error:
                raise unusable(self._directory, str(error)) from error
            return self._view[1] != before

    def close(self) -> None:
        """Nothing is held but memory maps; they go with the object."""

    @property
    def watermark(self) -> int:
        return self._view[1].watermark

    @property
    def statistics(self) -> LexicalStatistics:
        return self._view[1].statistics

    def analyze(self, text: str, *, languages: Sequence[str] = ()) -> LexicalQuery:
        """The question for this index; `languages` are those detected in it, if any."""
        return analyze_question(text, _View(*self._view), self.statistics.languages, languages)

    def scorer(self, query: LexicalQuery) -> Scorer:
        """The question against texts that the index may not hold."""
        return Scorer(query, _View(*self._view))

    def search(
        self,
        query: LexicalQuery,
        k: int,
        *,
        eligible: Sequence[int] | None = None,
        modules: Sequence[MemoryType] = (),
    ) -> Hits:
        """The best k entries by BM25, ties by ordinal; `exhausted` where nothing that matched was cut.

        `eligible` (ascending ordinals) is applied inside the engine. No modules means all of them.
        """
        searcher, state = self._view
        if (
            k < 1
            or query.empty
            or not state.statistics.documents
            or (eligible is not None and not len(eligible))
        ):
            return Hits(hits=(), exhausted=True)
        try:
            engine_query = self._query(query, _View(searcher, state), eligible, modules)
            return _top(searcher, engine_query, k) if engine_query else Hits(hits=(), exhausted=True)
        except (ValueError, OSError) as error:
            raise unusable(self._directory, str(error)) from error

    def _query(
        self, query: LexicalQuery, view: _View, eligible: Sequence[int] | None, modules: Sequence[MemoryType]
    ) -> Query | None:
        schema = self._schema
        should = [
            (Occur.Should, Query.boost_query(Query.term_query(schema, field, term, "freq"), boost))
            for field, term, boost in query.clauses()
            if view.frequency(field, term)
        ]
        must: list[tuple[Occur, Query]] = []
        for phrase in query.phrases:
            wanted = self._phrase(phrase)
            (must if query.phrases_required else should).append(
                (
                    Occur.Must if query.phrases_required else Occur.Should,
                    Query.boost_query(wanted, PHRASE_WEIGHT),
                )
            )
        if not should and not must:
            return None
        if should and not must:
            must.append((Occur.Must, Query.boolean_query(should)))
            should = []
        filters = self._filters(view, eligible, modules)
        if len(must) == 1 and not filters and not should:
            return must[0][1]
        return Query.boolean_query(
            [*must, *should, *((Occur.Must, Query.const_score_query(f, 0.0)) for f in filters)]
        )

    def _phrase(self, words: Sequence[str]) -> Query:
        if len(words) == 1:
            return Query.term_query(self._schema, "exact", words[0], "freq")
        return Query.phrase_query(self._schema, "exact", list(words))

    def _filters(
        self, view: _View, eligible: Sequence[int] | None, modules: Sequence[MemoryType]
    ) -> list[Query]:
        filters = []
        if modules and not set(view.state.statistics.modules) <= {m.value for m in modules}:
            filters.append(Query.term_set_query(self._schema, "module", [m.value for m in modules]))
        if eligible is not None:
            filters.append(Query.term_set_query(self._schema, "n", [int(n) for n in eligible]))
        return filters


class _View:
    """The statistics of one searcher, for BM25."""

    def __init__(self, searcher: tantivy.Searcher, state: _State) -> None:
        self._searcher = searcher
        self.state = state

    @property
    def documents(self) -> int:
        return self.state.statistics.documents

    def total_length(self, field: Field) -> int:
        return self.state.statistics.tokens[("terms", "exact", "context").index(field)]

    def frequency(self, field: Field, term: str) -> int:
        return self._searcher.doc_freq(field, term)


def _top(searcher: tantivy.Searcher, query: Query, k: int) -> Hits:
    """The k best with ties settled by ordinal: asks for more while the cut falls between equal scores."""
    limit = k + _MARGIN
    while True:
        found: list[tuple[Any, tantivy.DocAddress]] = searcher.search(query, limit, count=False).hits
        whole = len(found) < limit
        if whole or limit >= _TIES_LIMIT or rounded(found[k - 1][0]) > rounded(found[-1][0]):
            break
        limit *= 4
    ordinals = searcher.fast_field_values("n", [address for _, address in found])
    hits = [Hit(int(n or 0), rounded(score)) for n, (score, _) in zip(ordinals, found, strict=True)]
    hits.sort(key=lambda hit: (-hit.score, hit.n))
    return Hits(hits=tuple(hits[:k]), exhausted=whole and len(hits) <= k)


class LexicalWriter:
    """Adds entries and commits them. One at a time (a lock file); a context manager."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._lock = WriterLock(directory / "writer.lock")
        self._writer: tantivy.IndexWriter | None = None
        try:
            self._engine, self._state = self._open()
        except BaseException:
            self._lock.release()
            raise
        self._reset()

    def _open(self) -> tuple[tantivy.Index, _State]:
        with contextlib.suppress(IndexUnusableError, ValueError, OSError):
            if _read_states(self._directory) is not None:
                engine = _open_engine(self._directory / "engine")
                return engine, LexicalIndex._consistent(self._directory, engine)[1]
        path = self._directory / "engine"
        (self._directory / "state.json").unlink(missing_ok=True)
        remove_tree(path)
        try:
            path.mkdir(parents=True)
            engine = tantivy.Index(_schema(), path=str(path))
        except (ValueError, OSError) as error:
            raise StorageError(f"cannot make the index at {path}: {error}") from error
        state = _State()
        replace_json(self._directory / "state.json", _StateFile(format=FORMAT, states=(state,)))
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
            tokenizer = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.whitespace()).build()
            self._engine.register_tokenizer("consilience", tokenizer)
            try:
                self._writer = self._engine.writer(_HEAP, 1)
            except ValueError as error:
                if "lock" in str(error).lower():
                    raise BusyError(f"another process is writing the index at {self._directory}") from error
                raise StorageError(f"cannot write the index at {self._directory}: {error}") from error
        return self._writer

    def add(self, entries: Iterable[Entry]) -> int:
        """Add entries, ascending and each ordinal once; nothing is visible before `commit`. Returns how
        many."""
        writer = self._engine_writer()
        count = 0
        try:
            for document in self._documents(entries):
                writer.add_document(document)
                count += 1
        except ValueError as error:
            raise StorageError(f"cannot write the index at {self._directory}: {error}") from error
        return count

    def _documents(self, entries: Iterable[Entry]) -> Iterator[tantivy.Document]:
        for entry in entries:
            analysis = analyzer(entry.language)
            terms, exact = analysis.analyze(entry.text)
            context = analysis.analyze(entry.context).terms if entry.context else []
            document = tantivy.Document()
            document.add_integer("n", entry.n)
            document.add_text("module", entry.module.value)
            for position, (field, values) in enumerate(
                (("terms", terms), ("exact", exact), ("context", context))
            ):
                document.add_text(field, " ".join(values))
                self._tokens[position] += len(values)
            self._languages[entry.language] += 1
            self._modules[entry.module.value] += 1
            yield document

    def _next(self, watermark: int) -> _State:
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
        return _State(watermark=max(watermark, self._state.watermark), statistics=statistics)

    def commit(self, watermark: int) -> None:
        """Make what was added durable and visible; `watermark` is the largest ordinal covered. Raises
        StorageError."""
        state = self._next(watermark)
        if state == self._state:
            return
        replace_json(self._directory / "state.json", _StateFile(format=FORMAT, states=(self._state, state)))
        if state.statistics.documents != self._state.statistics.documents:
            try:
                self._engine_writer().commit()
            except ValueError as error:
                raise StorageError(f"cannot write the index at {self._directory}: {error}") from error
        self._state = state
        self._reset()

    def close(self) -> None:
        """End writing; what was not committed is dropped. Waits for merges, so that files stay few."""
        try:
            if self._writer is not None:
                self._writer.rollback()
                self._writer.wait_merging_threads()
        except ValueError as error:
            raise StorageError(f"cannot write the index at {self._directory}: {error}") from error
        finally:
            self._writer = None
            self._lock.release()

    def __enter__(self) -> LexicalWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
