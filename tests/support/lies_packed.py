"""Lies in the artifact of a layout, each one change."""

from __future__ import annotations

import gzip
import tarfile
from pathlib import Path

from layouts import canonical, change_layer, change_manifest, get, index, layer, put, tar
from lies import Lies, mutation, write

PACKED: Lies = {}


# --- packed layers ------------------------------------------------------------------------------------------


@mutation(PACKED, r"the layer of semantic: the entry '../../evil' leads out of the layer")
def entry_that_climbs(root: Path) -> None:
    change_layer(root, "semantic", tar({**layer(root, "semantic"), "../../evil": b"x"}))


@mutation(PACKED, "the layer of semantic: the entry '/etc/passwd' leads out of the layer")
def absolute_entry(root: Path) -> None:
    change_layer(root, "semantic", tar({**layer(root, "semantic"), "/etc/passwd": b"x"}))


def special(root: Path, kind: bytes, target: str = "") -> None:
    info = tarfile.TarInfo("blobs/" + "ab" * 32)
    info.type, info.linkname = kind, target
    change_layer(root, "semantic", tar(layer(root, "semantic"), info))


@mutation(PACKED, r"the entry 'blobs/\w+' is a symbolic link, only files are allowed")
def symbolic_link_in_a_layer(root: Path) -> None:
    special(root, tarfile.SYMTYPE, "/etc/passwd")


@mutation(PACKED, r"the entry 'blobs/\w+' is a hard link, only files are allowed")
def hard_link_in_a_layer(root: Path) -> None:
    special(root, tarfile.LNKTYPE, "composition.json")


@mutation(PACKED, r"the entry 'blobs/\w+' is a character device, only files are allowed")
def device_in_a_layer(root: Path) -> None:
    special(root, tarfile.CHRTYPE)


@mutation(PACKED, r"the entry 'blobs/\w+/' is a folder, only files are allowed")
def folder_in_a_layer(root: Path) -> None:
    special(root, tarfile.DIRTYPE)


@mutation(PACKED, "the layer of semantic: unexpected entry 'notes.txt'")
def unexpected_entry(root: Path) -> None:
    change_layer(root, "semantic", tar({**layer(root, "semantic"), "notes.txt": b"hello"}))


@mutation(PACKED, r"the layer of semantic: the bytes of blobs/\w+ do not hash to that name")
def wrong_hash_in_a_layer(root: Path) -> None:
    entries = layer(root, "semantic")
    name = max(entries.keys() - {"composition.json"})
    change_layer(root, "semantic", tar({**entries, name: entries[name] + b" "}))


@mutation(PACKED, r"the layer of semantic: the entry blobs/\w+ stands twice")
def entry_twice(root: Path) -> None:
    entries = layer(root, "semantic")
    info = tarfile.TarInfo(max(entries.keys() - {"composition.json"}))
    change_layer(root, "semantic", tar(entries, info))


@mutation(PACKED, "block sha256:.* of semantic is not in the layout")
def block_missing_from_a_layer(root: Path) -> None:
    entries = layer(root, "semantic")
    del entries[min(entries.keys() - {"composition.json"})]
    change_layer(root, "semantic", tar(entries))


@mutation(PACKED, "the layer of semantic: there is no composition.json in it")
def layer_without_composition(root: Path) -> None:
    entries = layer(root, "semantic")
    del entries["composition.json"]
    change_layer(root, "semantic", tar(entries))


@mutation(PACKED, "the layer of semantic: the bytes of composition.json do not hash")
def layer_with_another_composition(root: Path) -> None:
    entries = layer(root, "semantic")
    change_layer(root, "semantic", tar({**entries, "composition.json": entries["composition.json"] + b"\n"}))


@mutation(PACKED, "the layer of semantic: .* bytes expand to more than 8,388,608")
def expansion_bomb(root: Path) -> None:
    bomb = b"\0" * (64 << 20)
    change_layer(root, "semantic", tar({**layer(root, "semantic"), "blobs/" + "ab" * 32: bomb}))


