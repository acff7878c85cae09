"""The dequantised model in one memory-mapped file, so that a new process can embed a question in milliseconds.

Layout: magic, header length u32, CRC-32 of the header u32, header (JSON), then the arrays, each at a multiple of 64
bytes. The header names the weight file that the arrays were made from (size, mtime), every array's place, and the sum
of the payload as little-endian 64-bit words, modulo 2**64, which is checked on every open: it costs one pass at memory
speed and finds zeroed pages and flipped bits. The file is written beside its name, synced and renamed: processes
that race to make it all succeed, and one that is killed leaves the old file or none.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import struct
import tempfile
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from consilience.embed import e5_source, e5_tokens
from consilience.embed.e5_source import GELU_SCALE, Model, Shape, SourceFile

MAGIC = b"CSLE5\x00\x00\x03"
CACHE_NAME = f"e5-small-{e5_source.FILE_SHA256[:12]}-v3.bin"

_ALIGN = 64
_PREFIX = struct.Struct("<8sII")
_STALE_S = 3600

Array = npt.NDArray[Any]
Arrays = Mapping[str, Array]


class _Place(msgspec.Struct, frozen=True, array_like=True):
    dtype: str
    shape: tuple[int, ...]
    offset: int


class _Header(msgspec.Struct, frozen=True, kw_only=True):
    source_size: int
    source_mtime_ns: int
    shape: Shape
    embedding_offset: int
    payload_offset: int
    payload_size: int
    payload_sum: int
    arrays: dict[str, _Place]


def load(cache_dir: Path, *, warn: Callable[[str], None] | None = None) -> Model:
    """The model, from the cache file; the file is made first where it is missing, out of date or damaged.

    Where it cannot be written, the model is dequantised in memory and `warn` is told. Raises MissingExtraError and
    EmbeddingError as `e5_source` does.
    """
    source = e5_source.locate()
    path = cache_dir / CACHE_NAME
    model = _open(path, source)
    if model is not None:
        return model
    parsed = e5_source.read_source(source)
    arrays = build_arrays(parsed)
    try:
        _write(path, source, parsed, arrays)
    except OSError as error:
        if warn is not None:
            warn(
                f"cannot keep the embedding model's cache in {cache_dir}: {error}; it is rebuilt in every process"
            )
    # A fresh mapping shares its pages with other processes; the arrays just built would not.
    return _open(path, source) or Model(shape=parsed.shape, arrays=arrays, rows=_rows(parsed))


def build_arrays(source: SourceFile) -> dict[str, Array]:
    """All arrays of the cache. Weight matrices are (in, out); queries are scaled by head width ** -0.5 beforehand."""
    shape = source.shape
    hidden, inner = shape.hidden, shape.inner
    scale = np.float32((hidden // shape.heads) ** -0.5)
    out: dict[str, Array] = dict(e5_tokens.build_arrays(source))
    positions = source.floats("emb.pos").reshape(-1, hidden)
    out["position"] = positions + source.floats("emb.type")[:hidden]
    out["norm"] = np.stack([source.floats("emb.ln.w"), source.floats("emb.ln.b")])
    for layer in range(shape.layers):
        name = f"l{layer}."
        qkv = np.concatenate([source.matrix(f"{name}{part}.w", hidden, hidden) for part in "qkv"])
        bias = np.concatenate([source.floats(f"{name}{part}.b") for part in "qkv"])
        qkv[:hidden] *= scale
        bias[:hidden] *= scale
        out[f"{name}qkv"] = np.ascontiguousarray(qkv.T)
        out[f"{name}qkv.b"] = bias
        for key, rows, columns in (("ao", hidden, hidden), ("fi", inner, hidden), ("fo", hidden, inner)):
            out[f"{name}{key}"] = np.ascontiguousarray(source.matrix(f"{name}{key}.w", rows, columns).T)
            out[f"{name}{key}.b"] = source.floats(f"{name}{key}.b")
        out[f"{name}fi"] *= np.float32(GELU_SCALE)
        out[f"{name}fi.b"] = out[f"{name}fi.b"] * np.float32(GELU_SCALE)
        out[f"{name}fo"] *= np.float32(0.5 / GELU_SCALE)
        for key in ("aln", "oln"):
            out[f"{name}{key}"] = np.stack([source.floats(f"{name}{key}.w"), source.floats(f"{name}{key}.b")])
    return out


def _rows(source: SourceFile) -> e5_source.Bytes:
    tensor = source.tensors["emb.word"]
    return _embedding_rows(source.data, tensor.offset, source.shape)


def _embedding_rows(data: e5_source.Bytes, offset: int, shape: Shape) -> e5_source.Bytes:
    width = shape.hidden // e5_source.BLOCK * e5_source.BLOCK_BYTES
    return data[offset : offset + shape.vocabulary * width].reshape(shape.vocabulary, width)


# --- reading ----------------------------------------------------------------------------------------------------


def _open(path: Path, source: Path) -> Model | None:
    """The cached model, or None where there is no intact file made from this very weight file."""
    try:
        status = source.stat()
        with path.open("rb") as file:
            data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except (OSError, ValueError):
        return None
    header = _read_header(data)
    if header is None or (header.source_size, header.source_mtime_ns) != (status.st_size, status.st_mtime_ns):
        return None
    payload = np.frombuffer(data, "<u8", header.payload_size // 8, header.payload_offset)
    if int(payload.sum(dtype=np.uint64)) != header.payload_sum:
        return None
    arrays: dict[str, Array] = {}
    for name, place in header.arrays.items():
        count = int(np.prod(place.shape))
        arrays[name] = np.frombuffer(data, place.dtype, count, place.offset).reshape(place.shape)
    rows = _embedding_rows(e5_source.map_file(source), header.embedding_offset, header.shape)
    return Model(shape=header.shape, arrays=arrays, rows=rows)


def _read_header(data: mmap.mmap) -> _Header | None:
    if len(data) < _PREFIX.size:
        return None
    magic, length, checksum = _PREFIX.unpack_from(data, 0)
    raw = data[_PREFIX.size : _PREFIX.size + length]
    if magic != MAGIC or len(raw) != length or zlib.crc32(raw) != checksum:
        return None
    try:
        header = msgspec.json.decode(raw, type=_Header)
    except msgspec.DecodeError:
        return None
    return header if header.payload_offset + header.payload_size == len(data) else None


# --- writing ----------------------------------------------------------------------------------------------------


def _write(path: Path, source: Path, parsed: SourceFile, arrays: Arrays) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f"{path.name}.", suffix=".tmp", dir=path.parent)
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            _sweep(path, temporary)
            _write_file(file.write, source, parsed, arrays)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise


def _write_file(write: Callable[[bytes], object], source: Path, parsed: SourceFile, arrays: Arrays) -> None:
    places: dict[str, _Place] = {}
    total = 0
    checksum = 0
    for name, array in arrays.items():
        places[name] = _Place(array.dtype.str, array.shape, total)
        padded = _padded(array)
        total += len(padded)
        checksum += int(np.frombuffer(padded, "<u8").sum(dtype=np.uint64))
    status = source.stat()
    # Offsets in the header move with its own length: leave room for their growth.
    room = -(-(_PREFIX.size + len(_encode(places, 0, total, 0, status, parsed)) + 4096) // _ALIGN) * _ALIGN
    header = _encode(places, room, total, checksum % 2**64, status, parsed)
    write(_PREFIX.pack(MAGIC, len(header), zlib.crc32(header)))
    write(header)
    write(b"\0" * (room - _PREFIX.size - len(header)))
    for array in arrays.values():
        write(_padded(array))


def _encode(
    places: Mapping[str, _Place],
    at: int,
    size: int,
    checksum: int,
    status: os.stat_result,
    parsed: SourceFile,
) -> bytes:
    return msgspec.json.encode(
        _Header(
            source_size=status.st_size,
            source_mtime_ns=status.st_mtime_ns,
            shape=parsed.shape,
            embedding_offset=parsed.tensors["emb.word"].offset,
            payload_offset=at,
            payload_size=size,
            payload_sum=checksum,
            arrays={name: _Place(p.dtype, p.shape, p.offset + at) for name, p in places.items()},
        )
    )


def _padded(array: Array) -> bytes:
    raw = np.ascontiguousarray(array).tobytes()
    return raw + b"\0" * (-len(raw) % _ALIGN)


def _sweep(path: Path, own: Path) -> None:
    """Remove what killed processes left behind; age by the file system's own clock."""
    now = own.stat().st_mtime
    for left in path.parent.glob(f"{path.name}.*.tmp"):
        with contextlib.suppress(OSError):
            if now - left.stat().st_mtime > _STALE_S:
                left.unlink()
