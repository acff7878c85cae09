"""Where an import reads from: the loose blobs of a layout, or the layers of a packed artifact in it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from consilience.errors import FormatError, IntegrityError, NotFoundError, UsageError
from consilience.oci import names
from consilience.oci.blobs import Layout, Spool
from consilience.oci.documents import (
    Descriptor,
    Manifest,
    parse_head,
    parse_index,
    parse_manifest,
    parse_signature_index,
    parse_signature_record,
    parse_tombstones,
)
from consilience.oci.layers import LayerReader
from consilience.protocol import (
    Digest,
    ModuleRef,
    Snapshot,
    format_digest,
    parse_digest,
)
from consilience.protocol import snapshot as snapshots
from consilience.protocol.merkle import LAYOUT

__all__ = ["LooseSource", "Source", "open_source"]


class Source(Protocol):
    """Everything is hashed on its way out; None stands for what is not there."""

    head: Digest
    retained: tuple[Digest, ...]
    tombstones: dict[bytes, str]
    warnings: list[str]

    def document(self, digest: Digest, most: int, what: str) -> bytes | None:
        """A snapshot or composition document."""

    def has(self, digest: Digest) -> bool:
        """Whether there are bytes under a digest, sound or not."""

    def block(self, digest: Digest, what: str) -> bytes | None:
        """A block's envelope, for the first time."""

    def again(self, digest: Digest) -> bytes:
        """The same bytes, once more."""

    def content(self, digest: Digest, size: int | None, what: str) -> bytes | None:
        """What a block names; `size` is what the block says of its length."""

    def signatures(self) -> list[bytes]:
        """Signature records, of whatever snapshot."""


def open_source(layout: Layout, spool: Spool, tag: str | None) -> Source:
    """The brain that a layout holds: its own, or the artifact of that tag.

    Raises NotFoundError where there is none, UsageError where it is not clear which is meant.
    """
    head = layout.small(names.HEAD) if tag is None else None
    if head is not None:
        return LooseSource(layout, spool, head)
    return _Artifact(layout, spool, *_chosen(layout, tag))


def _chosen(layout: Layout, tag: str | None) -> tuple[Descriptor, str]:
    """The manifest that index.json lists under a tag, or its only one."""
    index = layout.small(names.INDEX_FILE)
    listed = parse_index(index) if index is not None else []
    brains = [each for each in listed if each.artifact_type in (names.BRAIN, None)]
    tags = sorted({each.annotations[names.REF_NAME] for each in brains if names.REF_NAME in each.annotations})
    if tag is not None:
        brains = [each for each in brains if each.annotations.get(names.REF_NAME) == tag]
        if not brains:
            known = ", ".join(tags) or "none"
            raise NotFoundError(f"{names.INDEX_FILE} lists no artifact {tag!r}", hint=f"its tags: {known}")
    if not brains:
        kinds = ", ".join(sorted({each.artifact_type or each.media_type for each in listed}))
        raise NotFoundError(
            f"{layout.root} holds no brain: no {names.HEAD}, and no artifact of one in {names.INDEX_FILE}"
            + (f" (it lists {kinds})" if kinds else ""),
            hint="name a folder that `export` made, or a brain of pyboltzmann",
        )
    if len({each.digest for each in brains}) > 1:
        which = ", ".join(tags) or ", ".join(format_digest(each.digest)[:19] for each in brains)
        raise UsageError(
            f"{names.INDEX_FILE} lists {len(brains)} artifacts: {which}", hint="name one with --tag"
        )
    return brains[0], f"manifest {format_digest(brains[0].digest)[:19]}"


# --- loose blobs --------------------------------------------------------------------------------------------


