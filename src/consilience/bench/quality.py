"""Retrieval quality: every way of asking, over every judged question, as one report."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from consilience.bench import brains, collection, measures
from consilience.bench.asking import Found, Way, ways_of_one, ways_of_several
from consilience.bench.brains import Made
from consilience.bench.collection import Collection
from consilience.bench.measures import Measures
from consilience.embed import EmbedderSpec
from consilience.embed.shared import forget_questions
from consilience.errors import ConsilienceError, SourceError, UsageError
from consilience.model import Value
from consilience.progress import NO_PROGRESS, Progress

TOGETHER = "one big brain"
NOTHING = Found((), frozenset())


class QuestionMeasures(Value, frozen=True, kw_only=True):
    """One question under one way of asking: its id, the brain that it belongs to, what was reached."""

    question: str
    brain: str
    measures: Measures


class WayReport(Value, frozen=True, kw_only=True):
    """One way of asking over all questions of a subject. `silent` is the share of questions without any answer,
    `failed` counts those that could not be asked."""

    way: str
    about: str
    measures: Measures
    silent: float
    median_ms: float
    p95_ms: float
    failed: int
    questions: tuple[QuestionMeasures, ...]


class SubjectReport(Value, frozen=True, kw_only=True):
    """What one brain holds, or several side by side, and how each way of asking does on it."""

    name: str
    brains: int
    documents: int
    questions: int
    ways: tuple[WayReport, ...]


class Answering(Value, frozen=True, kw_only=True):
    """Of the questions that belong to the brain `asked`, the share that the brain `answering` answers."""

    asked: str
    answering: str
    questions: int
    share: float


class Silence(Value, frozen=True, kw_only=True):
    """Who speaks when a compound is asked: shares of (question, brain) pairs. The floor is on.

    `own_silent`: of the questions, those on which their own brain says nothing. `off_topic_answering`: of the pairs
    of a question and a brain that it does not belong to, those where that brain answers. `fused_share` is the nDCG@10
    of the fused compound over that of one big brain with the floor off (hybrid, or lexical where there are no
    vectors), `beside_others` over that of the right brain asked alone. `pairs`: every brain's questions to every brain.
    """

    own_silent: float
    off_topic_answering: float
    fused_share: float
    beside_others: float | None = None
    pairs: tuple[Answering, ...] = ()


class Difference(Value, frozen=True, kw_only=True):
    """One question whose nDCG@10 differs from that of an earlier run."""

    question: str
    brain: str
    before: float
    now: float


class WayDifference(Value, frozen=True, kw_only=True):
    """One way of asking against an earlier run, over the questions of both; `changed` has the largest loss first."""

    subject: str
    way: str
    common: int
    better: int
    worse: int
    before: float
    now: float
    changed: tuple[Difference, ...]


class QualityReport(Value, frozen=True, kw_only=True):
    """`data` of `bench quality`. `depth` is how many matches were asked for and measured."""

    folder: str
    model: str
    depth: int
    subjects: tuple[SubjectReport, ...]
    silence: Silence | None
    against: tuple[WayDifference, ...] = ()
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Setting:
    """Where and with what brains are made. `clock` dates their blocks; `questions` and `documents` sample."""

    work: Path
    cache_dir: Path
    clock: Callable[[], datetime]
    embedder: EmbedderSpec
    questions: int | None = None
    documents: int | None = None
    runs: Path | None = None
    progress: Progress = NO_PROGRESS


@dataclass(frozen=True, slots=True)
class _Asked:
    """A question of a subject: its id there, its words, the brain that it belongs to."""

    id: str
    text: str
    brain: str


def quality(folder: Path, setting: Setting) -> QualityReport:
    """Measure a BEIR folder, or a folder of them: each a brain of one project.

    Brains are made in `setting.work` and used again. A collection that cannot be read is left out, with a warning,
    where there are others; a question that cannot be asked finds nothing, and is counted in `failed`. Raises
    NotFoundError, ValidationError, StorageError, MissingExtraError, BusyError.
    """
    measures.check()
    collections, warnings = _load(collection.folders_of(folder), setting)
    vectors = setting.embedder.provider != "none"
    subjects: list[SubjectReport] = []
    mades: list[Made] = []
    big: Made | None = None
    silence = None
    try:
        for each in collections:
            mades.append(_make(each, setting))
            subjects.append(_measured(each, ways_of_one(mades[-1], vectors=vectors), setting))
        if len(collections) > 1:
            whole = _joined(folder.resolve().name or "project", collections)
            big = _make(replace(whole, name=f"{whole.name}-all"), setting)
            ways = [*ways_of_one(big, vectors=vectors, prefix=f"{TOGETHER}, "), *ways_of_several(mades)]
            report, silence = _measured_together(whole, ways, mades, setting)
            subjects.append(report)
    finally:
        setting.progress.close()
        for made in (*mades, *([big] if big is not None else [])):
            made.brain.close()
    spec = setting.embedder
    return QualityReport(
        folder=str(folder),
        model=f"{spec.provider}:{spec.model}" if spec.model else spec.provider,
        depth=measures.DEPTH,
        subjects=tuple(subjects),
        silence=silence,
        warnings=tuple(warnings),
    )


def _load(folders: Sequence[Path], setting: Setting) -> tuple[list[Collection], list[str]]:
    """The collections, their ids made unique by the brain's name."""
    for name, value in (("questions", setting.questions), ("documents", setting.documents)):
        if value is not None and value < 1:
            raise UsageError(f"{value} {name} cannot be measured", hint="1 or more")
    found, warnings = [], []
    for folder in folders:
        try:
            read = collection.load(folder)
        except ConsilienceError as error:
            if len(folders) == 1:
                raise
            warnings.append(f"{folder.name} is left out: {error.message}")
            continue
        warnings += read.warnings
        read = collection.sample(read, questions=setting.questions, documents=setting.documents)
        found.append(_named_apart(read) if len(folders) > 1 else read)
    if not found:
        raise SourceError("no collection could be read", hint="; ".join(warnings))
    return found, warnings


