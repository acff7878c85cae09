"""`csl retain` as it is called: what it says, what it refuses, and what it leaves alone then."""

from __future__ import annotations

import itertools
import json
import shutil
from collections.abc import Iterator
from typing import Any

import pytest
from product import Done, Product, ground
from product_retention import allowing

PUMP = "The pump of the northern well loses pressure when its filter is clogged with sand."
RELAY = "Relay station two repeats a frame at most three times, and then it counts the loss."
SHARED = "Panels deliver less current once the water tower casts its shadow over them."


@pytest.fixture(scope="module")
def template() -> Iterator[Product]:
    with ground() as root:
        made = allowing(root / "farm")
        made.write("notes/pumps.md", f"# Pumps\n\n{PUMP}\n\n{SHARED}\n")
        made.write("notes/radio.md", f"# Radio\n\n{RELAY}\n\n{SHARED}\n")
        made.ingest("notes", "--brain", "north")
        yield made


@pytest.fixture
def farm(template: Product) -> Iterator[Product]:
    with ground() as root:
        shutil.copytree(template.root, root / "farm")
        yield Product(root / "farm")


def found(product: Product, text: str, brain: str = "north") -> Any:
    matches = product.search(brain, text, "--no-floor", "--limit", "50")["matches"]
    return next(m for m in matches if m["content"]["statement"] == text)


def id_of(product: Product, text: str) -> str:
    return str(found(product, text)["block_id"])


def file_of(product: Product, origin: str, text: str) -> str:
    return next(str(s["block_id"]) for s in found(product, text)["sources"] if s["origin"] == origin)


def retain(product: Product, *args: str, brain: str = "north", **environment: str) -> Done:
    return product.csl("retain", *args, "--brain", brain, "--json", **environment)


def ok(done: Done) -> Any:
    return done.data


def head(product: Product, brain: str = "north") -> str:
    return str(product.csl("status", "--brain", brain, "--json").out)


def names(group: list[dict[str, Any]]) -> set[tuple[str, str]]:
    return {(each["memory_type"], each.get("why", "")) for each in group}


# --- plans ------------------------------------------------------------------------------------------------------


def test_a_plan_shows_what_goes_and_what_stays(farm: Product) -> None:
    pumps = file_of(farm, "notes/pumps.md", PUMP)
    made = retain(farm, "plan", "drop", pumps[7:19]).data
    assert names(made["goes"]) == {("canonical", "named"), ("semantic", "derived")}
    assert [s["block_id"] for s in made["stays"]] == [id_of(farm, SHARED)]
    assert made["stays"][0]["sources"] == [file_of(farm, "notes/radio.md", RELAY)]
    assert made["lacking"] == [] and made["needs"] == ["canonical_drop"]
    text = farm.csl("retain", "plan", "drop", pumps, "--brain", "north").text
    assert "nothing is done yet" in text and "it has another source" in text and made["name"] in text


def test_a_plan_changes_nothing(farm: Product) -> None:
    before = head(farm)
    for what in ("drop", "redact"):
        ok(retain(farm, "plan", what, id_of(farm, PUMP)))
    assert head(farm) == before


def test_a_drop_by_its_plan(farm: Product) -> None:
    pumps, shared = file_of(farm, "notes/pumps.md", PUMP), id_of(farm, SHARED)
    name = retain(farm, "plan", "drop", pumps).data["name"]
    report = retain(farm, "drop", pumps, "--reason", "wrong edition", "--plan", name).data
    assert {(c["memory_type"], c["detail"]) for c in report["changed"]} == {
        ("canonical", "named"),
        ("semantic", "derived"),
    }
    assert PUMP not in farm.texts("north", "pump") and SHARED in farm.texts("north", "panels")
    assert [s["origin"] for s in found(farm, SHARED)["sources"]] == ["notes/radio.md"]
    assert found(farm, SHARED)["block_id"] == shared
    farm.verified("north")
    record = farm.csl("block", report["records"][0], "--brain", "north", "--json").data["block"]["content"][
        "record"
    ]
    assert record["mechanism"] == "drop" and record["reason"] == "wrong edition"
    assert record["actor"]["id"] == "ana@example.org"
    assert record["resulting_roots"] == {record["memory_type"]: report["roots"][record["memory_type"]]}
    records = [
        farm.csl("block", r, "--brain", "north", "--json").data["block"]["content"]["record"]
        for r in report["records"]
    ]
    cascaded = {r["memory_type"]: r.get("cascaded_from") for r in records}
    assert cascaded == {"canonical": None, "semantic": pumps}


