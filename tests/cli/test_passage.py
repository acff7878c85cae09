"""The excerpt of a passage: fits, holds what matched, keeps the lines of code."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from consilience.cli.passage import CODE_LINES, PROSE_LINES, excerpt, spans, word_pattern
from consilience.cli.terminal import columns

FILLER = " ".join(f"Filler sentence number {n} says nothing." for n in range(60))


class TestProse:
    def test_short_text_stands_whole(self) -> None:
        assert excerpt("One line.\nAnother.", ["line"], "prose", 76) == ["One line. Another."]

    def test_long_text_is_trimmed_around_what_matched(self) -> None:
        text = f"{FILLER} The needle and the thread are here. {FILLER}"
        lines = excerpt(text, ["needle", "thread"], "prose", 76)
        assert len(lines) <= PROSE_LINES
        shown = " ".join(lines)
        assert "The needle and the thread are here." in shown
        assert shown.startswith("… ")
        assert shown.endswith(" …")

    def test_the_place_with_most_different_words_wins(self) -> None:
        text = f"needle needle needle {FILLER} needle and thread. {FILLER}"
        assert "needle and thread" in " ".join(excerpt(text, ["needle", "thread"], "prose", 76))

    def test_without_words_it_is_the_beginning(self) -> None:
        lines = excerpt(FILLER, [], "prose", 76)
        assert lines[0].startswith("Filler sentence number 0")
        assert lines[-1].endswith("…")

    def test_a_word_at_the_very_end(self) -> None:
        lines = excerpt(f"{FILLER} needle", ["needle"], "prose", 76)
        assert lines[-1].endswith("needle")

    @given(
        st.text(max_size=2000),
        st.lists(st.text(max_size=8), max_size=4),
        st.sampled_from(["prose", "code", "table"]),
        st.integers(20, 100),
    )
    def test_always_fits(self, text: str, words: list[str], role: str, width: int) -> None:
        lines = excerpt(text, words, role, width)
        assert len(lines) <= max(PROSE_LINES, CODE_LINES)
        assert all(columns(line) <= width and "\n" not in line and "\x1b" not in line for line in lines)


class TestCode:
    def test_lines_and_indents_stay(self) -> None:
        text = "    def f():\n        return 1\n"
        assert excerpt(text, ["f"], "code", 76) == ["def f():", "    return 1"]

    def test_a_long_block_is_cut_to_the_lines_that_matched(self) -> None:
        text = "\n".join([f"line_{n} = {n}" for n in range(30)] + ["needle = thread"] + ["pass"] * 30)
        lines = excerpt(text, ["needle", "thread"], "code", 76)
        assert len(lines) <= CODE_LINES
        assert "needle = thread" in lines
        assert lines[0] == lines[-1] == "…"

    @pytest.mark.parametrize("place", range(12))
    def test_the_line_that_matched_is_shown_wherever_it_stands(self, place: int) -> None:
        rows = [f"row {n}" for n in range(12)]
        rows[place] = "needle"
        lines = excerpt("\n".join(rows), ["needle"], "code", 76)
        assert "needle" in lines
        assert len(lines) <= CODE_LINES
        assert (lines[0] == "…") == (lines[1] != "row 0" and lines[0] not in rows)
        assert lines[-1] == "…" or lines[-1] == rows[-1]

    def test_long_lines_are_cut_and_tabs_expanded(self) -> None:
        lines = excerpt("a\tb\n" + "x" * 200, [], "code", 30)
        assert lines == ["a   b", "x" * 29 + "…"]


class TestMarks:
    def test_whole_words_whatever_their_case(self) -> None:
        matched = word_pattern(["feature", "deprecated"])
        line = "Features: a Feature is DEPRECATED, not undeprecated."
        assert [line[a:b] for a, b in spans(line, matched)] == ["Feature", "DEPRECATED"]

    def test_the_longer_of_two_words(self) -> None:
        line = "type type-checker"
        assert [line[a:b] for a, b in spans(line, word_pattern(["type", "type-checker"]))] == [
            "type",
            "type-checker",
        ]

    def test_signs_of_regular_expressions_mean_themselves(self) -> None:
        line = "f(x) and a.b* here"
        assert [line[a:b] for a, b in spans(line, word_pattern(["a.b*", "f(x)"]))] == ["f(x)", "a.b*"]

    def test_no_words(self) -> None:
        assert word_pattern(["", "  "]) is None
        assert spans("text", None) == []
