"""Bytes in and out of the database: zstd (RFC 8878), with our dictionary for blocks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import zstandard

from consilience.store.dictionary import DICTIONARY_V1

__all__ = ["ERASED", "PACKED", "RAW", "ZSTD", "ZSTD_DICTIONARY_V1", "Codec", "DecodeError"]

RAW: Final = 0
ZSTD_DICTIONARY_V1: Final = 1
ZSTD: Final = 2
PACKED: Final = 3
"""A derivation record in parts (store/packed.py), which no codec can decode alone."""

ERASED: Final = 4
"""An original whose bytes were destroyed: instead of them the ids of the canonical blocks it went with."""

BLOCK_LEVEL = 1
CONTENT_LEVEL = 9
LARGE_CONTENT_LEVEL = 3
LARGE_CONTENT = 8 << 20
"""Originals above this many bytes are compressed at the faster level."""

_dictionary = zstandard.ZstdCompressionDict(DICTIONARY_V1, dict_type=zstandard.DICT_TYPE_RAWCONTENT)


class DecodeError(Exception):
    """Stored bytes that do not decode. Inside this package only."""


class Codec:
    """Compressors and decompressors of one connection; not for two threads at once."""

    def __init__(self) -> None:
        self._block_in = zstandard.ZstdCompressor(
            level=BLOCK_LEVEL, dict_data=_dictionary, write_checksum=False, write_dict_id=False
        )
        self._block_out = zstandard.ZstdDecompressor(dict_data=_dictionary)
        self._plain_out = zstandard.ZstdDecompressor()

    def pack_block(self, data: bytes) -> tuple[int, bytes]:
        """Encoding and stored form of an envelope; raw where compression would not shrink it."""
        packed = self._block_in.compress(data)
        return (ZSTD_DICTIONARY_V1, packed) if len(packed) < len(data) else (RAW, data)

    def pack_content(self, data: bytes) -> tuple[int, bytes]:
        """Encoding and stored form of an original; raw where compression gains less than a tenth."""
        level = CONTENT_LEVEL if len(data) <= LARGE_CONTENT else LARGE_CONTENT_LEVEL
        packed = zstandard.ZstdCompressor(level=level).compress(data)
        return (ZSTD, packed) if len(packed) < 0.9 * len(data) else (RAW, data)

    def unpack_blocks(self, stored: Sequence[tuple[int, bytes]]) -> list[bytes]:
        """The bytes behind many stored forms of blocks, most of them compressed. Raises DecodeError as `unpack`."""
        decompress = self._block_out.decompress
        try:
            return [
                decompress(data, allow_extra_data=False)
                if enc == ZSTD_DICTIONARY_V1
                else self.unpack(enc, data)
                for enc, data in stored
            ]
        except (zstandard.ZstdError, MemoryError, TypeError, ValueError) as error:
            raise DecodeError(str(error) or type(error).__name__) from error

    def unpack(self, enc: int, stored: bytes) -> bytes:
        """The bytes behind a stored form. Raises DecodeError; what decodes is still to be hashed by the
        caller."""
        try:
            if enc == RAW:
                return bytes(memoryview(stored))
            if enc == ZSTD_DICTIONARY_V1:
                return self._block_out.decompress(stored, allow_extra_data=False)
            if enc == ZSTD:
                return self._plain_out.decompress(stored, allow_extra_data=False)
        except (zstandard.ZstdError, MemoryError, TypeError, ValueError) as error:
            raise DecodeError(str(error) or type(error).__name__) from error
        raise DecodeError(f"unknown encoding {enc!r}")