def test_what_was_dropped_comes_back_with_its_file(farm: Product) -> None:
    pumps = file_of(farm, "notes/pumps.md", PUMP)
    ok(retain(farm, "drop", pumps, "--reason", "by mistake", "--yes"))
    assert farm.ingest("notes", "--brain", "north")["taken"] == 1
    assert PUMP in farm.texts("north", "pump")
    farm.verified("north")


def test_a_plan_that_went_stale(farm: Product) -> None:
    pumps = file_of(farm, "notes/pumps.md", PUMP)
    name = retain(farm, "plan", "drop", pumps).data["name"]
    farm.write("notes/copy.md", f"# Copy\n\n{PUMP}\n")
    farm.ingest("notes/copy.md", "--brain", "north")
    before = head(farm)
    done = retain(farm, "drop", pumps, "--reason", "wrong", "--plan", name)
    assert done.status == 8 and done.error["code"] == "conflict"
    assert "1 block would go no longer" in done.error["message"]
    assert "1 block would stay for another source by now" in done.error["message"]
    assert head(farm) == before


def test_a_plan_still_fits_where_something_else_changed(farm: Product) -> None:
    pump = id_of(farm, PUMP)
    name = retain(farm, "plan", "drop", pump).data["name"]
    farm.write("notes/other.md", "# Other\n\nNothing of this has to do with the plan.\n")
    farm.ingest("notes/other.md", "--brain", "north")
    assert retain(farm, "drop", pump, "--reason", "wrong", "--plan", name).status == 0


@pytest.mark.parametrize(
    ("plan", "says"),
    [
        ("0123456789ab-0123456789abcdef", "does not hold"),
        ("nonsense", "does not hold"),
        ("", "does not hold"),
        ("-", "does not hold"),
    ],
)
def test_plans_that_are_none(farm: Product, plan: str, says: str) -> None:
    done = retain(farm, "drop", id_of(farm, PUMP), "--reason", "x", "--plan", plan)
    assert done.status == 8 and says in done.error["message"]


def test_the_plan_of_other_blocks(farm: Product) -> None:
    name = retain(farm, "plan", "drop", id_of(farm, PUMP)).data["name"]
    done = retain(farm, "drop", id_of(farm, RELAY), "--reason", "x", "--plan", name)
    assert done.status == 8 and "is not a drop of these blocks" in done.error["message"]
    redaction = retain(farm, "redact", id_of(farm, PUMP), "--reason", "x", "--plan", name)
    assert redaction.status == 8


@pytest.mark.parametrize("what", ["drop", "redact"])
def test_nothing_goes_that_nobody_looked_at(farm: Product, what: str) -> None:
    pump = id_of(farm, PUMP)
    done = retain(farm, what, pump, "--reason", "x")
    assert done.status == 10 and f"retain plan {what} {pump}" in done.error["hint"]
    assert retain(farm, what, pump, "--reason", "x", "--yes", "--plan", "a-b").status == 2
    assert retain(farm, what, pump, "--yes").status == 2
    assert retain(farm, what, pump, "--yes", "--reason", "  ").status == 2
    assert PUMP in farm.texts("north", "pump")


# --- redaction --------------------------------------------------------------------------------------------------


def test_a_redacted_block_is_still_a_member(farm: Product) -> None:
    pump = id_of(farm, PUMP)
    before = farm.csl("block", pump, "--brain", "north", "--prove", "--json").data
    report = retain(farm, "redact", pump, "--reason", "asked by the person", "--yes").data
    assert report["erased"] is True
    after = farm.csl("block", pump, "--brain", "north", "--prove", "--json").data
    assert after["block"]["resolvable"] is False and after["block"]["content"] is None
    assert after["proof"] == before["proof"] | {"snapshot": after["proof"]["snapshot"]}
    assert after["block"]["root"] == before["block"]["root"]
    match = farm.search("north", pump[7:27])["matches"]
    assert [m["block_id"] for m in match] == [pump] and match[0]["resolvable"] is False
    assert match[0]["content"] is None
    assert PUMP not in farm.texts("north", "pump northern well filter")
    farm.verified("north")
    status = farm.csl("status", "--brain", "north", "--json").data
    assert "have no vector yet" not in json.dumps(status)


