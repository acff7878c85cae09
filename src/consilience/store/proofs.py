"""Proofs of membership at one snapshot, each checked against the root that the snapshot names (RFC 9162, 2.1.3).

The kept trees (store/leaves.py) are believed in nothing: where what one says does not lead to the root, the tree is
computed from the members in the database, once for each root and connection (docs/decisions/0151).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from consilience.errors import ValidationError
from consilience.protocol import Digest, MemoryType, Proof, verify_inclusion
from consilience.store.leaves import Leaves, Tree, tree_file
from consilience.store.values import ModuleState

if TYPE_CHECKING:
    from consilience.store.connection import Connection
    from consilience.store.reads import BlockReads

__all__ = ["FOLDER", "Trees", "keep_trees", "prove", "proven"]

FOLDER = Path("derived") / "merkle"

HELD = 8
"""Roots whose trees one connection remembers."""


class Trees:
    """The trees that one connection has used, by root."""

    def __init__(self) -> None:
        self._kept: dict[bytes, Tree | None] = {}
        self._computed: dict[bytes, Tree | None] = {}

    def of(self, reads: BlockReads, state: ModuleState) -> Iterator[Tree]:
        """Trees that may lead to this root: the one that was kept, then the one of the members in the database."""
        root = state.root
        if root not in self._kept:
            _make_room(self._kept)
            self._kept[root] = Tree.open(
                reads.connection.path.parent / FOLDER, state.memory_type, root, state.count
            )
        kept = self._kept[root]
        if kept is not None:
            yield kept
        if root not in self._computed:
            _make_room(self._computed)
            self._computed[root] = _computed(reads.sorted_ids(state.memory_type), state)
        computed = self._computed[root]
        if computed is not None:
            self._kept[root] = computed
            yield computed


def _make_room(held: dict[bytes, Tree | None]) -> None:
    while len(held) >= HELD:
        del held[next(iter(held))]


def _computed(ids: Sequence[bytes], state: ModuleState) -> Tree | None:
    """The tree of these ids, None where it is not that of the root."""
    try:
        leaves = Leaves.of(state.memory_type, ids)
    except (ValidationError, TypeError):
        return None
    return leaves.tree() if leaves.reference().root == state.root else None


def keep_trees(reads: BlockReads, path: Path) -> int:
    """Write the trees of the searched modules at this snapshot that are not kept; how many."""
    folder, written = path / FOLDER, 0
    for state in reads.modules():
        module = state.memory_type
        if module is MemoryType.PROVENANCE or tree_file(folder, module, state.root).exists():
            continue
        try:
            leaves = Leaves.of(module, reads.sorted_ids(module))
        except (ValidationError, TypeError):
            continue
        if leaves.reference().root == state.root:
            leaves.save(folder, state.root)
            written += 1
    return written


def proven(
    reads: BlockReads, connection: Connection, memory_type: MemoryType, block_ids: Collection[Digest]
) -> set[Digest]:
    """Those of the ids that are proven members of a module under the root that the snapshot names."""
    state = next((m for m in reads.modules() if m.memory_type is memory_type), None)
    found: set[Digest] = set()
    if state is not None:
        for tree in connection.trees.of(reads, state):
            found.update(each for each in block_ids if each not in found and tree.leads_to(state.root, each))
            if len(found) == len(block_ids):
                break
    return found


def prove(
    reads: BlockReads, connection: Connection, memory_type: MemoryType, block_id: Digest
) -> Proof | None:
    """The proof that a block is a member of a module under the root that the snapshot names; None where there is
    none."""
    state = next((m for m in reads.modules() if m.memory_type is memory_type), None)
    if state is None:
        return None
    for tree in connection.trees.of(reads, state):
        proof = tree.proof(block_id)
        if proof is not None and verify_inclusion(proof, state.root):
            return proof
    return None