class LooseSource:
    """A brain as its software keeps it: every blob a file, boltzmann/head.json names the snapshot."""

    def __init__(self, layout: Layout, spool: Spool, head: bytes) -> None:
        parsed = parse_head(head)
        self._layout = layout
        self._spool = spool
        self.head = parsed.snapshot
        self.retained = parsed.retained
        tombstones = layout.small(names.TOMBSTONES)
        self.tombstones = parse_tombstones(tombstones) if tombstones is not None else {}
        self.warnings = [
            f"{what} ({name}): not carried"
            for name, what in _NOT_CARRIED.items()
            if (data := layout.small(name)) is not None and data.strip()
        ]

    def document(self, digest: Digest, most: int, what: str) -> bytes | None:
        return self._layout.blob(digest, most, what)

    def has(self, digest: Digest) -> bool:
        return self._layout.size(digest) is not None

    def block(self, digest: Digest, what: str) -> bytes | None:
        data = self._layout.blob(digest, names.MOST_BLOCK, what)
        if data is not None:
            self._spool.add(digest, (data,))
        return data

    def again(self, digest: Digest) -> bytes:
        return self._spool.read(digest)

    def content(self, digest: Digest, size: int | None, what: str) -> bytes | None:
        found = self._layout.size(digest)
        if found is None:
            return None
        _check_size(found, size, what)
        return self._layout.blob(digest, found, what)

    def signatures(self) -> list[bytes]:
        index = self._layout.small(names.SIGNATURES)
        found = []
        for snapshot, records in (parse_signature_index(index) if index is not None else {}).items():
            for digest in records:
                what = f"the signature record {format_digest(digest)}"
                data = self._layout.blob(digest, names.MOST_JSON, what)
                if data is None:
                    raise IntegrityError(f"{what}, named in {names.SIGNATURES}, is not in the layout")
                if parse_signature_record(data)[0] != snapshot:
                    raise IntegrityError(f"{what} is about another snapshot than {names.SIGNATURES} says")
                found.append(data)
        return found


_NOT_CARRIED = {
    "boltzmann/refs.json": "branches other than the current one",
    "boltzmann/trust.json": "a pinned trust root",
    "boltzmann/remotes.json": "the list of remotes seen signed",
    "boltzmann/reconcile.json": "an unfinished reconciliation",
}


def _check_size(found: int, said: int | None, what: str) -> None:
    if said is not None and found != said:
        raise IntegrityError(f"{what} has {found:,} bytes, the block that names it says {said:,}")


# --- a packed artifact --------------------------------------------------------------------------------------