def test_no_word_of_it_is_in_the_report(farm: Product) -> None:
    done = retain(farm, "redact", id_of(farm, PUMP), "--reason", "asked", "--yes")
    assert b"clogged" not in done.out and "clogged" not in done.err


def test_a_later_ingest_is_refused_by_name_and_the_rest_goes_on(farm: Product) -> None:
    pump, pumps = id_of(farm, PUMP), file_of(farm, "notes/pumps.md", PUMP)
    report = retain(farm, "redact", pump, "--reason", "asked", "--yes").data
    farm.write("notes/new.md", "# New\n\nThis is new and has nothing to do with it.\n")
    farm.write("notes/quotes.md", f"# Quotes\n\nAs somebody said:\n\n{PUMP}\n")
    farm.write("notes/pumps.txt", farm.root.joinpath("notes/pumps.md").read_bytes())
    done = farm.csl("ingest", "notes", "--brain", "north", "--json")
    assert done.status == 6 and done.error["code"] == "policy"
    data = done.json["data"]
    assert data["taken"] == 1 and data["gone"] == []
    refused = {each["path"]: each["reason"] for each in data["refused"]}
    assert refused.keys() == {"notes/pumps.md", "notes/quotes.md", "notes/pumps.txt"}
    for origin, named in (("notes/pumps.md", pumps), ("notes/quotes.md", pump), ("notes/pumps.txt", pumps)):
        assert named in refused[origin] and report["at"] in refused[origin], origin
        assert "ana@example.org" in refused[origin] and "asked" in refused[origin]
    assert "This is new and has nothing to do with it." in farm.texts("north", "new")
    farm.verified("north")


def test_readmission_brings_the_bytes_back_with_the_next_ingest(farm: Product) -> None:
    pump, pumps = id_of(farm, PUMP), file_of(farm, "notes/pumps.md", PUMP)
    ok(retain(farm, "redact", pump, "--reason", "asked", "--yes"))
    report = retain(farm, "readmit", pump, "--reason", "consent given").data
    assert {c["block_id"] for c in report["changed"]} == {pump, pumps}
    assert farm.csl("block", pump, "--brain", "north", "--json").data["block"]["resolvable"] is False
    farm.verified("north")
    assert farm.ingest("notes", "--brain", "north")["refused"] == []
    assert farm.csl("block", pump, "--brain", "north", "--json").data["block"]["resolvable"] is True
    assert found(farm, PUMP)["block_id"] == pump
    farm.verified("north")
    records = farm.csl("block", pump, "--brain", "north").text
    assert "asked" in records and "consent given" in records


def test_a_second_redaction_after_a_readmission(farm: Product) -> None:
    pump = id_of(farm, PUMP)
    for _ in range(2):
        ok(retain(farm, "redact", pump, "--reason", "asked", "--yes"))
        assert farm.csl("ingest", "notes", "--brain", "north").status == 6
        ok(retain(farm, "readmit", pump, "--reason", "consent"))
        farm.ingest("notes", "--brain", "north")
        farm.verified("north")


def test_an_original_that_a_policy_protects_refuses_the_whole(farm: Product) -> None:
    farm.file.write_text(farm.file.read_text().replace("canonical_redact = true\n", ""))
    pump = id_of(farm, PUMP)
    assert retain(farm, "plan", "redact", pump).data["lacking"] == ["canonical_redact"]
    before = head(farm)
    done = retain(farm, "redact", pump, "--reason", "x", "--yes")
    assert done.status == 6 and "canonical_redact = true under [retention]" in done.error["hint"]
    assert head(farm) == before and PUMP in farm.texts("north", "pump")


def test_nothing_is_allowed_by_default(farm: Product) -> None:
    farm.file.write_text(farm.file.read_text().partition("\n[retention]")[0])
    pumps = file_of(farm, "notes/pumps.md", PUMP)
    for what in ("drop", "redact"):
        assert retain(farm, what, pumps, "--reason", "x", "--yes").status == 6
    assert retain(farm, "drop", id_of(farm, PUMP), "--reason", "x", "--yes").status == 0


# --- hiding -----------------------------------------------------------------------------------------------------


