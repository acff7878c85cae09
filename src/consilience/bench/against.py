"""A quality report against an earlier one, question by question."""

from __future__ import annotations

import math
from pathlib import Path

import msgspec

from consilience.bench.quality import Difference, QualityReport, WayDifference, WayReport
from consilience.errors import NotFoundError, StorageError, ValidationError


class _Envelope(msgspec.Struct, frozen=True):
    data: QualityReport


def read(path: Path) -> QualityReport:
    """The report of an earlier run: its `--json` output, or `data` of that. Raises NotFoundError, StorageError,
    ValidationError."""
    try:
        data = path.read_bytes()
    except FileNotFoundError as error:
        raise NotFoundError(f"there is no file {path}") from error
    except OSError as error:
        raise StorageError(f"{path} cannot be read: {error.strerror}") from error
    try:
        try:
            return msgspec.json.decode(data, type=_Envelope).data
        except msgspec.ValidationError:
            return msgspec.json.decode(data, type=QualityReport)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ValidationError(
            f"{path} is not a report of an earlier run: {error}",
            hint="csl bench quality DIR --json > FILE writes one",
        ) from error


def compare(now: QualityReport, before: QualityReport) -> QualityReport:
    """The report with its differences from the earlier one: every way of asking that both have."""
    earlier = {(subject.name, way.way): way for subject in before.subjects for way in subject.ways}
    differences = tuple(
        _difference(subject.name, way, earlier[subject.name, way.way])
        for subject in now.subjects
        for way in subject.ways
        if (subject.name, way.way) in earlier
    )
    warnings = now.warnings
    if not differences:
        warnings += ("the earlier run has no subject and way of asking in common with this one",)
    return msgspec.structs.replace(now, against=differences, warnings=warnings)


def _difference(subject: str, now: WayReport, before: WayReport) -> WayDifference:
    earlier = {each.question: each.measures.ndcg_10 for each in before.questions}
    common = [each for each in now.questions if each.question in earlier]
    changed = [
        Difference(
            question=each.question,
            brain=each.brain,
            before=earlier[each.question],
            now=each.measures.ndcg_10,
        )
        for each in common
        if each.measures.ndcg_10 != earlier[each.question]
    ]
    count = len(common) or 1
    return WayDifference(
        subject=subject,
        way=now.way,
        common=len(common),
        better=sum(each.now > each.before for each in changed),
        worse=sum(each.now < each.before for each in changed),
        before=round(math.fsum(earlier[each.question] for each in common) / count, 4),
        now=round(math.fsum(each.measures.ndcg_10 for each in common) / count, 4),
        changed=tuple(sorted(changed, key=lambda each: (each.now - each.before, each.question))),
    )
