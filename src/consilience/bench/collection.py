"""Judged collections in the form of BEIR: a folder of corpus.jsonl, queries.jsonl and qrels/NAME.tsv.

Thakur et al., "BEIR: A Heterogeneous Benchmark for Zero-shot Evaluation of Information Retrieval Models", 2021.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import msgspec

from consilience.errors import NotFoundError, StorageError, ValidationError

CORPUS, QUESTIONS, JUDGEMENTS = "corpus.jsonl", "queries.jsonl", "qrels"
SPLIT = "test"


@dataclass(frozen=True, slots=True)
class Collection:
    """Documents and judged questions by their ids; `relevant` grades the documents of a question, from 1."""

    name: str
    documents: dict[str, str]
    questions: dict[str, str]
    relevant: dict[str, dict[str, int]]
    warnings: tuple[str, ...] = ()


class _Row(msgspec.Struct, frozen=True):
    id: str | int = msgspec.field(name="_id")
    text: str = ""
    title: str | None = None


def is_collection(folder: Path) -> bool:
    return (folder / CORPUS).is_file()


def folders_of(folder: Path) -> tuple[Path, ...]:
    """The collections in a folder: itself, or those directly in it, by name. NotFoundError where there is none."""
    if is_collection(folder):
        return (folder,)
    try:
        found = tuple(sorted(each for each in folder.iterdir() if is_collection(each)))
    except OSError as error:
        raise NotFoundError(f"{folder} cannot be read: {error.strerror}") from error
    if not found:
        raise NotFoundError(
            f"there is no judged collection in {folder}",
            hint=f"a BEIR folder has {CORPUS}, {QUESTIONS} and {JUDGEMENTS}/{SPLIT}.tsv; "
            "or give a folder of such folders",
        )
    return found


def load(folder: Path) -> Collection:
    """Read one collection. Only questions with a relevant document that is there are kept; a line that cannot be read
    is left out and named in `warnings`. Raises NotFoundError, StorageError, ValidationError where nothing is left."""
    warnings: list[str] = []
    rows = _rows(folder / CORPUS, warnings)
    documents = {str(row.id): "\n".join(t for t in (row.title or "", row.text) if t).strip() for row in rows}
    documents = {name: text for name, text in documents.items() if text}
    texts = {str(row.id): row.text for row in _rows(folder / QUESTIONS, warnings) if row.text.strip()}
    relevant: dict[str, dict[str, int]] = {}
    for question, document, grade in _judgements(_qrels(folder), warnings):
        if question in texts and document in documents and grade > 0:
            relevant.setdefault(question, {})[document] = grade
    questions = {name: text for name, text in texts.items() if name in relevant}
    if not questions:
        raise ValidationError(
            f"{folder.name}: no question has a relevant document that is in {CORPUS}",
            hint="the ids in queries.jsonl, corpus.jsonl and the judgements have to agree",
        )
    return Collection(folder.name, documents, questions, relevant, tuple(warnings))


def sample(collection: Collection, *, questions: int | None, documents: int | None) -> Collection:
    """So many questions, evenly spread over the file, and so many documents: all that are relevant to these questions
    first, then those at the head of the corpus."""
    names = list(collection.questions)
    if questions is not None and questions < len(names):
        names = [names[place * len(names) // questions] for place in range(questions)]
    kept = collection.documents
    if documents is not None and documents < len(kept):
        wanted = {document for name in names for document in collection.relevant[name]}
        for name in kept:
            if len(wanted) >= documents:
                break
            wanted.add(name)
        kept = {name: text for name, text in kept.items() if name in wanted}
    return Collection(
        collection.name,
        kept,
        {name: collection.questions[name] for name in names},
        {name: collection.relevant[name] for name in names},
        collection.warnings,
    )


def _qrels(folder: Path) -> Path:
    path = folder / JUDGEMENTS / f"{SPLIT}.tsv"
    if path.is_file():
        return path
    others = sorted((folder / JUDGEMENTS).glob("*.tsv"))
    if len(others) == 1:
        return others[0]
    raise NotFoundError(f"{folder.name} has no judgements: there is no {JUDGEMENTS}/{SPLIT}.tsv")


def _lines(path: Path, warnings: list[str], take: Callable[[int, bytes], bool]) -> None:
    """Hand every line that is not empty to `take`, which says whether it could be used."""
    try:
        data = path.read_bytes()
    except FileNotFoundError as error:
        raise NotFoundError(f"{path.parent.name} has no {path.name}") from error
    except OSError as error:
        raise StorageError(f"{path} cannot be read: {error.strerror}") from error
    bad = [
        number
        for number, line in enumerate(data.split(b"\n"), 1)
        if line.strip() and not take(number, line.strip(b"\r"))
    ]
    if bad:
        lines = "1 line" if len(bad) == 1 else f"{len(bad):,} lines"
        shown = "/".join(path.parts[-3 if path.parent.name == JUDGEMENTS else -2 :])
        warnings.append(f"{shown}: {lines} left out, the first is line {bad[0]}")


def _rows(path: Path, warnings: list[str]) -> list[_Row]:
    decoder = msgspec.json.Decoder(_Row)
    rows: list[_Row] = []

    def take(_: int, line: bytes) -> bool:
        try:
            rows.append(decoder.decode(line))
        except (msgspec.DecodeError, UnicodeDecodeError):
            return False
        return True

    _lines(path, warnings, take)
    return rows


def _judgements(path: Path, warnings: list[str]) -> Iterator[tuple[str, str, int]]:
    """(question, document, grade) of a file with three columns, or with the four of TREC; a header is passed over."""
    found: list[tuple[str, str, int]] = []

    def take(number: int, line: bytes) -> bool:
        parts = line.decode("utf-8", "replace").split("\t")
        if len(parts) < 3:
            parts = line.decode("utf-8", "replace").split()
        try:
            found.append((parts[0], parts[-2], int(float(parts[-1]))))
        except (ValueError, IndexError, OverflowError):
            return number == 1
        return True

    _lines(path, warnings, take)
    yield from found