def _named_apart(read: Collection) -> Collection:
    def own(name: str) -> str:
        return name if name.startswith(f"{read.name}/") else f"{read.name}/{name}"

    return replace(
        read,
        documents={own(name): text for name, text in read.documents.items()},
        questions={own(name): text for name, text in read.questions.items()},
        relevant={own(q): {own(d): g for d, g in grades.items()} for q, grades in read.relevant.items()},
    )


def _joined(name: str, collections: Sequence[Collection]) -> Collection:
    documents: dict[str, str] = {}
    questions: dict[str, str] = {}
    relevant: dict[str, dict[str, int]] = {}
    for each in collections:
        documents |= each.documents
        questions |= each.questions
        relevant |= each.relevant
    return Collection(name, documents, questions, relevant)


def _make(read: Collection, setting: Setting) -> Made:
    return brains.make(
        setting.work,
        read.name,
        read.documents,
        embedder=setting.embedder,
        cache_dir=setting.cache_dir,
        clock=setting.clock,
        progress=setting.progress,
    )


def _measured(read: Collection, ways: Iterable[Way], setting: Setting) -> SubjectReport:
    asked = [_Asked(name, text, read.name) for name, text in read.questions.items()]
    reports = [_run(read, way, asked, setting)[0] for way in ways]
    return _subject(read, 1, reports, setting)


def _measured_together(
    whole: Collection, ways: Iterable[Way], mades: Sequence[Made], setting: Setting
) -> tuple[SubjectReport, Silence]:
    names = [made.name for made in mades]
    asked = [_Asked(name, text, name.split("/", 1)[0]) for name, text in whole.questions.items()]
    reports = []
    spoke: Mapping[str, frozenset[str]] = {}
    for way in ways:
        report, answered = _run(whole, way, asked, setting)
        reports.append(report)
        if way.name == "grouped":
            spoke = answered
    values = {report.way: report.measures.ndcg_10 for report in reports}
    return _subject(whole, len(names), reports, setting), _silence(asked, spoke, names, values)


def _silence(
    asked: Sequence[_Asked],
    spoke: Mapping[str, frozenset[str]],
    names: Sequence[str],
    values: Mapping[str, float],
) -> Silence:
    base = values.get(f"{TOGETHER}, hybrid", values[f"{TOGETHER}, lexical"])
    own = sum(each.brain not in spoke[each.id] for each in asked)
    foreign = sum(len(spoke[each.id] - {each.brain}) for each in asked)
    pairs = []
    for brain in names:
        of = [each.id for each in asked if each.brain == brain]
        for other in names if of else ():
            share = round(sum(other in spoke[name] for name in of) / len(of), 4)
            pairs.append(Answering(asked=brain, answering=other, questions=len(of), share=share))
    return Silence(
        own_silent=round(own / len(asked), 4),
        off_topic_answering=round(foreign / (len(asked) * (len(names) - 1)), 4),
        fused_share=_ratio(values["fused"], base),
        beside_others=_ratio(values["fused"], values["right brain"]),
        pairs=tuple(pairs),
    )


def _ratio(value: float, base: float) -> float:
    return round(value / base, 4) if base else 0.0


def _subject(read: Collection, count: int, reports: Sequence[WayReport], setting: Setting) -> SubjectReport:
    if setting.runs is not None:
        measures.write_qrels(setting.runs / f"{read.name}.qrels", read.relevant)
    return SubjectReport(
        name=read.name,
        brains=count,
        documents=len(read.documents),
        questions=len(read.questions),
        ways=tuple(reports),
    )


def _ask(way: Way, question: _Asked) -> Found:
    try:
        return way.ask(question.text, question.brain)
    except UsageError:
        return NOTHING


def _run(
    read: Collection, way: Way, asked: Sequence[_Asked], setting: Setting
) -> tuple[WayReport, Mapping[str, frozenset[str]]]:
    """Ask every question one way, the first of them once before the clock runs; who answered it, too."""
    setting.progress.start(f"{read.name}: {way.name}", len(asked), "questions")
    _ask(way, asked[0])
    forget_questions()
    rankings: dict[str, tuple[str, ...]] = {}
    answered: dict[str, frozenset[str]] = {}
    taken, failed = [], 0
    for each in asked:
        started = time.perf_counter()
        found = _ask(way, each)
        taken.append((time.perf_counter() - started) * 1e3)
        failed += found is NOTHING
        rankings[each.id], answered[each.id] = found.ranking, found.answered
        setting.progress.advance()
    if setting.runs is not None:
        tag = way.name.replace(",", "").replace(" ", "-")
        measures.write_run(setting.runs / f"{read.name}.{tag}.run", f"consilience-{tag}", rankings)
    by_question = measures.measure(read.relevant, rankings)
    taken.sort()
    report = WayReport(
        way=way.name,
        about=way.about,
        measures=measures.mean([by_question[each.id] for each in asked]),
        silent=round(sum(not rankings[each.id] for each in asked) / len(asked), 4),
        median_ms=round(taken[len(taken) // 2], 2),
        p95_ms=round(taken[min(len(taken) - 1, len(taken) * 95 // 100)], 2),
        failed=failed,
        questions=tuple(
            QuestionMeasures(question=each.id, brain=each.brain, measures=by_question[each.id])
            for each in asked
        ),
    )
    return report, answered
