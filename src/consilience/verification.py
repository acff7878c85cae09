"""Verifying and repairing a whole brain: the store (store/verify.py), and what is derived from it.

Derived files are checked against the checksums that their writers left (index/checksums.py), and a sample of them
against the blocks, so that another brain's files do not pass. Damage here falsifies no answer: every match is verified
on its way out. It hides matches, so it is named, and rebuilt by `repair` (docs/decisions/0152).
"""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol

import msgspec

from consilience.errors import ConsilienceError, IndexUnusableError, StorageError
from consilience.model import SEARCHED_BY_DEFAULT, Bundle, Entry, Query, Value
from consilience.progress import NO_PROGRESS, Progress
from consilience.protocol import Digest, format_digest, parse_digest
from consilience.store import Store, View
from consilience.store.proofs import FOLDER as TREES
from consilience.store.verify import Problem, VerifyReport, verify

if TYPE_CHECKING:
    from consilience.index.database import Schema

__all__ = ["Asked", "Handles", "RepairReport", "check_derived", "repair", "verify_brain"]

DERIVED: Final = "derived"
KEPT: Final = "vectors-kept"
HALF: Final = 0.5
SAMPLE: Final = 24
"""Blocks whose entries in the indices are compared with what the blocks say."""


class Asked(Value, frozen=True, kw_only=True):
    """The question that a repaired brain was asked: words of one of its own blocks. `found` among the matches."""

    question: str
    block_id: str
    matches: int
    found: bool


class RepairReport(Value, frozen=True, kw_only=True):
    """`before` and `after`: what verifying found. `done`: what was written anew. `asked` is None in an empty brain, and
    where something is still wrong."""

    before: VerifyReport
    done: tuple[str, ...]
    after: VerifyReport
    asked: Asked | None = None
    notes: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        return self.after.ok and (self.asked is None or self.asked.found)


class CaughtUp(Protocol):
    @property
    def notes(self) -> tuple[str, ...]:
        """What was left undone, and why."""


@dataclass(frozen=True, slots=True)
class Handles:
    """What a repair needs of an open brain: to close its derived files, to catch them up (`progress` is passed),
    and to ask a question of the brain opened again."""

    let_go: Callable[[], None]
    catch_up: Callable[..., CaughtUp]
    ask_anew: Callable[[Query], Bundle]


# --- the whole ------------------------------------------------------------------------------------------------------


def verify_brain(path: Path, progress: Progress = NO_PROGRESS, *, at: Digest | None = None) -> VerifyReport:
    """Everything in a brain's folder. Raises as `store.verify.verify` does."""
    report = verify(path, progress, at=at)
    problems, files, unsummed = check_derived(path)
    progress.close()
    return msgspec.structs.replace(
        report,
        problems=(*report.problems, *problems),
        checked=msgspec.structs.replace(report.checked, derived_files=files),
        unsummed=unsummed,
    )


def repair(
    path: Path,
    brain: Handles,
    progress: Progress = NO_PROGRESS,
    *,
    waiting: Callable[[float], None] | None = None,
) -> RepairReport:
    """Write anew what follows from the rest, then verify again, open again and ask a question. Raises BusyError,
    StorageError."""
    from consilience.store.verify_repair import repair as repair_store

    before = after = verify_brain(path, progress)
    done: list[str] = []
    notes: tuple[str, ...] = ()
    truth = msgspec.structs.replace(before, problems=tuple(p for p in before.problems if not p.derived))
    rewritten = repair_store(path, truth, progress, waiting=waiting)
    done += rewritten.done
    parts = list(dict.fromkeys(p.what for p in before.problems if p.derived))
    if parts or before.unsummed:
        brain.let_go()
        for part in parts:
            _clear(path / DERIVED, part, [p.file for p in before.problems if p.what == part])
        notes = brain.catch_up(progress=progress).notes
        done += [_WORDS[part] for part in parts]
    if done or before.unsummed:
        after = verify_brain(path, progress)
    asked = _ask(path, brain) if after.ok else None
    return RepairReport(before=before, done=tuple(done), after=after, asked=asked, notes=notes)


_WORDS: Final = {
    "lexical": "the lexical index",
    "facets": "the facets",
    "relations": "the relations",
    "vectors": "the vectors",
    "neighbours": "the graph of neighbours",
    "statistics": "the statistics",
    "costs": "what things cost here",
    "made-from": "everything derived: what it was made from was not known any more",
    "tree": "the trees that prove matches",
    "tables": "the SQL tables, which the next query makes",
}


