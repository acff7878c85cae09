"""Measures of rankings, by ir-measures (MacAvaney et al., ECIR 2022), and rankings as TREC run files."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

from consilience.errors import MissingExtraError, StorageError
from consilience.files import write_atomically
from consilience.model import Value

Ranking = Sequence[str]
Judged = Mapping[str, Mapping[str, int]]
DEPTH = 50
"""How deep rankings are measured."""


class Measures(Value, frozen=True, kw_only=True):
    """Of one question, or the mean over questions; each is in 0..1. `mrr` is the reciprocal rank of the first
    relevant document."""

    ndcg_10: float
    recall_10: float
    recall_50: float
    mrr: float


def check() -> None:
    """MissingExtraError where the library of measures is not installed."""
    try:
        import ir_measures  # noqa: F401
    except ImportError as error:
        raise MissingExtraError(
            "measuring quality needs ir-measures, which is not installed",
            hint="pip install 'consilience[bench]'",
        ) from error


def measure(relevant: Judged, rankings: Mapping[str, Ranking]) -> dict[str, Measures]:
    """The measures of every judged question; one without a ranking has 0 in all."""
    check()
    import ir_measures
    from ir_measures import RR, R, nDCG

    fields = {nDCG @ 10: "ndcg_10", R @ 10: "recall_10", R @ 50: "recall_50", RR @ DEPTH: "mrr"}
    qrels = [
        ir_measures.Qrel(question, document, grade)
        for question, grades in relevant.items()
        for document, grade in grades.items()
    ]
    run = [
        ir_measures.ScoredDoc(question, document, score)
        for question, ranking in rankings.items()
        for document, score in _scored(ranking)
    ]
    found: dict[str, dict[str, float]] = {question: {} for question in relevant}
    for each in ir_measures.iter_calc(list(fields), qrels, run):
        found[each.query_id][fields[each.measure]] = float(each.value)
    return {
        question: Measures(**{name: values.get(name, 0.0) for name in fields.values()})
        for question, values in found.items()
    }


def mean(measured: Sequence[Measures]) -> Measures:
    """The mean of each measure, summed exactly; 0 for none."""
    names = Measures.__struct_fields__
    count = len(measured) or 1
    return Measures(**{n: round(math.fsum(getattr(m, n) for m in measured) / count, 4) for n in names})


def write_run(path: Path, tag: str, rankings: Mapping[str, Ranking]) -> None:
    """A TREC run file: question Q0 document rank score tag. Scores say the rank: those of brains do not compare."""
    lines = [
        f"{_word(question)} Q0 {_word(document)} {rank} {score:.0f} {tag}"
        for question, ranking in rankings.items()
        for rank, (document, score) in enumerate(_scored(ranking), 1)
    ]
    _write(path, lines)


def write_qrels(path: Path, relevant: Judged) -> None:
    """The judgements that the runs are measured by, in the form of TREC."""
    lines = [
        f"{_word(question)} 0 {_word(document)} {grade}"
        for question, grades in relevant.items()
        for document, grade in grades.items()
    ]
    _write(path, lines)


def _scored(ranking: Ranking) -> list[tuple[str, float]]:
    unique = list(dict.fromkeys(ranking))[:DEPTH]
    return [(document, float(DEPTH - place)) for place, document in enumerate(unique)]


def _word(text: str) -> str:
    """An id without white space, which separates columns."""
    return "_".join(text.split()) or "_"


def _write(path: Path, lines: Sequence[str]) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, "".join(f"{line}\n" for line in lines).encode())
    except OSError as error:
        raise StorageError(f"{path} cannot be written: {error.strerror}") from error
