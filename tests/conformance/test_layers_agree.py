"""Module and history layers: what pyboltzmann packs we read, what we pack it unpacks, and mutated ones do neither harm.

We refuse more than it does (links, folders, long names, bytes after the end), which `tests/oci` holds by name; here:
whatever we take, it takes as the same entries.
"""

from __future__ import annotations

import gzip
import io
import random
import tarfile
from typing import Any

import pytest
from boltzmann.blocks.base import Block as TheirBlock
from boltzmann.blocks.memory_type import MemoryType as TheirType
from boltzmann.distribution.layers import pack_history, pack_module, unpack_history, unpack_layer
from boltzmann.identity import OciDigest
from boltzmann.module.composition import Composition
from boltzmann.module.module import Module
from boltzmann.store.memory import MemoryBlockStore
from hypothesis import strategies as st
from mutation import mutated
from soaking import CASES, examples_of, soaked
from wire_documents import snapshots, statements

from consilience.errors import FormatError, IntegrityError
from consilience.oci.layers import LEVEL, LayerReader, LayerWriter
from consilience.protocol import (
    Canonical,
    MemoryType,
    build,
    build_document,
    canonical,
    composition_document,
    format_digest,
    parse_composition,
    sha256,
    snapshot,
)

MOST = 1 << 24


def read(data: bytes) -> dict[str, bytes]:
    return {entry.name: entry.data(MOST) for entry in LayerReader(io.BytesIO(data), len(data), "a layer")}


def packed(entries: dict[str, bytes], level: int = LEVEL) -> bytes:
    out = io.BytesIO()
    writer = LayerWriter(out.write, level=level)
    for name, data in entries.items():
        writer.add(name, data)
    writer.finish()
    return out.getvalue()


def entries_of(memory_type: MemoryType, blobs: list[bytes], ids: list[bytes]) -> dict[str, bytes]:
    """As WIRE 9 has it: the composition, then every blob by its name, ascending."""
    named = {f"blobs/{sha256(data).hex()}": data for data in blobs}
    return {
        "composition.json": composition_document(memory_type, sorted(set(ids))),
        **dict(sorted(named.items())),
    }


originals = st.lists(
    st.binary(max_size=40) | st.sampled_from([b"o" * 511, b"o" * 512, b"o" * 513, bytes(9_000)]), max_size=4
)
passages = st.lists(statements.map(lambda s: {n: v for n, v in s.items() if n != "content"}), max_size=4)


def modules() -> Any:
    """Entries of a canonical module (its originals among the blobs) or of a semantic one."""

    def of_originals(data: list[bytes]) -> dict[str, bytes]:
        blocks = [
            build(Canonical(blob=format_digest(sha256(d)), media_type="a/b", size=len(d))) for d in data
        ]
        return entries_of(
            MemoryType.CANONICAL, [b.data for b in blocks] + data, [block.id for block in blocks]
        )

    def of_passages(payloads: list[Any]) -> dict[str, bytes]:
        blocks = [build_document(MemoryType.SEMANTIC, payload) for payload in payloads]
        return entries_of(MemoryType.SEMANTIC, [b.data for b in blocks], [block.id for block in blocks])

    return originals.map(of_originals) | passages.map(of_passages)


@soaked(modules(), st.sampled_from([0, 1, 6, 9]), examples=60)
def test_a_layer_of_either_is_read_by_the_other(entries: dict[str, bytes], level: int) -> None:
    ours = packed(entries, level)
    assert read(ours) == entries
    store = MemoryBlockStore()
    composition = unpack_layer(ours, store)
    assert composition == Composition.from_document(entries["composition.json"])
    memory_type, ids = parse_composition(entries["composition.json"])
    assert [block_id.raw for block_id in composition.block_ids] == ids
    for data in entries.values():
        assert store.get_bytes(OciDigest.of(data)) == data
    theirs = pack_module(Module(TheirType(memory_type.value), store, composition))
    assert read(theirs) == entries
    assert list(read(theirs)) == list(entries)
    for block_id in composition.block_ids:
        assert TheirBlock.decode(store.get_bytes(block_id)).block_id == block_id


