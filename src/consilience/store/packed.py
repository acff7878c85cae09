"""Derivation records in their packed form: what many of them share is kept once (docs/decisions/0024).

The canonical bytes of such a record are a frame (who, when, by what), the ids of blocks that are here, and a
locator. The frame, and the end of a locator, are rows of `fragment`; ids are ordinals relative to the record's
own. Rebuilding gives the very bytes or the record is stored like any other block.
"""

from __future__ import annotations

import contextlib
from binascii import hexlify
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Annotated

import msgspec

from consilience.errors import CorruptStoreError
from consilience.protocol import Derivation
from consilience.store.codec import RAW, DecodeError
from consilience.store.connection import IN_CLAUSE, Connection, Row, marks
from consilience.store.ledger import named_by

__all__ = ["Form", "FragmentReads", "PackedReads", "Packer", "read_forms", "read_forms_together"]

KEPT_TEXTS = 20_000
"""Fragments remembered by one reader or writer."""

_BLOCK = '"block":"sha256:'
_NEXT = '","sha256:'
_NEXT_BYTES = _NEXT.encode()
_FROM = b'","derived_from":["sha256:'
_BETWEEN = "\0"
"""Stands where a frame is open; canonical JSON escapes it."""


Integer = Annotated[int, msgspec.Meta(ge=-(2**53), le=2**53)]


class Form(msgspec.Struct, array_like=True):
    """What a packed row holds, as MessagePack. `end` is a fragment or 0; without `start` there is no locator."""

    frame: Integer
    block: Integer
    sources: list[Integer]
    end: Integer
    start: str | None


_write_form = msgspec.msgpack.Encoder().encode
_read_form = msgspec.msgpack.Decoder(Form).decode
_read_together = msgspec.msgpack.Decoder(list[Form]).decode
_ARRAY_32 = b"\xdd"
_json = msgspec.json.Encoder().encode


def _inside(block: bytes, sources: Sequence[bytes], locator: str | None) -> str:
    """What stands in the open place of a frame."""
    derived_from = sources[0].hex() if len(sources) == 1 else _NEXT.join([raw.hex() for raw in sources])
    text = f'{_BLOCK}{block.hex()}","derived_from":["sha256:{derived_from}"]'
    return text if locator is None else f'{text},"locator":{_json(locator).decode()}'


class Packer:
    """Packs the records of one write transaction, whose rows of `fragment` it adds."""

    def __init__(self, connection: Connection) -> None:
        self._db = connection
        self._known: dict[str, int] = {}
        self._next = 1 + int(connection.rows("SELECT coalesce(max(n), 0) FROM fragment")[0][0])

    def pack(self, n: int, data: bytes, record: Derivation, ordinals: Mapping[bytes, int]) -> bytes | None:
        """The packed form of record `n`; None where it names a block that is not here or has another shape."""
        block, *sources = named_by(record)
        deltas = [n - ordinals[block_id] for block_id in (block, *sources)]
        if max(deltas) > n:
            return None
        locator = None if isinstance(record.locator, msgspec.UnsetType) else record.locator
        head, inside, tail = data.decode(errors="replace").partition(_inside(block, sources, locator))
        frame = head + _BETWEEN + tail
        if frame.count(_BETWEEN) > 1 or f"{head}{inside}{tail}".encode() != data or not inside:
            return None
        start, space, end = (locator or "").partition(" ")
        form = Form(
            frame=self._fragment(frame, compress=True),
            block=deltas[0],
            sources=deltas[1:],
            end=self._fragment(space + end) if space else 0,
            start=None if locator is None else start,
        )
        return _write_form(form)

    def _fragment(self, text: str, *, compress: bool = False) -> int:
        n = self._known.get(text)
        if n is None:
            n, self._next = self._next, self._next + 1
            data = text.encode()
            row = self._db.codec.pack_block(data) if compress else (RAW, data)
            self._db.run("INSERT INTO fragment (n, enc, data) VALUES (?, ?, ?)", (n, *row))
            if len(self._known) >= KEPT_TEXTS:
                self._known.clear()
            self._known[text] = n
        return n


class FragmentReads:
    """The texts that packed records share, remembered."""

    def __init__(self, connection: Connection) -> None:
        self._db = connection
        self._texts: dict[int, str] = {}

    def texts(self, ns: Collection[int]) -> Mapping[int, str]:
        """At least those fragments asked for that are there and sound."""
        missing = [n for n in ns if n not in self._texts] if self._texts else list(ns)
        if missing and len(self._texts) + len(missing) > KEPT_TEXTS:
            self._texts.clear()
            missing = list(ns)
        for n, enc, data in _rows(self._db, "n, enc, data", "fragment", missing):
            try:
                whole = data if enc == RAW else self._db.codec.unpack(enc, data)
                self._texts[n] = whole.decode()
            except (DecodeError, UnicodeDecodeError, AttributeError):
                continue
        return self._texts


