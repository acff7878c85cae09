"""The names that the format gives to files, media types and annotations (WIRE 8 and 9), and its bounds."""

from __future__ import annotations

from typing import Final

from consilience.protocol import MemoryType

LAYOUT_FILE: Final = "oci-layout"
LAYOUT_VERSION: Final = "1.0.0"
INDEX_FILE: Final = "index.json"
BLOBS: Final = "blobs/sha256"
SIDECAR: Final = "boltzmann"
HEAD: Final = "boltzmann/head.json"
TOMBSTONES: Final = "boltzmann/tombstones.json"
SIGNATURES: Final = "boltzmann/signatures.json"

IMAGE_INDEX: Final = "application/vnd.oci.image.index.v1+json"
IMAGE_MANIFEST: Final = "application/vnd.oci.image.manifest.v1+json"
BRAIN: Final = "application/vnd.gaussia.boltzmann.brain.v1+json"
SNAPSHOT: Final = "application/vnd.gaussia.boltzmann.snapshot.v1+json"
PROJECTION: Final = "application/vnd.gaussia.boltzmann.projection.v1+json"
SIGNATURE: Final = "application/vnd.gaussia.boltzmann.signature.v1+json"
HISTORY: Final = "application/vnd.gaussia.boltzmann.history.v1+tar+gzip"
VECTORS: Final = "application/vnd.gaussia.boltzmann.index.vector.v1+bin"
MODULE: Final = {
    memory_type: f"application/vnd.gaussia.boltzmann.module.{memory_type.value}.v1.tar+gzip"
    for memory_type in MemoryType
}

REF_NAME: Final = "org.opencontainers.image.ref.name"
_OWN: Final = "ai.gaussia.boltzmann."
PROTOCOL: Final = _OWN + "protocol-version"
SCHEMAS: Final = _OWN + "schema-versions"
SOURCE: Final = _OWN + "source-snapshot"
TRUST_ROOT: Final = _OWN + "trust-root"
MEMORY_TYPE: Final = _OWN + "memory-type"
ROOT: Final = _OWN + "merkle-root"
ROOT_LAYOUT: Final = _OWN + "merkle-layout"
BLOCK_COUNT: Final = _OWN + "block-count"
MODEL: Final = _OWN + "embedding-model"
INDEX_KIND: Final = _OWN + "index-kind"
SNAPSHOT_COUNT: Final = _OWN + "snapshot-count"

COMPOSITION_ENTRY: Final = "composition.json"
BLOB_ENTRY: Final = "blobs/"
SNAPSHOT_ENTRY: Final = "snapshots/"
COMPOSITIONS_ENTRY: Final = "compositions/"

EXPANSION: Final = 100
EXPANSION_FLOOR: Final = 8 << 20
EXPANSION_CAP: Final = 4 << 30
"""A layer may expand to 100 times its size, or to 8 MiB where that is more, and never beyond 4 GiB."""

MOST_JSON: Final = 16 << 20
"""Bytes of a pointer, index or manifest."""
MOST_SNAPSHOT: Final = 64 << 20
MOST_BLOCK: Final = 64 << 20
MOST_COMPOSITION: Final = 1 << 30
"""13 million members."""
