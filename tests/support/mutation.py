"""Bytes near valid documents: bits flipped, pieces cut out, put in, doubled, moved, or taken from another document."""

from __future__ import annotations

import random
from collections.abc import Sequence

TOKENS = [
    *(bytes([byte]) for byte in b'{}[]":,\\ \n\t0129-+.eEaAnt\x00\x1f\x7f\x80\xc0\xed\xf4\xff'),
    b"null",
    b"true",
    b"false",
    b"NaN",
    b"-Infinity",
    b"1e5",
    b"1.0",
    b"-0",
    b"9007199254740992",
    b"9" * 400,
    b"[" * 2000,
    b'{"a":' * 2000,
    b"\\u0000",
    b"\\u0041",
    b"\\ud800",
    b"\\ud83d\\ude00",
    b"\xed\xa0\x80",
    b"\xf0\x9f\x98\x80",
    b"\xef\xbb\xbf",
    b"sha256:",
    b"sha512:",
    b'"boltzmann":1,',
    b'"payload":{},',
    b',"schema_version":2',
    b'"semantic"',
    b'"provenance"',
    b"\xd9\xa2",
]


def mutated(source: random.Random, corpus: Sequence[bytes]) -> bytes:
    """A document of the corpus, changed one to four times."""
    data = bytearray(source.choice(corpus))
    for _ in range(source.choice((1, 1, 1, 2, 3, 4))):
        at = source.randint(0, len(data))
        length = source.choice((0, 1, 1, 2, 4, source.randint(0, 80)))
        match source.randrange(8):
            case 0 if at < len(data):
                data[at] ^= 1 << source.randrange(8)
            case 1 if at < len(data):
                data[at] = source.randrange(256)
            case 2:
                del data[at : at + length]
            case 3:
                data[at:at] = source.choice(TOKENS)
            case 4:
                data[at : at + length] = source.choice(TOKENS)
            case 5:
                other = source.randint(0, len(data))
                data[other:other] = data[at : at + length]
            case 6:
                other_document = source.choice(corpus)
                start = source.randint(0, len(other_document))
                data[at : at + length] = other_document[start : start + source.randint(0, 80)]
            case _:
                other_document = source.choice(corpus)
                data[at:] = other_document[source.randint(0, len(other_document)) :]
    return bytes(data)
