"""The relations of blocks at the snapshot of a question: from the index of relations, from the ledger, from facets."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from consilience.errors import IndexUnusableError
from consilience.plan.candidates import Working
from consilience.plan.expand import ACROSS_SECTIONS, Relation, Tie
from consilience.protocol import MemoryType

if TYPE_CHECKING:
    from consilience.index.edges import EdgeIndex, Laying, Link

MOST_ALIKE = 3
"""A name of more documents than this, at the snapshot, names none."""

MOST_TIED = 64
"""More edges of one kind than this (what all link to, a subject of everything) say nothing."""


class Relations:
    """The ties of blocks, asked for a level at a time; documents are read once for a question.

    Documents that had left by the snapshot, or that hold other bytes since, relate nothing (superseded ones do where
    they are asked for). Blocks at the other end are not judged here: what may be shown is for the caller to say.
    """

    def __init__(self, work: Working, along: Collection[Relation] = tuple(Relation)) -> None:
        self._work = work
        self._along = frozenset(along)
        self._view = work.reader.view
        self._index: EdgeIndex | None = work.reader.edges
        self._alive: dict[int, bool] = {}
        self._documents: dict[int, Laying] = {}

    def __call__(self, ns: Collection[int]) -> Iterable[Tie]:
        asked = sorted(ns)
        ties: list[Tie] = []
        if self._index is not None:
            try:
                ties += self._of_index(self._index, asked)
            except IndexUnusableError as error:
                self._index = None
                self._work.warnings.append(f"{error.message}; `index` rebuilds it")
        if self._along & {Relation.EVIDENCE, Relation.MADE_INTO, Relation.SUCCESSOR}:
            ties += self._of_ledger(asked)
        if Relation.SUBJECT in self._along:
            ties += self._of_subjects(asked)
        return [tie for tie in ties if tie.relation in self._along]

    # --- what documents state -------------------------------------------------------------------------------

    def _of_index(self, index: EdgeIndex, ns: Sequence[int]) -> Iterator[Tie]:
        places = index.places(ns)
        linked = bool(self._along & {Relation.LINK, Relation.LINKED_FROM})
        links = index.links_from(ns) if linked else []
        self._judge({source for _, source in places} | {link.target for link in links})
        standing: dict[int, list[int]] = defaultdict(list)
        for n, source in places:
            if self._alive[source]:
                standing[n].append(source)
        sources = {source for found in standing.values() for source in found}
        back = index.links_to(sources) if linked else []
        self._judge({link.source for link in back})
        self._read(index, sources | {link.target for link in links if self._alive[link.target]})
        yield from self._beside(standing)
        yield from self._forward(links)
        yield from self._backward(standing, back)

    def _judge(self, sources: Iterable[int]) -> None:
        new = sorted({*sources} - self._alive.keys())
        if not new:
            return
        here = self._view.members(new)
        if not self._work.query.include_superseded:
            here -= self._view.hidden(sorted(here)).keys()
        self._alive.update((source, source in here) for source in new)

    def _read(self, index: EdgeIndex, sources: Collection[int]) -> None:
        new = {*sources} - self._documents.keys()
        if new:
            self._documents.update(index.documents(new))

    def _beside(self, standing: dict[int, list[int]]) -> Iterator[Tie]:
        for n, sources in standing.items():
            for source in sources:
                document = self._documents.get(source)
                for other, step, same in document.beside(n) if document is not None else ():
                    relation = Relation.NEXT if step > 0 else Relation.PREVIOUS
                    yield Tie(n, other, relation, (1.0 if same else ACROSS_SECTIONS) / len(sources))

    def _forward(self, links: Sequence[Link]) -> Iterator[Tie]:
        named: dict[tuple[int, int], set[tuple[int, int]]] = defaultdict(set)
        for link in links:
            if self._alive[link.target] and link.target in self._documents:
                named[link.n, link.key].add((link.target, link.section))
        targets: dict[int, set[int]] = defaultdict(set)
        for (n, _), found in named.items():
            if len({target for target, _ in found}) <= MOST_ALIKE:
                others = {self._documents[target].target(section) for target, section in found}
                targets[n] |= others - {n, 0}
        yield from _shared(targets, Relation.LINK)

    def _backward(self, standing: dict[int, list[int]], links: Sequence[Link]) -> Iterator[Tie]:
        """To what names the document that a block opens, or the section that it opens."""
        by_target: dict[int, list[Link]] = defaultdict(list)
        for link in links:
            if self._alive[link.source]:
                by_target[link.target].append(link)
        linking: dict[int, set[int]] = defaultdict(set)
        for n, sources in standing.items():
            for source in sources:
                document = self._documents.get(source)
                for link in by_target.get(source, ()):
                    if document is not None and document.target(link.section) == n != link.n:
                        linking[n].add(link.n)
        yield from _shared(linking, Relation.LINKED_FROM)

    # --- what provenance and facets say ---------------------------------------------------------------------

    def _of_ledger(self, ns: Sequence[int]) -> Iterator[Tie]:
        for up, relation in ((True, Relation.EVIDENCE), (False, Relation.MADE_INTO)):
            edges = self._view.derivation_edges(ns, up=up, located=False)
            others = {edge.other for edge in edges if edge.other > 0}
            modules = self._view.modules_of(sorted(others))
            tied: dict[int, set[int]] = defaultdict(set)
            for edge in edges:
                if modules.get(edge.other, MemoryType.CANONICAL) is not MemoryType.CANONICAL:
                    tied[edge.n].add(edge.other)
            yield from _shared(tied, relation)
        if self._work.query.include_superseded:
            after = {
                n: h.superseded_by for n, h in self._view.hidden(ns).items() if h.superseded_by is not None
            }
            ordinals = self._view.ordinals(list(after.values()))
            for n, successor in after.items():
                if successor in ordinals:
                    yield Tie(n, ordinals[successor], Relation.SUCCESSOR)

    def _of_subjects(self, ns: Sequence[int]) -> Iterator[Tie]:
        facets = self._work.reader.facets
        if facets is None:
            return
        tied: dict[int, set[int]] = defaultdict(set)
        for n, other in facets.of_one_subject(ns, MOST_TIED):
            tied[n].add(other)
        yield from _shared(tied, Relation.SUBJECT)


def _shared(tied: dict[int, set[int]], relation: Relation) -> Iterator[Tie]:
    """Edges of one kind, each with its part; none from a block that has very many."""
    for n, others in tied.items():
        if len(others) <= MOST_TIED:
            for other in sorted(others):
                yield Tie(n, other, relation, 1.0 / len(others))
