"""The language of a passage."""

from __future__ import annotations


def detect(text: str) -> str:
    """ISO 639-1 code, or "" where the text does not tell."""
    return ""
