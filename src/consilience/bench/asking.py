"""The ways of asking that are measured: one brain by one generator, by both, by its planner; several, composed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from consilience.bench.brains import Made
from consilience.bench.measures import DEPTH
from consilience.compound import LEAST_DEPTH, Compound
from consilience.fusion import RankedList, fuse
from consilience.model import CompoundResult, Match, Query
from consilience.plan.answer import answer


@dataclass(frozen=True, slots=True)
class Found:
    """What one way of asking found: documents, best first, and the brains that answered at all."""

    ranking: tuple[str, ...]
    answered: frozenset[str]


@dataclass(frozen=True, slots=True)
class Way:
    """One way of asking. `ask` takes the question and the name of the brain that it belongs to."""

    name: str
    about: str
    ask: Callable[[str, str], Found]


GENERATORS: Mapping[str, tuple[str, ...]] = {
    "lexical": ("lexical",),
    "vectors": ("vectors",),
    "hybrid": ("lexical", "vectors"),
}
ABOUT = {
    "lexical": "BM25 alone, no floor",
    "vectors": "embeddings alone, no floor",
    "hybrid": "both fused, no floor",
    "planner": "as the product answers, with its floor",
}


def ways_of_one(made: Made, *, vectors: bool, prefix: str = "") -> Iterator[Way]:
    """One brain: by each generator it has, by both, by its planner with the floor."""
    for name, generators in GENERATORS.items():
        if vectors or generators == ("lexical",):
            yield Way(f"{prefix}{name}", ABOUT[name], _by_generators(made, generators))
    yield Way(f"{prefix}planner", ABOUT["planner"], lambda text, _: _searched(made, text))


def ways_of_several(mades: Sequence[Made]) -> Iterator[Way]:
    """The brain that a question belongs to; all of them, grouped and fused; plain reciprocal ranks to compare."""
    by_name = {made.name: made for made in mades}
    documents = {made.name: made.documents for made in mades}
    team = Compound([made.brain for made in mades])

    def composed(fused: bool, floor: bool, defer: bool = False) -> Callable[[str, str], Found]:
        def ask(text: str, _: str) -> Found:
            query = Query(text=text, limit=DEPTH, floor=floor)
            return _of_compound(team.search(query, fuse=fused, defer=defer), documents)

        return ask

    yield Way(
        "right brain",
        "only the brain that the question belongs to, with its floor",
        lambda text, own: _searched(by_name[own], text),
    )
    yield Way("grouped", "all brains, read from the top in order of name", composed(False, True))
    yield Way("fused", "all brains, as the product answers", composed(True, True))
    yield Way("deferred", "the same with --defer: the less sure begin later", composed(True, True, True))
    yield Way("fused, no floor", "all brains, none of them silent", composed(True, False))
    yield Way(
        "by strength", "all brains, by strength and not by rank, to compare", _by_strength(team, documents)
    )
    yield Way(
        "plain RRF", "reciprocal ranks alone: no floor, ties not broken by strength", _plain(mades, documents)
    )


def _by_generators(made: Made, generators: Sequence[str]) -> Callable[[str, str], Found]:
    def ask(text: str, _: str) -> Found:
        query = Query(text=text, limit=DEPTH, floor=False)
        with made.brain.reader() as reader:
            bundle = answer(reader, query, generators=generators).bundle
        return _found(made, bundle.matches)

    return ask


def _searched(made: Made, text: str) -> Found:
    return _found(made, made.brain.search(Query(text=text, limit=DEPTH)).matches)


def _found(made: Made, matches: Sequence[Match]) -> Found:
    ranking = _documents(made.documents, [copy.block_id for m in matches for copy in (m, *m.also)])
    return Found(ranking, frozenset([made.name] if matches else []))


def _of_compound(result: CompoundResult, documents: Mapping[str, Mapping[str, tuple[str, ...]]]) -> Found:
    ranking: list[str] = []
    for match in result.matches:
        for each in match.brains:
            ranking += _documents(documents[each.brain], [match.block_id, *each.also])
    answered = frozenset(c.brain for match in result.matches for c in match.brains)
    return Found(tuple(dict.fromkeys(ranking)), answered)


def _by_strength(
    team: Compound, documents: Mapping[str, Mapping[str, tuple[str, ...]]]
) -> Callable[[str, str], Found]:
    def ask(text: str, _: str) -> Found:
        grouped = team.search(Query(text=text, limit=DEPTH))
        held = [(c, match) for match in grouped.matches for c in match.brains]
        held.sort(key=lambda each: (-(each[0].strength or 0.0), each[0].rank, each[1].block_id))
        ranking: list[str] = []
        for each, match in held:
            ranking += _documents(documents[each.brain], [match.block_id, *each.also])
        return Found(tuple(dict.fromkeys(ranking)), frozenset(each.brain for each, _ in held))

    return ask


def _plain(
    mades: Sequence[Made], documents: Mapping[str, Mapping[str, tuple[str, ...]]]
) -> Callable[[str, str], Found]:
    everything: dict[str, tuple[str, ...]] = {}
    for made in mades:
        for block, names in documents[made.name].items():
            everything[block] = (*everything.get(block, ()), *names)

    def ask(text: str, _: str) -> Found:
        query = Query(text=text, limit=max(LEAST_DEPTH, DEPTH), floor=False)
        bundles = [made.brain.search(query) for made in mades]
        lists = [RankedList(keys=tuple(m.block_id for m in bundle.matches)) for bundle in bundles]
        ranking = _documents(everything, [each.key for each in fuse(lists, limit=DEPTH)])
        return Found(ranking, frozenset(bundle.brain for bundle in bundles if bundle.matches))

    return ask


def _documents(by_block: Mapping[str, tuple[str, ...]], blocks: Sequence[str]) -> tuple[str, ...]:
    return tuple(document for block in blocks for document in by_block.get(block, ()))
