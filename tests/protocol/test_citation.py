"""The grammar of citations: what is written is read back, and nothing else is read."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from consilience.errors import FormatError, ValidationError
from consilience.model import cite
from consilience.protocol import Digest, MemoryType, format_digest
from consilience.protocol.citation import CITATION, Citation, citation_fault

BLOCK, ROOT = "sha256:" + "a1" * 32, "sha256:" + "0f" * 32
GOOD = f"csl:station/semantic/{BLOCK}@{ROOT}"
digests = st.binary(min_size=32, max_size=32).map(Digest)
names = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=80)


@given(name=names, module=st.sampled_from(MemoryType), block=digests, root=digests)
@example(
    name="análisis ii/100%", module=MemoryType.SEMANTIC, block=Digest(b"\0" * 32), root=Digest(b"\1" * 32)
)
def test_what_is_written_is_read_back(name: str, module: MemoryType, block: Digest, root: Digest) -> None:
    citation = Citation(brain=name, module=module, block_id=block, root=root)
    text = str(citation)
    assert Citation.parse(text) == citation
    assert citation_fault(text) is None
    assert text == cite(name, module, format_digest(block), format_digest(root))
    assert re.fullmatch(r"[A-Za-z0-9._~%:/@-]+", text), "a URI, so that Markdown can link it"


PIECES = [*"csl:/@%2Fa0Gé .", "csl:", "sha256:", "semantic", BLOCK, ROOT, f"/semantic/{BLOCK}@{ROOT}"]


@given(text=st.lists(st.sampled_from(PIECES), max_size=9).map("".join))
@example(text=GOOD)
@example(text=GOOD + "\n")
def test_whatever_is_read_is_in_its_one_spelling(text: str) -> None:
    try:
        parsed = Citation.parse(text)
    except FormatError as error:
        fault = citation_fault(text)
        assert fault is not None and 0 <= fault[0] <= len(text)
        assert f"character {fault[0] + 1}:" in error.message
    else:
        assert str(parsed) == text and citation_fault(text) is None


@given(at=st.integers(0, len(GOOD) - 1), put=st.characters(exclude_categories=["Cs"]))
def test_another_character_makes_another_citation_or_none(at: int, put: str) -> None:
    text = GOOD[:at] + put + GOOD[at + 1 :]
    if CITATION.fullmatch(text):
        assert (Citation.parse(text) == Citation.parse(GOOD)) == (put == GOOD[at])
    else:
        assert citation_fault(text)[0] <= len(text)  # type: ignore[index]


NEAR_MISSES = {
    "": 0,
    "station": 0,
    f"CSL:station/semantic/{BLOCK}@{ROOT}": 0,
    f"csl:/semantic/{BLOCK}@{ROOT}": 4,
    "csl:station": 11,
    f"csl:sta tion/semantic/{BLOCK}@{ROOT}": 7,
    f"csl:café/semantic/{BLOCK}@{ROOT}": 7,
    f"csl:caf%c3%a9/semantic/{BLOCK}@{ROOT}": 7,
    f"csl:caf%C3/semantic/{BLOCK}@{ROOT}": 4,
    f"csl:%61/semantic/{BLOCK}@{ROOT}": 4,
    f"csl:station/semantics/{BLOCK}@{ROOT}": 12,
    f"csl:station/Semantic/{BLOCK}@{ROOT}": 12,
    f"csl:station/semantic{BLOCK}@{ROOT}": 12,
    f"csl:station/semantic/{BLOCK[7:]}@{ROOT}": 21,
    f"csl:station/semantic/sha512:{BLOCK[7:]}@{ROOT}": 24,
    f"csl:station/semantic/{BLOCK[:-1]}@{ROOT}": 91,
    f"csl:station/semantic/{BLOCK.upper()}@{ROOT}": 21,
    f"csl:station/semantic/sha256:{'A' * 64}@{ROOT}": 28,
    f"csl:station/semantic/{BLOCK}a@{ROOT}": 92,
    f"csl:station/semantic/{BLOCK}": 92,
    f"csl:station/semantic/{BLOCK}@": 93,
    f"{GOOD[:-1]}": len(GOOD) - 1,
    f"{GOOD}0": len(GOOD),
    f"{GOOD}\n": len(GOOD),
    f"{GOOD} ": len(GOOD),
    f"{GOOD[:60]}\u200b{GOOD[60:]}": 60,
    f"csl:station/semantic/{BLOCK}@{ROOT[:-1]}\u0660": len(GOOD) - 1,
}


@pytest.mark.parametrize("text", NEAR_MISSES, ids=range(len(NEAR_MISSES)))
def test_near_misses_are_refused_with_their_place(text: str) -> None:
    with pytest.raises(FormatError, match=f"character {NEAR_MISSES[text] + 1}:") as caught:
        Citation.parse(text)
    assert caught.value.hint


@pytest.mark.parametrize("name", ["", "\ud800"])
def test_a_brain_that_cannot_be_cited(name: str) -> None:
    with pytest.raises(ValidationError, match="cannot be cited"):
        cite(name, MemoryType.SEMANTIC, BLOCK, ROOT)
