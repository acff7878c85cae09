"""Our store and our brain behind the interfaces of pyboltzmann, for its conformance suites. Test only, and thin.

Each method names what of ours it calls; the rest is a change of types and of the class of an error. What we have
no counterpart for is not here: `test_conformance_suites.py` lists it.
"""

from __future__ import annotations

import datetime as dt
import json
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from boltzmann import exceptions as theirs
from boltzmann.blocks.base import Block as TheirBlock
from boltzmann.blocks.memory_type import MemoryType as TheirType
from boltzmann.identity.digest import BlockId, MerkleRoot, OciDigest
from boltzmann.identity.digest import Digest as TheirDigest
from boltzmann.merkle.proof import InclusionProof
from boltzmann.module.composition import Composition
from boltzmann.module.module import Module
from boltzmann.module.snapshot import Snapshot as TheirSnapshot
from boltzmann.query.evidence import EvidenceBundle, SourceRef
from boltzmann.query.evidence import Match as TheirMatch
from boltzmann.query.request import Query as TheirQuery
from boltzmann.retention.requests import ResolvabilityReport

from consilience.brain import Brain
from consilience.errors import BlockNotFoundError, IntegrityError, NotFoundError
from consilience.inspection import inspect_block
from consilience.model import Filters, Match, Query
from consilience.protocol import (
    Actor,
    ActorKind,
    Digest,
    Mechanism,
    MemoryType,
    Removal,
    composition_document,
    content_refs,
    decode,
    parse_digest,
    record_block,
)
from consilience.store import Store, StoredBlock, View, Writer
from consilience.store.prune import Keep, prune

ACTOR = Actor(id="ana@example.org", kind=ActorKind.HUMAN)
NOW = dt.datetime(2026, 3, 1, 12, 0, 0, tzinfo=dt.UTC)


@contextmanager
def in_their_terms() -> Iterator[None]:
    """Our errors under the names of theirs."""
    try:
        yield
    except NotFoundError as error:
        raise theirs.BlockNotFoundError(error.message) from error
    except IntegrityError as error:
        raise theirs.BlockIntegrityError(error.message) from error


def stored(view: View | Writer, digest: TheirDigest) -> StoredBlock | None:
    """View.ordinals, View.blocks."""
    n = view.ordinals([Digest(digest.raw)]).get(Digest(digest.raw))
    return None if n is None else view.blocks([n])[0]


def bytes_of(view: View, block: StoredBlock) -> bytes:
    """StoredBlock.data and .intact, View.redactions: the envelope, or why it is not here."""
    if block.data is None:
        for redaction in view.redactions([block.id]).values():
            raise theirs.BlockTombstonedError(str(redaction))
        raise theirs.BlockNotFoundError(f"the bytes of {block.id.hex()} are gone, and no record says why")
    if not block.intact:
        raise theirs.BlockIntegrityError(f"the bytes of {block.id.hex()} are damaged")
    return block.data


class StoreAdapter:
    """BlockStore over a Store: their blocks are our blocks, their other bytes our originals (content)."""

    def __init__(self, store: Store) -> None:
        self.store = store

    def put_bytes(self, data: bytes) -> OciDigest:
        """Writer.put_content."""
        with self.store.write(ACTOR, NOW) as writer:
            ref = writer.put_content(data, "application/octet-stream")
        return OciDigest.parse(ref.blob)

    def put_block(self, block: TheirBlock) -> BlockId:
        """protocol.decode, Writer.add, View.blocks."""
        with self.store.write(ACTOR, NOW) as writer:
            n, _ = writer.add(decode(block.canonical_bytes()))
        with self.store.view() as view:
            return BlockId.from_raw(view.blocks([n])[0].id)

    def tombstone(self, digest: TheirDigest, reason: str) -> None:
        """Writer.destroy with its removal record (which `retain redact` writes), Store.finish_erasing."""
        with self.store.write(ACTOR, NOW) as writer, in_their_terms():
            block = stored(writer, digest)
            if block is None:
                raise BlockNotFoundError(f"no block {digest}")
            record = Removal(
                blocks=(str(digest),),
                mechanism=Mechanism.TOMBSTONE,
                memory_type=block.memory_type,
                reason=reason,
                actor=ACTOR,
                at=writer.at,
            )
            writer.add(record_block(record))
            writer.destroy([block.n], {})

    def get_bytes(self, digest: TheirDigest) -> bytes:
        """StoredBlock.data and .intact for a block; View.content, which hashes, for an original."""
        with self.store.view() as view, in_their_terms():
            block = stored(view, digest)
            return view.content(Digest(digest.raw)) if block is None else bytes_of(view, block)

    def get_block(self, block_id: BlockId) -> TheirBlock:
        """protocol.decode of the bytes."""
        with in_their_terms():
            return TheirBlock.decode(decode(self.get_bytes(block_id)).data)

    def delete(self, digest: TheirDigest) -> None:
        """Writer.withdraw, and prune of every snapshot that the block was a member of."""
        with self.store.write(ACTOR, NOW) as writer:
            writer.withdraw(writer.ordinals([Digest(digest.raw)]).values())
        prune(self.store, Keep(snapshots=1), actor=ACTOR, now=NOW)

    def has(self, digest: TheirDigest) -> bool:
        """StoredBlock.data, View.redactions; View.has_content."""
        with self.store.view() as view:
            block = stored(view, digest)
            if block is None:
                return view.has_content(Digest(digest.raw))
            return block.data is not None or bool(view.redactions([block.id]))

    def is_resolvable(self, digest: TheirDigest) -> bool:
        """StoredBlock.data for a block, View.has_content for an original."""
        with self.store.view() as view:
            block = stored(view, digest)
            return view.has_content(Digest(digest.raw)) if block is None else block.data is not None

    def iter_digests(self) -> Iterator[OciDigest]:
        """View.scan."""
        with self.store.view() as view:
            yield from [OciDigest.from_raw(block.id) for block in view.scan()]


