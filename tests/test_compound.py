from __future__ import annotations

import itertools
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from members import FakeMember, block, digest, failing, match

from consilience import compound as compound_module
from consilience.compound import Compound, choose
from consilience.envelope import envelope, to_json
from consilience.errors import (
    BrainNotFoundError,
    ConsilienceError,
    CorruptStoreError,
    EmbeddingError,
    QueryError,
    RemoteError,
    UsageError,
)
from consilience.model import Bundle, CompoundResult, Match, ModuleRoot, Query, Skipped, Source
from consilience.protocol import MemoryType

A_WAY_OFF = 30.0
"""Seconds after which a thread that waits for another gives up; reached only where a test fails."""


def here(name: str) -> str | None:
    return None


# --- choosing ---------------------------------------------------------------------------------------------------


def test_names_split_at_commas_and_keep_their_order() -> None:
    chosen = choose(("a", "b", "c"), ("c, a", "b"), False, here)
    assert (chosen.names, chosen.skipped) == (("c", "a", "b"), ())


def test_a_stray_comma_names_nothing() -> None:
    assert choose(("a", "b"), (",b,,a,",), False, here).names == ("b", "a")


@pytest.mark.parametrize("name", ["./a", "a/", "A", "a b", "../x/a", "physics", "a\u0301"])
def test_what_is_not_declared_is_refused_before_anything_is_looked_at(name: str) -> None:
    def looked(name: str) -> str | None:
        raise AssertionError(name)

    with pytest.raises(UsageError) as caught:
        choose(("a", "b"), ("a", name, "b"), False, looked)
    assert caught.value.message == f"this project has no brain called '{name}'"
    assert caught.value.hint == "a compound takes brain names from this project only; known: a, b"


def test_every_missing_layout_is_named() -> None:
    with pytest.raises(BrainNotFoundError) as caught:
        choose(
            ("a", "b", "c"), ("a,b,c",), False, lambda name: None if name == "b" else f"no layout at ./{name}"
        )
    assert "'a'" in caught.value.message
    assert "no layout at ./c" in caught.value.message


def test_a_project_without_brains_says_so() -> None:
    with pytest.raises(UsageError) as caught:
        choose((), (), False, here)
    assert "known: none" in (caught.value.hint or "")
    with pytest.raises(UsageError, match="two brains"):
        choose((), (), True, here)


# --- making one -------------------------------------------------------------------------------------------------


def test_a_name_stands_once() -> None:
    with pytest.raises(UsageError, match="'a' stands twice"):
        Compound([FakeMember("a"), FakeMember("b"), FakeMember("a")])


def test_a_text_is_a_question_with_the_usual_filters() -> None:
    first, second = FakeMember("a", "xyz"), FakeMember("b")
    Compound([first, second]).search("who?", limit=2)
    assert first.asked == second.asked == [Query(text="who?", limit=2)]


def test_a_limit_replaces_the_question_s() -> None:
    result = Compound([FakeMember("a", "vwxyz"), FakeMember("b")]).search(Query(text="?", limit=4), limit=2)
    assert (result.query.limit, result.depth, result.count) == (2, 2, 2)


@pytest.mark.parametrize("limit", [0, -1])
def test_a_limit_is_one_or_more(limit: int) -> None:
    compound = Compound([FakeMember("a"), FakeMember("b")])
    for ask in (compound.search, compound.explain):
        with pytest.raises(UsageError, match="limit"):
            ask("?", limit=limit)


def test_a_depth_may_be_given_where_it_means_something() -> None:
    compound = Compound([FakeMember("a", range(30)), FakeMember("b")])
    assert compound.search("?", fuse=True, limit=5, depth=20).depth == 20
    with pytest.raises(UsageError, match="depth"):
        compound.search("?", fuse=True, limit=5, depth=4)
    with pytest.raises(UsageError, match="fused"):
        compound.search("?", limit=5, depth=20)


# --- side by side -----------------------------------------------------------------------------------------------


