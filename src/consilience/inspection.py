"""Looking at one block or one brain: provenance, proof, bytes, state. Reads only; nothing is derived here."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec

from consilience.errors import BlockNotFoundError, UsageError
from consilience.model import Source, Value, cite
from consilience.plan.measure import measured_blocks
from consilience.plan.reader import Reader
from consilience.protocol import (
    Canonical,
    Digest,
    MemoryType,
    decode,
    format_digest,
    parse_digest,
    payload_json,
    verify_inclusion,
)
from consilience.store import StoredBlock, View
from consilience.trace import DEPTH, LIMIT, Direction, RecordLine, TraceReport, trace_block

_PREFIX = re.compile(r"(?:sha256:)?([0-9a-f]{4,64})")
CHILDREN = 3
"""Blocks made from a block that are shown with it."""

SEVERAL = 5
"""Candidates named when a prefix fits more than one block."""


class BlockReport(Value, frozen=True, kw_only=True):
    """One block of one brain. `content` is its payload as JSON (None where the bytes are gone), `root` that of its
    module at the snapshot, `sources` where it stands now, `former` where it stood and does not any more (moved, edited
    away), `records` what provenance says of it, oldest first;
    `derived` how many blocks were made from it; `up` and `down` its lineage, cut short (`trace` shows more)."""

    brain: str
    block_id: str
    memory_type: MemoryType
    schema_version: int | None
    size: int | None
    content: msgspec.Raw | None
    resolvable: bool
    intact: bool
    superseded_by: str | None
    demoted: bool
    root: str
    snapshot: str
    cite: str
    sources: tuple[Source, ...]
    former: tuple[Source, ...]
    records: tuple[RecordLine, ...]
    derived: int
    up: Direction | None = None
    down: Direction | None = None


class ProofReport(Value, frozen=True, kw_only=True):
    """An inclusion proof (RFC 9162 2.1.3) of one block into its module's root; `holds` says that it was checked."""

    brain: str
    memory_type: MemoryType
    block_id: str
    root: str
    snapshot: str
    leaf_index: int
    tree_size: int
    audit_path: tuple[str, ...]
    holds: bool


class ModuleStatus(Value, frozen=True, kw_only=True):
    """One module at the head snapshot; `hidden` of its blocks are superseded or demoted."""

    module: MemoryType
    count: int
    hidden: int
    root: str


class BrainStatus(Value, frozen=True, kw_only=True):
    """What is here. `behind` blocks are not in the lexical index yet, `unembedded` have no vector; `healthy` means
    nothing needs to be done; `advice` says what to do where something does."""

    brain: str
    path: Path
    snapshot: str | None
    changed_at: str | None
    changed_by: str | None
    snapshots: int
    modules: tuple[ModuleStatus, ...]
    files: int
    behind: int
    unembedded: int
    model: str | None
    languages: tuple[tuple[str, int], ...]
    floor: bool
    disk_bytes: int
    healthy: bool
    advice: tuple[str, ...]

    @property
    def blocks(self) -> int:
        return sum(m.count for m in self.modules)


def resolve(view: View, id_or_prefix: str) -> Digest:
    """The one block that an id, or the first hex digits of one, names.

    Raises UsageError for text that is no id or names several blocks, BlockNotFoundError for none.
    """
    match = _PREFIX.fullmatch(id_or_prefix.strip().lower())
    if match is None:
        raise UsageError(
            f"{id_or_prefix!r} is not a block id",
            hint="an id is sha256: and 64 hex digits; its first four or more do",
        )
    digits = match.group(1)
    found = (
        [parse_digest(f"sha256:{digits}")]
        if len(digits) == 64
        else view.find_prefix(digits, limit=SEVERAL + 1)
    )
    if len(found) > 1:
        some = ", ".join(format_digest(d)[7:23] for d in found[:SEVERAL])
        raise UsageError(f"{digits!r} fits several blocks: {some}", hint="give more digits")
    if not found or found[0] not in view.ordinals(found):
        raise BlockNotFoundError(
            f"no block {id_or_prefix} {'in this brain' if view.is_head else 'at this snapshot'}",
            hint="`search` shows the ids of matches; --brain names another brain",
        )
    return found[0]


def _stored(view: View, block_id: Digest) -> StoredBlock:
    n = view.ordinals([block_id])[block_id]
    if not view.is_head and n not in view.members([n]):
        raise BlockNotFoundError(
            f"{format_digest(block_id)} is not a member of the snapshot {_snapshot(view)[7:19]}",
            hint="without --at it is looked up at the head; `history` lists the snapshots",
        )
    return view.blocks([n])[0]


def inspect_block(view: View, brain: str, id_or_prefix: str) -> BlockReport:
    """Everything this brain knows of one block."""
    block = _stored(view, resolve(view, id_or_prefix))
    hidden = view.hidden([block.n]).get(block.n)
    lineage = trace_block(view, brain, block, limit=CHILDREN)
    root = _root(view, block.memory_type)
    block_id = format_digest(block.id)
    sources = view.sources([block.n], current=True).get(block.n, ())
    after = hidden.superseded_by if hidden is not None else None
    return BlockReport(
        brain=brain,
        block_id=block_id,
        memory_type=block.memory_type,
        schema_version=decode(block.data).schema_version if block.data is not None and block.intact else None,
        size=len(block.data) if block.data is not None else None,
        content=msgspec.Raw(payload_json(block.data)) if block.data is not None and block.intact else None,
        resolvable=block.data is not None,
        intact=block.intact,
        superseded_by=format_digest(after) if after is not None else None,
        demoted=hidden.demoted if hidden is not None else False,
        root=root,
        snapshot=_snapshot(view),
        cite=cite(brain, block.memory_type, block_id, root),
        sources=sources,
        former=tuple(each for each in view.sources([block.n]).get(block.n, ()) if each not in sources),
        records=lineage.records,
        derived=lineage.down.edges if lineage.down is not None else 0,
        up=lineage.up,
        down=lineage.down,
    )


