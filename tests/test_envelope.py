from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

import msgspec
import pytest
from members import FakeMember, block, digest, failing, match, source

from consilience import __version__
from consilience.compound import Compound
from consilience.envelope import envelope, outcome, to_json
from consilience.errors import BusyError, ConsilienceError, IntegrityError, RemoteError, UsageError
from consilience.model import Query, Skipped


def said(command: str, *parts: object, **named: object) -> dict[str, object]:
    written = envelope(command, *parts, **named)  # type: ignore[arg-type]
    assert b"\n" not in written
    read = json.loads(written)
    assert isinstance(read, dict)
    return read


def data(answer: object, **options: bool) -> dict[str, object]:
    read = said("x", to_json(answer, **options))["data"]  # type: ignore[call-overload]
    assert isinstance(read, dict)
    return read


def keys(of: Iterable[str]) -> str:
    return " ".join(of)


SOURCE = "block_id origin locator record"
PLAN = "name generators weights estimated_us estimated_recall"
MEMBER = (
    "brain count truncated withheld collapsed deferred all_verified verified_against snapshot plan elapsed_ms"
)


# --- the envelope -----------------------------------------------------------------------------------------------


def test_an_envelope_of_success() -> None:
    read = said("status", {"b": 1, "a": [None, True]}, ["slow"])
    assert list(read) == ["consilience", "command", "ok", "data", "warnings", "error"]
    assert read == {
        "consilience": __version__,
        "command": "status",
        "ok": True,
        "data": {"b": 1, "a": [None, True]},
        "warnings": ["slow"],
        "error": None,
    }
    assert list(read["data"]) == ["b", "a"]  # type: ignore[call-overload]


@pytest.mark.parametrize(
    ("error", "shape"),
    [
        (UsageError("no", hint="do"), {"code": "usage", "message": "no", "hint": "do", "retryable": False}),
        (BusyError("wait"), {"code": "busy", "message": "wait", "hint": None, "retryable": True}),
        (ConsilienceError("oh"), {"code": "internal", "message": "oh", "hint": None, "retryable": False}),
    ],
)
def test_an_envelope_of_an_error(error: ConsilienceError, shape: dict[str, object]) -> None:
    read = said("search", error=error)
    assert (read["ok"], read["data"]) == (False, None)
    assert read["error"] == shape
    assert list(shape) == list(read["error"])  # type: ignore[call-overload]


def test_data_may_stand_beside_an_error() -> None:
    read = said("compound.search", {"count": 1}, (), IntegrityError("dropped"))
    assert (read["ok"], read["data"]) == (False, {"count": 1})


def test_a_lone_surrogate_becomes_a_replacement_character() -> None:
    broken = msgspec.structs.replace(source("x"), origin="caf\udce9.md")
    bundle = FakeMember("a", [match("x", sources=(broken,))]).search(Query(text="\ud800?"))
    read = said("search", to_json(bundle, timings=False), ["a\udcff"], UsageError("b\udcff"))
    whole = said("search", to_json(bundle, timings=False))
    assert read["data"]["matches"][0]["sources"][0]["origin"] == "caf\ufffd.md"  # type: ignore[index]
    assert read["data"]["query"]["text"] == "\ufffd?"  # type: ignore[index]
    assert (read["warnings"], read["error"]["message"]) == (["a\ufffd"], "b\ufffd")  # type: ignore[index]
    assert "elapsed_ms" not in read["data"]  # type: ignore[operator]
    assert list(read["data"]) == list(whole["data"])  # type: ignore[call-overload]
    assert whole["data"]["matches"][0]["content"] == {"statement": "what x says"}  # type: ignore[index]


def test_data_that_is_no_json_is_a_bug_of_ours() -> None:
    with pytest.raises(ConsilienceError, match="cannot be written as JSON") as caught:
        envelope("search", object())
    assert caught.value.code == "internal"


# --- answers ----------------------------------------------------------------------------------------------------


