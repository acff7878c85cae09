"""The index of relations: what a line names, what a document lays down, what is joined when it is asked for."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from consilience.errors import BusyError, IndexUnusableError
from consilience.index.edges import EdgeIndex
from consilience.index.edges_file import ANYWHERE, Laid, Mention, key_of, packed, unpacked
from consilience.index.edges_links import named_in, names_of, section_key


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "derived" / "edges.db"


def laid(source: int, *ns: int, **more: object) -> Laid:
    fields = {"head": ns[0], "ordered": True, "ns": ns, "sections": (7,) * len(ns), **more}
    return Laid(source=source, **fields)  # type: ignore[arg-type]


def write(path: Path, *documents: Laid, watermark: int = 100) -> EdgeIndex:
    with EdgeIndex.open_for_write(path) as writer:
        for document in documents:
            writer.lay(document)
        writer.commit(watermark)
    index = EdgeIndex.open(path)
    assert index is not None
    return index


# --- names ----------------------------------------------------------------------------------------------------------


def keys(origin: str, line: str, *more: str) -> set[int]:
    return {named.key for named in named_in(origin, [line, *more]) if named.line == 1}


@pytest.mark.parametrize(
    ("line", "target"),
    [
        ("See [the setup](setup.md).", "docs/setup.md"),
        ("See [the setup](./setup.md#linux 'how').", "docs/setup.md"),
        ("See [the setup](../README.md) and more", "README.md"),
        ("See [it](a%20b.md)", "docs/a b.md"),
        ("See [it](<setup.md>)", "docs/setup.md"),
        ("![no](x) see `the setup <setup.rst>`_", "docs/setup.rst"),
        ('<a class="x" href="setup.html">it</a>', "docs/setup.html"),
        (".. _setup: setup.rst", "docs/setup.rst"),
    ],
)
def test_a_path_is_taken_from_where_the_document_stands(line: str, target: str) -> None:
    assert key_of("path", target) in keys("docs/index.md", line)


@pytest.mark.parametrize(
    ("line", "origin", "head"),
    [
        ("as in PEP 484 and elsewhere", "peps/pep-0484.rst", ""),
        ("as in :pep:`484`", "peps/pep-0484.rst", ""),
        ("as in `PEP 484`_", "peps/pep-0484.rst", ""),
        ("https://peps.python.org/pep-0484/#the-numeric-tower", "pep-0484.rst", ""),
        ("[async](https://example.org/x/blob/main/0296-async-await.md)", "p/0296-async-await.md", ""),
        ("by SE-0296, which", "proposals/0296-async-await.md", "* Proposal: [SE-0296](0296-async-await.md)"),
        (
            "by RFC #2094, which",
            "text/2094-nll.md",
            "- RFC PR: [rust-lang/rfcs#2094](https://e.org/pull/2094)",
        ),
        ("see [[Daily Notes|notes]]", "vault/daily notes.md", ""),
        ("see :doc:`guides/deploy-it`", "docs/guides/deploy-it.rst", ""),
    ],
)
def test_a_document_is_named_by_its_file_and_by_its_number(line: str, origin: str, head: str) -> None:
    assert keys("other/index.md", line) & set(names_of(origin, head)), line


def test_a_file_outside_of_the_project_is_named_as_one_inside_is() -> None:
    origin = "file:///home/ana/vault/notes/a.md"
    assert set(names_of("file:///home/ana/vault/b.md", "")) & keys(origin, "[b](../b.md)")


@pytest.mark.parametrize(
    "line",
    [
        "Python 3 and line 484",
        "mailto:pep-0484@example.org is [mail](mailto:a@example.org)",
        "[readme](https://example.org/readme)",
        "[x](https://example.org)",
        "[x](#)",
        "",
    ],
)
def test_what_names_no_document(line: str) -> None:
    assert not keys("docs/a.md", line)


def test_a_reference_counts_where_it_is_used() -> None:
    lines = ["Read [the guide][g] first.", "", "[g]: guide.md"]
    assert [(n.line, n.key) for n in named_in("docs/a.md", lines)] == [(1, key_of("path", "docs/guide.md"))]


def test_a_heading_and_the_fragment_that_means_it() -> None:
    assert section_key("Detailed design") == section_key("detailed-design") == section_key("Detailed_design!")
    (named,) = named_in("docs/a.md", ["see [below](#detailed-design)"])
    assert (named.key, named.section) == (key_of("path", "docs/a.md"), section_key("Detailed design"))


@given(st.lists(st.text(max_size=80), max_size=5))
def test_any_lines_can_be_looked_through(lines: list[str]) -> None:
    assert list(named_in("a/b.md", lines)) == list(named_in("a/b.md", lines))
    assert all(1 <= each.line <= len(lines) for each in named_in("a/b.md", lines))


@given(st.lists(st.integers(0, 2**62)))
def test_numbers_come_back(numbers: list[int]) -> None:
    assert list(unpacked(packed(numbers))) == numbers


# --- the file -------------------------------------------------------------------------------------------------------


def test_what_stands_beside_what(path: Path) -> None:
    index = write(path, laid(1, 10, 11, 12, sections=(5, 5, 6)), laid(2, 12, 13))
    assert index.places([11, 12, 99]) == [(11, 1), (12, 1), (12, 2)]
    documents = index.documents([1, 2, 3])
    assert sorted(documents) == [1, 2]
    assert documents[1].beside(11) == [(10, -1, True), (12, 1, False)]
    assert documents[1].beside(10) == [(11, 1, True)] and documents[2].beside(13) == [(12, -1, True)]
    assert documents[1].beside(77) == []
    assert (documents[1].target(ANYWHERE), documents[1].target(6), documents[1].target(8)) == (10, 12, 10)


def test_rows_that_share_a_file_stand_beside_nothing(path: Path) -> None:
    assert write(path, laid(1, 10, 11, ordered=False)).documents([1])[1].beside(10) == []


def test_a_link_may_come_before_its_target(path: Path) -> None:
    key = key_of("path", "b.md")
    index = write(path, laid(1, 10, mentions=(Mention(10, key, 3),)))
    assert index.links_from([10]) == []
    write(path, laid(2, 20, names=(key,)), watermark=101)
    assert [tuple(link) for link in index.links_from([10])] == [(10, 1, key, 2, 3)]
    assert index.links_to([2]) == index.links_from([10]) and index.watermark == 101


def test_a_document_that_names_itself_is_no_link_but_its_sections_are(path: Path) -> None:
    key = key_of("path", "a.md")
    index = write(
        path, laid(1, 10, 11, names=(key,), mentions=(Mention(10, key, ANYWHERE), Mention(11, key, 7)))
    )
    assert [(link.n, link.section) for link in index.links_from([10, 11])] == [(11, 7)]


def test_a_document_laid_down_again_takes_the_place_of_what_was_known(path: Path) -> None:
    key = key_of("path", "b.md")
    index = write(path, laid(1, 10, 11, mentions=(Mention(10, key, ANYWHERE),)), laid(2, 20, names=(key,)))
    write(path, laid(1, 11, 12))
    assert index.places([10]) == [] and index.links_from([10]) == []
    assert list(index.documents([1])[1].ns) == [11, 12]


def test_nothing_is_seen_before_the_commit_and_one_writes_at_a_time(path: Path) -> None:
    index = write(path, laid(1, 10))
    with EdgeIndex.open_for_write(path) as writer:
        writer.lay(laid(2, 20))
        assert index.places([20]) == []
        with pytest.raises(BusyError):
            EdgeIndex.open_for_write(path)
    assert index.places([20]) == []  # ended without a commit


def test_cleared_it_holds_nothing_and_begins_anew(path: Path) -> None:
    key = 0x0123456789ABCDEF
    write(path, laid(1, 10, names=(key,))).close()
    assert key.to_bytes(8, "big") in path.read_bytes()
    with EdgeIndex.open_for_write(path) as writer:
        writer.clear()
        writer.commit(0)
        assert writer.watermark == 0
    index = EdgeIndex.open(path)
    assert index is not None and index.counts() == (0, 0)
    assert key.to_bytes(8, "big") not in path.read_bytes()


def test_damaged_or_of_another_version_it_is_named_and_made_anew(path: Path) -> None:
    write(path, laid(1, 10)).close()
    path.write_bytes(b"not a database, but some bytes" * 100)
    with pytest.raises(IndexUnusableError):
        EdgeIndex.open(path)
    assert write(path, laid(1, 11)).places([11]) == [(11, 1)]
