"""The packed form of a brain: module layers, the history layer, and the manifest over them (WIRE 9)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import msgspec

from consilience.oci import names
from consilience.oci.documents import Descriptor, Manifest, manifest_document, schema_versions
from consilience.oci.layers import LEVEL, LayerWriter, allowed_expansion
from consilience.oci.tree import Tree
from consilience.protocol import (
    Digest,
    MemoryType,
    ModuleRef,
    Snapshot,
    format_digest,
)
from consilience.protocol.merkle import LAYOUT

__all__ = ["Entries", "Packed", "TooLargeError", "pack"]

Entries = Callable[[], Iterator[tuple[str, bytes]]]


class TooLargeError(Exception):
    """A layer that no reader would unpack. Inside this package only."""


class Packed(msgspec.Struct, frozen=True, kw_only=True):
    """What the layers of one snapshot are made of: per module the entries of its layer, in order."""

    snapshot: Snapshot
    digest: Digest
    modules: Mapping[MemoryType, Entries]
    versions: Mapping[MemoryType, Iterable[int]]
    vectors: Mapping[MemoryType, int]
    documents: Sequence[Digest]
    compositions: Sequence[Digest]


def pack(tree: Tree, packed: Packed, read: Callable[[Digest], bytes]) -> tuple[Digest, int, int]:
    """Write all layers and the manifest: its digest, its size, and the size of the layers.

    Raises TooLargeError for a layer beyond what readers unpack, StorageError.
    """
    layers: list[Descriptor] = []
    for ref in packed.snapshot.modules:
        layers.append(_module(tree, ref, packed.modules[ref.memory_type]))
        if ref.memory_type in packed.vectors and ref.index_digest is not None:
            layers.append(_vectors(ref, ref.index_digest, packed.vectors[ref.memory_type]))
    layers.append(_history(tree, packed, read))
    config = Descriptor(media_type=names.SNAPSHOT, digest=packed.digest, size=tree.size_of(packed.digest))
    annotations = {
        names.PROTOCOL: "1" if packed.snapshot.trust_root is None else "2",
        names.SCHEMAS: schema_versions(packed.versions),
        names.SOURCE: format_digest(packed.digest),
    }
    if packed.snapshot.trust_root is not None:
        annotations[names.TRUST_ROOT] = format_digest(packed.snapshot.trust_root.digest)
    manifest = manifest_document(Manifest(config=config, layers=tuple(layers), annotations=annotations))
    return tree.blob(manifest), len(manifest), sum(layer.size for layer in layers)


def _module(tree: Tree, ref: ModuleRef, entries: Entries) -> Descriptor:
    annotations = {
        names.MEMORY_TYPE: ref.memory_type.value,
        names.ROOT: format_digest(ref.root),
        names.ROOT_LAYOUT: LAYOUT,
        names.BLOCK_COUNT: str(ref.block_count),
    }
    if ref.embedding_model is not None:
        annotations[names.MODEL] = ref.embedding_model
    digest, size = _layer(tree, entries, f"the layer of {ref.memory_type.value}")
    return Descriptor(
        media_type=names.MODULE[ref.memory_type], digest=digest, size=size, annotations=annotations
    )


def _vectors(ref: ModuleRef, digest: Digest, size: int) -> Descriptor:
    return Descriptor(
        media_type=names.VECTORS,
        digest=digest,
        size=size,
        annotations={
            names.MEMORY_TYPE: ref.memory_type.value,
            names.INDEX_KIND: "vector",
            names.MODEL: ref.embedding_model or "",
        },
    )


def _history(tree: Tree, packed: Packed, read: Callable[[Digest], bytes]) -> Descriptor:
    def entries() -> Iterator[tuple[str, bytes]]:
        for prefix, listed in (
            (names.SNAPSHOT_ENTRY, packed.documents),
            (names.COMPOSITIONS_ENTRY, packed.compositions),
        ):
            for digest in sorted(listed):
                yield prefix + digest.hex(), read(digest)

    digest, size = _layer(tree, entries, "the history layer")
    annotations = {names.SNAPSHOT_COUNT: str(len(packed.documents))}
    return Descriptor(media_type=names.HISTORY, digest=digest, size=size, annotations=annotations)


def _layer(tree: Tree, entries: Entries, what: str) -> tuple[Digest, int]:
    """A layer at the ordinary level; stored as it is where it would shrink by more than readers allow."""
    for level in (LEVEL, 0):
        expanded = 0

        def fill(write: Callable[[bytes], None], level: int = level) -> None:
            nonlocal expanded
            layer = LayerWriter(write, level=level)
            for name, data in entries():
                layer.add(name, data)
                if layer.expanded > names.EXPANSION_CAP:
                    raise TooLargeError(f"{what} has more than {names.EXPANSION_CAP >> 30} GiB")
            layer.finish()
            expanded = layer.expanded

        digest, size = tree.stream(fill)
        if expanded <= allowed_expansion(size) or level == 0:
            break
        tree.forget(digest)
    return digest, size