def test_supersede_and_restore(farm: Product) -> None:
    pump, relay = id_of(farm, PUMP), id_of(farm, RELAY)
    ok(retain(farm, "supersede", pump, "--by", relay, "--reason", "edition"))
    assert PUMP not in farm.texts("north", "pump")
    assert farm.csl("block", pump, "--brain", "north", "--json").data["block"]["superseded_by"] == relay
    ok(retain(farm, "restore", pump))
    assert PUMP in farm.texts("north", "pump")
    farm.verified("north")


def test_a_chain_ends_at_its_end_and_a_circle_is_named(farm: Product) -> None:
    pump, relay, shared = id_of(farm, PUMP), id_of(farm, RELAY), id_of(farm, SHARED)
    ok(retain(farm, "supersede", pump, "--by", relay))
    ok(retain(farm, "supersede", relay, "--by", shared))
    assert farm.csl("block", pump, "--brain", "north", "--json").data["block"]["superseded_by"] == shared
    before = head(farm)
    done = retain(farm, "supersede", shared, "--by", pump)
    assert done.status == 7
    circle = " -> ".join(i[7:19] for i in (shared, pump, relay, shared))
    assert circle in done.error["message"] and head(farm) == before


def test_of_two_supersessions_the_latest_counts(farm: Product) -> None:
    pump, relay, shared = id_of(farm, PUMP), id_of(farm, RELAY), id_of(farm, SHARED)
    ok(retain(farm, "supersede", pump, "--by", relay))
    done = retain(farm, "supersede", pump, "--by", shared)
    assert f"was superseded by {relay[7:19]}" in done.json["warnings"][0]
    assert farm.csl("block", pump, "--brain", "north", "--json").data["block"]["superseded_by"] == shared


def test_demote_twice_is_said_and_written_once(farm: Product) -> None:
    pump = id_of(farm, PUMP)
    assert len(retain(farm, "demote", pump, pump).data["records"]) == 1
    again = retain(farm, "demote", pump)
    assert again.data["records"] == [] and "already" in again.json["warnings"][0]
    assert PUMP not in farm.texts("north", "pump")


# --- bad input --------------------------------------------------------------------------------------------------

CALLS = [
    ("plan", "drop", "ID"),
    ("plan", "redact", "ID"),
    ("drop", "ID", "--reason", "x", "--yes"),
    ("redact", "ID", "--reason", "x", "--yes"),
    ("supersede", "ID", "--by", "OTHER"),
    ("demote", "ID"),
    ("restore", "ID"),
    ("readmit", "ID", "--reason", "x"),
]


@pytest.mark.parametrize("call", CALLS, ids=" ".join)
class TestBadIds:
    def _called(self, farm: Product, call: tuple[str, ...], name: str, brain: str = "north") -> Done:
        relay = id_of(farm, RELAY)
        return retain(farm, *(name if w == "ID" else relay if w == "OTHER" else w for w in call), brain=brain)

    def test_is_refused_and_nothing_changes(self, farm: Product, call: tuple[str, ...]) -> None:
        before = head(farm)
        unknown = self._called(farm, call, "0" * 64)
        assert unknown.status == 4 and unknown.error["code"] == "block_not_found"
        for name in ("nonsense", "12", "sha256:", ""):
            assert self._called(farm, call, name).status == 2
        record = found(farm, PUMP)["sources"][0]["record"]
        assert self._called(farm, call, record).status == (2 if call[0] == "readmit" else 6)
        assert head(farm) == before

    def test_a_brain_that_is_empty_or_not_here(self, farm: Product, call: tuple[str, ...]) -> None:
        assert self._called(farm, call, "0" * 64, brain="south").status == 4
        farm.write("nothing/empty.md", "")
        farm.csl("ingest", "nothing", "--brain", "south")
        assert self._called(farm, call, "0" * 64, brain="south").status == 4


@pytest.mark.parametrize("call", [c for c in CALLS if c[0] != "plan"], ids=" ".join)
def test_an_actor_is_required_and_never_invented(farm: Product, call: tuple[str, ...]) -> None:
    pump, relay = id_of(farm, PUMP), id_of(farm, RELAY)
    words = [pump if w == "ID" else relay if w == "OTHER" else w for w in call]
    farm.file.write_text(farm.file.read_text().replace('actor = "ana@example.org"\n', ""))
    before = head(farm)
    done = retain(farm, *words)
    assert done.status == 3 and done.error["code"] == "actor_required"
    assert retain(farm, *words, "--actor", "No Body").status == 7
    assert head(farm) == before
    if call[0] in ("drop", "redact", "supersede", "demote"):
        assert retain(farm, *words, "--actor", "lab/cleaner").data["actor"] == "lab/cleaner"


