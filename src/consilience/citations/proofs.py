"""Proof files: made from a brain, checked without one (protocol/evidence.py)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import msgspec

from consilience.citations.model import EvidenceReport, ProvenBlock
from consilience.errors import BlockNotFoundError, ConsilienceError, IntegrityError, NotFoundError
from consilience.protocol import Digest, MemoryType, evidence, format_digest, merkle, payload_json
from consilience.store import StoredBlock, View

__all__ = ["MAX_RECORDS", "check_proof", "prove_blocks"]

MAX_RECORDS = 100
"""Provenance records that a proof takes along at most, the oldest first."""


def prove_blocks(view: View, brain: str, ids: Sequence[Digest], *, records: bool = False) -> bytes:
    """The proof file of some blocks at this snapshot; with `records` also of the provenance records about them.

    Checked before it is returned. Raises BlockNotFoundError for a block that is no member here, IntegrityError
    where the brain is damaged.
    """
    if view.snapshot is None:
        raise NotFoundError("there is nothing to prove yet: the brain is empty")
    blocks = _members(view, ids)
    if records:
        told = {r.n: r for block in blocks for r in view.records_about(block.n)}
        known = {block.n for block in blocks}
        blocks += [told[n] for n in sorted(told) if n not in known][:MAX_RECORDS]
    proofs = {}
    by_module: dict[MemoryType, list[Digest]] = defaultdict(list)
    for block in blocks:
        by_module[block.memory_type].append(block.id)
    for memory_type, wanted in by_module.items():
        for proof in merkle.prove_many(view.sorted_ids(memory_type), wanted):
            proofs[proof.block_id] = proof
    made = evidence.Evidence(
        brain=brain,
        snapshot=view.snapshot.document,
        digest=view.snapshot.digest,
        leaves=tuple(
            evidence.Leaf(memory_type=block.memory_type, proof=proofs[block.id], block=block.data)
            for block in blocks
        ),
    )
    try:
        data = evidence.document(made)
        evidence.verify(evidence.parse(data), view.snapshot.digest)
    except IntegrityError as error:
        raise IntegrityError(
            f"the proof would not hold: {error.message}", hint="run `verify` on this brain"
        ) from error
    return data


def _members(view: View, ids: Sequence[Digest]) -> list[StoredBlock]:
    wanted = list(dict.fromkeys(ids))
    ordinals = view.ordinals(wanted)
    members = view.members(ordinals.values())
    for block_id in wanted:
        if ordinals.get(block_id) not in members:
            raise BlockNotFoundError(
                f"{format_digest(block_id)} is no member at this snapshot",
                hint="only a member can be proven; `history` shows older snapshots",
            )
    return view.blocks([ordinals[block_id] for block_id in wanted])


def check_proof(name: str, data: bytes, trusted: Digest | None = None) -> EvidenceReport:
    """Check a proof file by itself. Never raises on what it holds: `error` says what does not follow."""
    try:
        found = evidence.verify(evidence.parse(data), trusted)
    except ConsilienceError as error:
        return EvidenceReport(name=name, error=error.message)
    return EvidenceReport(
        name=name,
        brain=found.brain,
        snapshot=format_digest(found.snapshot),
        created_at=found.created_at,
        pinned=found.pinned,
        blocks=tuple(
            ProvenBlock(
                memory_type=leaf.memory_type,
                block_id=format_digest(leaf.block_id),
                root=format_digest(leaf.root),
                leaf_index=leaf.leaf_index,
                tree_size=leaf.tree_size,
                content=None if leaf.block is None else msgspec.Raw(payload_json(leaf.block.data)),
                redacted=leaf.redacted,
            )
            for leaf in found.leaves
        ),
    )
