"""The JSON files of a layout, written and read: index, manifest, pointers, signature records. Pure.

Read strictly: one meaning or a refusal. A manifest and a pointer need not be canonical.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from consilience.errors import FormatError
from consilience.oci import names
from consilience.protocol import (
    SCHEMA_VERSIONS,
    Digest,
    MemoryType,
    canonical,
    format_digest,
    parse_digest,
    sha256,
)

__all__ = [
    "Descriptor",
    "Head",
    "Manifest",
    "check_layout",
    "head_document",
    "index_document",
    "layout_document",
    "manifest_document",
    "parse_head",
    "parse_index",
    "parse_manifest",
    "parse_signature_index",
    "parse_signature_record",
    "parse_tombstones",
    "schema_versions",
    "signatures_document",
    "tombstones_document",
]


class Descriptor(msgspec.Struct, frozen=True, kw_only=True):
    """What a manifest or an index says of one blob."""

    media_type: str
    digest: Digest
    size: int
    artifact_type: str | None = None
    annotations: dict[str, str] = {}

    def document(self) -> dict[str, Any]:
        found: dict[str, Any] = {
            "mediaType": self.media_type,
            "digest": format_digest(self.digest),
            "size": self.size,
        }
        if self.artifact_type is not None:
            found["artifactType"] = self.artifact_type
        if self.annotations:
            found["annotations"] = dict(self.annotations)
        return found


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """A published artifact: the snapshot as its config, its layers in order."""

    config: Descriptor
    layers: tuple[Descriptor, ...]
    annotations: dict[str, str]


class Head(msgspec.Struct, frozen=True, kw_only=True):
    """boltzmann/head.json. `retained`, newest first, are snapshots that the layout promises to hold."""

    snapshot: Digest
    retained: tuple[Digest, ...]
    partial: bool = False


# --- writing ------------------------------------------------------------------------------------------------


def _pretty(value: Any) -> bytes:
    return (json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False) + "\n").encode()


def layout_document() -> bytes:
    return _pretty({"imageLayoutVersion": names.LAYOUT_VERSION})


def index_document(manifests: Iterable[Descriptor]) -> bytes:
    return _pretty(
        {"schemaVersion": 2, "mediaType": names.IMAGE_INDEX, "manifests": [m.document() for m in manifests]}
    )


def manifest_document(manifest: Manifest) -> bytes:
    return canonical.encode(
        {
            "schemaVersion": 2,
            "mediaType": names.IMAGE_MANIFEST,
            "artifactType": names.BRAIN,
            "config": manifest.config.document(),
            "layers": [layer.document() for layer in manifest.layers],
            "annotations": manifest.annotations,
        }
    )


def schema_versions(versions: Mapping[MemoryType, Iterable[int]]) -> str:
    """The annotation that tells which schema versions each module holds."""
    return canonical.encode({m.value: sorted(found) for m, found in versions.items() if found}).decode()


def head_document(snapshot: Digest, retained: Sequence[Digest]) -> bytes:
    return canonical.encode(
        {
            "boltzmann": 1,
            "snapshot": format_digest(snapshot),
            "retained": [format_digest(digest) for digest in retained],
        }
    )


def tombstones_document(reasons: Mapping[bytes, str]) -> bytes:
    return _pretty({digest.hex(): reason for digest, reason in reasons.items()})


def signatures_document(entries: Mapping[Digest, Iterable[Digest]]) -> bytes:
    listed = {format_digest(s): [format_digest(d) for d in sorted(found)] for s, found in entries.items()}
    return canonical.encode({"boltzmann": 1, "entries": listed})


# --- reading ------------------------------------------------------------------------------------------------


def _object(data: bytes, what: str) -> dict[str, Any]:
    try:
        value = canonical.decode(data)
    except FormatError as error:
        raise FormatError(f"{what}: {error.message}", hint=error.hint) from error
    if not isinstance(value, dict):
        raise FormatError(f"{what}: an object, not {type(value).__name__}")
    return value


def _member(value: Mapping[str, Any], kind: type, what: str, *keys: str) -> Any:
    """The member of the first of these names that is there, of the given type."""
    found = next((value[key] for key in keys if key in value), None)
    if not isinstance(found, kind) or isinstance(found, bool):
        raise FormatError(f"{what}: {keys[0]} is {_shown(found)}")
    return found


def _shown(value: Any) -> str:
    return "missing" if value is None else repr(value)[:80]


def _digest(value: Any, what: str) -> Digest:
    try:
        return parse_digest(value)
    except FormatError as error:
        raise FormatError(f"{what}: {error.message}") from error


def _protocol(value: Mapping[str, Any], what: str) -> None:
    if value.get("boltzmann", 1) != 1 or value.get("boltzmann") is True:
        raise FormatError(
            f"{what}: protocol version {value['boltzmann']!r}, this software reads 1", hint=_NEWER
        )


_NEWER = "it was written by newer software: pip install --upgrade consilience"


def check_layout(data: bytes) -> None:
    """Refuse an oci-layout file of another version."""
    found = _object(data, names.LAYOUT_FILE).get("imageLayoutVersion")
    if found != names.LAYOUT_VERSION:
        raise FormatError(
            f"{names.LAYOUT_FILE}: image layout version {found!r}, this software reads {names.LAYOUT_VERSION!r}",
            hint=_NEWER,
        )


def parse_head(data: bytes) -> Head:
    value = _object(data, names.HEAD)
    _protocol(value, names.HEAD)
    if unknown := value.keys() - {"boltzmann", "snapshot", "retained", "origin"}:
        raise FormatError(f"{names.HEAD}: unknown member {min(unknown)!r}")
    retained = value.get("retained", [])
    if not isinstance(retained, list):
        raise FormatError(f"{names.HEAD}: retained is {_shown(retained)}")
    origin = value.get("origin")
    return Head(
        snapshot=_digest(value.get("snapshot"), f"{names.HEAD}: snapshot"),
        retained=tuple([_digest(each, f"{names.HEAD}: retained") for each in retained]),
        partial=isinstance(origin, dict) and origin.get("partial") is True,
    )


def parse_tombstones(data: bytes) -> dict[bytes, str]:
    """Digests whose bytes were destroyed, and why."""
    found: dict[bytes, str] = {}
    for name, reason in _object(data, names.TOMBSTONES).items():
        found[_digest(f"sha256:{name}", names.TOMBSTONES)] = str(reason)
    return found


def parse_index(data: bytes) -> list[Descriptor]:
    """What index.json lists."""
    value = _object(data, names.INDEX_FILE)
    version = value.get("schemaVersion", value.get("schema_version"))
    if version != 2 or isinstance(version, bool):
        raise FormatError(f"{names.INDEX_FILE}: schema version {_shown(version)}, this software reads 2")
    media_type = value.get("mediaType", value.get("media_type", names.IMAGE_INDEX))
    if media_type != names.IMAGE_INDEX:
        raise FormatError(f"{names.INDEX_FILE}: media type {_shown(media_type)}")
    listed = value.get("manifests", [])
    if not isinstance(listed, list):
        raise FormatError(f"{names.INDEX_FILE}: manifests is {_shown(listed)}")
    return [_descriptor(each, f"{names.INDEX_FILE}: manifest {i}") for i, each in enumerate(listed)]


def _descriptor(value: Any, what: str) -> Descriptor:
    if not isinstance(value, dict):
        raise FormatError(f"{what} is {_shown(value)}")
    annotations = value.get("annotations", {})
    if not isinstance(annotations, dict) or not all(isinstance(v, str) for v in annotations.values()):
        raise FormatError(f"{what}: annotations are not texts")
    size = _member(value, int, what, "size")
    if size < 0:
        raise FormatError(f"{what}: size is {size}")
    artifact_type = value.get("artifactType", value.get("artifact_type"))
    return Descriptor(
        media_type=_member(value, str, what, "mediaType", "media_type"),
        digest=_digest(value.get("digest"), what),
        size=size,
        artifact_type=artifact_type if isinstance(artifact_type, str) else None,
        annotations=annotations,
    )


def parse_manifest(data: bytes, what: str) -> Manifest:
    """A brain's manifest. Raises FormatError for another kind of artifact, and for a newer version of it."""
    value = _object(data, what)
    version = value.get("schemaVersion", value.get("schema_version"))
    if version != 2 or isinstance(version, bool):
        raise FormatError(f"{what}: schema version {_shown(version)}, this software reads 2", hint=_NEWER)
    for keys, expected in (
        (("mediaType", "media_type"), names.IMAGE_MANIFEST),
        (("artifactType", "artifact_type"), names.BRAIN),
    ):
        found = _member(value, str, what, *keys)
        if found != expected:
            raise FormatError(f"{what}: unknown {keys[0]} {found!r}, a brain has {expected!r}")
    annotations = value.get("annotations", {})
    if not isinstance(annotations, dict) or not all(isinstance(v, str) for v in annotations.values()):
        raise FormatError(f"{what}: annotations are not texts")
    layers = _member(value, list, what, "layers")
    manifest = Manifest(
        config=_descriptor(value.get("config"), f"{what}: config"),
        layers=tuple([_descriptor(each, f"{what}: layer {i}") for i, each in enumerate(layers)]),
        annotations=annotations,
    )
    _check_versions(manifest, what)
    return manifest


