"""Citations: one line of text that names a block, its brain and module, and the root it was verified against.

    csl:BRAIN/MODULE/sha256:<64 hex>@sha256:<64 hex>

The grammar is in docs/citations.md; docs/decisions/0160 says why the digests are written out. A citation is a
URI (RFC 3986): BRAIN is percent-encoded, each name in one spelling only, so that two citations are equal where
their text is.
"""

from __future__ import annotations

import re

import msgspec

from consilience.errors import FormatError, ValidationError
from consilience.protocol.identity import Digest, format_digest, parse_digest
from consilience.protocol.types import MemoryType

__all__ = ["CITATION", "SCHEME", "Citation", "citation_fault", "encode_brain"]

SCHEME = "csl:"
DIGEST_LENGTH = 71
_UNRESERVED = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_MODULES = "|".join(MemoryType)
CITATION = re.compile(
    rf"csl:((?:[A-Za-z0-9._~-]|%[0-9A-F]{{2}})+)/({_MODULES})/(sha256:[0-9a-f]{{64}})@(sha256:[0-9a-f]{{64}})"
)
"""Finds what may be a citation; whether the brain's percent-encoding is in order, `Citation.parse` says."""


class Citation(msgspec.Struct, frozen=True, kw_only=True):
    """That the block stands in this module of this brain, under this root. Ids are raw digests."""

    brain: str
    module: MemoryType
    block_id: Digest
    root: Digest

    def __str__(self) -> str:
        """The text form. Raises ValidationError for a brain whose name is empty or has no UTF-8 form."""
        block_id, root = format_digest(self.block_id), format_digest(self.root)
        return f"{SCHEME}{encode_brain(self.brain)}/{self.module.value}/{block_id}@{root}"

    @classmethod
    def parse(cls, text: str) -> Citation:
        """Read the text form, and nothing but it. Raises FormatError that names the place (from 1)."""
        found = CITATION.fullmatch(text)
        brain = _decode_brain(found[1]) if found else None
        if found is None or brain is None:
            at, what = citation_fault(text) or (0, "it is no citation")
            raise FormatError(
                f"not a citation: character {at + 1}: {what}", hint="csl:BRAIN/MODULE/sha256:...@sha256:..."
            )
        return cls(
            brain=brain,
            module=MemoryType(found[2]),
            block_id=parse_digest(found[3]),
            root=parse_digest(found[4]),
        )


def encode_brain(name: str) -> str:
    """A brain's name as a citation writes it (RFC 3986, 2.1): unreserved characters stay, the UTF-8 octets of
    all others become `%XX`. Raises ValidationError."""
    try:
        octets = name.encode()
    except UnicodeEncodeError as error:
        raise ValidationError(f"a brain called {name!r} cannot be cited: the name is not Unicode") from error
    if not octets:
        raise ValidationError("a brain without a name cannot be cited")
    return "".join(chr(octet) if octet in _UNRESERVED else f"%{octet:02X}" for octet in octets)


def _decode_brain(text: str) -> str | None:
    """The name of its one spelling; None for any other."""
    if "%" not in text:
        return text
    octets = re.sub(rb"%([0-9A-F]{2})", lambda m: bytes.fromhex(m[1].decode()), text.encode())
    try:
        name = octets.decode()
    except UnicodeDecodeError:
        return None
    return name if encode_brain(name) == text else None


def citation_fault(text: str) -> tuple[int, str] | None:
    """Where text stops being a citation (characters from 0), and what should stand there; None if it is one."""
    if not text.startswith(SCHEME):
        return _first_other(text, SCHEME), f"a citation begins with {SCHEME}"
    end = text.find("/", len(SCHEME))
    if fault := _brain_fault(text[: end if end >= 0 else len(text)]):
        return fault
    if end < 0:
        return len(text), "after the brain comes / and the module"
    at = end + 1
    module = re.match(r"[^/]*", text[at:])
    name = module[0] if module else ""
    if name not in list(MemoryType):
        return at, f"the module is one of {', '.join(MemoryType)}"
    at += len(name)
    for mark, what in (("/", "the module comes / and the block's id"), ("@", "the id comes @ and the root")):
        if text[at : at + 1] != mark:
            return at, f"after {what}"
        at += 1
        if fault := _digest_fault(text, at):
            return fault
        at += DIGEST_LENGTH
    return (at, "nothing comes after the root") if at < len(text) else None


def _brain_fault(head: str) -> tuple[int, str] | None:
    """What is wrong with the brain's name in `csl:NAME`."""
    at = len(SCHEME)
    if at == len(head):
        return at, "after csl: comes a brain's name"
    while at < len(head):
        octet = re.compile(r"[A-Za-z0-9._~-]|%[0-9A-F]{2}").match(head, at)
        if octet is None:
            return at, "a brain's name has letters, digits, - . _ ~ and %XX in upper case"
        if octet[0][0] == "%" and int(octet[0][1:], 16) in _UNRESERVED:
            return at, f"{octet[0]} is written {chr(int(octet[0][1:], 16))}"
        at = octet.end()
    return None if _decode_brain(head[len(SCHEME) :]) is not None else (len(SCHEME), "%XX is not UTF-8")


def _digest_fault(text: str, at: int) -> tuple[int, str] | None:
    if not text.startswith("sha256:", at):
        return at + _first_other(text[at:], "sha256:"), "a digest begins with sha256:"
    digits = re.compile(r"[0-9a-f]{0,64}").match(text, at + 7)
    end = digits.end() if digits else at + 7
    if end < at + DIGEST_LENGTH:
        return end, f"a digest has 64 digits 0-9 a-f, here are {end - at - 7}"
    return None


def _first_other(text: str, expected: str) -> int:
    return next((i for i, c in enumerate(expected) if text[i : i + 1] != c), len(expected))