class _Artifact:
    """A published brain: manifest, snapshot, a layer for each module, the history layer."""

    def __init__(self, layout: Layout, spool: Spool, chosen: Descriptor, what: str) -> None:
        self._layout = layout
        self._spool = spool
        self._what = what
        self.tombstones: dict[bytes, str] = {}
        self.warnings: list[str] = []
        self.retained: tuple[Digest, ...] = ()
        self._vectors: set[Digest] = set()
        manifest = parse_manifest(self._blob(chosen, "the manifest"), what)
        self.head = manifest.config.digest
        snapshot = self._config(manifest)
        for ref in snapshot.modules:
            self._module(ref, self._layer_of(manifest, ref))
        self._other_layers(manifest, snapshot)

    def _blob(self, described: Descriptor, what: str) -> bytes:
        self._check_described(described, what)
        data = self._layout.blob(described.digest, names.MOST_SNAPSHOT, what)
        assert data is not None
        return data

    def _check_described(self, described: Descriptor, what: str) -> None:
        found = self._layout.size(described.digest)
        if found is None:
            raise IntegrityError(f"{what}, {format_digest(described.digest)}, is not in the layout")
        if found != described.size:
            raise IntegrityError(f"{what} has {found:,} bytes, its descriptor says {described.size:,}")

    def _config(self, manifest: Manifest) -> Snapshot:
        config = manifest.config
        if config.media_type == names.PROJECTION:
            raise FormatError(
                f"{self._what}: it publishes some modules of a brain only",
                hint="partial installs are not supported; import the whole artifact",
            )
        if config.media_type != names.SNAPSHOT:
            raise FormatError(f"{self._what}: config has the unknown media type {config.media_type!r}")
        data = self._blob(config, "the snapshot")
        snapshot = snapshots.parse(data)
        self._spool.add(config.digest, (data,))
        source = manifest.annotations.get(names.SOURCE)
        if source is not None and source != format_digest(config.digest):
            raise FormatError(f"{self._what}: it publishes some modules of {source} only")
        said = manifest.annotations.get(names.TRUST_ROOT)
        if said is not None:
            root = snapshot.trust_root
            if root is None or format_digest(root.digest) != said:
                raise IntegrityError(f"{self._what}: its trust root is not that of the snapshot")
        return snapshot

    def _layer_of(self, manifest: Manifest, ref: ModuleRef) -> Descriptor:
        wanted = names.MODULE[ref.memory_type]
        found = [layer for layer in manifest.layers if layer.media_type == wanted]
        if len(found) != 1:
            count = "no layer" if not found else f"{len(found)} layers"
            raise IntegrityError(f"{self._what}: {count} of the module {ref.memory_type}")
        said = found[0].annotations
        for name, value in (
            (names.MEMORY_TYPE, ref.memory_type.value),
            (names.ROOT, format_digest(ref.root)),
            (names.ROOT_LAYOUT, LAYOUT),
            (names.BLOCK_COUNT, str(ref.block_count)),
        ):
            if said.get(name, value) != value:
                raise IntegrityError(
                    f"{self._what}: the layer of {ref.memory_type} says {name} {said[name]!r},"
                    f" the snapshot {value!r}"
                )
        return found[0]

    def _unpack(
        self, described: Descriptor, what: str, take: Callable[[str], tuple[Digest, int] | None]
    ) -> None:
        """Spool every entry of a layer. `take` gives the digest that an entry's name promises, and its most bytes."""
        self._check_described(described, what)
        with self._layout.opened(described.digest, what) as file:
            for entry in LayerReader(file, described.size, what):
                promised = take(entry.name)
                if promised is None:
                    raise FormatError(f"{what}: unexpected entry {entry.name!r}")
                digest, most = promised
                if entry.size > most:
                    raise FormatError(f"{what}: {entry.name} has {entry.size:,} bytes, more than {most:,}")
                found = self._spool.add(digest, entry.chunks())
                if found != digest:
                    raise IntegrityError(f"{what}: the bytes of {entry.name} do not hash to that name")

    def _module(self, ref: ModuleRef, described: Descriptor) -> None:
        what = f"the layer of {ref.memory_type}"

        def take(name: str) -> tuple[Digest, int] | None:
            if name == names.COMPOSITION_ENTRY:
                return ref.composition, names.MOST_COMPOSITION
            digest = _promised(name, names.BLOB_ENTRY)
            return (digest, names.EXPANSION_CAP) if digest is not None else None

        self._unpack(described, what, take)
        if ref.composition not in self._spool:
            raise IntegrityError(f"{what}: there is no {names.COMPOSITION_ENTRY} in it")

    def _other_layers(self, manifest: Manifest, snapshot: Snapshot) -> None:
        here = {names.MODULE[ref.memory_type] for ref in snapshot.modules}
        bound = {ref.index_digest for ref in snapshot.modules}
        histories = 0
        for layer in manifest.layers:
            if layer.media_type in here:
                continue
            if layer.media_type == names.HISTORY:
                histories += 1
                self._history(layer, histories)
            elif layer.media_type == names.VECTORS:
                self._check_described(layer, "a vector index")
                if layer.digest in bound:
                    self._vectors.add(layer.digest)
                else:
                    self.warnings.append("a vector index that the snapshot does not name: not carried")
            elif layer.media_type in names.MODULE.values():
                raise IntegrityError(f"{self._what}: a layer of a module that the snapshot does not have")
            else:
                raise FormatError(f"{self._what}: a layer has the unknown media type {layer.media_type!r}")

    def _history(self, described: Descriptor, count: int) -> None:
        what = "the history layer"
        if count > 1:
            raise IntegrityError(f"{self._what}: {count} history layers")
        snapshots_seen = 0

        def take(name: str) -> tuple[Digest, int] | None:
            nonlocal snapshots_seen
            if (digest := _promised(name, names.SNAPSHOT_ENTRY)) is not None:
                snapshots_seen += 1
                return digest, names.MOST_SNAPSHOT
            digest = _promised(name, names.COMPOSITIONS_ENTRY)
            return (digest, names.MOST_COMPOSITION) if digest is not None else None

        self._unpack(described, what, take)
        said = described.annotations.get(names.SNAPSHOT_COUNT)
        if said is not None and said != str(snapshots_seen):
            raise IntegrityError(f"{what} holds {snapshots_seen} snapshots, its descriptor says {said}")

    def document(self, digest: Digest, most: int, what: str) -> bytes | None:
        return self._spool.read(digest) if digest in self._spool else None

    def has(self, digest: Digest) -> bool:
        return digest in self._spool

    def block(self, digest: Digest, what: str) -> bytes | None:
        if digest in self._spool and self._spool.size(digest) > names.MOST_BLOCK:
            raise FormatError(
                f"{what} has {self._spool.size(digest):,} bytes, more than {names.MOST_BLOCK:,}"
            )
        return self._spool.read(digest) if digest in self._spool else None

    def again(self, digest: Digest) -> bytes:
        return self._spool.read(digest)

    def content(self, digest: Digest, size: int | None, what: str) -> bytes | None:
        if digest in self._vectors:
            return self._layout.blob(digest, names.EXPANSION_CAP, what)
        if digest not in self._spool:
            return None
        _check_size(self._spool.size(digest), size, what)
        return self._spool.read(digest)

    def signatures(self) -> list[bytes]:
        return []


def _promised(name: str, prefix: str) -> Digest | None:
    """The digest that an entry's name is made of."""
    text = name.removeprefix(prefix)
    if text == name:
        return None
    try:
        return parse_digest(f"sha256:{text}")
    except FormatError:
        return None
