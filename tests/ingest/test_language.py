"""Language detection on sentences written for this test, and on real text where it is there."""

from __future__ import annotations

import contextlib
import gettext
import json
import struct
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from consilience.ingest import Document, detect_language, read, split

DATA = Path(__file__).parents[3] / "shared" / "data"

SENTENCES = {
    "en": "The pond behind the mill is deeper than anyone who lives here would think.",
    "es": "El estanque que hay detrás del molino es más hondo de lo que se cree en el pueblo.",
    "fr": "L'étang qui se trouve derrière le moulin est plus profond que ne le croient les gens.",
    "de": "Der Teich hinter der Mühle ist tiefer, als die meisten Leute im Dorf es glauben.",
    "pt": "O lago que fica atrás do moinho é mais fundo do que as pessoas da aldeia pensam.",
    "it": "Lo stagno che si trova dietro il mulino è più profondo di quanto la gente non creda.",
    "nl": "De vijver achter de molen is dieper dan de mensen die hier wonen zouden denken.",
    "ca": "L'estany que hi ha darrere del molí és més fons del que la gent del poble es pensa.",
    "sv": "Dammen som ligger bakom kvarnen är djupare än de flesta som bor här skulle tro.",
    "da": "Dammen bag møllen er dybere, end de fleste af dem som bor her ville tro.",
    "no": "Dammen bak møllen er dypere enn de fleste av dem som bor her ville tro.",
    "hr": "Ribnjak koji se nalazi iza mlina dublji je nego što misle ljudi koji žive ovdje.",
    "id": "Kolam yang ada di belakang kincir itu lebih dalam dari yang dikira oleh orang desa.",
    "vi": "Cái ao ở phía sau cối xay sâu hơn nhiều so với những gì người dân trong làng nghĩ.",
    "fa": "برکه پشت آسیاب عمیق‌تر از آن است که مردم روستا فکر می‌کنند.",
    "ru": "Пруд за мельницей глубже, чем думают люди, которые здесь живут.",
    "uk": "Ставок за млином глибший, ніж думають люди, які тут живуть.",
    "el": "Η λίμνη πίσω από τον μύλο είναι πιο βαθιά από όσο νομίζουν οι άνθρωποι.",
    "ja": "水車小屋の裏の池は、村の人々が思うよりも深い。",
    "zh": "磨坊后面的池塘比村里人想象的要深得多。",
    "ko": "방앗간 뒤의 연못은 마을 사람들이 생각하는 것보다 깊다.",
    "ar": "البركة خلف الطاحونة أعمق مما يظنه أهل القرية.",
    "he": "הבריכה מאחורי הטחנה עמוקה יותר ממה שאנשי הכפר חושבים.",
}


@pytest.mark.parametrize("language", SENTENCES)
def test_each_language_is_known(language: str) -> None:
    assert detect_language(SENTENCES[language]) == language


CATALOGUES = Path("/usr/share/locale")
TRANSLATED = (
    "ca",
    "cs",
    "da",
    "de",
    "es",
    "fi",
    "fr",
    "hu",
    "it",
    "ja",
    "ko",
    "nb",
    "nl",
    "pl",
    "pt_BR",
    "ro",
    "ru",
    "sv",
    "tr",
)

LEAST_RIGHT = {"da": 0.25, "nb": 0.25, "fi": 0.5}
"""A message of ten words seldom has one that tells Danish from Norwegian: then neither is said."""


def messages_of(locale: str) -> list[str]:
    """Some messages of the translations that programs have installed here: sentences, none in English."""
    found: dict[str, None] = {}
    for path in sorted((CATALOGUES / locale / "LC_MESSAGES").glob("*.mo")):
        with (
            path.open("rb") as file,
            contextlib.suppress(OSError, UnicodeDecodeError, struct.error, ValueError),
        ):
            catalogue = gettext.GNUTranslations(file)._catalog  # type: ignore[attr-defined]
            texts = [
                text
                for key, text in catalogue.items()
                if text != key and isinstance(key, str) and len(text) > 60 and text.count("\n") < 2
            ]
            found.update(dict.fromkeys(texts[:40]))
    return list(found)[:400]


@pytest.mark.parametrize("locale", TRANSLATED)
def test_messages_of_installed_programs(locale: str) -> None:
    messages = messages_of(locale)
    if len(messages) < 50:
        pytest.skip(f"fewer than 50 translated messages in {CATALOGUES / locale}")
    language = {"nb": "no", "pt_BR": "pt"}.get(locale, locale)
    counts = Counter(map(detect_language, messages))
    right, silent = counts[language], counts[""]
    assert right >= LEAST_RIGHT.get(locale, 0.6) * len(messages), counts
    assert len(messages) - right - silent <= 0.1 * len(messages), counts


@pytest.mark.parametrize("text", ["", "x", "1234 5678", "pond", "...", "a_b(c)[d] -> e", "https://pond.org/"])
def test_what_does_not_tell_is_unknown(text: str) -> None:
    assert detect_language(text) == ""


def test_questions_are_long_enough() -> None:
    assert detect_language("¿Quién cavó el estanque?") == "es"
    assert detect_language("Who dug out the pond?") == "en"


@given(st.text(max_size=500))
def test_any_text_gives_a_code_or_nothing(text: str) -> None:
    assert len(detect_language(text)) in (0, 2)


@pytest.mark.data
@pytest.mark.parametrize(
    ("corpus", "language", "least"), [("xquadr-es-es", "es", 0.92), ("xquadr-en-en", "en", 0.97)]
)
def test_real_passages(corpus: str, language: str, least: float) -> None:
    path = DATA / corpus / "corpus.jsonl"
    if not path.is_file():
        pytest.skip("wants ../shared/data")
    found = Counter(detect_language(json.loads(line)["text"]) for line in path.open(encoding="utf-8"))
    total = sum(found.values())
    assert found[language] / total >= least
    assert (total - found[language] - found[""]) / total <= 0.005


@pytest.mark.data
def test_english_proposals_are_english() -> None:
    folder = DATA / "proposals"
    if not folder.is_dir():
        pytest.skip("wants ../shared/data")
    for path in sorted(folder.glob("*/*"))[::40]:
        document = read(path.read_bytes(), path.name)
        assert isinstance(document, Document)
        found = Counter(detect_language(p.text) for p in split(document) if p.role == "prose")
        found.pop("", None)
        assert not found or found.most_common(1)[0][0] == "en", path.name
