"""The lexical index as readers see it: tantivy, append-only, keyed by the store's ordinal."""

from __future__ import annotations

import threading
from collections.abc import Collection, Sequence, Set
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import tantivy
from tantivy import Occur, Query

from consilience.index.bm25 import PHRASE_WEIGHT, Scorer, rounded
from consilience.index.lexical_state import (
    MODULE_CODES,
    Engine,
    LexicalStatistics,
    Snapshot,
    check_files,
    engine_errors,
    read_snapshot,
    read_states,
    stamp_of,
)
from consilience.index.question import LexicalQuery, analyze_question
from consilience.model import Hit, Hits
from consilience.protocol import MemoryType

if TYPE_CHECKING:
    from consilience.index.lexical_writer import LexicalWriter

NOTHING: Final = Hits(hits=(), exhausted=True)
_MARGIN: Final = 16
_TIES_LIMIT: Final = 20_000


class LexicalIndex:
    """A reader. Thread-safe; sees the state of its opening until `refresh`."""

    def __init__(self, directory: Path, engine: Engine, snapshot: Snapshot) -> None:
        self._directory = directory
        self._engine = engine
        self._schema = engine.index.schema
        self._snapshot = snapshot
        self._lock = threading.Lock()

    @classmethod
    def open(cls, directory: Path) -> LexicalIndex | None:
        """The index in `directory`, None where there is none. Raises IndexUnusableError."""
        if read_states(directory) is None:
            return None
        with engine_errors(directory):
            engine = Engine(directory / "engine")
            snapshot = read_snapshot(directory, engine)
            check_files(directory)
            return cls(directory, engine, snapshot)

    @classmethod
    def open_for_write(cls, directory: Path) -> LexicalWriter:
        """The one writer. An index that cannot be used is removed first. Raises BusyError, StorageError."""
        from consilience.index.lexical_writer import LexicalWriter

        return LexicalWriter(directory)

    def refresh(self) -> bool:
        """See what was committed since; True where that is something. Raises IndexUnusableError."""
        with self._lock:
            held = self._snapshot
            if stamp_of(self._directory) == held.stamp:
                return False
            with engine_errors(self._directory):
                self._snapshot = read_snapshot(self._directory, self._engine)
            return self._snapshot.state != held.state

    def close(self) -> None:
        """Nothing is held but memory maps; they go with the object."""

    @property
    def watermark(self) -> int:
        return self._snapshot.state.watermark

    @property
    def statistics(self) -> LexicalStatistics:
        return self._snapshot.state.statistics

    def analyze(self, text: str, *, languages: Sequence[str] = ()) -> LexicalQuery:
        """The question for this index; `languages` are those detected in it, if any."""
        held = self._snapshot
        with engine_errors(self._directory):
            return analyze_question(text, held, held.state.statistics.languages, languages)

    def scorer(self, query: LexicalQuery) -> Scorer:
        """The question against texts that the index may not hold."""
        with engine_errors(self._directory):
            return Scorer(query, self._snapshot)

    def search(
        self,
        query: LexicalQuery,
        k: int,
        *,
        eligible: Sequence[int] | None = None,
        modules: Sequence[MemoryType] = (),
    ) -> Hits:
        """The best k entries by BM25, ties by ordinal; `exhausted` where nothing that matched was cut.

        `eligible`: ascending ordinals, of any number; a few are given to the engine, many are looked up afterwards.
        No modules means all of them.
        """
        held = self._snapshot
        if k < 1 or query.empty or not held.documents or (eligible is not None and not len(eligible)):
            return NOTHING
        with engine_errors(self._directory):
            afterwards, named = self._split(held, k, eligible, modules)
            if afterwards.wide:
                wanted = self._query(query, named)
                hits = _top(held.searcher, wanted, k, afterwards) if wanted else NOTHING
                if hits is not None:
                    return hits
            wanted = self._query(query, self._filters(held, eligible, modules))
            return (_top(held.searcher, wanted, k) if wanted else NOTHING) or NOTHING

    def _split(
        self, held: Snapshot, k: int, eligible: Sequence[int] | None, modules: Sequence[MemoryType]
    ) -> tuple[_Afterwards, list[Query]]:
        """What of the filters is cheaper to look up for each hit, and what to name to the engine."""
        share = 1.0
        ns = codes = None
        if eligible is not None and _is_wide(len(eligible), k, held.documents):
            ns = frozenset(map(int, eligible))
            eligible, share = None, len(ns) / held.documents
        counts = held.state.statistics.modules
        within = sum(counts.get(module.value, 0) for module in modules)
        if modules and held.documents > within > held.documents // 2:
            codes = frozenset(MODULE_CODES[module.value] for module in modules)
            modules, share = (), share * within / held.documents
        return _Afterwards(ns, codes, share), self._filters(held, eligible, modules)

    def coverage(self, query: LexicalQuery, ns: Sequence[int]) -> dict[int, float]:
        """`Scorer.coverage` of entries that are indexed, worked out by the engine; those of coverage 0 are left out.

        One query: every word that is counted adds its weight, once, to whatever holds it.
        """
        scorer = self.scorer(query)
        words = [
            (weight, self._any_of(terms, exact)) for weight, terms, exact in scorer.counted() if weight > 0.0
        ]
        if not words or not len(ns):
            return {}
        with engine_errors(self._directory):
            among = Query.const_score_query(
                Query.term_set_query(self._schema, "n", [int(n) for n in ns]), 0.0
            )
            any_word = Query.boolean_query([(Occur.Should, Query.const_score_query(q, w)) for w, q in words])
            wanted = Query.boolean_query([(Occur.Must, among), (Occur.Must, any_word)])
            searcher = self._snapshot.searcher
            found = searcher.search(wanted, len(ns), count=False).hits
            ordinals = searcher.fast_field_values("n", [address for _, address in found])
        return {int(n or 0): scorer.share(score) for n, (score, _) in zip(ordinals, found, strict=True)}

    def _any_of(self, terms: Collection[str], exact: str) -> Query:
        forms = [("terms", t) for t in sorted(terms)] + [("context", t) for t in sorted(terms)]
        forms += [("exact", exact)] if exact else []
        schema = self._schema
        return Query.boolean_query([(Occur.Should, Query.term_query(schema, f, t, "freq")) for f, t in forms])

    def held(self, ns: Sequence[int]) -> set[int]:
        """Those of the ordinals that are indexed."""
        if not len(ns):
            return set()
        with engine_errors(self._directory):
            wanted = Query.term_set_query(self._schema, "n", [int(n) for n in ns])
            searcher = self._snapshot.searcher
            found = searcher.search(Query.const_score_query(wanted, 0.0), len(ns), count=False).hits
            ordinals = searcher.fast_field_values("n", [address for _, address in found])
        return {int(n or 0) for n in ordinals}

    def holds_any(self, ns: Sequence[int]) -> bool:
        """Whether one of these ordinals is indexed."""
        with engine_errors(self._directory):
            wanted = Query.term_set_query(self._schema, "n", [int(n) for n in ns])
            return bool(self._snapshot.searcher.search(wanted, 1, count=False).hits)

    def _query(self, query: LexicalQuery, filters: Sequence[Query]) -> Query | None:
        """Everything that adds to a score, and what must hold; None where nothing of it is in the index."""
        view = self._snapshot
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
        self, view: Snapshot, eligible: Sequence[int] | None, modules: Sequence[MemoryType]
    ) -> list[Query]:
        filters = []
        if modules and not set(view.state.statistics.modules) <= {m.value for m in modules}:
            filters.append(
                Query.term_set_query(self._schema, "module", [MODULE_CODES[m.value] for m in modules])
            )
        if eligible is not None:
            filters.append(Query.term_set_query(self._schema, "n", [int(n) for n in eligible]))
        return filters