def test_answers_come_in_the_order_named_whoever_is_first() -> None:
    turn = [threading.Event() for _ in range(3)]

    def after(index: int) -> None:
        assert index == 2 or turn[index + 1].wait(A_WAY_OFF)
        turn[index].set()

    members = [FakeMember(name, [name], before=lambda i=i: after(i)) for i, name in enumerate("abc")]
    result = Compound(members).search("?")
    assert [member.brain for member in result.members] == ["a", "b", "c"]
    assert [each.brains[0].brain for each in result.matches] == ["a", "b", "c"]


def test_more_members_than_threads() -> None:
    names = [f"brain-{index:03}" for index in range(compound_module.MOST_THREADS * 3 + 1)]
    result = Compound([FakeMember(name, [name]) for name in names]).search("?")
    assert [member.brain for member in result.members] == names
    assert result.count == len(names)


@pytest.mark.parametrize("granted", [0, 1])
def test_a_machine_without_threads_to_spare_answers_all_the_same(
    monkeypatch: pytest.MonkeyPatch, granted: int
) -> None:
    start, left = threading.Thread.start, itertools.count(granted, -1)

    def starved(thread: threading.Thread) -> None:
        if next(left) <= 0:
            raise RuntimeError("can't start new thread")
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", starved)
    result = Compound([FakeMember(name, [name]) for name in "abc"]).search("?")
    assert [member.brain for member in result.members] == ["a", "b", "c"]


@pytest.mark.skipif(os.name == "nt", reason="sends a POSIX signal")
def test_an_interrupt_waits_for_no_member() -> None:
    release, asked = threading.Event(), threading.Event()

    def stay() -> None:
        asked.set()
        release.wait(A_WAY_OFF)

    def interrupt() -> None:
        assert asked.wait(A_WAY_OFF)
        os.kill(os.getpid(), signal.SIGINT)

    compound = Compound([FakeMember("a", before=stay), FakeMember("b", before=interrupt)])
    try:
        with pytest.raises(KeyboardInterrupt):
            compound.search("?")
        assert any(thread.name == "consilience-member" for thread in threading.enumerate())
    finally:
        release.set()


@pytest.mark.skipif(os.name == "nt", reason="sends a POSIX signal")
def test_an_interrupted_process_ends_while_a_member_still_works() -> None:
    script = (
        "import os, signal, threading, time\n"
        "from members import FakeMember\n"
        "from consilience.compound import Compound\n"
        "threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()\n"
        "stay = lambda: time.sleep(600)\n"
        "Compound([FakeMember('a', before=stay), FakeMember('b', before=stay)]).search('?')\n"
    )
    support = Path(__file__).parent / "support"
    done = subprocess.run(
        [sys.executable, "-c", script],
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(support), *sys.path])},
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == -signal.SIGINT
    assert b"KeyboardInterrupt" in done.stderr


# --- a member that fails ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("fuse", [False, True])
@pytest.mark.parametrize(
    ("error", "said"),
    [
        (RemoteError("no route"), "no route"),
        (CorruptStoreError("page 7"), "page 7"),
        (ZeroDivisionError("by zero"), "ZeroDivisionError: by zero"),
        (MemoryError(), "MemoryError"),
        (SystemExit(3), "SystemExit"),
    ],
)
def test_one_that_fails_takes_nobody_with_it_and_is_named(
    error: BaseException, said: str, fuse: bool
) -> None:
    members = [FakeMember("a", "xy"), FakeMember("b", "yz", before=failing(error)), FakeMember("c", "z")]
    result = Compound(members, [Skipped(brain="d", reason="no layout")]).search("?", fuse=fuse)
    assert [member.brain for member in result.members] == ["a", "c"]
    assert {each.block_id for each in result.matches} == {block("x"), block("y"), block("z")}
    assert [each.brain for each in result.skipped] == ["d", "b"]
    assert result.skipped[1].reason.startswith(f"failed: {said}")
    assert [warning.startswith(f"b: failed: {said}") for warning in result.warnings] == [True]
    assert [failure.brain for failure in result.failures] == ["b"]
    if not isinstance(error, ConsilienceError):
        assert (result.failures[0].error.code, result.failures[0].error.__cause__) == ("internal", error)


