"""The plain text reader."""

from __future__ import annotations

from consilience.ingest import Document, read, split


def document(text: str, name: str = "note.txt") -> Document:
    found = read(text.encode(), name)
    assert isinstance(found, Document)
    return found


def test_paragraphs_and_headings() -> None:
    text = (
        "OF PONDS\n\nA pond holds\nstill water.\n\n1. Edges of it\n\nMud is soft there.\n\n"
        "Depth\n-----\n\nTwo metres or so.\n"
    )
    found = document(text)
    assert found.title == "OF PONDS"
    assert [(p.text, p.locator.headings[1:], p.locator.first_line) for p in split(found)] == [
        ("A pond holds still water.", (), 3),
        ("Mud is soft there.", ("1. Edges of it",), 8),
        ("Two metres or so.", ("Depth",), 13),
    ]


def test_an_ordinary_first_line_is_no_heading() -> None:
    found = document(
        "Dear Ann, the pond froze last night.\n\nYours, Bob and the others.\n", "letter-to_ann.txt"
    )
    assert found.title == "Letter to ann"
    assert len(split(found)) == 2


def test_lists_and_indented_code() -> None:
    text = "- The first item says something long.\n- The second item says\n  something else.\n\n    x = f(1); y = {2}\n"
    assert [(p.text, p.role) for p in split(document(text))] == [
        ("The first item says something long.", "prose"),
        ("The second item says something else.", "prose"),
        ("x = f(1); y = {2}", "code"),
    ]


def test_a_readme_without_an_ending_is_text() -> None:
    assert document("Read me before anything else.\n", "README").reader == "plain"
