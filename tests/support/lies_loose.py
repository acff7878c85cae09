"""Lies in the loose blobs and pointers of a layout, each one change."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from layouts import blob_path, canonical, change_snapshot, get, head, index, put
from lies import Lies, composition, member, mutation, recompose, replace_member, snapshot, write

LOOSE: Lies = {}


# --- blobs --------------------------------------------------------------------------------------------------


@mutation(LOOSE, r"block sha256:\w+ of semantic: the bytes of blobs/sha256/\w+ do not hash to that name")
def wrong_block_hash(root: Path) -> None:
    path = blob_path(root, member(root))
    path.write_bytes(path.read_bytes().replace(b"fact", b"fuct"))


@mutation(LOOSE, "block sha256:.* of semantic: the bytes of .* do not hash")
def flipped_bit_in_a_block(root: Path) -> None:
    path = blob_path(root, member(root, at=2))
    data = bytearray(path.read_bytes())
    data[40] ^= 1
    path.write_bytes(bytes(data))


@mutation(LOOSE, "snapshot sha256:.* do not hash to that name")
def wrong_snapshot_hash(root: Path) -> None:
    path = blob_path(root, head(root)["snapshot"])
    path.write_bytes(path.read_bytes().replace(b"2026", b"2025"))


@mutation(LOOSE, "composition sha256:.* of semantic: the bytes of .* do not hash")
def wrong_composition_hash(root: Path) -> None:
    path = blob_path(root, snapshot(root)["modules"]["semantic"]["composition"])
    path.write_bytes(path.read_bytes()[:-1])


@mutation(
    LOOSE, "the original sha256:.*: the bytes of .* do not hash|has 4 bytes, the block that names it says"
)
def wrong_original_hash(root: Path) -> None:
    block = json.loads(get(root, member(root, "canonical")))
    blob_path(root, block["payload"]["blob"]).write_bytes(b"else")


@mutation(
    LOOSE, "the original sha256:.* has 22 bytes, the block that names it says 21|two blocks say different"
)
def lying_size_of_an_original(root: Path) -> None:
    old = json.loads(get(root, member(root, "canonical")))
    blob = get(root, old["payload"]["blob"])
    old["payload"]["size"] = len(blob) - 1
    replace_member(root, "canonical", canonical(old))


@mutation(LOOSE, "the original sha256:.*, which a block names, is not in the layout")
def missing_original(root: Path) -> None:
    block = json.loads(get(root, member(root, "canonical")))
    blob_path(root, block["payload"]["blob"]).unlink()


@mutation(LOOSE, "block sha256:.* of semantic is not in the layout")
def missing_block(root: Path) -> None:
    blob_path(root, member(root)).unlink()


@mutation(LOOSE, "snapshot sha256:.*: its document is not in the layout")
def missing_head(root: Path) -> None:
    blob_path(root, head(root)["snapshot"]).unlink()


@mutation(LOOSE, "snapshot sha256:.*: its composition sha256:.* of semantic is not in the layout")
def missing_composition(root: Path) -> None:
    blob_path(root, snapshot(root)["modules"]["semantic"]["composition"]).unlink()


@mutation(LOOSE, "head.json retains the snapshot sha256:.*, which is not in the layout")
def missing_retained_snapshot(root: Path) -> None:
    blob_path(root, head(root)["retained"][-1]).unlink()


@mutation(LOOSE, r"the blob sha256:\w+: the bytes of .* do not hash")
def wrong_hash_of_a_blob_that_nothing_names(root: Path) -> None:
    (root / "blobs" / "sha256" / ("ab" * 32)).write_bytes(b"whatever")


@mutation(LOOSE, "a manifest: the bytes of .* do not hash")
def wrong_manifest_hash(root: Path) -> None:
    blob_path(root, index(root)["manifests"][0]["digest"]).write_bytes(b"{}")


@mutation(LOOSE, "blobs/sha256/README is not the name of a blob")
def file_with_another_name_among_the_blobs(root: Path) -> None:
    (root / "blobs" / "sha256" / "README").write_bytes(b"hello")


@mutation(LOOSE, "block sha256:.* is a symbolic link, which is not followed")
def symbolic_link_among_the_blobs(root: Path) -> None:
    path = blob_path(root, member(root))
    path.rename(root / "elsewhere")
    path.symlink_to(root / "elsewhere")


@mutation(LOOSE, "block sha256:.* is a folder, not a file")
def folder_among_the_blobs(root: Path) -> None:
    path = blob_path(root, member(root))
    path.unlink()
    path.mkdir()


@mutation(LOOSE, "block sha256:.* is a pipe, not a file")
def pipe_among_the_blobs(root: Path) -> None:
    path = blob_path(root, member(root))
    path.unlink()
    os.mkfifo(path)


@mutation(LOOSE, "blobs is a symbolic link, not a folder")
def blobs_elsewhere(root: Path) -> None:
    (root / "blobs").rename(root / "other")
    (root / "blobs").symlink_to(root / "other")


@mutation(LOOSE, "boltzmann is a symbolic link, not a folder")
def pointers_elsewhere(root: Path) -> None:
    (root / "boltzmann").rename(root / "other")
    (root / "boltzmann").symlink_to(root / "other")


@mutation(LOOSE, "head.json is a symbolic link, which is not followed")
def head_elsewhere(root: Path) -> None:
    (root / "boltzmann" / "head.json").rename(root / "head")
    (root / "boltzmann" / "head.json").symlink_to(root / "head")


@mutation(LOOSE, "blobs/sha256 is a file, not a folder")
def file_instead_of_the_blobs(root: Path) -> None:
    (root / "blobs" / "sha256").rename(root / "other")
    (root / "blobs" / "sha256").write_bytes(b"")


# --- what snapshots say -------------------------------------------------------------------------------------


@mutation(LOOSE, "module semantic: 6 members, it says 7")
def lying_block_count(root: Path) -> None:
    change_snapshot(root, lambda value: value["modules"]["semantic"].update(block_count=7))


@mutation(LOOSE, r"module semantic: its members lead to the root sha256:\w+, it says sha256:abab")
def lying_root(root: Path) -> None:
    change_snapshot(root, lambda value: value["modules"]["semantic"].update(root="sha256:" + "ab" * 32))


@mutation(LOOSE, "composition sha256:.* of semantic: .*ascending")
def unsorted_composition(root: Path) -> None:
    value = composition(root)
    recompose(root, canonical({**value, "block_ids": value["block_ids"][::-1]}))


@mutation(LOOSE, "composition sha256:.* of semantic: .*ascending")
def duplicate_in_a_composition(root: Path) -> None:
    value = composition(root)
    recompose(root, canonical({**value, "block_ids": sorted([*value["block_ids"], value["block_ids"][0]])}))


@mutation(LOOSE, "module semantic: its composition is one of episodic")
def composition_of_another_module(root: Path) -> None:
    recompose(root, canonical({**composition(root), "memory_type": "episodic"}))


@mutation(LOOSE, "composition sha256:.*: layout is 'rfc6962-sorted/2', this software reads")
def composition_of_a_later_layout(root: Path) -> None:
    recompose(root, canonical({**composition(root), "layout": "rfc6962-sorted/2"}))


@mutation(LOOSE, "composition sha256:.*not in canonical form")
def composition_with_a_space(root: Path) -> None:
    recompose(root, canonical(composition(root)).replace(b",", b", ", 1))


@mutation(LOOSE, "snapshot sha256:.*: the tombstone sha256:abab.* is not a member")
def tombstone_of_a_stranger(root: Path) -> None:
    change_snapshot(
        root, lambda value: value["modules"]["semantic"].update(tombstones=["sha256:" + "ab" * 32])
    )


@mutation(LOOSE, "its bytes were destroyed .forgotten. and no snapshot says so")
def tombstone_that_no_snapshot_names(root: Path) -> None:
    path = blob_path(root, member(root))
    (root / "boltzmann" / "tombstones.json").write_text(json.dumps({path.name: "forgotten"}))
    path.unlink()


@mutation(LOOSE, "snapshot sha256:.*: the module semantic is described as episodic")
def module_under_another_name(root: Path) -> None:
    change_snapshot(root, lambda value: value["modules"]["semantic"].update(memory_type="episodic"))


@mutation(LOOSE, "snapshot sha256:.*: the key 'boltzmann' stands twice|stands twice in one object")
def duplicate_key_in_a_snapshot(root: Path) -> None:
    change_snapshot(
        root, lambda value: canonical(value).replace(b'{"boltzmann":1,', b'{"boltzmann":1,"boltzmann":1,', 1)
    )


@mutation(LOOSE, "snapshot sha256:.*not in canonical form")
def snapshot_with_a_newline(root: Path) -> None:
    change_snapshot(root, lambda value: canonical(value) + b"\n")


@mutation(LOOSE, r"snapshot sha256:.*boltzmann")
def snapshot_of_a_later_protocol(root: Path) -> None:
    change_snapshot(root, lambda value: value.update(boltzmann=2))


@mutation(LOOSE, "snapshot sha256:.*rumour")
def snapshot_with_an_unknown_module(root: Path) -> None:
    change_snapshot(root, lambda value: value["modules"].update(rumour=value["modules"]["semantic"]))


@mutation(LOOSE, "snapshot sha256:.*`parents` has two or more entries and excludes `parent`")
def one_parent_in_a_list(root: Path) -> None:
    change_snapshot(root, lambda value: value.update(parents=[value.pop("parent")]))


@mutation(LOOSE, "block sha256:.* is in two modules")
def block_in_two_modules(root: Path) -> None:
    value = composition(root)
    digest = put(root, canonical({**value, "memory_type": "episodic"}))

    def change(snapshot: dict) -> None:
        same = {**snapshot["modules"]["semantic"], "memory_type": "episodic", "composition": digest}
        snapshot["modules"]["episodic"] = same

    change_snapshot(root, change)


# --- blocks -------------------------------------------------------------------------------------------------


@mutation(
    LOOSE,
    r"block sha256:\w+ of semantic: semantic v1 block: the payload is not in canonical|not in canonical",
)
def block_with_a_space(root: Path) -> None:
    replace_member(root, "semantic", get(root, member(root)).replace(b'"kind":', b'"kind": ', 1))


@mutation(LOOSE, "block sha256:.* of semantic: .*stands twice")
def block_with_a_key_twice(root: Path) -> None:
    replace_member(
        root, "semantic", get(root, member(root)).replace(b'{"kind":', b'{"kind":"fact","kind":', 1)
    )


@mutation(LOOSE, "block sha256:.* of semantic: block: semantic schema version 9, this software reads")
def block_of_a_later_schema(root: Path) -> None:
    replace_member(
        root, "semantic", get(root, member(root)).replace(b'"schema_version":1', b'"schema_version":9')
    )


@mutation(LOOSE, "block sha256:.* of semantic: it is a block of procedural|is a block of canonical")
def block_of_another_module(root: Path) -> None:
    data = get(root, member(root, "canonical")).replace(b'"size":', b'"size":1', 1)
    replace_member(root, "semantic", data)


@mutation(LOOSE, "block sha256:.* of semantic has 67,108,865 bytes, more than 67,108,864")
def block_beyond_bounds(root: Path) -> None:
    with blob_path(root, member(root)).open("r+b") as file:
        file.truncate((64 << 20) + 1)


# --- pointers and index -------------------------------------------------------------------------------------


@mutation(LOOSE, "head.json: the key 'snapshot' stands twice")
def duplicate_key_in_the_head(root: Path) -> None:
    data = (root / "boltzmann" / "head.json").read_bytes()
    write(root, "boltzmann/head.json", data.replace(b"{", b'{"snapshot":"sha256:00",', 1))


@mutation(LOOSE, "head.json: protocol version 2, this software reads 1")
def head_of_a_later_protocol(root: Path) -> None:
    write(root, "boltzmann/head.json", canonical({**head(root), "boltzmann": 2}))


@mutation(LOOSE, "head.json: unknown member 'quorum'")
def head_with_more(root: Path) -> None:
    write(root, "boltzmann/head.json", canonical({**head(root), "quorum": 2}))


@mutation(LOOSE, "head.json: snapshot: not a digest: '../../etc/passwd'")
def head_that_leads_out(root: Path) -> None:
    write(root, "boltzmann/head.json", canonical({**head(root), "snapshot": "../../etc/passwd"}))


@mutation(LOOSE, "head.json has 16,777,217 bytes, more than 16,777,216")
def head_beyond_bounds(root: Path) -> None:
    write(root, "boltzmann/head.json", b" " * ((16 << 20) + 1))


@mutation(LOOSE, "head.json: the JSON is nested too deeply|head.json: an object, not list")
def head_of_brackets(root: Path) -> None:
    write(root, "boltzmann/head.json", b"[" * 100_000 + b"]" * 100_000)


@mutation(LOOSE, "head.json: not UTF-8")
def head_of_noise(root: Path) -> None:
    write(root, "boltzmann/head.json", bytes(range(128, 256)))


@mutation(LOOSE, "oci-layout: image layout version '2.0.0', this software reads '1.0.0'")
def later_image_layout(root: Path) -> None:
    write(root, "oci-layout", b'{"imageLayoutVersion": "2.0.0"}')


@mutation(LOOSE, "tombstones.json: not a digest: 'sha256:../x'")
def tombstones_that_lead_out(root: Path) -> None:
    write(root, "boltzmann/tombstones.json", b'{"../x": "because"}')


@mutation(LOOSE, "signature record sha256:.*, named in boltzmann/signatures.json, is not in the layout")
def missing_signature(root: Path) -> None:
    entries = {head(root)["snapshot"]: ["sha256:" + "ab" * 32]}
    write(root, "boltzmann/signatures.json", canonical({"boltzmann": 1, "entries": entries}))


@mutation(LOOSE, "there is no oci-layout", 4)
def no_layout_file(root: Path) -> None:
    (root / "oci-layout").unlink()


@mutation(LOOSE, "index.json: schema version 3, this software reads 2")
def later_index(root: Path) -> None:
    write(root, "index.json", canonical({**index(root), "schemaVersion": 3}))


@mutation(LOOSE, "index.json: manifest 0: size is -1|index.json: manifest 0: size")
def index_with_a_negative_size(root: Path) -> None:
    value = index(root)
    value["manifests"][0]["size"] = -1
    write(root, "index.json", canonical(value))


@mutation(LOOSE, "cannot read .*Permission denied", 11)
def unreadable_block(root: Path) -> None:
    if os.geteuid() == 0:
        pytest.skip("root reads everything")
    blob_path(root, member(root)).chmod(0)
