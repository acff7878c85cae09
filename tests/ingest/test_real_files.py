"""The readers on real files of what is installed here: each is read or refused in words, twice alike, and none crashes.

Found are the test files and documents of Python itself and of installed packages; what is not there is skipped. A
folder of one's own: `make realfiles DIR=...`.
"""

from __future__ import annotations

import os
import sys
import sysconfig
from functools import lru_cache
from pathlib import Path

import pytest

from consilience.ingest import Document, media_type_of, read, split
from consilience.ingest.model import Skip
from consilience.ingest.passages import each_passage

MOST = 40
"""Files of a kind in the long run; the ordinary one reads FEW."""
FEW = 4
MAX_BYTES = 300_000
PLACES = [Path(sysconfig.get_path("purelib")), Path(sysconfig.get_path("stdlib")), Path("/usr/share/doc")]
ENDINGS = (
    "odt",
    "docx",
    "pptx",
    "epub",
    "pdf",
    "ipynb",
    "parquet",
    "html",
    "rst",
    "md",
    "csv",
    "json",
    "tex",
)


@lru_cache(maxsize=1)
def installed() -> dict[str, list[Path]]:
    """Files by ending, in a fixed order; one walk for all."""
    found: dict[str, list[Path]] = {ending: [] for ending in ENDINGS}
    for place in PLACES:
        for folder, inner, names in os.walk(place):
            inner.sort()
            for name in sorted(names):
                if (ending := name.rpartition(".")[2].lower()) in found:
                    found[ending].append(Path(folder, name))
    return found


def files_of(ending: str, most: int) -> list[Path]:
    """Files of one ending, spread over what there is."""
    paths = installed()[ending]
    spread = paths[:: max(1, len(paths) // (2 * most))]
    return [path for path in spread if path.is_file() and 0 < path.stat().st_size < MAX_BYTES][:most]


def check(data: bytes, name: str) -> int:
    """How many passages; what a reader gives back is the same twice, and stands somewhere."""
    document = read(data, name)
    if isinstance(document, Skip):
        assert document.reason and not document.failed, (name, document)
        return 0
    again = read(data, name)
    assert isinstance(again, Document) and (again.blocks, again.warnings) == (
        document.blocks,
        document.warnings,
    ), name
    passages = split(document) if document.rows is None else tuple(each_passage(document))
    assert passages and all(p.text.strip() and p.locator.first_line for p in passages), name
    return len(passages)


@pytest.mark.parametrize("most", [FEW, pytest.param(MOST, marks=pytest.mark.soak)])
@pytest.mark.parametrize("ending", ENDINGS)
def test_files_of_installed_packages(ending: str, most: int) -> None:
    paths = files_of(ending, most)
    if not paths:
        pytest.skip(f"no .{ending} file in what is installed here")
    read_ones = sum(check(path.read_bytes(), path.name) > 0 for path in paths)
    assert read_ones or len(paths) < FEW, f"none of {len(paths)} was read"


def test_the_messages_that_python_tests_its_own_mail_with() -> None:
    folder = Path(sysconfig.get_path("stdlib")) / "test" / "test_email" / "data"
    paths = sorted(folder.glob("*.txt"))
    if not paths:
        pytest.skip(f"this Python ({sys.version.split()[0]}) comes without its tests")
    assert sum(check(path.read_bytes(), f"{path.stem}.eml") > 0 for path in paths) > len(paths) // 2


def test_the_modules_of_the_standard_library() -> None:
    folder = Path(sysconfig.get_path("stdlib"))
    paths = [path for path in sorted(folder.glob("*.py")) if 0 < path.stat().st_size < 60_000][::25]
    for path in paths:
        assert media_type_of(path.name) == "text/x-python"
        check(path.read_bytes(), path.name)