def _is_wide(eligible: int, k: int, documents: int) -> bool:
    """Whether so many hits are eligible that filtering afterwards is cheaper than naming them to the engine.

    Naming one costs some five times what a hit costs, and some `k * documents / eligible` hits have to be seen.
    """
    return 5 * eligible * eligible > k * documents


class _Afterwards(NamedTuple):
    """Filters that are looked up for each hit: ordinals, codes of modules, and about what share of hits passes."""

    ns: Set[int] | None = None
    modules: Set[int] | None = None
    share: float = 1.0

    @property
    def wide(self) -> bool:
        return self.ns is not None or self.modules is not None

    def keep(self, searcher: tantivy.Searcher, addresses: list[tantivy.DocAddress]) -> list[int | None]:
        """The ordinal of each hit, None for one that does not pass."""
        ns = [int(n or 0) for n in searcher.fast_field_values("n", addresses)]
        kept: list[int | None] = [n if self.ns is None or n in self.ns else None for n in ns]
        if self.modules is not None:
            codes = searcher.fast_field_values("module", addresses)
            kept = [n if code in self.modules else None for n, code in zip(kept, codes, strict=True)]
        return kept


def _top(searcher: tantivy.Searcher, query: Query, k: int, filters: _Afterwards | None = None) -> Hits | None:
    """The k best that pass, ties settled by ordinal: asks for more while the cut falls between equal scores.

    None where filters leave too few of many hits.
    """
    filters = filters or _Afterwards()
    limit = int((k + _MARGIN) / filters.share) + 1
    while True:
        found: list[tuple[Any, tantivy.DocAddress]] = searcher.search(query, limit, count=False).hits
        whole = len(found) < limit
        kept = filters.keep(searcher, [address for _, address in found])
        pairs = zip(kept, found, strict=True)
        hits = [Hit(n, rounded(score)) for n, (score, _) in pairs if n is not None]
        if whole or (len(hits) > k and hits[k - 1].score > rounded(found[-1][0])):
            break
        if limit >= _TIES_LIMIT:
            if filters.wide:
                return None
            break
        limit *= 4
    hits.sort(key=lambda hit: (-hit.score, hit.n))
    return Hits(hits=tuple(hits[:k]), exhausted=whole and len(hits) <= k)
