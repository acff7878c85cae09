"""Small judged collections, written where a test wants them."""

from __future__ import annotations

import json
from pathlib import Path

SUBJECTS = {
    "pumps": (
        "pump",
        "The pump of well {i} loses pressure when its inlet filter number {i} is clogged with sand.",
    ),
    "radio": ("relay", "Relay station {i} repeats a frame at most {i} times, and then it counts the loss."),
}


def collection(folder: Path, subject: str, *, documents: int = 12) -> Path:
    """One BEIR folder: a document a number, and for every third of them a question that names the number."""
    word, sentence = SUBJECTS[subject]
    (folder / "qrels").mkdir(parents=True)
    rows = [{"_id": f"d{i}", "title": "", "text": sentence.format(i=i + 100)} for i in range(documents)]
    asked = [{"_id": f"q{i}", "text": f"what of the {word} {i + 100}"} for i in range(0, documents, 3)]
    (folder / "corpus.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "queries.jsonl").write_text("".join(json.dumps(row) + "\n" for row in asked))
    judged = "".join(f"q{i}\td{i}\t1\n" for i in range(0, documents, 3))
    (folder / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\n" + judged)
    return folder


def project(folder: Path) -> Path:
    for subject in SUBJECTS:
        collection(folder / subject, subject)
    return folder