@mutation(PACKED, "the layer of semantic: .*in the middle")
def truncated_gzip(root: Path) -> None:
    data = tar(layer(root, "semantic"))
    change_layer(root, "semantic", data[: len(data) // 2])


@mutation(PACKED, "the layer of semantic: bytes after the end of the gzip stream")
def garbage_after_gzip(root: Path) -> None:
    change_layer(root, "semantic", tar(layer(root, "semantic")) + b"trailing")


@mutation(PACKED, "the layer of semantic: bytes after the end of the gzip stream")
def second_gzip_member(root: Path) -> None:
    change_layer(root, "semantic", tar(layer(root, "semantic")) + gzip.compress(b"more"))


@mutation(PACKED, "the layer of semantic: bytes after the end of the tar archive")
def garbage_after_tar(root: Path) -> None:
    raw = gzip.decompress(tar(layer(root, "semantic")))
    change_layer(root, "semantic", gzip.compress(raw + b"trailing"))


@mutation(PACKED, "the layer of semantic: the tar archive ends in the middle")
def truncated_tar(root: Path) -> None:
    raw = gzip.decompress(tar(layer(root, "semantic")))
    change_layer(root, "semantic", gzip.compress(raw[:1500]))


@mutation(PACKED, "the layer of semantic: not a sound gzip stream")
def layer_that_is_no_gzip(root: Path) -> None:
    change_layer(root, "semantic", b"PK\x03\x04 hello")


@mutation(PACKED, "the layer of semantic: not a tar archive")
def layer_that_is_no_tar(root: Path) -> None:
    change_layer(root, "semantic", gzip.compress(b"hello" * 1000))


@mutation(PACKED, r"the layer of semantic says \S+block-count '7', the snapshot '6'")
def lying_annotation(root: Path) -> None:
    data = tar(layer(root, "semantic"))
    change_layer(root, "semantic", data, {"ai.gaussia.boltzmann.block-count": "7"})


@mutation(PACKED, "the layer of semantic has .* bytes, its descriptor says 3")
def lying_size_of_a_layer(root: Path) -> None:
    change_manifest(root, lambda manifest: manifest["layers"][1].update(size=3))


@mutation(PACKED, "the layer of semantic, sha256:abab.*, is not in the layout")
def missing_layer(root: Path) -> None:
    change_manifest(root, lambda manifest: manifest["layers"][1].update(digest="sha256:" + "ab" * 32))


@mutation(PACKED, "no layer of the module semantic")
def unlisted_layer(root: Path) -> None:
    change_manifest(root, lambda manifest: manifest["layers"].pop(1))


@mutation(PACKED, "2 layers of the module semantic")
def layer_listed_twice(root: Path) -> None:
    change_manifest(root, lambda manifest: manifest["layers"].append(manifest["layers"][1]))


@mutation(PACKED, "a layer has the unknown media type 'application/x-evil'")
def unknown_layer(root: Path) -> None:
    layer_ = {"mediaType": "application/x-evil", "digest": put(root, b"x"), "size": 1}
    change_manifest(root, lambda manifest: manifest["layers"].append(layer_))


@mutation(PACKED, "unknown artifactType 'application/x-evil'")
def unknown_artifact(root: Path) -> None:
    change_manifest(root, lambda manifest: manifest.update(artifactType="application/x-evil"))


@mutation(PACKED, "config has the unknown media type 'application/x-evil'")
def unknown_config(root: Path) -> None:
    change_manifest(root, lambda manifest: manifest["config"].update(mediaType="application/x-evil"))


@mutation(PACKED, "wire version '3', this software reads 1 and 2")
def later_wire_version(root: Path) -> None:
    change_manifest(
        root, lambda manifest: manifest["annotations"].update({"ai.gaussia.boltzmann.protocol-version": "3"})
    )


@mutation(PACKED, r"semantic blocks of schema version 9, this software reads \(1, 2, 3\)")
def later_schema_version(root: Path) -> None:
    said = '{"semantic":[1,9]}'
    change_manifest(
        root, lambda manifest: manifest["annotations"].update({"ai.gaussia.boltzmann.schema-versions": said})
    )


@mutation(PACKED, "it publishes some modules of sha256:abab.* only")
def part_of_a_brain(root: Path) -> None:
    said = "sha256:" + "ab" * 32
    change_manifest(
        root, lambda manifest: manifest["annotations"].update({"ai.gaussia.boltzmann.source-snapshot": said})
    )


@mutation(PACKED, "the key 'layers' stands twice")
def duplicate_key_in_the_manifest(root: Path) -> None:
    change_manifest(
        root, lambda manifest: canonical(manifest).replace(b'"layers":', b'"layers":[],"layers":', 1)
    )


@mutation(PACKED, "the history layer holds 3 snapshots, its descriptor says 4")
def lying_snapshot_count(root: Path) -> None:
    data = tar(layer(root, "history"))
    change_layer(root, "history", data, {"ai.gaussia.boltzmann.snapshot-count": "4"})


@mutation(PACKED, r"the history layer: the bytes of snapshots/\w+ do not hash")
def wrong_hash_in_the_history(root: Path) -> None:
    entries = layer(root, "history")
    name = max(entries)
    change_layer(root, "history", tar({**entries, name: entries[name] + b" "}))


@mutation(PACKED, "index.json lists 2 artifacts: latest, other", 2)
def two_artifacts(root: Path) -> None:
    value = index(root)
    data = get(root, value["manifests"][0]["digest"]) + b"\n"
    other = {**value["manifests"][0], "digest": put(root, data), "size": len(data)}
    value["manifests"].append({**other, "annotations": {"org.opencontainers.image.ref.name": "other"}})
    write(root, "index.json", canonical(value))


@mutation(PACKED, "holds no brain", 4)
def no_artifact(root: Path) -> None:
    write(root, "index.json", canonical({**index(root), "manifests": []}))
