"""Citations against brains: does the block stand under the root, is it what the brain says now, and does the
quotation beside it stand in it.

Each brain is opened once and held at one snapshot for the whole check. Nothing is taken from the database's
word: the members under a root are hashed up to that root once, and every block's bytes to its id.
"""

from __future__ import annotations

import contextlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack
from types import TracebackType
from typing import NamedTuple, Self

import msgspec

from consilience.citations.finding import find
from consilience.citations.model import CheckReport, EvidenceReport, Finding, Found, Older, Status
from consilience.citations.quotations import normal, stands_in
from consilience.errors import BrainNotFoundError, ConsilienceError, UsageError
from consilience.ingest import decoding
from consilience.protocol import (
    Digest,
    MemoryType,
    canonical,
    content_refs,
    decode,
    format_digest,
    merkle,
    parse_digest,
    payload_json,
)
from consilience.protocol import snapshot as snapshots
from consilience.protocol.citation import Citation
from consilience.store import Hidden, SnapshotInfo, StoredBlock, View
from consilience.store.history import Moment
from consilience.store.pruned import pruned_root
from consilience.store.view import module_states

__all__ = ["Checker", "OpenView"]

OpenView = Callable[[str], AbstractContextManager[View]]
"""A brain's name to a view of it. Raises UsageError for a name that is not known, BrainNotFoundError for a brain
that is not here, any other ConsilienceError for one that cannot be read."""

TOGETHER = 2_000
"""Blocks that are read together."""


class Checker:
    """Checks the citations of texts. A context manager: it lets go of the brains at its end.

    `names` are the brains in which a root is looked for that belongs to a brain of a name unknown here. `proofs` are
    proof files, checked: where the brain itself cannot tell, a citation that one of them proves holds.
    """

    def __init__(
        self, open_view: OpenView, *, names: Sequence[str] = (), proofs: Iterable[EvidenceReport] = ()
    ) -> None:
        self._names = tuple(names)
        self._proven = {
            (block.memory_type, block.block_id, block.root): (proof.name, block)
            for proof in proofs
            for block in proof.blocks
        }
        self._open_view = open_view
        self._opened = ExitStack()
        self._brains: dict[str, _Brain | tuple[Status, str]] = {}
        self._holders: dict[tuple[MemoryType, Digest], str | None] = {}

    def check(self, text: str, *, name: str = "") -> CheckReport:
        """Every citation of a text, and everything that begins like one. Nothing that is found raises."""
        return self.judge(find(text), name=name)

    def judge(self, found: Sequence[Found], *, name: str = "") -> CheckReport:
        """The same for what was found already."""
        by_brain: dict[str, list[Citation]] = defaultdict(list)
        for each in found:
            if each.citation is not None:
                by_brain[each.citation.brain].append(each.citation)
        for brain, citations in by_brain.items():
            self._prepare(brain, citations)
        return CheckReport(name=name, findings=tuple(self._finding(each) for each in found))

    def proves(self, citation: Citation) -> bool:
        """Whether one of the proof files proves a citation."""
        return _claim(citation) in self._proven

    def snapshots(self) -> dict[str, str]:
        """The snapshot at which each brain that could be read was asked."""
        return {
            name: format_digest(brain.view.snapshot.digest)
            for name, brain in self._brains.items()
            if isinstance(brain, _Brain) and brain.view.snapshot is not None
        }

    def _prepare(self, name: str, citations: Sequence[Citation]) -> None:
        if name not in self._brains:
            self._brains[name] = self._open(name)
        brain = self._brains[name]
        if isinstance(brain, _Brain):
            try:
                brain.read({citation.block_id for citation in citations})
            except ConsilienceError as error:
                self._brains[name] = (Status.UNREADABLE, f"brain {name!r} cannot be read: {error.message}")

    def _open(self, name: str) -> _Brain | tuple[Status, str]:
        try:
            return _Brain(name, self._opened.enter_context(self._open_view(name)))
        except UsageError:
            return Status.UNKNOWN_BRAIN, f"there is no brain called {name!r} here"
        except BrainNotFoundError:
            return Status.ABSENT_BRAIN, f"brain {name!r} is not on this machine"
        except ConsilienceError as error:
            return Status.UNREADABLE, f"brain {name!r} cannot be read: {error.message}"

    def _finding(self, found: Found) -> Finding:
        if found.citation is None:
            return Finding(found=found, status=Status.MALFORMED, reason=f"not a citation: {found.fault}")
        finding = self._by_brain(found, found.citation)
        if finding.status.holds or not self.proves(found.citation):
            return finding
        name, block = self._proven[_claim(found.citation)]
        stands = None
        if found.quotation is not None and block.content is not None:
            texts = [normal(text) for text in canonical.strings_in(msgspec.json.decode(block.content))]
            stands = stands_in(found.quotation, texts)
        return Finding(
            found=found,
            status=Status.PROVEN,
            reason=f"holds, by the proof in {name}; what the brain says now is not known here",
            quotation_stands=stands,
        )

    def _by_brain(self, found: Found, citation: Citation) -> Finding:
        brain = self._brains[citation.brain]
        if not isinstance(brain, _Brain):
            status, reason = brain
            if status is Status.UNKNOWN_BRAIN and (namesake := self._holder(citation)):
                reason += f"; its root is that of {namesake!r}"
            return Finding(found=found, status=status, reason=reason)
        try:
            return brain.finding(found, citation)
        except ConsilienceError as error:
            reason = f"brain {citation.brain!r} cannot be read: {error.message}"
            return Finding(found=found, status=Status.UNREADABLE, reason=reason)

    def _holder(self, citation: Citation) -> str | None:
        """A brain here of another name that has or had the root of a citation."""
        key = (citation.module, citation.root)
        if key not in self._holders:
            self._holders[key] = None
            for name in self._names:
                self._prepare(name, ())
                brain = self._brains[name]
                with contextlib.suppress(ConsilienceError):
                    if isinstance(brain, _Brain) and brain.had(*key):
                        self._holders[key] = name
                        break
        return self._holders[key]

    def close(self) -> None:
        self._opened.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _claim(citation: Citation) -> tuple[MemoryType, str, str]:
    return citation.module, format_digest(citation.block_id), format_digest(citation.root)


