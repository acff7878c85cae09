"""`csl readers`: what can be read here, and what to install for the rest."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from consilience.cli import render_readers
from consilience.cli.terminal import Terminal
from consilience.ingest.readers import formats, registry

Csl = Callable[..., Any]


def test_every_format_is_listed_with_what_it_takes(csl: Csl) -> None:
    data = csl("readers", "--json").data
    assert [each["title"] for each in data["readers"]] == [format.title for format in formats.FORMATS]
    word = next(each for each in data["readers"] if each["title"] == "Word")
    assert word["suffixes"] == [".docx"]
    assert word["media_types"] == [formats.DOCX]
    assert (word["reader"], word["installed"], word["contained"]) == ("consilience/docx", True, True)
    assert data["installed"] + data["missing"] == len(formats.FORMATS)
    text = csl("readers").out
    for format in formats.FORMATS:
        assert format.title in text
        assert all(suffix in text for suffix in format.suffixes)


def test_a_missing_reader_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    missing = formats.Format(
        title="PDF",
        reader="pdf",
        media_types=(formats.PDF,),
        suffixes=(".pdf",),
        extra="pdf",
        needs=("nowhere_at_all",),
    )
    monkeypatch.setattr(registry, "FORMATS", (*formats.FORMATS[:1], missing))
    shown = render_readers.document()
    assert (shown.installed, shown.missing) == (1, 1)
    lines = list(render_readers.lines(shown, Terminal()))
    assert lines[-1] == "  not installed: pip install 'consilience[pdf]'"