class ReaderAdapter:
    """BrainReader over a Brain, but for what we have no counterpart of."""

    def __init__(self, brain: Brain) -> None:
        self.brain = brain

    def snapshot(self) -> TheirSnapshot:
        """View.snapshot: the stored document, read by them."""
        with self.brain.store.view() as view:
            assert view.snapshot is not None
            return TheirSnapshot.from_document(view.snapshot.document)

    def root_of(self, memory_type: TheirType) -> MerkleRoot:
        """View.modules."""
        with self.brain.store.view() as view:
            for module in view.modules():
                if module.memory_type == memory_type.value:
                    return MerkleRoot.from_raw(module.root)
        raise theirs.SnapshotError(f"{memory_type} is not installed")

    def module(self, memory_type: TheirType) -> Module:
        """View.sorted_ids and composition_document, from which they compute the root; reads go to StoreAdapter."""
        with self.brain.store.view() as view:
            ours = MemoryType(memory_type.value)
            document = composition_document(ours, view.sorted_ids(ours))
            gone = next((m.tombstones for m in view.modules() if m.memory_type is ours), frozenset())
        return Module(
            memory_type,
            StoreAdapter(self.brain.store),  # type: ignore[arg-type]
            Composition.from_document(document),
            tombstones=[BlockId.from_raw(raw) for raw in gone],
        )

    def resolve(self, block_id: BlockId) -> TheirBlock:
        """View.members, and bytes as above."""
        with self.brain.store.view() as view, in_their_terms():
            block = stored(view, block_id)
            if block is None or not view.members([block.n]):
                raise BlockNotFoundError(f"{block_id} is not a member")
            return TheirBlock.decode(decode(bytes_of(view, block)).data)

    def prove(self, block_id: BlockId, memory_type: TheirType) -> InclusionProof:
        """View.prove; our proof document, read by them."""
        with self.brain.store.view() as view, in_their_terms():
            proof, _ = view.prove(Digest(block_id.raw))
            return InclusionProof.model_validate_json(proof.document())

    def verify(self) -> bool:
        """Brain.verify."""
        return self.brain.verify().ok

    def resolvability(self) -> ResolvabilityReport:
        """inspect_block (resolvable, intact), ModuleState.tombstones, content_refs, View.has_content."""
        found: Any = defaultdict(lambda: defaultdict(list))
        with self.brain.store.view() as view:
            for module in view.modules():
                kind = TheirType(module.memory_type.value)
                for raw in view.sorted_ids(module.memory_type):
                    block_id = BlockId.from_raw(raw)
                    report = inspect_block(view, self.brain.name, str(block_id))
                    if not report.intact:
                        gone = not report.resolvable and raw in module.tombstones
                        found["tombstoned" if gone else "missing"][kind].append(block_id)
                        continue
                    found["resolvable"][kind].append(block_id)
                    for ref in content_refs(decode(bytes_of(view, stored(view, block_id))).payload):  # type: ignore[arg-type]
                        here = view.has_content(parse_digest(ref.blob))
                        found["content_resolvable" if here else "content_missing"][kind].append(
                            OciDigest.parse(ref.blob)
                        )
        return ResolvabilityReport(**found)

    def search(self, query: TheirQuery) -> EvidenceBundle:
        """Brain.search; `verified` says that the bytes handed out hash to the id and that its root is named."""
        modules = tuple(MemoryType(m.value) for m in query.filters.memory_types or ())
        bundle = self.brain.search(
            Query(text=query.text, filters=Filters(modules=modules), limit=query.limit)
        )
        return EvidenceBundle(
            matches=[self._match(match) for match in bundle.matches],
            verified_against={
                TheirType(m.module.value): MerkleRoot.parse(m.root) for m in bundle.verified_against
            },
            truncated=bundle.truncated,
        )

    def _match(self, match: Match) -> TheirMatch:
        block = self.resolve(BlockId.parse(match.block_id))
        content = {} if match.content is None else json.loads(bytes(match.content))
        return TheirMatch(
            block_id=BlockId.parse(match.block_id),
            memory_type=TheirType(match.memory_type.value),
            content=content,
            score=f"{match.score:.2f}",
            sources=[SourceRef(block_id=BlockId.parse(s.block_id), locator=s.locator) for s in match.sources],
            verified=block.payload() == content and match.root == str(self.root_of(block.MEMORY_TYPE)),
            resolvable=match.resolvable,
            superseded_by=None if match.superseded_by is None else BlockId.parse(match.superseded_by),
        )


def seeded(folder: Path, text: str) -> Brain:
    """A brain that took in one Markdown file, by Brain.ingest, without a model."""
    from consilience.embed import EmbedderSpec

    source = folder / "notes.md"
    source.write_text(text)
    brain = Brain.create(folder / "brain", name="notes", embedder=EmbedderSpec(provider="none"))
    brain.ingest([source], actor=ACTOR, clock=lambda: NOW, root=folder)
    return brain
