"""Digests: SHA-256 (FIPS 180-4), 32 raw bytes inside, `sha256:` and 64 lowercase hex digits in documents."""

from __future__ import annotations

import hashlib
import re
from typing import NewType

from consilience.errors import FormatError

__all__ = ["DIGEST_PATTERN", "DIGEST_SIZE", "Digest", "format_digest", "parse_digest", "sha256"]

Digest = NewType("Digest", bytes)
"""32 raw bytes. Of a block's canonical envelope (its id), a Merkle root, or any stored byte string."""

DIGEST_SIZE = 32
DIGEST_PATTERN = r"^sha256:[0-9a-f]{64}\Z"

_match = re.compile(DIGEST_PATTERN).match
_sha256 = hashlib.sha256


def sha256(data: bytes) -> Digest:
    """The digest of a byte string."""
    return Digest(_sha256(data).digest())


def format_digest(raw: bytes) -> str:
    """The text form of a 32-byte digest. Other lengths have none: FormatError."""
    if len(raw) != DIGEST_SIZE:
        raise FormatError(f"a digest has {DIGEST_SIZE} bytes, this has {len(raw)}: {raw[:40].hex()}")
    return "sha256:" + raw.hex()


def parse_digest(text: str) -> Digest:
    """The 32 bytes of a digest's text form. Another algorithm, upper case, a space: FormatError."""
    if not isinstance(text, str) or _match(text) is None:
        raise FormatError(
            f"not a digest: {str(text)[:100]!r}", hint="a digest is `sha256:` and 64 lowercase hex digits"
        )
    return Digest(bytes.fromhex(text[7:]))