def test_an_explanation_survives_a_member_that_fails() -> None:
    members = [FakeMember("a"), FakeMember("b", before=failing(EmbeddingError("model gone")))]
    explained = Compound(members).explain("?")
    assert [member.brain for member in explained.members] == ["a"]
    assert explained.skipped == (Skipped(brain="b", reason="failed: model gone"),)
    assert explained.warnings == ("b: failed: model gone",)


def test_an_error_that_all_share_is_the_error() -> None:
    members = [FakeMember(name, before=failing(QueryError("empty", hint="ask"))) for name in "abc"]
    with pytest.raises(QueryError) as caught:
        Compound(members).search("")
    assert (caught.value.message, caught.value.hint) == ("empty", "ask")


def test_when_all_fail_each_is_named_and_broken_integrity_decides() -> None:
    members = [
        FakeMember("a", before=failing(RemoteError("no route"))),
        FakeMember("b", before=failing(CorruptStoreError("page 7", hint="verify"))),
    ]
    with pytest.raises(CorruptStoreError) as caught:
        Compound(members).search("?")
    assert "a: no route" in caught.value.message
    assert "b: page 7" in caught.value.message
    assert caught.value.hint == "verify"


class Altered(FakeMember):
    """Answers with a bundle in which these fields are other than they should be."""

    def __init__(self, name: str, ranking: Sequence[object], **fields: object) -> None:
        super().__init__(name, ranking)
        self.fields = fields

    def search(self, query: Query) -> Bundle:
        return msgspec.structs.replace(super().search(query), **self.fields)


def held(*labels: str, **values: object) -> tuple[Match, ...]:
    return tuple(match(label, brain="b", **values) for label in labels)


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"brain": "a"}, "signed 'a'"),
        ({"matches": held("x", "x")}, "a block twice"),
        ({"matches": held(*"abcdefghijkl")}, "12 matches where 10"),
        ({"matches": held("x", score=1.5)}, "not within"),
        ({"matches": held("x", strength=float("nan"))}, "not within"),
        ({"matches": held("x"), "verified_against": ()}, "not verified"),
        ({"matches": held("x", root=digest("another"))}, "not verified"),
        ({"matches": held("x", memory_type=MemoryType.PROCEDURAL)}, "not verified"),
    ],
)
def test_an_answer_that_cannot_be_cited_is_a_failure(fields: dict[str, object], said: str) -> None:
    result = Compound([FakeMember("a", "x"), Altered("b", "", **fields)]).search("?")
    assert [member.brain for member in result.members] == ["a"]
    assert said in result.skipped[0].reason


def test_a_match_that_names_its_root_is_taken() -> None:
    root = digest("root")
    member = Altered(
        "b",
        "",
        matches=held("x", root=root),
        verified_against=(ModuleRoot(module=MemoryType.SEMANTIC, root=root),),
    )
    assert Compound([FakeMember("a"), member]).search("?").matches[0].brains[0].cite.endswith(root)


# --- any brains in any order ------------------------------------------------------------------------------------

LABELS = "pqrstuvw"


@st.composite
def matches(draw: st.DrawFn, name: str) -> list[Match]:
    made = []
    for label in draw(st.lists(st.sampled_from(LABELS), unique=True, max_size=6)):
        resolvable = draw(st.booleans())
        one = match(
            label,
            brain=draw(st.sampled_from((name, "everywhere"))),
            strength=draw(st.sampled_from((None, 0.5, 1.0))),
            resolvable=resolvable,
            superseded_by=draw(st.sampled_from((None, block("p"), block("q")))),
        )
        made.append(one if resolvable else msgspec.structs.replace(one, content=None, text=""))
    return made


@st.composite
def brains(draw: st.DrawFn) -> list[FakeMember]:
    names = draw(st.lists(st.sampled_from("abcde"), unique=True, min_size=2))
    return [
        FakeMember(
            name,
            draw(matches(name)),
            truncated=draw(st.booleans()),
            withheld=draw(st.integers(0, 3)),
            warnings=draw(st.lists(st.sampled_from(("stale", "slow")), max_size=2)),
            before=failing(RemoteError("gone")) if index and draw(st.integers(0, 9)) == 0 else lambda: None,
        )
        for index, name in enumerate(names)
    ]


