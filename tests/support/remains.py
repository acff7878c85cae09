"""Looks for bytes in every file of a folder, in every form in which the product stores them."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import zstandard

from consilience.index.analysis import analyzer
from consilience.index.bm25 import FIELDS
from consilience.index.lexical import LexicalIndex
from consilience.index.lexical_state import Engine
from consilience.store import codec as codecs
from consilience.store.codec import Codec, DecodeError

LONGEST_FRAME = 1 << 22
ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"


def forms(token: str) -> dict[str, bytes]:
    """A word as the bytes under which it could lie in a file."""
    spellings = {token, token.lower(), token.upper(), token.capitalize()}
    encodings = ("utf-8", "utf-16-le", "utf-16-be", "utf-32-le")
    return {f"{word} as {name}": word.encode(name) for word in spellings for name in encodings}


def remains(folders: Iterable[Path], needles: Mapping[str, bytes]) -> set[str]:
    """Which needles some file below these folders holds, raw or compressed: `needle in file`."""
    found = set()
    for folder in folders:
        for path in sorted(p for p in folder.rglob("*") if p.is_file()):
            for what, data in _layers(path):
                where = f"{path.relative_to(folder)}{what}"
                found.update(f"{name} in {where}" for name, needle in needles.items() if needle in data)
    return found


def indexed(brain: Path, word: str) -> int:
    """How many entries the lexical index holds a word of, deleted ones included: its files are coded, so that looking
    for bytes finds nothing there."""
    index = LexicalIndex.open(brain / "derived" / "lexical")
    if index is None:
        return 0
    with contextlib.closing(index):
        searcher = Engine(brain / "derived" / "lexical" / "engine").index.searcher()
        terms = analyzer("en").analyze(word)
        names = {*terms.terms, *terms.exact}
        return sum(searcher.doc_freq(field, term) for field in FIELDS for term in names)


def _layers(path: Path) -> Iterator[tuple[str, bytes]]:
    """A file as it is, every zstd frame that begins in it, and every value of a database, decoded."""
    data = path.read_bytes()
    yield "", data
    codec = Codec()
    at = data.find(ZSTD_MAGIC)
    while at >= 0:
        for dictionary in (None, codecs._dictionary):
            with contextlib.suppress(zstandard.ZstdError, MemoryError):
                frame = zstandard.ZstdDecompressor(dict_data=dictionary).decompressobj()
                yield f", frame at {at}", frame.decompress(data[at : at + LONGEST_FRAME])
        at = data.find(ZSTD_MAGIC, at + 1)
    if path.name == "brain.db":
        yield from _values(path, codec)


def _values(path: Path, codec: Codec) -> Iterator[tuple[str, bytes]]:
    database = sqlite3.connect(path)
    try:
        for table in ("blocks", "content", "fragment"):
            for n, enc, data in database.execute(f"SELECT rowid, enc, data FROM {table} WHERE data NOT NULL"):
                try:
                    yield f", {table} {n}", codec.unpack(enc, data)
                except DecodeError:
                    yield f", {table} {n}", bytes(data)
    finally:
        database.close()


def stored_forms(brain: Path, block_ids: Iterable[bytes]) -> dict[str, bytes]:
    """The bytes in which the blocks are stored now, and their originals, as they lie in the database or in files."""
    database = sqlite3.connect(brain / "brain.db")
    found: dict[str, bytes] = {}
    try:
        for block_id in block_ids:
            for (data,) in database.execute("SELECT data FROM blocks WHERE id = ?", (block_id,)):
                found[f"stored block {block_id.hex()[:8]}"] = bytes(data)
    finally:
        database.close()
    return found
