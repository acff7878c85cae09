"""The readers on real documents, where they are there (a sample; all of them as a soak)."""

from __future__ import annotations

import html
import re
import unicodedata
from collections import Counter
from pathlib import Path

import pytest

from consilience.ingest import Document, Passage, read, role_of, split

PROPOSALS = Path(__file__).parents[3] / "shared" / "data" / "proposals"
WORD = re.compile(r"[^\W_]+")
MARKUP = (
    re.compile(r"<!--.*?-->", re.DOTALL),
    re.compile(r"^ *(?:```|~~~).*$", re.MULTILINE),
    re.compile(r"^ *\.\. .*$|^ *:[a-z-]+: .*$", re.MULTILINE),
    re.compile(r"^ *\[[^\]]+\]:.*$", re.MULTILINE),
    re.compile(r"\]\([^)\s]*\)|https?:\S+|</?[a-zA-Z][^<>]*>|:[a-z:]+:`|&[a-z]+;"),
)
"""What a reader does not show: comments, fences, directives and options, definitions, targets, tags, roles."""

pytestmark = [
    pytest.mark.data,
    pytest.mark.skipif(not PROPOSALS.is_dir(), reason="wants ../shared/data/proposals"),
]


def proposals(step: int) -> list[Path]:
    return sorted(PROPOSALS.glob("*/*"))[::step]


def missing_words(passage: Passage, lines: list[str]) -> list[str]:
    """Words of a passage that the lines it names do not have. A row names columns, a role adds PEP or RFC."""
    first, last = passage.locator.first_line, passage.locator.last_line
    assert first is not None and last is not None and 1 <= first <= last <= len(lines)
    source = html.unescape(re.sub(r"\\(.)", r"\1", "\n".join(lines[first - 1 : last])))
    present = "".join(WORD.findall(re.sub(r"</?[a-z]+\b[^<>]*>", "", source))) + "".join(WORD.findall(source))
    text = re.sub(r"(?:^| \| )[^|]*?: ", " ", passage.text) if passage.role == "table" else passage.text
    return [word for word in WORD.findall(text) if word not in present and word not in ("PEP", "RFC")]


def check(paths: list[Path]) -> None:
    total = wrong = lost = words = agreed = 0
    examples: list[tuple[str, int | None, list[str]]] = []
    for path in paths:
        data = path.read_bytes()
        document = read(data, path.name)
        assert isinstance(document, Document), (path.name, document)
        assert document.title and document == read(data, path.name)
        lines = unicodedata.normalize("NFC", data.decode("utf-8", errors="replace")).split("\n")
        passages = split(document)
        assert passages, path.name
        for passage in passages:
            total += 1
            assert passage.locator.headings[0] == document.title
            agreed += role_of(passage.text, passage.locator.headings) == passage.role
            if absent := missing_words(passage, lines):
                wrong += 1
                examples.append((path.name, passage.locator.first_line, absent))
        there = Counter(word for passage in passages for word in WORD.findall(passage.text))
        sections = {p.locator.headings[:n] for p in passages for n in range(1, len(p.locator.headings) + 1)}
        there.update(word for section in sections for word in WORD.findall(section[-1]))
        shown = "\n".join(lines)
        for markup in MARKUP:
            shown = markup.sub(" ", shown)
        source = Counter(word for word in WORD.findall(shown) if word.isalpha() and len(word) > 2)
        words += sum(source.values())
        lost += sum((source - there).values())
    assert wrong <= 0.001 * total, examples[:20]
    assert lost <= 0.002 * words
    assert agreed >= 0.97 * total


def test_a_sample_of_real_documents() -> None:
    check(proposals(29))


@pytest.mark.soak
def test_all_real_documents() -> None:
    check(proposals(1))


def test_the_same_licence_is_one_passage_in_many_documents() -> None:
    texts: Counter[str] = Counter()
    for path in proposals(25):
        document = read(path.read_bytes(), path.name)
        assert isinstance(document, Document)
        texts.update({p.text for p in split(document) if p.role == "boilerplate"})
    assert texts["This document has been placed in the public domain."] > 5
