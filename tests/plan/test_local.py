"""What a compound in this process is given beside a bundle is what the bundle would have held."""

from __future__ import annotations

import dataclasses
import datetime
from pathlib import Path

import msgspec
import numpy as np
import pytest

from consilience.brain import Brain
from consilience.embed import EmbedderSpec
from consilience.embed.base import Provider
from consilience.index.centred import LEAST_ROWS
from consilience.model import Query
from consilience.plan.local import local_answer
from consilience.protocol import Actor, ActorKind

ACTOR = Actor(id="ana@example.org", kind=ActorKind.HUMAN)
THINGS = ("valve", "pump", "gauge", "tank", "pipe", "filter", "motor", "sensor")


def filled(folder: Path, provider: Provider, passages: int) -> Brain:
    docs = folder / "docs"
    docs.mkdir()
    said = [
        f"The {THINGS[i % 8]} of hall {i} is looked at by whoever oils the {THINGS[(i * 3 + 1) % 8]} in week {i}."
        for i in range(passages)
    ]
    (docs / "rounds.md").write_text("# Rounds\n\n" + "\n\n".join(said) + "\n")
    brain = Brain.create(folder / "brain", name="plant", embedder=EmbedderSpec(provider=provider))
    brain.ingest([docs], actor=ACTOR, clock=lambda: datetime.datetime.now(datetime.UTC), root=folder)
    return brain


@pytest.mark.parametrize("text", ["who oils the pump", "'of hall 3'", "week"])
def test_a_local_answer_and_a_search_say_the_same(tmp_path: Path, text: str) -> None:
    with filled(tmp_path, "hashed", LEAST_ROWS + 8) as brain:
        query = Query(text=text, floor=False)
        searched, answered = brain.search(query), brain.answer(query)
        shown = answered.bundle.matches
        assert shown and all(match.highlights == () for match in shown)
        filled_in = [msgspec.structs.replace(m, highlights=answered.highlights(m.block_id)) for m in shown]
        assert filled_in == list(searched.matches) and any(m.highlights for m in filled_in)
        assert answered.highlights("sha256:" + 64 * "0") == ()


def test_matches_are_placed_by_their_vectors_unless_those_are_weak(tmp_path: Path) -> None:
    query = Query(text="who oils the pump", floor=False, limit=5)
    with filled(tmp_path, "hashed", LEAST_ROWS + 8) as brain, brain.reader() as reader:
        assert reader.weak_vectors and brain.answer(query).meanings is None
        answered = local_answer(dataclasses.replace(reader, statistics=None), query)
        ids = [match.block_id for match in answered.bundle.matches]
        assert answered.meanings is not None and answered.meanings.tag.startswith("hashed:")
        found, vectors = answered.meanings.placed([*ids, "sha256:" + 64 * "0"])
        assert list(found) == ids and np.allclose(np.linalg.norm(vectors, axis=1), 1.0)


def test_a_brain_without_vectors_or_with_few_places_nothing(tmp_path: Path) -> None:
    for number, (provider, passages) in enumerate([("none", 40), ("hashed", LEAST_ROWS - 10)]):
        folder = tmp_path / str(number)
        folder.mkdir()
        with filled(folder, provider, passages) as brain:  # type: ignore[arg-type]
            answered = brain.answer(Query(text="who oils the pump", floor=False, limit=5))
            ids = [match.block_id for match in answered.bundle.matches]
            assert ids and (answered.meanings is None or answered.meanings.placed(ids)[0] == ())