def test_a_prefix_of_several_blocks(farm: Product) -> None:
    body = "\n\n".join(f"Line {i} of a long list of readings." for i in range(600))
    farm.write("notes/many.md", f"# Many\n\n{body}\n")
    farm.ingest("notes/many.md", "--brain", "north")
    ids = sorted(
        m["block_id"] for m in farm.search("north", "readings", "--no-floor", "--limit", "1000")["matches"]
    )
    prefix = next(a[7:11] for a, b in itertools.pairwise(ids) if a[7:11] == b[7:11])
    done = retain(farm, "drop", prefix, "--reason", "x", "--yes")
    assert done.status == 2 and "several" in done.error["message"]


def test_a_block_of_another_module_cannot_take_its_place(farm: Product) -> None:
    done = retain(farm, "supersede", id_of(farm, PUMP), "--by", file_of(farm, "notes/radio.md", RELAY))
    assert done.status == 2 and "canonical" in done.error["message"] and "semantic" in done.error["message"]
    itself = retain(farm, "supersede", id_of(farm, PUMP), "--by", id_of(farm, PUMP))
    assert itself.status == 2


def test_an_id_named_twice_counts_once(farm: Product) -> None:
    pump = id_of(farm, PUMP)
    report = retain(farm, "drop", pump, pump[7:20], "--reason", "x", "--yes").data
    assert len(report["changed"]) == 1


def test_again_what_is_done_already(farm: Product) -> None:
    pump, relay = id_of(farm, PUMP), id_of(farm, RELAY)
    ok(retain(farm, "drop", pump, "--reason", "x", "--yes"))
    again = retain(farm, "drop", pump, "--reason", "x", "--yes")
    assert (
        again.status == 4
        and "not a member" in again.error["message"]
        and "ana@example.org" in again.error["message"]
    )
    assert retain(farm, "demote", pump).status == 4
    assert retain(farm, "supersede", relay, "--by", pump).status == 4
    ok(retain(farm, "redact", relay, "--reason", "asked", "--yes"))
    twice = retain(farm, "redact", relay, "--reason", "x", "--yes")
    assert (
        twice.status == 2
        and "redacted already" in twice.error["message"]
        and "asked" in twice.error["message"]
    )
    assert retain(farm, "restore", relay).json["warnings"]
    assert retain(farm, "readmit", id_of(farm, SHARED), "--reason", "x").status == 2


def test_a_dropped_block_can_still_be_redacted(farm: Product) -> None:
    pump = id_of(farm, PUMP)
    ok(retain(farm, "drop", pump, "--reason", "x", "--yes"))
    report = retain(farm, "redact", pump, "--reason", "asked", "--yes").data
    assert pump in {c["block_id"] for c in report["changed"]}
    farm.verified("north")
    assert farm.csl("ingest", "notes", "--brain", "north").status == 6
    farm.verified("north")


def test_a_redacted_block_can_be_dropped(farm: Product) -> None:
    pump = id_of(farm, PUMP)
    ok(retain(farm, "redact", pump, "--reason", "asked", "--yes"))
    ok(retain(farm, "drop", pump, "--reason", "x", "--yes"))
    farm.verified("north")
    assert farm.csl("ingest", "notes", "--brain", "north").status == 6


def test_what_comes_back_is_found_though_the_index_was_made_without_it(farm: Product) -> None:
    """Dropped, then the words indexed afresh by a redaction, then taken again: its ordinal is an old one."""
    pumps = file_of(farm, "notes/pumps.md", PUMP)
    ok(retain(farm, "drop", pumps, "--reason", "by mistake", "--yes"))
    farm.write("notes/other.md", "# Other\n\nA word that is to go.\n")
    farm.ingest("notes/other.md", "--brain", "north")
    ok(retain(farm, "redact", id_of(farm, "A word that is to go."), "--reason", "asked", "--yes"))
    assert PUMP not in farm.texts("north", "pump")
    farm.ingest("notes/pumps.md", "--brain", "north")
    match = found(farm, PUMP)
    assert (
        match["score"] == farm.search("north", "pump pressure filter", "--limit", "1")["matches"][0]["score"]
    )
    status = farm.csl("status", "--brain", "north", "--json").data
    assert "behind" not in json.dumps(status["brains"][0].get("advice", ""))