def _ask(path: Path, brain: Handles) -> Asked | None:
    """Ask for some blocks in their own words until one is found; the last one asked for, where none is."""
    asked = None
    for block_id, text in _known_texts(path):
        bundle = brain.ask_anew(Query(text=text, limit=20, floor=False, include_superseded=True))
        found = any(match.block_id == block_id for match in bundle.matches)
        asked = Asked(question=text, block_id=block_id, matches=len(bundle.matches), found=found)
        if found:
            break
    return asked


def _known_texts(path: Path) -> list[tuple[str, str]]:
    """Up to five visible blocks of the brain, longest first among a sample, with the first words of each."""
    from consilience.plan.entries import entries_of

    with Store.open(path, read_only=True) as store, store.view() as view:
        ns = _sample(view, view.max_n)
        hidden = view.hidden(ns)
        ids = view.ids(ns)
        entries = [e for e in entries_of(view, [n for n in ns if n not in hidden]) if len(e.text.split()) > 2]
        entries.sort(key=lambda e: -len(set(e.text.split())))
        return [(format_digest(ids[e.n]), " ".join(e.text.split()[:12])) for e in entries[:5]]


# --- what is derived ------------------------------------------------------------------------------------------------


class _Findings:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.problems: list[Problem] = []
        self.unsummed: list[str] = []
        self.files = 0

    def report(self, part: str, path: Path, detail: str) -> None:
        with contextlib.suppress(ValueError):
            path = path.relative_to(self._folder.parent)
        self.problems.append(Problem(what=part, detail=detail, file=path.as_posix(), derived=True))

    @contextlib.contextmanager
    def part(self, name: str, path: Path) -> Iterator[None]:
        """Whatever damaged files make of the code that reads them is a finding."""
        try:
            yield
        except ConsilienceError as error:
            self.report(name, path, error.message)
        except Exception as error:
            self.report(name, path, f"{type(error).__name__}: {error}")


def check_derived(path: Path) -> tuple[tuple[Problem, ...], int, tuple[str, ...]]:
    """Damage in a brain's derived files; how many were looked at; which parts bear no checksums, because the last
    writer did not end, and were checked by what else there is."""
    folder = path / DERIVED
    found = _Findings(folder)
    if folder.is_dir():
        _trees(found, path / TREES)
        checks = (
            ("lexical", _lexical),
            ("facets", _facets),
            ("relations", _relations),
            ("vectors", _vectors),
            ("neighbours", _neighbours),
            ("tables", _tables),
        )
        for part, check in checks:
            with found.part(part, folder / part):
                check(found, folder)
        _documents(found, folder)
        if not found.problems:  # else after a repair, which verifies again
            _against_blocks(found, folder, path)
    return tuple(found.problems), found.files, tuple(found.unsummed)


def _documents(found: _Findings, folder: Path) -> None:
    from consilience.index.checksums import document_problem

    for part, name in (
        ("made-from", "made-from.json"),
        ("statistics", "statistics.json"),
        ("costs", "costs.json"),
    ):
        path = folder / name
        found.files += path.exists()
        if problem := document_problem(path):
            found.report(part, path, problem)


def _trees(found: _Findings, folder: Path) -> None:
    from consilience.store.leaves import sound_tree

    for path in sorted(folder.glob("*.bin")) if folder.is_dir() else ():
        found.files += 1
        if not sound_tree(path):
            found.report("tree", path, "its checksum does not hold")


def _lexical(found: _Findings, folder: Path) -> None:
    from consilience.index.checksums import (
        LIST,
        document_problem,
        footer_holds,
        listed_sums,
        sum_of,
        uncommitted,
    )
    from consilience.index.lexical import LexicalIndex

    path = folder / "lexical"
    engine = path / "engine"
    if not path.is_dir():
        return
    for document in (path / "state.json", path / LIST):
        found.files += document.exists()
        if problem := document_problem(document):
            found.report("lexical", document, problem)
    listed = None
    with contextlib.suppress(IndexUnusableError):
        listed = listed_sums(path / LIST)
    present = sorted(p for p in engine.iterdir() if p.suffix != ".lock") if engine.is_dir() else []
    left = uncommitted(engine, present)
    present = [p for p in present if p not in left]
    found.files += len(present)
    present += [path / "state.json"] if (path / "state.json").exists() else []
    if listed is None:
        found.unsummed.append("lexical")
        for each in present:
            if footer_holds(each) is False:
                found.report("lexical", each, "its checksum does not hold")
    else:
        for each in present:
            if each.name not in listed.files:
                found.report(
                    "lexical", each, "it is not one of the files that the index wrote, or was damaged then"
                )
            elif sum_of(each) != listed.files[each.name]:
                found.report("lexical", each, "its checksum does not hold")
        for name in sorted(listed.files.keys() - {p.name for p in present}):
            found.report("lexical", engine / name, "it is missing")
    if not any(p.what == "lexical" for p in found.problems):
        LexicalIndex.open(path)


