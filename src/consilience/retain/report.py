"""What a plan and what carrying it out say."""

from __future__ import annotations

from consilience.model import Value
from consilience.protocol import MemoryType


class Leaving(Value, frozen=True, kw_only=True):
    """A block that goes. `why`: named, derived (from nothing but what goes), original (it holds the bytes of one that
    goes), same_bytes (an original registered twice), same_text, or names_it (a derivation record whose place repeats
    the text). `cause` is the block that it goes with, None for one that was named."""

    block_id: str
    memory_type: MemoryType
    why: str
    cause: str | None = None
    title: str = ""


class Staying(Value, frozen=True, kw_only=True):
    """A block that stays though something it came from goes. `sources`: what else it came from."""

    block_id: str
    memory_type: MemoryType
    sources: tuple[str, ...] = ()


class Plan(Value, frozen=True, kw_only=True):
    """What a drop or a redaction would do. `name` is what it is carried out by.

    `unsourced` stay without a source: episodic memory is never dropped. `elsewhere` hold the words of what is redacted
    as a part of theirs, and stay (`elsewhere_count` in all; `elsewhere_searched` is false where there were too many
    texts to look for). `lacking` are the settings that would have to be true.
    """

    brain: str
    what: str
    name: str
    snapshot: str | None
    goes: tuple[Leaving, ...]
    stays: tuple[Staying, ...] = ()
    unsourced: tuple[Staying, ...] = ()
    elsewhere: tuple[str, ...] = ()
    elsewhere_count: int = 0
    elsewhere_searched: bool = True
    already: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    lacking: tuple[str, ...] = ()


class Changed(Value, frozen=True, kw_only=True):
    """One block that was written about, and by which record."""

    block_id: str
    memory_type: MemoryType
    detail: str = ""


class Retained(Value, frozen=True, kw_only=True):
    """What a command of `retain` did. `what`: dropped, redacted, superseded, demoted, restored or readmitted.

    `records` are the provenance records that say so, `roots` those of the modules after it. `erased` is false while
    bytes are still in some file; `remains` says where and how to finish. Always true where nothing is erased.
    """

    brain: str
    what: str
    actor: str
    at: str
    changed: tuple[Changed, ...]
    records: tuple[str, ...]
    snapshot: str | None
    roots: dict[str, str]
    plan: Plan | None = None
    erased: bool = True
    remains: str | None = None
    notes: tuple[str, ...] = ()
    elapsed_ms: float = 0.0
