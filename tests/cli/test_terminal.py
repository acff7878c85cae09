"""Widths, colours, and text that can do a terminal no harm."""

from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from consilience.cli.terminal import Terminal, clean, columns, fit, head, pad, size, table, wrap

text = st.text(st.characters(exclude_categories=["Cs"]), max_size=60)


class Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


class TestColour:
    @pytest.mark.parametrize(
        ("environ", "forced", "screen", "pipe"),
        [
            ({}, None, True, False),
            ({"TERM": "dumb"}, None, False, False),
            ({"CLICOLOR": "0"}, None, False, False),
            ({"NO_COLOR": "1"}, None, False, False),
            ({"NO_COLOR": ""}, None, True, False),
            ({"FORCE_COLOR": "1"}, None, True, True),
            ({"FORCE_COLOR": "0"}, None, True, False),
            ({"CLICOLOR_FORCE": "1"}, None, True, True),
            ({"NO_COLOR": "1", "FORCE_COLOR": "1"}, None, False, False),
            ({"NO_COLOR": "1"}, True, True, True),
            ({"FORCE_COLOR": "1"}, False, False, False),
        ],
    )
    def test_who_decides(
        self, environ: dict[str, str], forced: bool | None, screen: bool, pipe: bool
    ) -> None:
        assert Terminal.detect(Screen(), environ, forced=forced).colour is screen
        assert Terminal.detect(io.StringIO(), environ, forced=forced).colour is pipe

    def test_style(self) -> None:
        assert Terminal(colour=False).style("a", "bold") == "a"
        assert Terminal(colour=True).style("a", "bold", "red") == "\x1b[1;31ma\x1b[0m"
        assert Terminal(colour=True).style("", "bold") == ""


class TestWidth:
    @pytest.mark.parametrize(
        ("columns_set", "width"),
        [
            ("", 80),
            ("120", 120),
            ("10", 40),
            ("0", 80),
            ("-5", 80),
            ("x", 80),
            ("９", 80),
            ("9" * 99, 10_000),
        ],
    )
    def test_columns(self, columns_set: str, width: int) -> None:
        assert Terminal.detect(io.StringIO(), {"COLUMNS": columns_set}).width == width

    def test_prose_is_never_too_wide_to_read(self) -> None:
        assert Terminal(width=300).prose == 100

    def test_an_encoding_of_few_signs(self) -> None:
        ascii_stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
        terminal = Terminal.detect(ascii_stream, {})
        assert terminal.glyphs("a … b ── c · d").isascii()
        assert Terminal.detect(io.TextIOWrapper(io.BytesIO(), encoding="utf-8"), {}).glyphs("…") == "…"


class TestClean:
    @pytest.mark.parametrize(
        ("dirty", "seen"),
        [
            ("\x1b[31mred\x1b[0m", "␛[31mred␛[0m"),
            ("\x1b]0;title\x07", "␛]0;title␇"),
            ("a\x00b\x7f", "a␀b␡"),
            ("\x9b31m", "\ufffd31m"),
            ("abc\u202ecod.exe", "abc\ufffdcod.exe"),
            ("caf\udce9", "caf\\xe9"),
            ("\ud800", "\ufffd"),
            ("a\r\nb\rc\u2028d", "a b c d"),
            ("a\tb", "a b"),
            ("é漢👩‍👩‍👧", "é漢👩‍👩‍👧"),
        ],
    )
    def test_examples(self, dirty: str, seen: str) -> None:
        assert clean(dirty) == seen

    def test_lines_may_stay(self) -> None:
        assert clean("a\r\nb\n\x1bc\td", lines=True) == "a\nb\n␛c\td"

    @given(st.text())
    def test_nothing_a_terminal_obeys_is_left(self, dirty: str) -> None:
        seen = clean(dirty)
        assert all(ord(char) >= 0x20 and not 0x7F <= ord(char) <= 0x9F for char in seen)
        assert "\u202e" not in seen
        seen.encode()


class TestColumns:
    @pytest.mark.parametrize(
        ("shown", "width"), [("", 0), ("abc", 3), ("漢字", 4), ("e\u0301", 1), ("ｱ", 1), ("Ａ", 2), ("👍", 2)]
    )
    def test_examples(self, shown: str, width: int) -> None:
        assert columns(shown) == width

    @given(text.map(clean), st.integers(0, 30))
    def test_fit_fits(self, shown: str, width: int) -> None:
        assert columns(fit(shown, width)) <= width
        assert columns(head(shown, width)) <= width
        assert shown.startswith(head(shown, width))
        if columns(shown) <= width:
            assert fit(shown, width) == shown

    @given(text.map(clean), st.integers(2, 30))
    def test_wrap_loses_no_word(self, shown: str, width: int) -> None:
        lines = wrap(shown, width)
        assert all(columns(line) <= width for line in lines)
        assert "".join("".join(lines).split()) == "".join(shown.split())

    @given(text.map(clean), st.integers(0, 80))
    def test_pad(self, shown: str, width: int) -> None:
        assert columns(pad(shown, width)) == max(width, columns(shown))
        assert pad(shown, width, right=True).endswith(shown)

    def test_a_sign_wider_than_the_room(self) -> None:
        assert wrap("漢字", 1) == ["漢", "字"]
        assert fit("漢", 1) == "…"


class TestTable:
    cells = st.lists(st.lists(text.map(clean), min_size=4, max_size=4), min_size=1, max_size=5)

    @given(cells, st.integers(60, 120), st.booleans())
    def test_nothing_is_wider_than_the_room(self, rows: list[list[str]], width: int, prose: bool) -> None:
        lines = table(rows, width, prose=prose)
        assert len(lines) == len(rows)
        assert all(columns(line) <= width for row in lines for line in row)

    def test_columns_line_up(self) -> None:
        assert table([["a", "1", "x"], ["bcd", "234", "yz"]], 80, right=[1]) == [
            ["a      1  x"],
            ["bcd  234  yz"],
        ]

    def test_prose_goes_on_below_itself(self) -> None:
        rows = [["plan", "one reason, said in so many words that it takes two lines"]]
        assert table(rows, 50, prose=True) == [
            ["plan  one reason, said in so many words that it", "      takes two lines"]
        ]


@pytest.mark.parametrize(
    ("count", "said"),
    [(0, "0 B"), (999, "999 B"), (1000, "1.0 kB"), (1_234_567, "1.2 MB"), (10**16, "10000.0 TB")],
)
def test_size(count: int, said: str) -> None:
    assert size(count) == said
