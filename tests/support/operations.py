"""What the tests of crashes and failing disks do to a brain: a table of command lines, each with what it starts from.

A new operation is one function `(Product) -> command line` in OPERATIONS: it prepares a project whose brain `one` has
taken DOCS, and returns the command line that is disturbed. Running that command line again must finish the work.
"""

from __future__ import annotations

import base64
import random
import shutil
from collections.abc import Callable
from pathlib import Path

from product import Product, new_project

SUBJECTS = ("pumps", "ferries", "orchards", "bridges", "lanterns", "kilns")
LARGE = base64.b64encode(random.Random(7).randbytes(1_600_000)).decode()
"""Larger than what brain.db holds by itself, compressed too."""


QUESTIONS = ("why do pumps lose pressure", "lanterns of edition 0", "kilns in winter")


def document(subject: str, edition: int, count: int = 9) -> str:
    lines = [f"The {subject} number {i} of edition {edition if i == 4 else 0} lose pressure in week {i * 3}."
             for i in range(count)]  # fmt: skip
    return f"# About {subject}\n\n" + "\n\n".join(lines) + "\n"


def write_documents(farm: Product) -> None:
    for subject in SUBJECTS[:4]:
        farm.write(f"docs/{subject}.md", document(subject, 1))


def edit_documents(farm: Product) -> None:
    """Two files changed, two new, one of them too large for the database."""
    for subject in SUBJECTS[:2]:
        farm.write(f"docs/{subject}.md", document(subject, 2))
    farm.write(f"docs/{SUBJECTS[4]}.md", document(SUBJECTS[4], 1))
    large = f"<html><body><p>The kilns are lit in winter.</p><!-- {LARGE} --></body></html>"
    farm.write("docs/kilns.html", large)


def started(root: Path) -> Product:
    """A project whose brain `one` has taken the first edition of the documents."""
    farm = new_project(root)
    assert farm.csl("project", "add", "one", "--model", "hashed").status == 0
    write_documents(farm)
    farm.ingest("docs", "--brain", "one")
    return farm


def _ingest(farm: Product) -> list[str]:
    edit_documents(farm)
    return ["ingest", "docs", "--brain", "one"]


def _first_ingest(farm: Product) -> list[str]:
    shutil.rmtree(farm.brain("one"))
    return ["ingest", "docs", "--brain", "one"]


def _commit(farm: Product) -> list[str]:
    farm.write("docs/lanterns.md", document("lanterns", 1))
    return ["ingest", "docs/lanterns.md", "--brain", "one", "--no-embed"]


def _index(farm: Product) -> list[str]:
    edit_documents(farm)
    farm.ingest("docs", "--brain", "one", "--no-embed")
    shutil.rmtree(farm.brain("one") / "derived")
    return ["index", "--brain", "one"]


def _catch_up(farm: Product) -> list[str]:
    """Derived state that is there and behind."""
    kept = farm.root / "kept"
    shutil.copytree(farm.brain("one") / "derived", kept)
    edit_documents(farm)
    farm.ingest("docs", "--brain", "one", "--no-embed")
    shutil.rmtree(farm.brain("one") / "derived")
    shutil.move(kept, farm.brain("one") / "derived")
    return ["index", "--brain", "one"]


def _rebuild(farm: Product) -> list[str]:
    return ["index", "--rebuild", "--brain", "one"]


OPERATIONS: dict[str, Callable[[Product], list[str]]] = {
    "ingest": _ingest,
    "first ingest": _first_ingest,
    "commit": _commit,
    "index": _index,
    "catch up": _catch_up,
    "rebuild": _rebuild,
}
