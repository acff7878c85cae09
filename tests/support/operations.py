"""What the tests of crashes and failing disks do to a brain: a table of command lines, each with what it starts from.

A new operation is one function `(Product) -> Work` in OPERATIONS: it prepares a project whose brain `one` has taken
some documents, and says which command line is disturbed, and which finish the work afterwards.
"""

from __future__ import annotations

import base64
import json
import random
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from product import Product, new_project

SUBJECTS = ("pumps", "ferries", "orchards", "bridges", "lanterns", "kilns")
LARGE = base64.b64encode(random.Random(7).randbytes(1_600_000)).decode()
"""Larger than what brain.db holds by itself, compressed too."""


QUESTIONS = ("why do pumps lose pressure", "lanterns of edition 0", "kilns in winter")


@dataclass(frozen=True)
class Work:
    """`args`: the command line, without `--json`. It is run again, and may then end with a status in `again`; `then`
    are run after it. `gone`: bytes that no file of the brain has afterwards. `at_once`: its history comes all at once
    and is that of the brain left alone; it `shortens`: loses its beginning. `same`: a folder of the project that is
    the same byte by byte afterwards.
    """

    args: tuple[str, ...]
    again: tuple[int, ...] = (0,)
    then: tuple[tuple[str, ...], ...] = ()
    gone: bytes = b""
    at_once: bool = False
    shortens: bool = False
    same: str = ""


INDEX = ("index", "--brain", "one")


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


def _ingest(farm: Product) -> Work:
    edit_documents(farm)
    return Work(("ingest", "docs", "--brain", "one"))


def _first_ingest(farm: Product) -> Work:
    shutil.rmtree(farm.brain("one"))
    return Work(("ingest", "docs", "--brain", "one"))


def _commit(farm: Product) -> Work:
    farm.write("docs/lanterns.md", document("lanterns", 1))
    return Work(("ingest", "docs/lanterns.md", "--brain", "one", "--no-embed"))


def _index(farm: Product) -> Work:
    edit_documents(farm)
    farm.ingest("docs", "--brain", "one", "--no-embed")
    shutil.rmtree(farm.brain("one") / "derived")
    return Work(INDEX)


def _catch_up(farm: Product) -> Work:
    """Derived state that is there and behind."""
    kept = farm.root / "kept"
    shutil.copytree(farm.brain("one") / "derived", kept)
    edit_documents(farm)
    farm.ingest("docs", "--brain", "one", "--no-embed")
    shutil.rmtree(farm.brain("one") / "derived")
    shutil.move(kept, farm.brain("one") / "derived")
    return Work(INDEX)


def _rebuild(farm: Product) -> Work:
    return Work((*INDEX, "--rebuild"))


def allow_removal(farm: Product) -> None:
    kept = farm.file.read_text()
    allowed = ("canonical_drop", "redact", "canonical_redact")
    farm.file.write_text(kept + "\n[retention]\n" + "".join(f"{name} = true\n" for name in allowed))


def passage(farm: Product, text: str) -> str:
    """The id of the passage that holds a text."""
    for match in farm.search("one", "--no-floor", "-n", "1000", text)["matches"]:
        if text in match["content"]["statement"]:
            return str(match["block_id"])
    raise LookupError(text)


def _redact(farm: Product) -> Work:
    """A passage, and with it the original that holds it; a large one, whose bytes are a file of their own."""
    allow_removal(farm)
    edit_documents(farm)
    farm.ingest("docs", "--brain", "one")
    small = passage(farm, "ferries number 4 of edition 2")
    large = passage(farm, "kilns are lit in winter")
    args = ("retain", "redact", small, large, "--reason", "asked", "--yes", "--brain", "one")
    return Work(args, again=(0, 2), then=(INDEX,), gone=b"kilns are lit in winter")


def _drop(farm: Product) -> Work:
    name = passage(farm, "bridges number 2 of edition 0")
    return Work(("retain", "drop", name, "--reason", "wrong", "--yes", "--brain", "one"), again=(0, 4))