def _facets(found: _Findings, folder: Path) -> None:
    from consilience.index.facet_file import SCHEMA

    _database(found, folder / "facets.db", SCHEMA)


def _relations(found: _Findings, folder: Path) -> None:
    from consilience.index.edges_file import SCHEMA

    _database(found, folder / "edges.db", SCHEMA)


def _database(found: _Findings, path: Path, schema: Schema) -> None:
    """An index that is one SQLite file: by its checksum, by its log, by its own check where there is no checksum."""
    from consilience.index.checksums import document_problem
    from consilience.index.database import connect, sums_file, sums_hold
    from consilience.store.verify_file import log_problems

    part, listed = schema.what, sums_file(path)
    if problem := document_problem(listed):
        found.report(part, listed, problem)
    found.files += listed.exists()
    if not path.exists():
        if listed.exists():
            found.report(part, path, "it is missing")
        return
    found.files += 1
    holds = sums_hold(path)
    if holds is False:
        found.report(part, path, "its checksum does not hold")
        return
    for problem in log_problems(path):
        found.report(part, path, problem)
    connection = connect(path)
    try:
        schema.check(connection, path)
        if holds is None:
            found.unsummed.append(part)
            for (message,) in connection.execute("PRAGMA integrity_check(10)"):
                if message != "ok":
                    found.report(part, path, str(message))
    finally:
        connection.close()


def _tables(found: _Findings, folder: Path) -> None:
    """The SQL tables that a state names (sql/cache.py). What none names is read by nobody: left over, or being made."""
    from consilience.index.checksums import document_problem, listed_sums, sum_of

    path = folder / "tables"
    for document in sorted(path.glob("[a-z]*.json")) if path.is_dir() else ():
        if problem := document_problem(document):
            found.report("tables", document, problem)
            continue
        listed = listed_sums(document)
        for name, expected in sorted(listed.files.items()) if listed is not None else ():
            try:
                sound = sum_of(path / name) == expected
            except FileNotFoundError:
                if document.exists():  # else a later state took its place meanwhile
                    found.report("tables", path / name, "it is missing")
                continue
            if not sound:
                found.report("tables", path / name, "its checksum does not hold")
            found.files += 1
        found.files += 1


def _vectors(found: _Findings, folder: Path) -> None:
    for path in sorted(p for p in (folder / "vectors").glob("*") if p.is_dir()):
        with found.part("vectors", path):
            from consilience.index.vector_checks import check

            checked = check(path)
            for file, problem in checked.problems:
                found.report("vectors", file, problem)
            found.unsummed.extend([] if checked.summed else ["vectors"])
            found.files += checked.files


def _neighbours(found: _Findings, folder: Path) -> None:
    for path in sorted(p for p in (folder / "vectors").glob("*") if p.is_dir()):
        with found.part("neighbours", path):
            from consilience.index import hnsw_build

            for file, problem in hnsw_build.problems(path):
                found.report("neighbours", file, problem)
            found.files += len(hnsw_build.files(path))


# --- against the blocks ---------------------------------------------------------------------------------------------


