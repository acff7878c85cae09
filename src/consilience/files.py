"""Writing a file whole or not at all."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path

from consilience.errors import StorageError


def write_atomically(path: Path, data: bytes) -> None:
    """Put `data` at `path` by temporary file, fsync and rename. Raises StorageError; the old file stays then."""
    temporary: str | None = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).replace(path)
    except OSError as error:
        if temporary is not None:
            with contextlib.suppress(OSError):
                Path(temporary).unlink()
        raise StorageError(
            f"cannot write {path}: {error.strerror or error}", hint="free space, or make the folder writable"
        ) from error