def _demote(farm: Product) -> Work:
    name = passage(farm, "orchards number 3 of edition 0")
    return Work(("retain", "demote", name, "--reason", "dull", "--brain", "one"))


def _supersede(farm: Product) -> Work:
    old, new = (passage(farm, f"orchards number {i} of edition 0") for i in (3, 5))
    return Work(("retain", "supersede", old, "--by", new, "--brain", "one"))


def _prune(farm: Product) -> Work:
    """Some snapshots, and the bytes of a passage and of a large original that only they had."""
    allow_removal(farm)
    edit_documents(farm)
    farm.ingest("docs", "--brain", "one")
    dropped = passage(farm, "kilns are lit in winter")
    assert farm.csl("retain", "drop", dropped, "--reason", "wrong", "--yes", "--brain", "one").status == 0
    farm.ingest("docs/lanterns.md", "--brain", "one")
    return Work(("retain", "prune", "--keep", "2", "--yes", "--brain", "one"), then=(INDEX,), shortens=True)


def _export(farm: Product) -> Work:
    """Over an earlier export."""
    assert farm.csl("export", "brains/out", "--brain", "one").status == 0
    edit_documents(farm)
    farm.ingest("docs", "--brain", "one")
    return Work(("export", "brains/out", "--brain", "one"), same="brains/out")


def _import(farm: Product) -> Work:
    """A brain that is not here."""
    edit_documents(farm)
    farm.ingest("docs", "--brain", "one")
    assert farm.csl("export", "layout", "--brain", "one").status == 0
    shutil.rmtree(farm.brain("one"))
    return Work(("import", "layout", "--brain", "one"), at_once=True)


def _import_forward(farm: Product) -> Work:
    """Into a brain whose head is in the history that comes."""
    kept = Path(shutil.copytree(farm.brain("one"), farm.root / "kept"))
    edit_documents(farm)
    farm.ingest("docs", "--brain", "one")
    assert farm.csl("export", "layout", "--brain", "one").status == 0
    shutil.rmtree(farm.brain("one"))
    shutil.move(kept, farm.brain("one"))
    return Work(("import", "layout", "--brain", "one"), at_once=True)


def _proposals(farm: Product) -> Work:
    """Candidates of all three kinds, committed all or none."""
    source = passage(farm, "bridges number 2 of edition 0")
    task = farm.csl("task", "define", "--source", source, "--brain", "one")
    farm.write("task.json", task.out)
    candidates: list[dict[str, object]] = []
    for i in range(4):
        label, said = f"Bridge {i}", f"Bridge {i} is closed in winter."
        candidates += [
            {"memory_type": "semantic", "payload": {"kind": "fact", "label": label, "statement": said}},
            {"memory_type": "episodic", "payload": {"summary": said, "occurred_at": "2026-01-02T00:00:00Z"}},
            {
                "memory_type": "procedural",
                "payload": {"label": label, "goal": "It is open.", "steps": [{"action": said}]},
            },
        ]
    document = {
        "schema_version": "boltzmann.candidates/v1",
        "candidates": [each | {"evidence": [source]} for each in candidates],
    }
    farm.write("candidates.json", json.dumps(document))
    return Work(("task", "commit", "task.json", "candidates.json", "--brain", "one"))


def _remember(farm: Product) -> Work:
    text = "The lanterns are lit at five."
    return Work(("remember", text, "--source", "a book", "--brain", "one"))


QUICK = ("ingest", "first ingest", "redact", "prune", "import", "proposals")
"""Those that the ordinary suite disturbs; the long run all of them."""

OPERATIONS: dict[str, Callable[[Product], Work]] = {
    "ingest": _ingest,
    "first ingest": _first_ingest,
    "commit": _commit,
    "index": _index,
    "catch up": _catch_up,
    "rebuild": _rebuild,
    "redact": _redact,
    "drop": _drop,
    "demote": _demote,
    "supersede": _supersede,
    "prune": _prune,
    "export": _export,
    "import": _import,
    "import forward": _import_forward,
    "proposals": _proposals,
    "remember": _remember,
}