def canonical(result: CompoundResult) -> CompoundResult:
    """The result with what may follow the order of naming (C14) put into one order."""

    def place(each: Source) -> tuple[str, str]:
        return (each.block_id, each.origin or "")

    return msgspec.structs.replace(
        result,
        failures=(),
        members=tuple(sorted(result.members, key=lambda member: member.brain)),
        matches=tuple(
            msgspec.structs.replace(
                each,
                brains=tuple(sorted(each.brains, key=lambda contribution: contribution.brain)),
                sources=tuple(sorted(each.sources, key=place)),
            )
            for each in result.matches
        ),
    )


@settings(deadline=None)
@given(brains(), st.integers(1, 8), st.randoms(use_true_random=False))
def test_no_order_of_brains_changes_a_fused_result(
    members: list[FakeMember], limit: int, random: object
) -> None:
    shuffled = list(members)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    one = Compound(members).search("?", fuse=True, limit=limit)
    other = Compound(shuffled).search("?", fuse=True, limit=limit)
    assert canonical(one) == canonical(other)
    assert [failure.brain for failure in one.failures] == [failure.brain for failure in other.failures]


@settings(deadline=None)
@given(brains(), st.integers(1, 8))
def test_a_brain_with_nothing_changes_no_match(members: list[FakeMember], limit: int) -> None:
    for fuse in (False, True):
        one = Compound(members).search("?", fuse=fuse, limit=limit)
        other = Compound([*members, FakeMember("silent")]).search("?", fuse=fuse, limit=limit)
        assert one.matches == other.matches
        assert other.members[-1].count == 0


@settings(deadline=None)
@given(brains(), st.integers(1, 8), st.booleans())
def test_counts_cuts_and_bytes_agree(members: list[FakeMember], limit: int, fuse: bool) -> None:
    results = [Compound(members).search("?", fuse=fuse, limit=limit) for _ in range(2)]
    result = results[0]
    answered = {member.name: member for member in members}
    for report in result.members:
        named = [each for each in result.matches if report.brain in {held.brain for held in each.brains}]
        assert report.count == len(named)
        own = answered[report.brain]
        assert report.truncated == (own.truncated or len(named) < len(own.matches))
    assert len({envelope("compound.search", to_json(each), each.warnings) for each in results}) == 1


# --- deferring ---------------------------------------------------------------------------------------------------


def of_strength(name: str, labels: str, strength: float | None) -> FakeMember:
    return FakeMember(name, [match(label, brain=name, strength=strength) for label in labels])


def test_deferred_a_brain_that_is_less_sure_comes_after_what_a_sure_one_found() -> None:
    members = [of_strength("a", "pqr", 0.84135), of_strength("b", "xyz", 0.9999), of_strength("c", "w", None)]
    plain = Compound(members).search("?", fuse=True)
    late = Compound(members).search("?", fuse=True, defer=True)
    assert [each.block_id for each in plain.matches[:3]] == [block(label) for label in "xpw"]
    assert [each.block_id for each in late.matches] == [block(label) for label in "xwyzpqr"]
    assert {each.brain: each.deferred for each in late.members} == {"a": 32, "b": 0, "c": 0}
    assert {each.deferred for each in plain.members} == {0}
    assert late.matches[4].brains[0].rank == 1, "a place in its brain is what it was"
    assert {m.block_id for m in late.matches} == {m.block_id for m in plain.matches}


def test_deferred_a_block_that_two_hold_still_rises_and_the_order_of_naming_changes_nothing() -> None:
    members = [of_strength("a", "pxq", 0.97725), of_strength("b", "xyz", 0.99)]
    found = Compound(members).search("?", fuse=True, defer=True).matches
    again = Compound(members[::-1]).search("?", fuse=True, defer=True).matches
    assert found[0].block_id == block("x")
    assert [(each.block_id, each.score) for each in found] == [(each.block_id, each.score) for each in again]


def test_only_a_fused_search_defers() -> None:
    with pytest.raises(UsageError, match="fused") as caught:
        Compound([FakeMember("a", "x"), FakeMember("b", "y")]).search("?", defer=True)
    assert caught.value.hint == "leave --defer out, or add --fuse"
