"""Splitting: what one unit becomes, whatever stands beside it."""

from __future__ import annotations

import unicodedata

from hypothesis import given, settings
from hypothesis import strategies as st

from consilience.ingest import Document, TextBlock, read, split
from consilience.ingest.passages import MAX_WORDS, cut_prose, measure, prose


def of(text: str, name: str = "note.md") -> list[str]:
    found = read(text.encode(), name)
    return [p.text for p in split(found)] if isinstance(found, Document) else []


PARAGRAPH = "A pond holds still water and the reeds that grow in it."
LONG = " ".join(
    f"Sentence number {n} of this paragraph says what it has to say about ponds." for n in range(40)
)


def test_the_same_paragraph_is_the_same_passage_wherever_it_stands() -> None:
    wrapped = PARAGRAPH.replace(" and ", "\nand ")
    contexts = [
        (f"# One\n\n{PARAGRAPH}\n", "a.md"),
        (f"Another text before it.\n\n{wrapped}   \n\nAnd one after it.\n", "b.md"),
        (f"- {wrapped.replace(chr(10), chr(10) + '  ')}\n", "c.md"),
        (f"Two\n===\n\n{wrapped}\n", "d.rst"),
        (f"<p>{wrapped}</p>", "e.html"),
        (f"{wrapped}\r\n", "f.txt"),
        (f"{wrapped}", "g.txt"),
    ]
    for text, name in contexts:
        assert PARAGRAPH in of(text, name), name


def test_the_same_code_is_the_same_passage_however_deep() -> None:
    code = "def f():\n    return 1"
    fenced = f"```\n{code}\n```\n"
    nested = "- The item that this code belongs to:\n\n      def f():\n          return 1\n"
    literal = "Like so::\n\n        def f():  \n            return 1\n"
    assert code in of(fenced)
    assert code in of(nested)
    assert code in of(literal, "a.rst")


def test_composed_and_decomposed_letters_are_one_text() -> None:
    assert of("Le caf\u00e9 est ferm\u00e9 ce soir.\n") == of("Le cafe\u0301 est ferme\u0301 ce soir.\n")


def test_a_long_paragraph_is_cut_at_sentences_into_balanced_pieces() -> None:
    pieces = cut_prose(LONG)
    assert " ".join(pieces) == LONG
    assert all(measure(piece) <= MAX_WORDS and piece.endswith(".") for piece in pieces)
    sizes = [measure(piece) for piece in pieces]
    assert min(sizes) > 0.5 * max(sizes)


def test_abbreviations_end_no_sentence() -> None:
    filler = "words that go on and on without any end in sight " * 7
    text = prose(f"{filler} e.g. Ponds {filler} cf. Weirs. {filler}")
    assert not any(piece.endswith(("e.g.", "cf.")) for piece in cut_prose(text))


def test_text_without_any_sentence_or_space_is_cut_too() -> None:
    assert "".join(cut_prose("x" * 10_000)) == "x" * 10_000
    assert all(measure(piece) <= MAX_WORDS for piece in cut_prose("水" * 5_000))


def test_pieces_of_a_long_paragraph_know_their_lines() -> None:
    text = "\n".join(f"Line {n} says a few words about ponds." for n in range(100))
    found = read(text.encode(), "a.txt")
    assert isinstance(found, Document)
    passages = split(found)
    assert len(passages) > 3
    for passage in passages:
        first, last = passage.locator.first_line, passage.locator.last_line
        assert first is not None and last is not None
        assert passage.text.startswith(f"Line {first - 1} ")
        assert f"Line {last - 1} says" in passage.text


def test_a_list_of_very_short_items_is_one_passage() -> None:
    assert of("- reeds\n- mud\n- water\n") == ["- reeds\n- mud\n- water"]


def test_a_short_item_joins_the_item_before_it() -> None:
    long = "This item says something that is long enough."
    assert of(f"- {long}\n- short\n- {long} Twice.\n") == [f"- {long}\n- short", f"{long} Twice."]
    assert of(f"- short\n- {long}\n- {long} Twice.\n") == [f"- short\n- {long}", f"{long} Twice."]


def test_a_long_list_of_short_items_is_cut_into_runs() -> None:
    found = of("".join(f"- item {n}\n" for n in range(400)))
    assert len(found) > 3
    assert "\n".join(found).count("\n") == 399
    assert all(measure(text) <= 2 * MAX_WORDS for text in found)


def test_long_code_is_cut_at_blank_lines() -> None:
    body = "\n\n".join(f"def f{n}():\n    return {n}" for n in range(60))
    pieces = of(f"```\n{body}\n```\n")
    assert len(pieces) > 1
    assert "\n\n".join(pieces) == body
    assert all(piece.startswith("def f") for piece in pieces)


def test_empty_units_make_no_passage() -> None:
    assert of("\u200b\n\n&nbsp;\n\nWords that can be seen.\n") == ["Words that can be seen."]


TEXTS = st.text(max_size=400) | st.lists(
    st.sampled_from(
        ["# H\n", "\n", "- a\n", "  - b c\n", "> q\n", "```\n", "x = 1\n", "| a | b |\n", "|---|---|\n",
         "Title\n", "=====\n", ".. note::\n", "   indented\n", "text::\n", "<div>", "</p>", "<!--", "* ", "\t",
         "word ", "`c`", "e\u0301", "\r\n", "[a]: b\n", "+--+\n", "==  ==\n", "1. n\n", ":f: v\n", "---\n",
         "\x0c", "<td>", "\U000f0001", "``"]
    ),
    max_size=60,
).map("".join)  # fmt: skip
NAMES = st.sampled_from(["a.md", "a.rst", "a.txt", "a.html"])


@settings(max_examples=300, deadline=None)
@given(TEXTS, NAMES)
def test_any_text_becomes_passages_of_its_lines(text: str, name: str) -> None:
    data = text.encode("utf-8", errors="replace")
    found = read(data, name)
    assert found == read(data, name)
    if not isinstance(found, Document):
        return
    count = len(text.replace("\r\n", "\n").replace("\r", "\n").split("\n"))
    for passage in split(found):
        first, last = passage.locator.first_line, passage.locator.last_line
        assert first is not None and last is not None and 1 <= first <= last <= count
        assert passage.text.strip()
        assert unicodedata.is_normalized("NFC", passage.text)
        assert not any("\ud800" <= c <= "\udfff" for c in passage.text)


@settings(max_examples=200, deadline=None)
@given(st.text(min_size=1, max_size=3000), st.sampled_from(["prose", "code"]))
def test_splitting_a_passage_again_changes_nothing(text: str, role: str) -> None:
    def once(text: str) -> list[str]:
        block = TextBlock(text=text, role=role, first_line=1, last_line=text.count("\n") + 1)
        return [p.text for p in split(Document(title="", blocks=(block,), reader="x", version="1"))]

    for piece in once(text):
        assert once(piece) == [piece]
