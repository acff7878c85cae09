from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from consilience.embed.hashed import HashedEmbedder

EMBEDDER = HashedEmbedder()


@given(st.lists(st.text(st.characters()), max_size=4))
def test_any_text_gives_a_unit_vector_the_same_each_time(texts: list[str]) -> None:
    first = EMBEDDER.embed(texts, role="passage")
    assert first.shape == (len(texts), EMBEDDER.dims) and first.dtype == np.float32
    assert np.allclose(np.linalg.norm(first, axis=1), 1, atol=1e-5)
    assert np.array_equal(first, EMBEDDER.embed(texts, role="query"))


def test_texts_that_share_words_are_nearer() -> None:
    question, near, accents, far = EMBEDDER.embed(
        [
            "deprecating a feature",
            "how a Feature is deprecated",
            "déprecating á feature",
            "the moon has no wind",
        ],
        role="passage",
    )
    assert question @ accents > 0.99 > question @ near > 0.4 > question @ far + 0.2


def test_the_vectors_are_those_of_version_1() -> None:
    vector = EMBEDDER.embed(["one brain"], role="query")[0]
    found = {int(i): round(float(vector[i]), 3) for i in np.flatnonzero(vector)}
    assert found == GOLDEN


GOLDEN = {
    18: 0.224,
    54: 0.224,
    92: -0.224,
    129: 0.447,
    180: 0.224,
    197: 0.224,
    199: -0.224,
    230: 0.224,
    241: -0.671,
}


def test_lone_surrogates_and_100_kb_are_embedded() -> None:
    out = EMBEDDER.embed(["\ud800 x", "word " * 20_000, ""], role="passage")
    assert np.isfinite(out).all()
