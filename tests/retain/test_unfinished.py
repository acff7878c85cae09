"""An erasure that is cut short, or that something is in the way of: what is said, and who finishes it."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest
from product import Product
from remains import forms, indexed, remains, stored_forms
from stores import ACTOR, NOW

from consilience.index.lexical import LexicalIndex
from consilience.protocol import parse_digest
from consilience.retain import erase
from consilience.retain.execute import Retention
from consilience.retain.policy import Policy
from consilience.store import Store

TOKEN = "Zyxgorblax"
SENTENCE = f"The word that opens the northern gate is {TOKEN}, and nobody may know it."
ALL = Policy(canonical_drop=True, redact=True, canonical_redact=True)
REDACT = ("retain", "redact", "--reason", "asked", "--yes", "--brain", "north")


@pytest.fixture
def block(product: Product) -> str:
    """A brain with the token in it; the id of its block."""
    product.write("notes/gate.md", f"# Gates\n\n{SENTENCE}\n\nAnother line of the same file.\n")
    product.ingest("notes", "--brain", "north")
    return str(product.search("north", TOKEN, "--no-floor", "--limit", "1")["matches"][0]["block_id"])


def needles(product: Product, block: str) -> dict[str, bytes]:
    return forms(TOKEN) | stored_forms(product.brain("north"), [parse_digest(block)])


def gone(product: Product, wanted: dict[str, bytes]) -> bool:
    brain = product.brain("north")
    return not remains([brain, product.root / ".cache"], wanted) and not indexed(brain, TOKEN)


def cut_short(product: Product, block: str) -> None:
    """The commit, and nothing after it."""
    with Store.open(product.brain("north")) as store:
        work = Retention(store, "north", actor=ACTOR, clock=lambda: NOW)
        work.redact([parse_digest(block)], reason="asked", policy=ALL)
        assert store.to_erase()


def test_no_reader_has_the_bytes_though_files_still_do(product: Product, block: str) -> None:
    wanted = needles(product, block)
    cut_short(product, block)
    assert not gone(product, wanted)
    match = product.search("north", block[7:30])["matches"][0]
    assert match["content"] is None and match["resolvable"] is False
    done = product.csl("search", "--brain", "north", "--json", "--no-floor", "word that opens the gate")
    assert TOKEN.encode() not in done.out
    assert product.csl("block", block, "--brain", "north", "--bytes").status == 4
    assert not [p for p in done.json["data"]["matches"] if p["resolvable"] and TOKEN in json.dumps(p)]
    product.verified("north")


@pytest.mark.parametrize(
    "work",
    [
        ("index", "--no-embed"),
        ("ingest", "more", "--no-embed"),
        ("retain", "demote", "OTHER"),
    ],
    ids=lambda words: words[0],
)
def test_the_next_writer_finishes_it(product: Product, block: str, work: tuple[str, ...]) -> None:
    wanted = needles(product, block)
    other = next(
        m["block_id"]
        for m in product.search("north", "another line", "--no-floor")["matches"]
        if m["block_id"] != block
    )
    cut_short(product, block)
    product.write("more/new.md", "# More\n\nSomething else.\n")
    words = [other if w == "OTHER" else w for w in work]
    assert product.csl(*words, "--brain", "north").status == 0
    assert gone(product, wanted)
    product.verified("north")


def test_status_says_that_it_is_not_finished(product: Product, block: str) -> None:
    cut_short(product, block)
    assert "erase" in product.csl("status", "--brain", "north").text
    assert product.csl("index", "--brain", "north").status == 0
    assert "erase" not in product.csl("status", "--brain", "north").text


@pytest.mark.parametrize("step", ["_words", "_vectors", "remove_tree"])
def test_killed_at_any_step(product: Product, block: str, step: str) -> None:
    """SIGKILL just before a step; the next `index` does it all."""
    wanted = needles(product, block)
    before = (
        "import os, signal\nfrom consilience.retain import erase\n"
        f"erase.{step} = lambda *_: os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    done = product.process(REDACT[0], REDACT[1], block, *REDACT[2:], before=before)
    assert done.status == -signal.SIGKILL
    assert product.csl("index", "--brain", "north").status == 0
    assert gone(product, wanted)
    product.verified("north")


def test_killed_between_the_log_and_the_list(product: Product, block: str) -> None:
    wanted = needles(product, block)
    before = (
        "import os, signal\nfrom consilience.store import store\n"
        "store.strike = lambda *_: os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    done = product.process(REDACT[0], REDACT[1], block, *REDACT[2:], before=before)
    assert done.status == -signal.SIGKILL
    assert product.csl("index", "--brain", "north").status == 0
    assert gone(product, wanted)


def test_a_reader_of_an_older_state_is_waited_for_and_told(
    product: Product, block: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = needles(product, block)
    monkeypatch.setattr(erase, "TIMEOUT_S", 0.3)
    short = lambda self, **k: erase.finish(self._store, self._derived.folder, timeout_s=0.3).remains  # noqa: E731
    monkeypatch.setattr("consilience.brain.Brain.finish_erasing", short)
    with Store.open(product.brain("north"), read_only=True) as store, store.view() as view:
        assert view.snapshot is not None
        view.count(next(m.memory_type for m in view.modules()))
        done = product.csl(REDACT[0], REDACT[1], block, *REDACT[2:], "--json")
        assert done.status == 11 and done.json["data"]["erased"] is False
        assert "a reader still sees the state before" in done.error["message"]
        assert "index" in done.error["message"] + done.error["hint"]
        assert not gone(product, wanted)
        assert product.csl("block", block, "--brain", "north", "--json").data["block"]["resolvable"] is False
    assert product.csl("index", "--brain", "north").status == 0
    assert gone(product, wanted)


def test_an_indexing_process_is_waited_for(
    product: Product, block: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = needles(product, block)
    waits: list[float] = []
    derived = product.brain("north") / "derived"
    with Store.open(product.brain("north")) as store:
        Retention(store, "north", actor=ACTOR, clock=lambda: NOW).redact(
            [parse_digest(block)], reason="asked", policy=ALL
        )
        with LexicalIndex.open_for_write(derived / "lexical"):
            erasure = erase.finish(store, derived, waiting=waits.append, timeout_s=0.3)
            assert not erasure.done and waits and "index" in str(erasure.remains)
        assert erase.finish(store, derived).done
    assert gone(product, wanted)


def test_finishing_twice_and_with_nothing_to_do(product: Product, block: str) -> None:
    cut_short(product, block)
    derived = product.brain("north") / "derived"
    with Store.open(product.brain("north")) as store:
        assert erase.finish(store, derived).done and erase.finish(store, derived).done
        assert erase.finish(store, Path("/nonexistent/derived")).done


def test_a_file_that_came_back_meanwhile_stays(product: Product) -> None:
    """Redacted, cut short, readmitted and taken again before the erasure is finished: the original is needed."""
    noise = __import__("random").Random(3).randbytes(1_200_000).hex()
    product.write("notes/gate.md", f"# Gates\n\n{SENTENCE}\n\n<!-- {noise} -->\n")
    product.ingest("notes", "--brain", "north")
    block = next(
        m["block_id"]
        for m in product.search("north", TOKEN, "--no-floor")["matches"]
        if m["content"]["statement"] == SENTENCE
    )
    with Store.open(product.brain("north")) as store:
        work = Retention(store, "north", actor=ACTOR, clock=lambda: NOW)
        work.redact([parse_digest(block)], reason="asked", policy=ALL)
        todo = store.to_erase()
        assert todo.files
        work.readmit([parse_digest(block)], reason="consent")
    product.ingest("notes", "--brain", "north")
    with Store.open(product.brain("north")) as store:
        store.finish_erasing(todo)
    product.verified("north")
    assert SENTENCE in product.texts("north", TOKEN)
