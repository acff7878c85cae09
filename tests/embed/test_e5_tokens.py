from __future__ import annotations

import functools
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from consilience.embed import e5_source, e5_tokens
from consilience.embed.e5 import MAX_TOKENS, E5Embedder

TEXTS = [
    "How are features deprecated in the standard library?",
    "¿Cómo se cancela una tarea que está esperando?",
    "def f(x: int = 0) -> list[str]:\n\treturn [s for s in xs if s != '\\n']  # <T: Clone>",
    "结构化并发与取消:任务组如何处理异常?",
    "プロトコル 한국어 문서 हिन्दी العربية",
    "party 🎉 family 👨‍👩‍👧 flag 🇪🇸",
    "ﬁne Ａｂｃ ① ½ x² naïve\u00a0space\u200bzero\x01control",
    "<s> </s> <mask> <unk>",
    "a" * 300,
    "\ud800 lone",
    "",
    " \t\n ",
]


def reference(source: e5_source.SourceFile, text: str) -> list[int]:
    """Unigram segmentation straight from its definition, without tables: for each end, the best last piece."""
    vocabulary = {piece: i for i, piece in enumerate(source.pieces) if piece}
    vocabulary.pop(source.pieces[source.shape.unk], None)
    unknown = float(source.scores.min()) - 10

    def segment(word: str) -> list[int]:
        @functools.cache
        def best(end: int) -> tuple[float, int, int]:
            if end == 0:
                return 0.0, -1, 0
            found = (-1e30, 0, 0)
            for start in range(max(0, end - 16), end):
                index = vocabulary.get(word[start:end])
                if index is not None and best(start)[0] + float(source.scores[index]) > found[0]:
                    found = (best(start)[0] + float(source.scores[index]), index, start)
                if start == end - 1 and best(start)[0] + unknown > found[0]:
                    found = (best(start)[0] + unknown, source.shape.unk, start)
            return found

        for end in range(len(word) + 1):
            best(end)
        ids, end = [], len(word)
        while end:
            _, index, end = best(end)
            ids.append(index)
        return ids[::-1]

    words = text.translate(source.normaliser).split()
    return [i for word in words for i in segment("▁" + word)]


@pytest.fixture(scope="module")
def source() -> e5_source.SourceFile:
    return e5_source.read_source(e5_source.locate())


def test_ids_are_those_of_the_definition(e5: E5Embedder, source: e5_source.SourceFile) -> None:
    for text in TEXTS:
        expected = [0, *reference(source, "passage: " + text), 2]
        assert e5.tokens(text, "passage") == expected, text


def test_ids_are_those_published_for_this_model(e5: E5Embedder) -> None:
    # https://huggingface.co/intfloat/multilingual-e5-small: XLM-R's vocabulary, "Hello world" is 35378 8999.
    assert e5.tokens("Hello world", "query") == [0, 41, 1294, 12, 35378, 8999, 2]


@pytest.mark.data
def test_ids_on_real_text_are_the_same_with_and_without_the_dictionary(
    e5: E5Embedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = Path(__file__).parents[3] / "shared" / "data" / "proposals"
    if not root.is_dir():
        pytest.skip("../shared/data is not here")
    files = sorted(path for path in root.rglob("*") if path.is_file())
    texts = [path.read_text(errors="surrogateescape")[2000:6000] for path in files[::200]]
    arrays, shape = e5._model.arrays, e5._model.shape
    slow = [e5_tokens.Tokenizer(arrays, shape).tokenize(text, 10**6) for text in texts]
    monkeypatch.setattr(e5_tokens, "_DICT_AFTER", 1)
    assert [e5_tokens.Tokenizer(arrays, shape).tokenize(text, 10**6) for text in texts] == slow
    assert len(texts) > 5 and min(map(len, slow)) > 100


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=200)
@given(text=st.text(st.sampled_from("abcdBé漢字x: \u00a0\x01ﬁＡ\u200d\ud800") | st.characters(), max_size=40))
def test_tiny_vocabulary_agrees_with_the_definition(tiny: E5Embedder, text: str) -> None:
    source = e5_source.read_source(e5_source.locate())
    assert tiny._tokenizer.tokenize(text, 1000) == reference(source, text)


def test_a_text_is_cut_at_the_most_tokens(tiny: E5Embedder) -> None:
    ids = tiny.tokens("ab " * 2000, "passage")
    assert len(ids) == MAX_TOKENS and ids[0] == 0 and ids[-1] == 2


@pytest.mark.parametrize("text", ["a" * 1_000_000, "漢" * 1_000_000, " " * 1_000_000 + "a", "a b " * 500_000])
def test_work_on_a_huge_text_is_bounded(tiny: E5Embedder, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = 0
    segment = tiny._tokenizer._segment

    def counting(word: str) -> tuple[int, ...]:
        nonlocal seen
        seen += len(word)
        return segment(word)

    monkeypatch.setattr(tiny._tokenizer, "_segment", counting)
    assert len(tiny.tokens(text, "passage")) <= MAX_TOKENS
    assert seen < 20_000


def test_words_are_looked_up_in_one_dictionary_when_many_are_new(tiny: E5Embedder) -> None:
    tokenizer = tiny._tokenizer
    assert tokenizer._pieces is None
    tokenizer.tokenize(" ".join(f"a{i}" for i in range(e5_tokens._DICT_AFTER + 5)), 10**6)
    assert (
        tokenizer._pieces is not None and tokenizer._pieces["漢字"] == 17 and "<unk>" not in tokenizer._pieces
    )