def trace(
    view: View,
    brain: str,
    id_or_prefix: str,
    *,
    depth: int = DEPTH,
    limit: int = LIMIT,
    up: bool = True,
    down: bool = True,
) -> TraceReport:
    """The lineage of one block. Raises as `resolve` does."""
    block = _stored(view, resolve(view, id_or_prefix))
    return trace_block(view, brain, block, depth=depth, limit=limit, up=up, down=down)


def prove_block(view: View, brain: str, id_or_prefix: str) -> ProofReport:
    """The inclusion proof of one block, verified by the pure function that anybody can run."""
    block = _stored(view, resolve(view, id_or_prefix))
    proof, root = view.prove(block.id)
    return ProofReport(
        brain=brain,
        memory_type=block.memory_type,
        block_id=format_digest(block.id),
        root=format_digest(root),
        snapshot=_snapshot(view),
        leaf_index=proof.leaf_index,
        tree_size=proof.tree_size,
        audit_path=tuple(node.hex() for node in proof.audit_path),
        holds=verify_inclusion(proof, root) and format_digest(root) == _root(view, block.memory_type),
    )


def block_bytes(view: View, id_or_prefix: str) -> bytes:
    """A canonical block's original bytes; any other block's envelope. BlockNotFoundError where they are gone."""
    block = _stored(view, resolve(view, id_or_prefix))
    if block.data is None:
        raise BlockNotFoundError(
            f"the bytes of {format_digest(block.id)} are gone", hint="the block is still a member"
        )
    if block.memory_type is MemoryType.CANONICAL:
        payload = decode(block.data).payload
        assert isinstance(payload, Canonical)
        return view.content(parse_digest(payload.blob))
    return block.data


def brain_status(reader: Reader, path: Path) -> BrainStatus:
    """The state of one brain. Sizes are of the files in its folder now."""
    view = reader.view
    snapshot = view.snapshot
    modules = tuple(
        ModuleStatus(
            module=m.memory_type,
            count=m.count,
            hidden=view.hidden_count(m.memory_type),
            root=format_digest(m.root),
        )
        for m in view.modules()
    )
    searched = measured_blocks(view)
    behind = searched if reader.lexical is None else max(0, view.max_n - reader.lexical.watermark)
    vectors = reader.vectors.count if reader.vectors is not None else 0
    unembedded = max(0, searched - vectors) if reader.wants_vectors else 0
    advice = _advice(reader, searched, behind, unembedded)
    now = reader.lexical if view.is_head else None
    languages = now.statistics.languages if now is not None else {}
    return BrainStatus(
        brain=reader.name,
        path=path,
        snapshot=format_digest(snapshot.digest) if snapshot is not None else None,
        changed_at=snapshot.created_at if snapshot is not None else None,
        changed_by=snapshot.actor.id if snapshot is not None else None,
        snapshots=view.snapshot_count(),
        modules=modules,
        files=_files(view),
        behind=behind,
        unembedded=unembedded,
        model=reader.vectors.tag if reader.vectors is not None else None,
        languages=tuple(sorted(languages.items(), key=lambda item: (-item[1], item[0]))),
        floor=reader.statistics is not None and bool(reader.statistics.noises),
        disk_bytes=_disk(path),
        healthy=not advice,
        advice=advice,
    )


def _files(view: View) -> int:
    """Origins that hold what was read from a file; remembered words have an origin too (docs/decisions/0212)."""
    read = view.mentioned()
    return sum(held.n in read for _, held in view.origins())


def _advice(reader: Reader, searched: int, behind: int, unembedded: int) -> tuple[str, ...]:
    out = list(reader.notes)
    if not reader.view.is_head:
        return tuple(out)
    if reader.view.erasing():
        out.append("redacted bytes are not erased from every file yet: run `index`")
    if not searched:
        return (*out, "empty: `ingest PATH...` takes files and folders in")
    if behind:
        out.append(f"the lexical index is {behind:,} blocks behind: run `index`")
    if reader.embedder_note:
        out.append(reader.embedder_note)
    elif unembedded:
        out.append(f"{unembedded:,} passages have no vector yet: run `index`")
    elif reader.statistics is None:
        out.append("no statistics yet: run `index`")
    elif reader.statistics.stale(searched):
        out.append("statistics are stale: run `index`")
    return tuple(out)


def _disk(path: Path) -> int:
    total = 0
    for file in path.rglob("*"):
        try:
            total += file.stat().st_size if file.is_file() else 0
        except OSError:
            continue
    return total


def _root(view: View, module: MemoryType) -> str:
    return next((format_digest(m.root) for m in view.modules() if m.memory_type is module), "")


def _snapshot(view: View) -> str:
    return format_digest(view.snapshot.digest) if view.snapshot is not None else ""


__all__ = [
    "BlockReport", "BrainStatus", "ModuleStatus", "ProofReport", "RecordLine", "block_bytes", "brain_status",
    "inspect_block", "prove_block", "resolve", "trace",
]  # fmt: skip
