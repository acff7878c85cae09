from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from consilience.index.analysis import MAX_TERM, STEMMERS, analyzer, chunks, fold, grams, split
from consilience.index.bm25 import MemoryIndex
from consilience.index.question import matched_words
from consilience.model import Entry
from consilience.protocol import MemoryType

TEXTS = st.one_of(
    st.text(max_size=60),
    st.text(alphabet="abAB_-.:/@#+'\"0 12日本กาétßİي\u0301", max_size=40),
)
LANGUAGES = st.sampled_from(["", "en", "es", "tr", "de", "ja", "xx"])


def index(text: str, language: str = "en") -> MemoryIndex:
    return MemoryIndex([Entry(n=1, module=MemoryType.SEMANTIC, text=text, language=language)])


def found(question: str, text: str, language: str = "en") -> bool:
    memory = index(text, language)
    return bool(memory.search(memory.analyze(question), 1).hits)


@pytest.mark.parametrize(
    ("text", "questions"),
    [
        ("call snake_case_name here", ["snake_case_name", "snake", "case", "name"]),
        ("class HTTPServerError extends", ["HTTPServerError", "httpservererror", "server", "error", "http"]),
        ("use foo.bar::baz now", ["foo.bar::baz", "foo", "bar", "baz"]),
        ("the __init__ method", ["__init__", "init"]),
        ("pass --no-color-flag to", ["--no-color-flag", "color", "flag", "no-color-flag"]),
        ("since version 3.11.2 only", ["3.11.2", "11"]),
        ("released as v1.0-rc.1 today", ["v1.0-rc.1", "rc"]),
        ("written in C++ and C#", ["C++", "c#"]),
        ("a well-known, multi-threaded server", ["wellknown", "multithreading", "multi threaded", "known"]),
        ("std::collections::HashMap<K, V>", ["std::collections::HashMap", "HashMap", "hashmap", "hash"]),
        ("ask someone@example.org or @property", ["someone@example.org", "example", "@property", "property"]),
        ("see src/main/lib.rs for", ["src/main/lib.rs", "lib.rs", "main"]),
        ("x86_64 and utf-8 and sha256", ["x86_64", "UTF-8", "sha256"]),
        ("p->next is null", ["p->next", "next"]),
    ],
)
def test_identifiers_are_found_whole_and_in_parts(text: str, questions: list[str]) -> None:
    for question in questions:
        assert found(question, text), question


def test_a_whole_identifier_ranks_the_text_that_has_it_above_one_that_has_its_parts() -> None:
    texts = ["bar and foo and baz together", "here foo.bar::baz is called", "foo, then bar, then baz"]
    memory = MemoryIndex(
        Entry(n=n, module=MemoryType.SEMANTIC, text=t, language="en") for n, t in enumerate(texts)
    )
    assert memory.search(memory.analyze("foo.bar::baz"), 3).hits[0].n == 1


@pytest.mark.parametrize(
    ("language", "text", "question"),
    [
        ("es", "las canciones políticas", "canción política"),
        ("es", "las canciones políticas", "cancion politica"),
        ("de", "Die Straße mit Häusern", "strasse haus"),
        ("fr", "l'école élémentaire", "ecoles elementaires"),
        ("pt", "as informações técnicas", "informação tecnica"),
        ("ru", "большие города", "большой город"),
        ("en", "deprecated features are removed", "deprecating a feature"),
        ("", "deprecated features are removed", "deprecating a feature"),
        ("", "большие города", "большой город"),
        ("ja", "東京都の猫が好き", "東京"),
        ("ja", "東京都の猫が好き", "猫"),
        ("zh", "机器学习模型", "学习"),
        ("ko", "학교에서 공부한다", "학교"),
        ("th", "ภาษาไทยง่าย", "ภาษา"),
        ("pl", "żółta łódka", "zolta lodka"),
        ("hi", "हिन्दी भाषा", "हिन्दी"),
    ],
)
def test_words_are_found_in_their_other_forms(language: str, text: str, question: str) -> None:
    memory = index(text, language)
    assert memory.search(memory.analyze(question, languages=(language,)), 1).hits


@pytest.mark.parametrize("language", ["", "en", "es"])
def test_stop_words_are_left_out_of_terms_and_kept_in_exact(language: str) -> None:
    terms, exact = analyzer(language).analyze("why is que to be not the ser")
    assert len(exact) == 8
    assert len(terms) < 8


