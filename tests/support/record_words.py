"""A provenance record of every type, and the words in which it is shown."""

from __future__ import annotations

from stores import ACTOR, AT

from consilience.protocol import (
    ActorKind,
    Collaborator,
    Demotion,
    Derivation,
    Mechanism,
    MemoryType,
    Normalization,
    Record,
    Registration,
    Removal,
    Supersession,
    Validation,
    Verdict,
)

X, Y = "sha256:" + "a" * 64, "sha256:" + "b" * 64
HELPER = Collaborator(id="lab/assistant", kind=ActorKind.AGENT, model="acme/model-1")
WORDS: list[tuple[Record, str, str]] = [
    (
        Registration(block=X, actor=ACTOR, at=AT, origin="a.md", license="CC0", retention_policy="year"),
        "registered",
        "from a.md; license CC0; retention policy year",
    ),
    (Registration(block=X, actor=ACTOR, at=AT), "registered", ""),
    (
        Normalization(
            block=X, pipeline="lab/reader", pipeline_version="3", actor=ACTOR, at=AT, assisted_by=(HELPER,)
        ),
        "normalized",
        "with lab/reader 3; assisted by lab/assistant (acme/model-1)",
    ),
    (
        Derivation(block=X, derived_from=(Y,) * 7, assisted_by=(HELPER,), task="extract", actor=ACTOR, at=AT),
        "derived",
        f"from {', '.join([Y] * 5)} and 2 more; task extract; assisted by lab/assistant (acme/model-1)",
    ),
    (
        Supersession(block=X, supersedes=Y, actor=ACTOR, at=AT, reason="newer"),
        "superseded",
        f"{Y} by {X}; reason: newer",
    ),
    (Demotion(block=X, actor=ACTOR, at=AT, reason="wrong", policy="p"), "demoted", "reason: wrong; policy p"),
    (
        Validation(
            block=X,
            verdict=Verdict.PENDING_REVIEW,
            checks=("duplicate", "schema"),
            actor=ACTOR,
            at=AT,
            task="t",
        ),
        "judged pending review",
        "checks: duplicate, schema; task t",
    ),
    *(
        (
            Removal(
                blocks=(X, Y),
                mechanism=mechanism,
                memory_type=MemoryType.SEMANTIC,
                reason="asked",
                actor=ACTOR,
                at=AT,
                policy="p",
                cascaded_from=Y,
            ),
            what,
            f"{how}reason: asked; with 1 other block of semantic; policy p; because of {Y}",
        )
        for mechanism, what, how in [
            (Mechanism.DROP, "dropped", ""),
            (Mechanism.SUPERSEDE, "superseded", ""),
            (Mechanism.DEMOTE, "demoted", ""),
            (Mechanism.PRUNE, "pruned", ""),
            (Mechanism.TOMBSTONE, "redacted", ""),
            (Mechanism.CRYPTO_SHRED, "redacted", "by crypto shred; "),
            (Mechanism.LINEAGE_REWRITE, "redacted", "by lineage rewrite; "),
        ]
    ),
]