@soaked(st.lists(snapshots(), max_size=3), modules(), examples=40)
def test_a_history_layer_of_either_is_read_by_the_other(
    documents: list[dict[str, Any]], entries: dict[str, bytes]
) -> None:
    chain = {}
    for document in documents:
        for ref in document["modules"].values():
            ref.pop("index_digest", None)
        data = canonical.encode(document)
        snapshot.parse(data)
        chain[f"snapshots/{sha256(data).hex()}"] = data
    composition = entries["composition.json"]
    listed = dict(sorted(chain.items())) | {f"compositions/{sha256(composition).hex()}": composition}
    theirs = pack_history(chain.values(), [composition])
    assert read(theirs) == listed
    assert list(read(theirs)) == list(listed)
    store = MemoryBlockStore()
    ours = packed(listed, 0)
    assert {str(digest) for digest in unpack_history(ours, store)} == {
        format_digest(sha256(data)) for data in chain.values()
    }
    assert store.get_bytes(OciDigest.of(composition)) == composition


# --- mutated ------------------------------------------------------------------------------------------------

FACTS = [
    build_document(MemoryType.SEMANTIC, {"kind": "fact", "label": label, "statement": label * 300})
    for label in "abc"
]
LAYERS = [
    packed(entries_of(MemoryType.SEMANTIC, [b.data for b in FACTS[:n]], [b.id for b in FACTS[:n]]), 0)
    for n in (0, 1, 3)
]
ARCHIVES = [gzip.decompress(layer) for layer in LAYERS]


def their_entries(data: bytes) -> list[tuple[str, bytes]]:
    with tarfile.open(fileobj=io.BytesIO(gzip.decompress(data)), mode="r") as archive:
        return [
            (m.name, file.read())
            for m in archive.getmembers()
            if m.isfile() and (file := archive.extractfile(m)) is not None
        ]


NAME, NUMBERS = [(0, 100), (345, 155)], [(100, 8), (108, 8), (116, 8), (124, 12), (136, 12), (329, 16)]
FIELDS = [*NAME, *NUMBERS, (156, 1), (157, 100), (257, 8)]
VALUES = [b"0", b"7", b"8", b" ", b"\0", b"-", b"+", b"_", b"/", b"../", b"\\", b"\x80", b"\xff", b"\xc3\xa9"]
VALUES += [bytes([kind]) for kind in b"12345678xgLKSVDA"]


def with_another_header(source: random.Random, archive: bytes) -> bytes:
    """An archive in which fields of one header differ and its checksum is right."""
    data = bytearray(archive)
    heads = [at for at in range(0, len(data), 512) if data[at + 257 : at + 262] == b"ustar"]
    at = source.choice(heads)
    for _ in range(source.choice((1, 1, 2, 3))):
        start, length = source.choice(FIELDS)
        start += at + source.choice((0, source.randrange(length)))
        value = source.choice(VALUES)
        data[start : start + len(value)] = value
    head = data[at : at + 512]
    data[at + 148 : at + 156] = b"%06o\0 " % (sum(head) - sum(head[148:156]) + 8 * 32)
    return bytes(data)


@pytest.mark.parametrize("where", ["gzip", "tar", "header"])
@pytest.mark.parametrize("run", CASES)
def test_a_mutated_layer_is_refused_or_read_as_they_read_it(
    run: str, where: str, pytestconfig: pytest.Config
) -> None:
    seed = 1 if run == "suite" else random.SystemRandom().getrandbits(32)
    source, taken = random.Random(seed), 0
    examples = examples_of(run, pytestconfig, 1_000)
    for _ in range(examples):
        if where == "gzip":
            data = mutated(source, LAYERS)
        elif where == "tar":
            data = gzip.compress(mutated(source, ARCHIVES), 1)
        else:
            data = gzip.compress(with_another_header(source, source.choice(ARCHIVES)), 1)
        try:
            ours = list(read(data).items())
        except (FormatError, IntegrityError):
            continue
        except Exception as error:
            raise AssertionError(f"seed {seed}: {data!r}") from error
        assert ours == their_entries(data), f"seed {seed}: {data!r}"
        taken += 1
    assert taken < examples
    assert taken > 0 or where == "gzip"
