"""The kept leaves of large modules: what they give is what computing afresh gives, or they are not used."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from stores import commit, derivation, fact, facts

from consilience.protocol import Digest, MemoryType, composition_document, merkle, sha256
from consilience.store import Store
from consilience.store import leaves as leaves_module
from consilience.store.leaves import Leaves, Tree, discard_trees, sound_tree, tree_file
from consilience.store.verify import verify

KIND = MemoryType.SEMANTIC


def ids(*numbers: int) -> list[bytes]:
    return sorted(hashlib.sha256(b"%d" % n).digest() for n in numbers)


numbers = st.sets(st.integers(0, 60), max_size=40)


@given(numbers.filter(bool), numbers, numbers)
def test_changed_leaves_are_those_computed_afresh(before: set[int], more: set[int], fewer: set[int]) -> None:
    joined, left = more - before, fewer & before
    changed = Leaves.of(KIND, ids(*before)).changed(ids(*joined), ids(*left))
    assert changed is not None
    after = ids(*((before | joined) - left))
    assert changed.reference() == Leaves.of(KIND, after).reference()
    assert changed.reference().root == merkle.root(after) and len(changed) == len(after)


@given(numbers.filter(bool), st.integers(0, 60))
def test_impossible_changes_are_refused(before: set[int], n: int) -> None:
    leaves = Leaves.of(KIND, ids(*before))
    assert (leaves.changed(ids(n), []) is None) is (n in before)
    assert (leaves.changed([], ids(n)) is None) is (n not in before)
    assert Leaves.of(KIND, []).changed([], ids(n)) is None


@given(numbers)
def test_a_reference_is_that_of_the_protocol(chosen: set[int]) -> None:
    found = Leaves.of(KIND, ids(*chosen)).reference()
    assert found.root == merkle.root(ids(*chosen)) and found.block_count == len(chosen)
    assert found.composition == sha256(composition_document(KIND, ids(*chosen)))


def test_saved_and_loaded(folder: Path) -> None:
    leaves = Leaves.of(KIND, ids(*range(100)))
    reference = leaves.reference()
    assert Leaves.load(folder, reference) is None
    leaves.save(folder, reference.root)
    loaded = Leaves.load(folder, reference)
    assert loaded is not None and loaded.reference() == reference
    for other in (
        Leaves.of(KIND, ids(*range(99))).reference(),
        Leaves.of(MemoryType.EPISODIC, ids(*range(100))).reference(),
    ):
        assert Leaves.load(folder, other) is None
    assert [p.name for p in folder.iterdir()] == [tree_file(folder, KIND, reference.root).name]


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 40, 63, 65, 200])
def test_the_proofs_of_a_kept_tree_are_those_of_the_protocol(folder: Path, count: int) -> None:
    members = ids(*range(count))
    leaves = Leaves.of(KIND, members)
    root = leaves.reference().root
    leaves.save(folder, root)
    mapped = Tree.open(folder, KIND, root, count)
    assert mapped is not None
    for tree in (mapped, leaves.tree()):
        for each in members:
            proof = tree.proof(Digest(each))
            assert proof == merkle.prove(members, each) and merkle.verify_inclusion(proof, root)
        assert tree.proof(Digest(ids(999)[0])) is None
    assert Tree.open(folder, KIND, root, count + 1) is None


@given(st.sets(st.integers(0, 40), min_size=1), st.integers(0, 10**6), st.integers(0, 255))
def test_what_leads_to_a_root_is_a_member_and_all_that_a_proof_proves(
    chosen: set[int], at: int, change: int
) -> None:
    """Also of a damaged tree, whichever id is asked first, and asked again when nodes are remembered."""
    members = ids(*chosen)
    leaves = Leaves.of(KIND, members)
    root = leaves.reference().root
    data = bytearray(b"".join(members) + (leaves._upper or b""))
    data[at % len(data)] ^= change
    tree = Tree(len(members), bytes(data), 0, len(members) * 32)
    fresh = Tree(len(members), bytes(data), 0, len(members) * 32)
    for each in 2 * ids(*range(41)):
        proof = fresh.proof(Digest(each))
        proven = proof is not None and merkle.verify_inclusion(proof, root)
        found = tree.leads_to(root, Digest(each))
        assert found or not proven  # what was seen to lead to the root may stand in for a damaged node
        assert each in members or not found
        assert found is (each in members) or change
        assert not tree.leads_to(merkle.EMPTY_ROOT, Digest(each))


def test_trees_of_other_roots_are_removed(folder: Path) -> None:
    roots = []
    for count in (1, 2, 3):
        leaves = Leaves.of(KIND, ids(*range(count)))
        roots.append(leaves.reference().root)
        leaves.save(folder, roots[-1])
    (folder / "semantic.bin").write_bytes(b"of an earlier version")
    (folder / "episodic-1.bin").write_bytes(b"another module's")
    discard_trees(folder, KIND, roots[1:])
    assert {p.name for p in folder.iterdir()} == {
        *(tree_file(folder, KIND, root).name for root in roots[1:]),
        "episodic-1.bin",
    }


def test_damaged_leaves_are_not_used(folder: Path) -> None:
    leaves = Leaves.of(KIND, ids(*range(40)))
    reference = leaves.reference()
    leaves.save(folder, reference.root)
    path = tree_file(folder, KIND, reference.root)
    data = path.read_bytes()
    for at in [*range(60), *range(60, len(data), 37)]:
        path.write_bytes(data[:at] + bytes([data[at] ^ 0x10]) + data[at + 1 :])
        assert Leaves.load(folder, reference) is None and not sound_tree(path), at
    for length in (0, 7, 51, 52, 53, len(data) - 1):
        path.write_bytes(data[:length])
        assert Leaves.load(folder, reference) is None
    path.write_bytes(data + b"x")
    assert Leaves.load(folder, reference) is None


def test_leaves_that_cannot_be_kept_are_no_error(folder: Path) -> None:
    (folder / "file").write_text("in the way")
    leaves = Leaves.of(KIND, ids(1))
    leaves.save(folder / "file", leaves.reference().root)


def kept_tree(store: Store, module: MemoryType) -> Path:
    with store.view() as view:
        root = next(m.root for m in view.modules() if m.memory_type is module)
    return tree_file(store.path / "derived" / "merkle", module, root)


@pytest.mark.parametrize("damage", ["none", "deleted", "garbage", "stale"])
def test_a_large_brain_commits_right_whatever_became_of_its_leaves(
    store: Store, damage: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leaves_module, "WORTH_KEEPING", 500)
    source, blocks = fact("source"), facts(0, 500)
    commit(store, [source, *blocks])
    kept = kept_tree(store, KIND)
    first = kept.read_bytes()
    commit(store, [*facts(90_000, 90_005), *(derivation(b, source) for b in blocks[:9])], withdraw=blocks[:3])
    assert kept_tree(store, KIND) != kept
    kept = kept_tree(store, KIND)
    if damage == "deleted":
        kept.unlink()
    elif damage == "garbage":
        kept.write_bytes(os.urandom(5_000))
    elif damage == "stale":
        kept.write_bytes(first)
    commit(store, [*facts(95_000, 95_002), blocks[1]], withdraw=[blocks[9], source])
    assert len(list(kept.parent.glob("semantic-*"))) <= 2
    report = verify(store.path, every_snapshot=True)
    assert report.ok and report.checked.modules == 5
