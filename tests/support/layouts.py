"""OCI layouts for tests: a small brain with some history, its export, and ways to rewrite a layout's parts so that
every hash but the intended one holds."""

from __future__ import annotations

import datetime as dt
import gzip
import hashlib
import io
import json
import tarfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from stores import ACTOR, NOW, derivation, fact, original, supersession

from consilience.oci import export_brain
from consilience.protocol import (
    Mechanism,
    MemoryType,
    Removal,
    format_digest,
    record_block,
)
from consilience.store import Store

LATER = NOW + dt.timedelta(days=1)


def history(folder: Path, *, redact: bool = False) -> Store:
    """A brain of three commits: two files with passages, a supersession, and one block that left."""
    store = Store.create(folder)
    with store.write(ACTOR, NOW) as writer:
        first = original(writer, b"# One\n\nThe first file.\n", "one.md")
        passages = [fact(f"Passage {i} of the first file.") for i in range(6)]
        writer.add_many(
            [*passages, *(derivation(p, first, f"L{i + 1} # One") for i, p in enumerate(passages))]
        )
    with store.write(ACTOR, NOW) as writer:
        second = original(writer, b"# Two\n\nThe second file.\n", "two.md")
        new = fact("Passage 0 of the first file, corrected.")
        writer.add_many(
            [new, derivation(new, second, "L3 # Two"), supersession(new, passages[0], at=writer.at)]
        )
    with store.write(ACTOR, NOW) as writer:
        gone = passages[5]
        writer.withdraw(writer.ordinals([gone.id]).values())
        writer.add(removal(gone.id, Mechanism.DROP, writer.at))
    if redact:
        redaction(store, passages[1].id)
    return store


def removal(block_id: bytes, mechanism: Mechanism, at: str, module: MemoryType = MemoryType.SEMANTIC) -> Any:
    return record_block(
        Removal(
            blocks=(format_digest(block_id),),
            mechanism=mechanism,
            memory_type=module,
            actor=ACTOR,
            at=at,
            reason="asked to be forgotten",
        )
    )


def redaction(store: Store, block_id: Any) -> None:
    with store.write(ACTOR, NOW) as writer:
        writer.destroy(writer.ordinals([block_id]).values(), {})
        writer.add(removal(block_id, Mechanism.TOMBSTONE, writer.at))


def layout(folder: Path, *, redact: bool = False, artifact: bool = True) -> Path:
    """The export of such a brain, at `folder/layout`."""
    with history(folder / "brain", redact=redact) as store:
        export_brain(store, folder / "layout", name="brain", artifact=artifact)
    return folder / "layout"


def tree(folder: Path) -> dict[str, bytes]:
    """Every file of a folder, by its path in it."""
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


# --- rewriting ----------------------------------------------------------------------------------------------


def put(root: Path, data: bytes) -> str:
    """A blob; its digest as text."""
    name = hashlib.sha256(data).hexdigest()
    (root / "blobs" / "sha256" / name).write_bytes(data)
    return f"sha256:{name}"


def get(root: Path, digest: str) -> bytes:
    return blob_path(root, digest).read_bytes()


def blob_path(root: Path, digest: str) -> Path:
    return root / "blobs" / "sha256" / digest.removeprefix("sha256:")


def canonical(value: Any) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def head(root: Path) -> dict[str, Any]:
    return json.loads((root / "boltzmann" / "head.json").read_bytes())


def set_head(root: Path, snapshot: str) -> None:
    value = {**head(root), "snapshot": snapshot, "retained": [snapshot]}
    (root / "boltzmann" / "head.json").write_bytes(canonical(value))


def change_snapshot(root: Path, change: Callable[[dict[str, Any]], Any]) -> None:
    """Replace the head snapshot by one that differs, under its own right digest."""
    value = json.loads(get(root, head(root)["snapshot"]))
    changed = change(value)
    set_head(root, put(root, changed if isinstance(changed, bytes) else canonical(value)))


def index(root: Path) -> dict[str, Any]:
    return json.loads((root / "index.json").read_bytes())


def change_manifest(root: Path, change: Callable[[dict[str, Any]], Any]) -> None:
    """Replace the published manifest by one that differs, and list it."""
    listed = index(root)
    entry = listed["manifests"][0]
    value = json.loads(get(root, entry["digest"]))
    changed = change(value)
    data = changed if isinstance(changed, bytes) else canonical(value)
    entry.update(digest=put(root, data), size=len(data))
    (root / "index.json").write_text(json.dumps(listed))


def change_layer(root: Path, kind: str, data: bytes, annotations: Mapping[str, str] | None = None) -> None:
    """Replace the layer whose media type holds `kind`."""

    def change(manifest: dict[str, Any]) -> None:
        layer = next(each for each in manifest["layers"] if kind in each["mediaType"])
        layer.update(digest=put(root, data), size=len(data))
        layer["annotations"] = {**layer.get("annotations", {}), **(annotations or {})}

    change_manifest(root, change)


def layer(root: Path, kind: str) -> dict[str, bytes]:
    """The entries of a layer."""
    manifest = json.loads(get(root, index(root)["manifests"][0]["digest"]))
    described = next(each for each in manifest["layers"] if kind in each["mediaType"])
    with tarfile.open(fileobj=io.BytesIO(get(root, described["digest"])), mode="r:gz") as archive:
        return {m.name: archive.extractfile(m).read() for m in archive}  # type: ignore[union-attr]


def tar(entries: Mapping[str, bytes], *more: tarfile.TarInfo) -> bytes:
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, data in entries.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
        for info in more:
            archive.addfile(info, io.BytesIO(b"x" * info.size))
    return gzip.compress(raw.getvalue(), mtime=0)
