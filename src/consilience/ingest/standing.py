"""What a brain already holds of a file: whether it is taken, by which reader, and whether it may be."""

from __future__ import annotations

from consilience.ingest.prepared import BATCH_PASSAGES, Prepared, file_block
from consilience.ingest.readers import reader_id
from consilience.protocol import (
    Block,
    Derivation,
    Digest,
    Normalization,
    Producer,
    ProducerKind,
    Provenance,
    Record,
    decode,
    format_digest,
)
from consilience.store import Registered, StoredBlock, View
from consilience.store.redaction import Redaction, RedactionReads

__all__ = ["is_current", "is_file", "is_from_reader", "refused", "refused_blocks"]


def is_current(view: View, origin: str, digest: Digest, media_type: str) -> bool:
    """Whether an origin holds these bytes, wholly taken by the reader of today and undamaged."""
    registered = view.registered(origin)
    return (
        registered is not None
        and registered.blob == digest
        and view.holds_content(digest)
        and _read_by(view, registered, media_type)
        and _are_intact(view, registered)
    )


def refused(reads: RedactionReads, prepared: Prepared) -> str | None:
    """Why a file is not taken: it is, or holds, what was redacted and not readmitted since."""
    file = file_block(prepared)
    originals = [file.id, *reads.redacted_content(prepared.digest)]
    found = reads.redactions(originals)
    for _, blocks in prepared.parts():
        found.update(reads.redactions([block.id for block in blocks]))
    return _said(list(found.values()), originals)


def refused_blocks(reads: RedactionReads, prepared: Prepared, blocks: list[Block]) -> str | None:
    """As `refused`, of these blocks of the file."""
    originals = [file_block(prepared).id, *reads.redacted_content(prepared.digest)]
    found = reads.redactions([*originals, *(block.id for block in blocks)])
    return _said(list(found.values()), originals)


def _said(found: list[Redaction], originals: list[Digest]) -> str | None:
    standing = [each for each in found if not each.readmitted]
    exact = next((each for each in standing if each.block_id in originals), None)
    if exact is None and not standing:
        return None
    said = f"it is {exact}" if exact is not None else f"it holds {standing[0]}"
    more = f", and {len(standing) - 1:,} more" if exact is None and len(standing) > 1 else ""
    named = format_digest((exact or standing[0]).block_id)[7:19]
    return f"{said}{more}; `csl retain readmit {named}` lets it in again"


def is_from_reader(reads: RedactionReads, n: int) -> bool:
    """Whether ingest made a block. What was derived from a file otherwise (a proposal) is not replaced with it."""
    records = (_record(block) for block in reads.derivations_of(n))
    producers = (record.producer for record in records if isinstance(record, Derivation))
    return any(isinstance(each, Producer) and each.kind is ProducerKind.PIPELINE for each in producers)


def is_file(reads: RedactionReads, registered: Registered) -> bool:
    """Whether what an origin holds was read from a file: a reader says so (docs/decisions/0212)."""
    return _last_reading(reads, registered) is not None


def _read_by(view: View, registered: Registered, media_type: str) -> bool:
    """Whether the reader that takes this kind of file today is the one that made the passages."""
    name, version = reader_id(media_type)
    latest = _last_reading(view, registered)
    return latest is not None and (latest.pipeline, latest.pipeline_version) == (
        f"consilience/{name}",
        version,
    )


def _last_reading(reads: RedactionReads, registered: Registered) -> Normalization | None:
    records = [_record(block) for block in reads.records_about(registered.n)]
    return next((each for each in reversed(records) if isinstance(each, Normalization)), None)


def _record(block: StoredBlock) -> Record | None:
    payload = decode(block.data).payload if block.data is not None else None
    return payload.record if isinstance(payload, Provenance) else None


def _are_intact(view: View, registered: Registered) -> bool:
    """Whether the passages that were made of a file are as they were written; redacted ones are."""
    ns = sorted(n for n in view.derived_of([registered.n]) if n > 0)
    parts = (view.blocks(ns[at : at + BATCH_PASSAGES]) for at in range(0, len(ns), BATCH_PASSAGES))
    return all(block.data is None or block.intact for part in parts for block in part)
