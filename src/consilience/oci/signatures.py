"""Signature records of a brain, which this software carries and does not check.

They are kept beside the database as one JSON file, `signatures.json`: what each record's bytes are. A record
names the snapshot that it is about.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Final

from consilience.errors import FormatError, StorageError
from consilience.files import write_atomically
from consilience.oci.documents import parse_signature_record
from consilience.protocol import Digest, canonical

__all__ = ["SIGNATURES_FILE", "keep_signatures", "kept_signatures"]

SIGNATURES_FILE: Final = "signatures.json"


def kept_signatures(folder: Path) -> dict[Digest, tuple[Digest, bytes]]:
    """By a record's digest: the snapshot that it is about, and its bytes.

    Raises FormatError where the file is damaged, StorageError.
    """
    path = folder / SIGNATURES_FILE
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise StorageError(f"cannot read {path}: {error.strerror or error}") from error
    try:
        records = [text.encode() for text in canonical.decode(data)["records"]]
        found = {}
        for record in records:
            snapshot, digest = parse_signature_record(record)
            found[digest] = (snapshot, record)
    except (FormatError, KeyError, TypeError, AttributeError) as error:
        raise FormatError(
            f"{path} is damaged: {error}", hint="delete it, and import the signatures again"
        ) from error
    return found


def keep_signatures(folder: Path, records: Iterable[bytes]) -> int:
    """Add records to those that are kept; how many are new. Raises StorageError, FormatError."""
    kept = kept_signatures(folder)
    known = {data for _, data in kept.values()}
    new = sorted(set(records) - known)
    if new:
        texts = sorted([data.decode() for data in (*known, *new)])
        write_atomically(folder / SIGNATURES_FILE, canonical.encode({"boltzmann": 1, "records": texts}))
    return len(new)