def test_the_json_of_a_bundle() -> None:
    member = FakeMember(
        "algebra", [match("x", strength=0.994), match("y", strength=None, superseded_by=block("z"))]
    )
    read = data(member.search(Query(text="who?", limit=2)))
    assert keys(read) == (
        "query brain count truncated withheld collapsed all_verified verified_against snapshot plan elapsed_ms matches"
    )
    assert list(read["query"]) == [  # type: ignore[call-overload]
        "text", "filters", "limit", "include_superseded", "floor", "collapse", "related",
    ]  # fmt: skip
    assert keys(read["plan"]) == PLAN  # type: ignore[call-overload]
    assert read["verified_against"] == {
        "episodic": digest("root of episodic in algebra"),
        "semantic": digest("root of semantic in algebra"),
    }
    first, second = read["matches"]  # type: ignore[misc]
    assert first == {
        "block_id": block("x"),
        "memory_type": "semantic",
        "rank": 1,
        "score": "1.00",
        "strength": "0.99",
        "content": {"statement": "what x says"},
        "title": "x in ",
        "resolvable": True,
        "superseded_by": None,
        "sources": [
            {
                "block_id": digest("file /x"),
                "origin": "docs//x.md",
                "locator": "L1-L2",
                "record": digest("/x"),
            }
        ],
        "cite": f"csl:algebra/semantic/{block('x')}@{digest('root of semantic in algebra')}",
        "also": [],
    }
    assert keys(first) == (
        "block_id memory_type rank score strength content title resolvable superseded_by sources also cite"
    )
    assert keys(first["sources"][0]) == SOURCE
    assert (second["score"], second["strength"], second["superseded_by"]) == ("0.50", None, block("z"))


@pytest.mark.parametrize("fuse", [False, True])
def test_the_json_of_a_compound(fuse: bool) -> None:
    members = [FakeMember("a", "xy", withheld=4), FakeMember("b", "x")]
    skipped = [Skipped(brain="physics", reason="no layout at ./brains/physics")]
    read = data(Compound(members, skipped).search("who?", fuse=fuse))
    assert keys(read) == ("query fused depth count truncated all_verified members matches skipped")
    assert read["fused"] is fuse
    for member in read["members"]:  # type: ignore[attr-defined]
        assert keys(member) == MEMBER
        assert keys(member["plan"]) == PLAN
        assert list(member["verified_against"]) == ["episodic", "semantic"]
    assert read["members"][0]["withheld"] == 4  # type: ignore[index]
    for each in read["matches"]:  # type: ignore[attr-defined]
        assert keys(each) == (
            "block_id memory_type score content title resolvable superseded_by sources brains near"
        )
        for held in each["brains"]:
            assert keys(held) == ("brain rank score strength resolvable superseded_by sources also cite")
            assert keys(held["sources"][0]) == SOURCE
    assert read["skipped"] == [{"brain": "physics", "reason": "no layout at ./brains/physics"}]


def test_a_block_without_bytes_has_null_content() -> None:
    gone = msgspec.structs.replace(match("x"), content=None, text="", resolvable=False)
    compound = Compound([FakeMember("a", [gone]), FakeMember("b")])
    (each,) = data(compound.search("?"))["matches"]  # type: ignore[misc]
    assert (each["content"], each["resolvable"], each["block_id"]) == (None, False, block("x"))


def test_content_is_written_as_it_is_stored() -> None:
    stored = b'{"statement":"\\u00e9 and \xc3\xa9","n":1.0}'
    bundle = FakeMember("a", [match("x", content=msgspec.Raw(stored))]).search(Query(text="?"))
    assert stored in envelope("search", to_json(bundle))