class _Under(NamedTuple):
    """The members under a root, or why they are not known. `older`: it is not the root of the head."""

    members: frozenset[bytes]
    older: Older | None = None
    status: Status = Status.CURRENT
    reason: str = ""


class _Brain:
    """One brain at one snapshot, and what was read of it."""

    def __init__(self, name: str, view: View) -> None:
        self.name = name
        self.view = view
        self._heads = {module.memory_type: module.root for module in view.modules()}
        self._under: dict[tuple[MemoryType, Digest], _Under] = {}
        self._past: dict[tuple[MemoryType, Digest], SnapshotInfo] | None = None
        self._ordinals: dict[Digest, int] = {}
        self._members: set[int] = set()
        self._hidden: dict[int, Hidden] = {}
        self._blocks: dict[int, StoredBlock] = {}
        self._texts: dict[int, tuple[str, ...]] = {}

    def read(self, ids: Iterable[Digest]) -> None:
        """Read what is to be known of blocks, many together."""
        new = sorted(set(ids) - self._ordinals.keys())
        for at in range(0, len(new), TOGETHER):
            ordinals = self.view.ordinals(new[at : at + TOGETHER])
            members = self.view.members(ordinals.values())
            self._ordinals |= ordinals
            self._members |= members
            self._hidden |= self.view.hidden(members)
            self._blocks |= {block.n: block for block in self.view.blocks(list(ordinals.values()))}

    def finding(self, found: Found, citation: Citation) -> Finding:
        """What becomes of one citation."""
        under = self._members_under(citation.module, citation.root)
        n = self._ordinals.get(citation.block_id)
        if under.status is not Status.CURRENT or citation.block_id not in under.members:
            status, reason = self._without(under, citation, n)
            return Finding(found=found, status=status, reason=reason, older=under.older)
        block = self._blocks.get(n) if n is not None else None
        if n is None or block is None or (block.data is not None and not block.intact):
            reason = "the stored bytes do not hash to the block's id: run `verify` on this brain"
            return Finding(found=found, status=Status.DAMAGED, reason=reason, older=under.older)
        status, reason, successor = self._standing(n, block, under.older)
        stands = None
        if found.quotation is not None and block.data is not None:
            stands = stands_in(found.quotation, self._texts_of(block))
        return Finding(
            found=found,
            status=status,
            reason=reason,
            superseded_by=successor,
            older=under.older,
            quotation_stands=stands,
        )

    def _standing(self, n: int, block: StoredBlock, older: Older | None) -> tuple[Status, str, str | None]:
        """How a block stands that is a member under the root of its citation."""
        hidden = self._hidden.get(n)
        if n not in self._members:
            then = f"at snapshot {older.seq} of {older.created_at}" if older else "before"
            return Status.PAST, f"was a member {then}, and is none now", None
        successor = hidden.superseded_by if hidden is not None else None
        name = format_digest(successor) if successor is not None else None
        short = name[7:19] if name is not None else ""
        if block.data is None:
            return Status.REDACTED, "holds, but its bytes are gone", name
        if name is not None:
            return Status.SUPERSEDED, f"holds, but superseded by {short}", name
        if hidden is not None:
            return Status.DEMOTED, "holds, but demoted", None
        return Status.CURRENT, "holds", None

    def _without(self, under: _Under, citation: Citation, n: int | None) -> tuple[Status, str]:
        """Why a block that is not known to be a member under the root is none."""
        now = "a member now" if n in self._members else "not a member now"
        if under.status is not Status.CURRENT:
            known = "no such block is here" if n is None else f"the block is {now}"
            return under.status, f"{under.reason}; {known}"
        if n is None:
            return Status.NOT_A_MEMBER, f"brain {self.name!r} has no such block"
        module = self._blocks[n].memory_type
        if module is not citation.module:
            return Status.NOT_UNDER_ROOT, f"the block is {module}, not {citation.module}"
        return Status.NOT_UNDER_ROOT, f"the block is not a member under that root; it is {now}"

    # --- roots ----------------------------------------------------------------------------------------------

    def had(self, module: MemoryType, root: Digest) -> bool:
        """Whether this is or was the root of a module here."""
        return self._heads.get(module) == root or (module, root) in self._snapshots_of_roots()

    def _members_under(self, module: MemoryType, root: Digest) -> _Under:
        key = (module, root)
        if key not in self._under:
            self._under[key] = self._read_under(module, root)
        return self._under[key]

    def _read_under(self, module: MemoryType, root: Digest) -> _Under:
        older = None
        if self._heads.get(module) == root:
            ids = self.view.sorted_ids(module)
        else:
            info = self._snapshots_of_roots().get((module, root))
            if info is None:
                return self._no_root(module, root)
            ids = Moment(self.view, info.digest).sorted_ids(module)
            older = Older(
                snapshot=format_digest(info.digest),
                seq=info.seq,
                created_at=info.created_at,
                later=self.view.snapshot.seq - info.seq if self.view.snapshot is not None else 0,
            )
        if merkle.root(ids) != root:
            reason = (
                f"the {module} blocks that are stored do not make up this root: run `verify` on this brain"
            )
            return _Under(frozenset(), older, Status.DAMAGED, reason)
        return _Under(frozenset(ids), older)

    def _no_root(self, module: MemoryType, root: Digest) -> _Under:
        pruned = pruned_root(self.view.connection, module, root)
        if pruned is not None:
            reason = f"the root is that of snapshot {pruned.seq} of {pruned.at}, which was pruned"
            return _Under(frozenset(), None, Status.ROOT_NOT_RETAINED, reason)
        return _Under(
            frozenset(), None, Status.UNKNOWN_ROOT, f"no snapshot of {self.name!r} has this {module} root"
        )

    def _snapshots_of_roots(self) -> dict[tuple[MemoryType, Digest], SnapshotInfo]:
        """For each root that a module ever had here, the last snapshot with it."""
        if self._past is None:
            self._past = {}
            for info in self.view.history():
                for state in module_states(snapshots.parse(info.document)):
                    self._past.setdefault((state.memory_type, state.root), info)
        return self._past

    # --- texts ----------------------------------------------------------------------------------------------

    def _texts_of(self, block: StoredBlock) -> tuple[str, ...]:
        if block.n not in self._texts:
            self._texts[block.n] = tuple(normal(text) for text in self._read_texts(block))
        return self._texts[block.n]

    def _read_texts(self, block: StoredBlock) -> Iterator[str]:
        """Every string of a block's payload, and the text of the bytes that it names."""
        assert block.data is not None
        yield from canonical.strings_in(msgspec.json.decode(payload_json(block.data)))
        for ref in content_refs(decode(block.data).payload):
            if self.view.has_content(parse_digest(ref.blob)):
                found = decoding.decode(self.view.content(parse_digest(ref.blob)))
                if isinstance(found, decoding.Decoded):
                    yield found.text