def _sample(view: View, upto: int) -> list[int]:
    """Some members that a question reaches, spread over the ordinals up to one."""
    step = max(1, upto // SAMPLE)
    members = view.members(range(1, upto + 1, step))
    if len(members) < SAMPLE and upto <= 50_000:
        members = view.members(range(1, upto + 1))
    blocks = view.blocks(sorted(members)[: 4 * SAMPLE])
    return [b.n for b in blocks if b.memory_type in SEARCHED_BY_DEFAULT and b.intact][:SAMPLE]


def _against_blocks(found: _Findings, folder: Path, path: Path) -> None:
    """See `_sampled`; a store that cannot be opened is the store's problem."""
    with (
        contextlib.suppress(ConsilienceError),
        Store.open(path, read_only=True) as store,
        store.view() as view,
    ):
        _sampled(found, folder, view)


def _sampled(found: _Findings, folder: Path, view: View) -> None:
    """Whether the indices speak of this brain's blocks: by the snapshot they name, and for a sample by what they hold.

    Single entries may be of an earlier context of their block; half of a sample is another brain's.
    """
    with found.part("made-from", folder / "made-from.json"):
        if not _is_ours(found, folder / "made-from.json", view):
            return
    from consilience.plan.entries import entries_of

    entries = {e.n: e for e in entries_of(view, _sample(view, view.max_n), introduced=True)}
    if not entries:
        return
    with found.part("lexical", folder / "lexical"):
        _lexical_sample(found, folder / "lexical", entries)
    for path in sorted(p for p in (folder / "vectors").glob("*") if p.is_dir()):
        with found.part("vectors", path):
            _vector_sample(found, path, entries)


def _is_ours(found: _Findings, path: Path, view: View) -> bool:
    if not path.exists():
        return True
    said = msgspec.json.decode(path.read_bytes(), type=_MadeFrom).snapshot
    if view.has_snapshot(parse_digest(said)):
        return True
    found.report("made-from", path, f"this brain never had the snapshot {said}")
    return False


class _MadeFrom(msgspec.Struct):
    snapshot: str


def _lexical_sample(found: _Findings, path: Path, entries: Mapping[int, Entry]) -> None:
    from consilience.index.lexical import LexicalIndex

    index = LexicalIndex.open(path)
    if index is None:
        return
    asked = [e for n, e in entries.items() if n <= index.watermark]
    other = 0
    for entry in asked:
        query = index.analyze(entry.text, languages=(entry.language,) if entry.language else ())
        other += index.coverage(query, [entry.n]).get(entry.n, 0.0) < HALF
    index.close()
    if other > HALF * len(asked):
        found.report(
            "lexical", path, f"{other} of {len(asked)} blocks looked up are not in it: another brain's?"
        )


def _vector_sample(found: _Findings, path: Path, entries: Mapping[int, Entry]) -> None:
    from consilience.index._files import read_json
    from consilience.index.vector_files import Meta, Rows, hashes_of, read_meta, text_hash
    from consilience.plan.entries import embedded_text

    meta = read_json(path / "meta.json", Meta)
    if meta is None or read_meta(path, meta.tag) is None:
        return
    said = hashes_of(Rows(path, meta), list(entries))
    other = sum(hashed != text_hash(embedded_text(entries[n])) for n, hashed in said.items())
    if other > HALF * len(said):
        found.report(
            "vectors", path, f"{other} of {len(said)} rows looked at are of other texts: another brain's?"
        )


# --- clearing away --------------------------------------------------------------------------------------------------


def _clear(folder: Path, part: str, files: Sequence[str | None]) -> None:
    """Remove what is damaged, so that catching up makes it anew. Vectors whose checksums hold are kept aside and taken
    over by the hash of their text. Raises StorageError."""
    try:
        if part == "lexical":
            _remove(folder / "lexical")
        elif part == "facets":
            for name in ("facets.db", "facets.db-wal", "facets.db-shm", "facets.json"):
                _remove(folder / name)
        elif part == "relations":
            for name in ("edges.db", "edges.db-wal", "edges.db-shm", "edges.json"):
                _remove(folder / name)
        elif part == "statistics":
            _remove(folder / "statistics.json")
        elif part == "costs":
            _remove(folder / "costs.json")
        elif part == "tree":
            for file in files:
                if file is not None:
                    _remove(folder.parent / file)
        elif part == "tables":
            _remove(folder / "tables")
        elif part == "vectors":
            _salvage(folder)
        elif part == "neighbours":
            from consilience.index import hnsw_build

            for path in (folder / "vectors").glob("*"):
                hnsw_build.drop(path)
        elif part == "made-from":
            for other in ("lexical", "facets", "relations", "statistics"):
                _clear(folder, other, ())
            _salvage(folder)
            _remove(folder / "made-from.json")
    except OSError as error:
        raise StorageError(
            f"cannot clear {folder}: {error.strerror or error}", hint="delete it by hand"
        ) from error


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _salvage(folder: Path) -> None:
    """Move the vectors to where embedding looks for known texts, without the rows that are not certainly sound."""
    from consilience.index._files import replace_json
    from consilience.index.vector_files import Meta, slug
    from consilience.index.vector_writer import VectorWriter

    vectors, kept = folder / "vectors", folder / KEPT
    for path in sorted(p for p in vectors.glob("*") if p.is_dir()):
        try:
            meta = msgspec.json.decode((path / "meta.json").read_bytes(), type=Meta)
            if slug(meta.tag) != path.name:
                raise IndexUnusableError(f"{path} belongs to {meta.tag!r}")
            replace_json(path / "meta.json", msgspec.structs.replace(meta, ascending=False, coarse=None))
            with VectorWriter(path, meta.tag, meta.dims) as writer:
                writer.salvage()
        except (IndexUnusableError, FileNotFoundError, msgspec.MsgspecError):
            shutil.rmtree(path)
    if vectors.is_dir():
        shutil.rmtree(kept, ignore_errors=True)
        vectors.rename(kept)
