"""After a redaction no file of the brain holds the bytes, the words or the vector, in any form that is stored."""

from __future__ import annotations

import random
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from product import Product
from remains import forms, indexed, remains, stored_forms

from consilience.protocol import parse_digest
from consilience.retain import erase
from consilience.store import connection as connections
from consilience.store import redaction
from consilience.store.store import Store

TOKEN = "Zyxgorblax"
SENTENCE = f"The word that opens the northern gate is {TOKEN}, and nobody may know it."
COMPANY = "The pump of the northern well loses pressure when its filter is clogged with sand."


def small(product: Product) -> None:
    product.write("notes/gate.md", f"# Gates\n\n{SENTENCE}\n\n{COMPANY}\n")


def large(product: Product) -> None:
    """An original that is kept as a file of its own: more than a mebibyte, compressed."""
    noise = random.Random(7).randbytes(1_200_000).hex()
    product.write("notes/gate.md", f"# Gates\n\n{SENTENCE}\n\n<!-- {noise} -->\n")


def headed(product: Product) -> None:
    """The text is a heading too, so that the records of other passages name it as their place."""
    rest = "\n\n".join(f"Paragraph {i} below it speaks of the weather on day {i}." for i in range(12))
    product.write("notes/gate.md", f"# {TOKEN}\n\n{TOKEN}\n\n{rest}\n")


def fill(product: Product, case: Callable[[Product], None]) -> str:
    """Ingest a case among other files; the id of the block with the token."""
    for i in range(4):
        body = "\n\n".join(f"Plot {i} of sorghum was weeded {j} days after the sowing." for j in range(4))
        product.write(f"notes/plot-{i}.md", f"# Plot {i}\n\n{body}\n")
    product.ingest("notes", "--brain", "north")
    case(product)
    product.ingest("notes", "--brain", "north")
    rows = product.csl("sql", "SELECT count(*) AS n FROM semantic", "--brain", "north", "--json").data
    assert rows and any((product.brain("north") / "derived" / "tables").iterdir())
    matches = product.search("north", TOKEN, "--no-floor", "--limit", "50")["matches"]
    return next(str(m["block_id"]) for m in matches if TOKEN in m["content"]["statement"])


def needles_of(product: Product, block_id: str) -> dict[str, bytes]:
    """Everything that stands for the block now: words, stored bytes of it and its originals, codes of its vector."""
    brain = product.brain("north")
    plan = product.csl("retain", "plan", "redact", block_id, "--brain", "north", "--json").data
    needles = forms(TOKEN)
    going = [parse_digest(each["block_id"]) for each in plan["goes"] if each["memory_type"] != "canonical"]
    needles |= stored_forms(brain, going)
    with sqlite3.connect(brain / "brain.db") as database:
        n = database.execute("SELECT n FROM blocks WHERE id = ?", (parse_digest(block_id),)).fetchone()[0]
    for folder in (brain / "derived" / "vectors").iterdir():
        ns = np.fromfile(next(folder.glob("ns.*")), np.int64)
        codes = np.fromfile(next(folder.glob("codes.*")), np.int8).reshape(len(ns), -1)
        needles["vector"] = codes[ns == n][0].tobytes()
        hashes = np.fromfile(next(folder.glob("hashes.*")), "V16")
        needles["hash of the embedded text"] = hashes[ns == n][0].tobytes()
    for path in (brain / "content").rglob("*.zst"):
        needles["original, a file"] = path.read_bytes()[5_000:5_100]
    return needles


def redact(product: Product, block_id: str) -> Any:
    """Redact while another process has the brain open, which keeps SQLite from clearing the log by itself."""
    with Store.open(product.brain("north"), read_only=True):
        return _redact(product, block_id)


def _redact(product: Product, block_id: str) -> Any:
    done = product.csl(
        "retain", "redact", block_id, "--reason", "asked", "--yes", "--brain", "north", "--json"
    )
    return done.data


def everywhere(product: Product) -> list[Path]:
    return [product.brain("north"), product.root / ".cache"]


def left(product: Product, needles: dict[str, bytes]) -> set[str]:
    """What is still somewhere."""
    found = remains(everywhere(product), needles)
    return found | ({"the word in the lexical index"} if indexed(product.brain("north"), TOKEN) else set())


