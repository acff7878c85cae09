"""Digests and their text form."""

from __future__ import annotations

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from consilience.errors import FormatError
from consilience.protocol import format_digest, parse_digest, sha256

EMPTY = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"


@given(st.binary(max_size=64))
def test_digest_is_sha256_and_its_text_round_trips(data: bytes) -> None:
    raw = sha256(data)
    assert raw == hashlib.sha256(data).digest()
    assert format_digest(raw) == "sha256:" + hashlib.sha256(data).hexdigest()
    assert parse_digest(format_digest(raw)) == raw


@pytest.mark.parametrize(
    "text",
    [
        "",
        "sha256:",
        EMPTY[7:],
        EMPTY.upper(),
        "sha256:" + EMPTY[7:].upper(),
        EMPTY[:-1],
        EMPTY + "0",
        EMPTY + "\n",
        " " + EMPTY,
        "sha256:" + " " * 64,
        "sha512:" + EMPTY[7:],
        "sha256:" + "g" * 64,
        "sha256:" + "\N{FULLWIDTH DIGIT ZERO}" * 64,
    ],
)
def test_anything_but_the_exact_text_form_is_refused(text: str) -> None:
    with pytest.raises(FormatError):
        parse_digest(text)


def test_a_value_that_is_not_text_is_refused() -> None:
    with pytest.raises(FormatError):
        parse_digest(None)  # type: ignore[arg-type]


@pytest.mark.parametrize("length", [0, 31, 33])
def test_only_32_bytes_have_a_text_form(length: int) -> None:
    with pytest.raises(FormatError):
        format_digest(b"\0" * length)