def _check_versions(manifest: Manifest, what: str) -> None:
    protocol = manifest.annotations.get(names.PROTOCOL, "1")
    if protocol not in ("1", "2"):
        raise FormatError(f"{what}: wire version {protocol!r}, this software reads 1 and 2", hint=_NEWER)
    declared = manifest.annotations.get(names.SCHEMAS)
    if declared is None:
        return
    for name, versions in _object(declared.encode(), f"{what}: {names.SCHEMAS}").items():
        if name not in list(MemoryType) or not isinstance(versions, list):
            raise FormatError(f"{what}: unknown memory type {name!r}", hint=_NEWER)
        known = SCHEMA_VERSIONS[MemoryType(name)]
        if newer := [v for v in versions if v not in known]:
            raise FormatError(
                f"{what}: {name} blocks of schema version {newer[0]!r}, this software reads {known}",
                hint=_NEWER,
            )


# --- signatures ---------------------------------------------------------------------------------------------

_FINGERPRINT = re.compile(r"SHA256:[A-Za-z0-9+/]{43}").fullmatch
_MEMBERS = {"boltzmann", "snapshot", "namespace", "key", "scopes", "signature"}


def parse_signature_record(data: bytes) -> tuple[Digest, Digest]:
    """The snapshot that a signature record is about, and the record's own digest. The signature itself is not
    checked."""
    value = canonical.require(data, "signature record")
    if not isinstance(value, dict) or not value.keys() <= _MEMBERS or value.get("boltzmann") != 1:
        raise FormatError("signature record: not a record of protocol version 1")
    key, signature = value.get("key"), value.get("signature")
    if not isinstance(key, str) or not _FINGERPRINT(key) or not isinstance(signature, str):
        raise FormatError("signature record: it has no key or no signature")
    return _digest(value.get("snapshot"), "signature record"), sha256(data)


def parse_signature_index(data: bytes) -> dict[Digest, list[Digest]]:
    """boltzmann/signatures.json: for each snapshot the digests of its signature records."""
    value = _object(data, names.SIGNATURES)
    _protocol(value, names.SIGNATURES)
    entries = value.get("entries", {})
    if not isinstance(entries, dict) or not all(isinstance(v, list) for v in entries.values()):
        raise FormatError(f"{names.SIGNATURES}: entries are not lists of digests")
    return {
        _digest(snapshot, names.SIGNATURES): [_digest(each, names.SIGNATURES) for each in listed]
        for snapshot, listed in entries.items()
    }