@pytest.mark.parametrize("case", [small, large, headed])
def test_no_file_holds_it(product: Product, case: Callable[[Product], None]) -> None:
    block_id = fill(product, case)
    vectors = product.brain("north") / "derived" / "vectors"
    shutil.copytree(vectors, vectors.with_name("vectors-kept"))
    (product.root / ".cache").mkdir(exist_ok=True)
    needles = needles_of(product, block_id)
    assert {
        name
        for name in needles
        if any(w.startswith(f"{name} in ") for w in remains(everywhere(product), needles))
    } >= {
        "vector",
        "hash of the embedded text",
        f"{TOKEN} as utf-8",
        f"stored block {block_id[7:15]}",
        *(["original, a file"] if case is large else []),
    }
    assert indexed(product.brain("north"), TOKEN) > 0
    with Store.open(product.brain("north"), read_only=True):
        report = _redact(product, block_id)
        assert report["erased"] is True and report["remains"] is None
        assert left(product, needles) == set()
    assert left(product, needles) == set()
    product.verified("north")


def without(monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    """Take one step of the erasure away."""
    nothing = lambda *_, **__: None  # noqa: E731
    match step:
        case "overwriting what is freed":
            pragmas = tuple(p.replace("secure_delete=ON", "secure_delete=OFF") for p in connections._WRITER)
            assert pragmas != connections._WRITER
            monkeypatch.setattr(connections, "_WRITER", pragmas)
        case "emptying the write-ahead log":
            monkeypatch.setattr(Store, "_empty_log", nothing)
        case "words":
            monkeypatch.setattr(erase, "_words", nothing)
        case "vectors":
            monkeypatch.setattr(erase, "_vectors", nothing)
        case "vectors of other ordinals":
            monkeypatch.setattr(erase, "remove_tree", nothing)
        case "tables":
            keep = erase.remove_tree
            monkeypatch.setattr(
                erase, "remove_tree", lambda path: None if path.name == "tables" else keep(path)
            )
        case "files of originals":
            monkeypatch.setattr(redaction, "_remove", nothing)
        case "originals":
            monkeypatch.setattr("consilience.store.writer.destroy_content", nothing)
        case "places in records":
            monkeypatch.setattr(redaction.RedactionReads, "records_naming", lambda *_: [])
        case "fragments of records":
            monkeypatch.setattr(redaction, "_sweep_fragments", nothing)


@pytest.mark.parametrize(
    ("step", "case"),
    [
        ("overwriting what is freed", small),
        ("emptying the write-ahead log", small),
        ("words", small),
        ("vectors", small),
        ("vectors of other ordinals", small),
        ("tables", small),
        ("files of originals", large),
        ("originals", small),
        ("places in records", headed),
        ("fragments of records", headed),
    ],
)
def test_the_search_would_find_what_a_step_leaves(
    product: Product, monkeypatch: pytest.MonkeyPatch, step: str, case: Callable[[Product], None]
) -> None:
    """The test above is able to fail: each step is needed."""
    block_id = fill(product, case)
    vectors = product.brain("north") / "derived" / "vectors"
    shutil.copytree(vectors, vectors.with_name("vectors-kept"))
    needles = needles_of(product, block_id)
    without(monkeypatch, step)
    with Store.open(product.brain("north"), read_only=True):
        _redact(product, block_id)
        assert left(product, needles) != set()


def test_a_redaction_of_a_file_takes_what_came_only_from_it(product: Product) -> None:
    small(product)
    product.write("notes/pumps.md", f"# Pumps\n\n{COMPANY}\n")
    product.ingest("notes", "--brain", "north")
    match = product.search("north", TOKEN, "--no-floor", "--limit", "1")["matches"][0]
    source = match["sources"][0]["block_id"]
    needles = needles_of(product, match["block_id"])
    report = redact(product, source)
    assert {(each["memory_type"], each["detail"]) for each in report["changed"]} == {
        ("canonical", "named"),
        ("semantic", "derived"),
    }
    assert left(product, needles) == set()
    assert COMPANY in product.texts("north", "pump northern well")
    product.verified("north")


def test_a_vector_made_with_an_introduction_goes_with_it(product: Product) -> None:
    item = "the reeds at the northern bank are cut before the first of March"
    product.write("notes/gate.md", f"# Gates\n\n{SENTENCE[:-1]} unless:\n\n- {item}\n- {COMPANY}\n")
    product.ingest("notes", "--brain", "north")
    matches = product.search("north", TOKEN, "--no-floor", "--limit", "50")["matches"]
    found = {m["content"]["statement"]: str(m["block_id"]) for m in matches}
    assert item in found
    introducing = next(block_id for text, block_id in found.items() if TOKEN in text)
    before = needles_of(product, found[item])["vector"]
    assert remains(everywhere(product), {"vector": before})
    _redact(product, introducing)
    assert not remains(everywhere(product), {"vector": before})
    assert indexed(product.brain("north"), TOKEN) == 0
    again = product.csl("index", "--brain", "north", "--json").data
    assert again["unembedded"] == 0
    kept = product.search("north", "reeds northern bank March", "--no-floor")["matches"]
    assert kept[0]["content"]["statement"] == item
    product.verified("north")