@pytest.mark.parametrize(
    ("word", "folded"),
    [("canción", "cancion"), ("straße", "strasse"), ("łódź", "lodz"), ("ὀδυσσεύς", "οδυσσευσ"), ("が", "が")],
)
def test_fold(word: str, folded: str) -> None:
    assert fold(word) == folded


@settings(deadline=None)
@given(st.text(max_size=30))
def test_fold_is_idempotent(word: str) -> None:
    once = fold(word.lower())
    assert fold(once) == once


@settings(max_examples=300, deadline=None)
@given(TEXTS, LANGUAGES)
@example("ﬁne ½ № ﷺ ", "en")
@example("a\u200bb c\u00add", "")
@example("\ud800 x", "")
def test_any_text_gives_terms_that_an_index_can_hold(text: str, language: str) -> None:
    terms, exact = analyzer(language).analyze(text)
    for term in (*terms, *exact):
        assert term
        assert len(term.split()) == 1
        assert len(term) <= 4 * MAX_TERM
        term.encode()


@settings(max_examples=300, deadline=None)
@given(TEXTS)
def test_exact_words_are_a_fixed_point_of_the_analysis(text: str) -> None:
    exact = analyzer("en").analyze(text).exact
    assert analyzer("en").analyze(" ".join(exact)).exact == exact


@settings(max_examples=300, deadline=None)
@given(TEXTS, st.sampled_from(["", "en", "es"]))
def test_a_text_is_found_by_itself(text: str, language: str) -> None:
    """The same analysis on both sides: nothing that is indexed is out of reach of the words it is made of."""
    memory = index(text, language)
    query = memory.analyze(text, languages=(language,)).relaxed()
    assert query.empty == (not list(chunks(text)) or not analyzer(language).analyze(text).exact)
    if not query.empty:
        assert memory.search(query, 1).hits


def test_long_words_are_cut_alike_on_both_sides() -> None:
    blob = "A1b2" * 100
    assert found(blob, f"data {blob} end")
    assert all(len(t) <= MAX_TERM for t in analyzer("en").analyze(blob).terms)


def test_grams_of_a_run() -> None:
    assert grams("東京都") == ("東京", "京都")
    assert grams("猫") == ("猫",)


def test_split_names_wholes() -> None:
    assert split("foo.bar").whole == "foo.bar"
    assert split("well-known").joined == "wellknown"
    assert split("2024-05-01").whole == "2024-05-01"
    assert split("plain").whole == split("plain").joined == ""


def test_every_stemmer_is_one_that_the_engine_has() -> None:
    for code in STEMMERS:
        assert analyzer(code).stem("wordings")


@pytest.mark.parametrize(
    ("text", "question", "expected"),
    [
        ("東京都の猫が好き", "東京都", ("東京都",)),
        ("東京都の猫が好き", "猫", ("猫",)),
        ("学校と学校", "学校", ("学校",)),
        ("ภาษาไทยง่าย", "ภาษา", ("ภาษา",)),
    ],
)
def test_matched_words_of_a_run_are_the_part_that_was_asked_for(
    text: str, question: str, expected: tuple[str, ...]
) -> None:
    assert matched_words(index(text).analyze(question), text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "a" * 100_000,
        "a_" * 50_000,
        "aB" * 50_000,
        "a.b-" * 25_000,
        "-" * 100_000,
        "“" * 100_000,
        '" ' * 50_000,
        "".join(map(chr, range(0x4E00, 0x9FFF))) * 4,
        " ".join(f"w{i}" for i in range(20_000)),
        '"' + " ".join(f"w{i}" for i in range(20_000)) + '"',
        "e\u0301" * 50_000,
        "ا\u064b" * 50_000,
    ],
    ids=range(12),
)
def test_hostile_text_stays_bounded(text: str) -> None:
    memory = index(text)
    query = memory.analyze(text)
    assert len(query.words) <= 64
    assert all(len(phrase) <= 32 for phrase in query.phrases)
    memory.search(query, 1)
    matched_words(query, text)


def test_encoded_data_is_not_taken_apart() -> None:
    blob = "aGVsbG8gd29ybGQgdGhpcyBpcyBiYXNlNjQ" * 20
    assert len(analyzer("en").analyze(blob).terms) <= 2


def test_matched_words_are_the_words_of_the_text() -> None:
    text = "Deprecated features: the Feature was deprecated in foo_bar."
    memory = index(text)
    words = matched_words(memory.analyze("deprecating features of bar"), text, "en")
    assert words == ("Deprecated", "features", "Feature", "deprecated", "foo_bar")
    assert all(word in text for word in words)