def test_the_json_of_explanations() -> None:
    member = FakeMember("a", "xy", elapsed_ms=1.23456)
    alone = data(member.explain(Query(text="?"), analyze=True))
    fields = "brain snapshot intent plans indices statistics floor analyzed count"
    assert keys(alone) == f"query {fields}"
    plan, rejected = alone["plans"]  # type: ignore[misc]
    assert keys(plan) == ("name chosen reason estimated_us estimated_recall actual_us generators")
    assert (plan["chosen"], plan["actual_us"], rejected["chosen"], rejected["reason"]) == (
        True,
        1234.6,
        False,
        "dearer",
    )
    assert keys(plan["generators"][0]) == ("name k weight estimated_us estimated_rows actual_us actual_rows")
    assert alone["floor"] == {
        "applied": True,
        "threshold": "0.9500",
        "speaks": "0.9700",
        "best": "0.9900",
        "best_withheld": "0.9471",
        "withheld": 2,
        "samples": 40,
        "detail": "",
    }
    together = data(Compound([member, FakeMember("b")]).explain("?"))
    assert list(together) == ["query", "members", "skipped"]
    assert [keys(each) for each in together["members"]] == [fields, fields]  # type: ignore[attr-defined]
    assert together["members"][0]["plans"][0]["actual_us"] is None  # type: ignore[index]


def answers(elapsed_ms: float) -> Sequence[object]:
    members = [
        FakeMember("a", "xyz", elapsed_ms=elapsed_ms),
        FakeMember("b", "zx", elapsed_ms=elapsed_ms / 3),
    ]
    compound = Compound(members)
    return (
        members[0].search(Query(text="?")),
        compound.search("?"),
        compound.search("?", fuse=True),
        members[0].explain(Query(text="?"), analyze=True),
        compound.explain("?", analyze=True),
    )


def test_only_timings_tell_two_runs_apart() -> None:
    for one, other in zip(answers(1.0), answers(987.654), strict=True):
        with_timings = [envelope("x", to_json(each)) for each in (one, other)]  # type: ignore[call-overload]
        without = [envelope("x", to_json(each, timings=False)) for each in (one, other)]  # type: ignore[call-overload]
        assert with_timings[0] != with_timings[1]
        assert without[0] == without[1]
        assert b"elapsed_ms" not in without[0]
        assert b"actual_us" not in without[0]


# --- what the exit status is made from --------------------------------------------------------------------------


def test_an_answer_in_order_has_no_error() -> None:
    for answer in answers(1.0):
        assert outcome(answer) is None  # type: ignore[arg-type]


def test_a_dropped_match_is_an_integrity_error() -> None:
    dropping = FakeMember("a", "x", dropped=[block("y")])
    error = outcome(dropping.search(Query(text="?")))
    assert isinstance(error, IntegrityError)
    assert error.exit_status == 5
    both = Compound([FakeMember("c", "x", dropped=[block("y")]), FakeMember("b", "x"), dropping]).search("?")
    error = outcome(both)
    assert isinstance(error, IntegrityError)
    assert error.message.endswith(": a, c")


def test_a_failed_member_is_named_with_its_own_error() -> None:
    members = [
        FakeMember("a", "x"),
        FakeMember("b", before=failing(RemoteError("no route", hint="dial again"))),
    ]
    for answer in (Compound(members).search("?"), Compound(members).explain("?")):
        error = outcome(answer)
        assert isinstance(error, RemoteError)
        assert (error.message, error.hint, error.exit_status) == ("b: no route", "dial again", 9)


def test_broken_integrity_decides_over_any_other_failure() -> None:
    gone = FakeMember("a", before=failing(RemoteError("no route")))
    broken = FakeMember("b", before=failing(IntegrityError("root does not follow")))
    dropping = FakeMember("c", "x", dropped=[block("y")])
    sound = FakeMember("d", "x")
    for members, message in (
        ([gone, broken, sound], "b: root does not follow"),
        ([gone, dropping], "matches that failed verification were dropped: c"),
        ([dropping, broken], "b: root does not follow"),
    ):
        error = outcome(Compound(members).search("?"))
        assert isinstance(error, IntegrityError)
        assert error.message == message
