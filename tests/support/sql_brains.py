"""Brains with every kind of block, made through the store."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from stores import ACTOR, NOW, demotion, derivation, fact, original, supersession

from consilience.brain import Brain
from consilience.protocol import Block, Episodic, Procedural, Relation, Semantic, Step, build, format_digest


@dataclass
class Made:
    """A brain and the blocks it was made with."""

    brain: Brain
    blocks: dict[str, Block]

    def id(self, name: str) -> str:
        return format_digest(self.blocks[name].id)

    def commit(self, *blocks: Block, withdraw: tuple[Block, ...] = ()) -> None:
        with self.brain.store.write(ACTOR, NOW) as writer:
            writer.add_many(blocks)
            if withdraw:
                writer.withdraw(writer.ordinals([b.id for b in withdraw]).values())

    def rows(self, query: str, **choices: object) -> list[tuple[object, ...]]:
        from consilience.sql.engine import Asked

        return list(self.brain.sql(query, asked=Asked(text=query, **choices)).rows)


def make(folder: Path, name: str = "algebra") -> Made:
    brain = Brain.create(folder / name, name=name)
    blocks = {
        "rich": build(
            Semantic(
                kind="concept", label="group", statement="A set with one operation.", subject="algebra",
                aliases=("Gruppe", "groupe"), relations=(Relation(predicate="is_a", target="sha256:" + "a" * 64),),
            )
        ),
        "old": fact("The old statement."),
        "new": fact("The new statement."),
        "weak": fact("A statement that was demoted."),
        "event": build(Episodic(summary="Lecture", occurred_at="2024-02-29T10:00:00Z", tags=("x", "y"))),
        "broken day": build(Episodic(summary="Never", occurred_at="2023-02-30T10:00:00Z")),
        "how": build(
            Procedural(
                label="solve", goal="find x",
                steps=(Step(action="add", alternatives=("subtract",)), Step(action="divide", condition="a != 0")),
            )
        ),
    }  # fmt: skip
    with brain.store.write(ACTOR, NOW) as writer:
        blocks["file"] = original(writer, b"# Notes\n\nA set.\n", "notes/algebra.md")
        writer.add_many(blocks[key] for key in ("rich", "old", "new", "weak", "event", "broken day", "how"))
        writer.add(derivation(blocks["rich"], blocks["file"], "L3 # Notes > Groups"))
        writer.add_many((supersession(blocks["new"], blocks["old"]), demotion(blocks["weak"])))
    return Made(brain, blocks)
