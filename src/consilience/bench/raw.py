"""The engines by themselves, doing what a brain has them do: rows in SQLite, words in tantivy, vectors in numpy."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import tantivy

if TYPE_CHECKING:
    from consilience.embed import Embedder

HEAP = 50_000_000
BEST = 60


class RawRows:
    """A table of (id, bytes), as durable as a brain's."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._db = sqlite3.connect(path)
        self._db.execute("PRAGMA journal_mode=WAL")
        self._db.execute("PRAGMA synchronous=FULL")
        self._db.execute("CREATE TABLE rows (n INTEGER PRIMARY KEY, id BLOB UNIQUE, data BLOB)")

    def add(self, pairs: Sequence[tuple[bytes, bytes]]) -> None:
        with self._db:
            self._db.executemany("INSERT OR IGNORE INTO rows (id, data) VALUES (?, ?)", pairs)

    def one(self, id_: bytes) -> bytes:
        (data,) = self._db.execute("SELECT data FROM rows WHERE id = ?", (id_,)).fetchone()
        return bytes(data)

    def hash_all(self) -> int:
        return sum(
            hashlib.sha256(data).digest() is not None for (data,) in self._db.execute("SELECT data FROM rows")
        )

    def open_again(self) -> None:
        db = sqlite3.connect(self._path)
        db.execute("SELECT max(n) FROM rows").fetchone()
        db.close()

    def close(self) -> None:
        self._db.close()


class RawWords:
    """An index of texts under its own default analysis."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        builder = tantivy.SchemaBuilder()
        builder.add_text_field("text", stored=False)
        builder.add_integer_field("n", stored=True, indexed=True)
        self._index = tantivy.Index(builder.build(), path=str(folder))
        self._count = 0

    def add(self, texts: Iterable[str]) -> None:
        writer = self._index.writer(heap_size=HEAP, num_threads=1)
        for text in texts:
            self._count += 1
            document = tantivy.Document()
            document.add_text("text", text)
            document.add_integer("n", self._count)
            writer.add_document(document)
        writer.commit()
        writer.wait_merging_threads()
        self._index.reload()

    def search(self, text: str) -> int:
        searcher = self._index.searcher()
        hits = searcher.search(self._index.parse_query(text, ["text"]), BEST).hits
        return sum(searcher.doc(address)["n"][0] for _, address in hits)


class RawVectors:
    """A matrix of float32 in a file, and its product with a question."""

    def __init__(self, path: Path, embedder: Embedder) -> None:
        self._path = path
        self._embedder = embedder

    def add(self, texts: Iterable[str]) -> None:
        import numpy as np

        self._matrix = self._embedder.embed(list(texts), role="passage")
        np.save(self._path, self._matrix)

    def search(self, text: str) -> list[int]:
        import numpy as np

        scores = self._matrix @ self._embedder.embed([text], role="query")[0]
        best = np.argpartition(-scores, BEST)[:BEST] if len(scores) > BEST else np.arange(len(scores))
        found: list[int] = best[np.argsort(-scores[best])].tolist()
        return found