class PackedReads:
    """Reads packed records. Damaged ones are missing from every answer."""

    def __init__(self, connection: Connection) -> None:
        self._db = connection
        self._fragments = FragmentReads(connection)
        self._frames: dict[int, tuple[bytes, bytes]] = {}
        self._ends: dict[int, bytes] = {}
        self.used: set[int] = set()

    def envelopes(self, rows: Iterable[tuple[int, bytes]]) -> dict[int, bytes]:
        """The envelope bytes of packed rows (ordinal, stored form). Unchecked: the caller hashes them."""
        forms = read_forms(rows)
        if not forms:
            return {}
        named = {n - delta for n, form in forms.items() for delta in (form.block, *form.sources)}
        return self.rebuilt(forms, dict(_rows(self._db, "n, id", "blocks", list(named))))

    def rebuilt(self, forms: Mapping[int, Form], ids: Mapping[int, bytes]) -> dict[int, bytes]:
        """The envelope bytes of packed forms, where `ids` has at least the ids of the blocks that they name."""
        wanted = {f for form in forms.values() for f in (form.frame, form.end) if f}
        self.used |= wanted
        self._prepare(forms, self._fragments.texts(wanted))
        frames, ends = self._frames, self._ends
        named: dict[int, bytes] = {}
        found = {}
        for n, form in forms.items():
            try:
                head, tail = frames[form.frame]
                sources = []
                for source in form.sources:
                    if n - source not in named:
                        named[n - source] = hexlify(ids[n - source])
                    sources.append(named[n - source])
                if not sources:
                    continue
                parts = [head, hexlify(ids[n - form.block]), _FROM, _NEXT_BYTES.join(sources)]
                if form.start is None:
                    parts += [b'"]', tail]
                else:
                    end = ends[form.end] if form.end else b'"'
                    parts += [b'"],"locator":', _json(form.start)[:-1], end, tail]
                found[n] = b"".join(parts)
            except (KeyError, TypeError, UnicodeEncodeError):
                continue
        return found

    def _prepare(self, forms: Mapping[int, Form], texts: Mapping[int, str]) -> None:
        """Frames taken apart, and ends of locators as JSON, remembered like the texts they are made of."""
        if len(self._frames) + len(self._ends) > KEPT_TEXTS:
            self._frames.clear()
            self._ends.clear()
        for form in forms.values():
            if form.frame not in self._frames and form.frame in texts:
                head, between, tail = texts[form.frame].partition(_BETWEEN)
                if between:
                    self._frames[form.frame] = (f"{head}{_BLOCK}".encode(), tail.encode())
            if form.end and form.end not in self._ends and form.end in texts:
                self._ends[form.end] = _json(texts[form.end])[1:]

    def locators(self, rows: Iterable[tuple[int, bytes]]) -> dict[int, str | None]:
        """The locators of packed rows (ordinal, stored form)."""
        forms = read_forms(rows)
        texts = self._fragments.texts({form.end for form in forms.values() if form.end})
        return {n: _locator(form, texts) for n, form in forms.items() if not form.end or form.end in texts}


def read_forms(rows: Iterable[tuple[int, bytes]]) -> dict[int, Form]:
    """The forms of packed rows (ordinal, stored form); unreadable ones are missing."""
    forms: dict[int, Form] = {}
    for n, data in rows:
        try:
            forms[n] = _read_form(data)
        except (msgspec.MsgspecError, TypeError, ValueError):
            continue
    return forms


def read_forms_together(rows: Sequence[tuple[int, bytes]]) -> dict[int, Form]:
    """The same at a quarter of the cost for whoever hashes what is rebuilt from them: where a row is damaged, the
    forms of those beside it may be wrong."""
    joined = b"".join([data for _, data in rows])
    try:
        forms = _read_together(_ARRAY_32 + len(rows).to_bytes(4, "big") + joined)
    except (msgspec.MsgspecError, TypeError, ValueError):
        return read_forms(rows)
    return {n: form for (n, _), form in zip(rows, forms, strict=True)}


def _locator(form: Form, texts: Mapping[int, str]) -> str | None:
    return form.start + texts[form.end] if form.end and form.start is not None else form.start


def _rows(connection: Connection, columns: str, table: str, ns: Sequence[int]) -> list[Row]:
    """Rows by ordinal; where a page of the file is damaged, those that can be read."""
    found: list[Row] = []
    for first in range(0, len(ns), IN_CLAUSE):
        part = ns[first : first + IN_CLAUSE]
        sql = f"SELECT {columns} FROM {table} WHERE n IN"
        try:
            found += connection.rows(f"{sql} ({marks(part)})", part)
        except CorruptStoreError:
            for n in part:
                with contextlib.suppress(CorruptStoreError):
                    found += connection.rows(f"{sql} (?)", (n,))
    return found
