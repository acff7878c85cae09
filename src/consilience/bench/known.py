"""Vectors that the other brains of a work folder hold already, lent to a new one: a text is embedded once."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from consilience.derived import KEPT
from consilience.embed import EmbedderSpec, available, shared_embedder
from consilience.errors import IndexUnusableError

CHUNK = 4096


def lend(
    path: Path, others: Iterable[Path], texts: Iterable[str], spec: EmbedderSpec, cache_dir: Path
) -> int:
    """Lay the vectors of these texts that the brains at `others` hold where the brain at `path` looks for those it had
    before; how many. Catching up takes them over and removes them. Raises StorageError, BusyError."""
    if available(spec) is not None:
        return 0
    import numpy as np

    from consilience.index.vector_files import HASH_SIZE, open_rows, slug, text_hash
    from consilience.index.vectors import VectorIndex

    model = shared_embedder(spec, cache_dir=cache_dir)
    wanted = {text_hash(text) for text in texts}
    lent = 0
    with VectorIndex.open_for_write(path / "derived" / KEPT, model.tag, model.dims) as writer:
        for other in others:
            try:
                rows = open_rows(other / "derived" / "vectors" / slug(model.tag), model.tag)
            except IndexUnusableError:
                continue
            if rows is None or rows.meta.dims != model.dims:
                continue
            data = rows.hashes.tobytes()
            at = []
            for row in range(rows.meta.count):
                if (name := data[row * HASH_SIZE : (row + 1) * HASH_SIZE]) in wanted:
                    wanted.discard(name)
                    at.append(row)
            for start in range(0, len(at), CHUNK):
                part = np.asarray(at[start : start + CHUNK], np.int64)
                hashes = [data[row * HASH_SIZE : (row + 1) * HASH_SIZE] for row in part.tolist()]
                writer.append(range(lent + 1, lent + 1 + len(part)), hashes, rows.floats(part))
                lent += len(part)
        writer.commit(lent)
    return lent
