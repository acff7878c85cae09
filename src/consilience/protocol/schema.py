"""Payload to block and back: validation, 'the oldest version that fits', 'canonical or refused'."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from consilience.errors import FormatError, ValidationError
from consilience.protocol import canonical
from consilience.protocol.envelope import Block, seal
from consilience.protocol.types import MemoryType

__all__ = ["Schema"]


class Schema:
    """The schema versions, oldest first, that share one payload shape.

    `problem(payload, version)` says what the shape alone cannot: why a well-typed payload is not one of that
    version, or None. `encode` gives canonical payload bytes.
    """

    __slots__ = ("_decoder", "_encode", "_shape", "memory_type", "problem", "versions")

    def __init__(
        self,
        memory_type: MemoryType,
        versions: tuple[int, ...],
        shape: Any,
        problem: Callable[[Any, int], str | None],
        encode: Callable[[Any], bytes] = canonical.encode_struct,
    ) -> None:
        self.memory_type = memory_type
        self.versions = versions
        self._shape = shape
        self._decoder: msgspec.json.Decoder[Any] | None = None
        self._encode = encode
        self.problem = problem

    def _decode(self, data: bytes) -> Any:
        """A decoder costs 0.3 ms to make, a process needs one or two of them: made at first use."""
        if self._decoder is None:
            self._decoder = msgspec.json.Decoder(self._shape, strict=True)
        return self._decoder.decode(data)

    def build(self, payload: Any) -> Block:
        """The block of a payload struct under the oldest version that fits (WIRE 3.1), or ValidationError."""
        try:
            data = self._encode(payload)
        except (
            TypeError,
            ValueError,
            OverflowError,
            RecursionError,
            msgspec.MsgspecError,
            FormatError,
        ) as error:
            raise ValidationError(f"{self.memory_type} block: {error}") from error
        block = self.build_from(data)
        if block.payload != payload:
            raise ValidationError(f"{self.memory_type} block: {_coerced(payload, block.payload)}")
        return block

    def build_from(self, data: bytes) -> Block:
        """The same from canonical payload bytes. The block carries the payload as decoded: well-typed."""
        try:
            payload = self._decode(data)
        except (msgspec.MsgspecError, ValueError, RecursionError) as error:
            raise ValidationError(f"{self.memory_type} block: {error}") from error
        problem = None
        for version in self.versions:
            problem = self.problem(payload, version)
            if problem is None:
                return seal(self.memory_type, version, payload, data)
        raise ValidationError(f"{self.memory_type} block: {problem}")

    def read(self, version: int, data: bytes) -> Any:
        """The payload of canonical payload bytes under a given version. Raises FormatError."""
        try:
            payload = self._decode(data)
            again = self._encode(payload)
        except (msgspec.MsgspecError, ValueError, RecursionError) as error:
            raise FormatError(f"{self.memory_type} v{version} block: {error}") from error
        if again != data:
            canonical.require(data, f"{self.memory_type} v{version} payload")
            raise FormatError(f"{self.memory_type} v{version} block: the payload is not in canonical form")
        if problem := self.problem(payload, version):
            raise FormatError(f"{self.memory_type} v{version} block: {problem}")
        return payload


def _coerced(given: Any, read: Any) -> str:
    """Which member was not of its declared type, although its JSON passes for it (a list, bytes, a date)."""
    names = [n for n in given.__struct_fields__ if getattr(given, n) != getattr(read, n)]
    return ", ".join(f"{n} is {type(getattr(given, n)).__name__}, not of its declared type" for n in names)
