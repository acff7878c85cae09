"""What `bench` measured, as people read it. Lines out, nothing printed."""

from __future__ import annotations

from collections.abc import Iterator

from consilience.bench.quality import (
    TOGETHER,
    QualityReport,
    Silence,
    SubjectReport,
    WayDifference,
    WayReport,
)
from consilience.bench.speed import SpeedReport
from consilience.cli.terminal import Terminal, clean, table

SHOWN = 3
"""Questions that got better, and that got worse, shown for each way of asking."""

MOST_SILENT, MOST_OFF_TOPIC, LEAST_SHARE, LEAST_BESIDE = 0.03, 0.10, 0.97, 0.98
"""What a compound aims at."""

HEAD = ("", "nDCG@10", "R@10", "R@50", "MRR", "silent", "ms", "p95")


def lines(report: QualityReport, terminal: Terminal) -> Iterator[str]:
    """A table for each brain and one for all together, who speaks, and what changed."""
    for subject in report.subjects:
        yield from _subject(subject, terminal)
        yield ""
    if report.silence is not None:
        yield from _silence(report.silence, terminal)
        yield ""
    for difference in report.against:
        yield from _difference(difference, terminal)
    yield terminal.style(
        f"model {clean(report.model)}; {report.depth} matches asked for; means over questions", "dim"
    )


def speed_lines(report: SpeedReport, terminal: Terminal) -> Iterator[str]:
    """One row an operation: its time at each size with how many times the engine's that is, and how it grows."""
    growth = len(report.sizes) > 1
    rows = [
        ("milliseconds", *(f"{size:,}" for size in report.sizes), *(["growth"] if growth else []), "beside")
    ]
    for what in dict.fromkeys(row.what for row in report.rows):
        own = [row for row in report.rows if row.what == what]
        cells = [f"{row.ms:,.1f} ({_times(row.ms, row.raw_ms)})" for row in own]
        grown = [_times(own[-1].ms, own[0].ms)] if growth else []
        rows.append((what, *cells, *grown, own[0].raw))
    right = range(1, len(rows[0]) - 1)
    for place, lines_ in enumerate(table(rows, terminal.width, right=right)):
        yield from (terminal.style(line, "dim") if place == 0 else line for line in lines_)
    yield ""
    for size, text, held in zip(report.sizes, report.text, report.bytes, strict=True):
        yield f"{size:,} passages: {text / 1e6:.1f} MB of text, {held / 1e6:.1f} MB on disk ({_times(held, text)})"
    told = f"medians of {report.repeat}; in brackets: times as long as the engine alone"
    yield terminal.style(told, "dim")


def _times(value: float, base: float) -> str:
    ratio = value / base if base else 0.0
    return f"{ratio:.1f}x" if ratio < 10 else f"{ratio:,.0f}x"


def _subject(subject: SubjectReport, terminal: Terminal) -> Iterator[str]:
    brains = f"{subject.brains} brains, " if subject.brains > 1 else ""
    sizes = f"{brains}{subject.documents:,} documents, {subject.questions:,} questions"
    yield terminal.style(clean(subject.name), "bold") + f"  {sizes}"
    best = max(way.measures.ndcg_10 for way in subject.ways)
    rows = [HEAD, *(_row(way) for way in subject.ways)]
    for place, row in enumerate(table(rows, terminal.width, right=range(1, len(HEAD)))):
        style = "dim" if place == 0 else "bold" if subject.ways[place - 1].measures.ndcg_10 == best else ""
        yield from (f"  {terminal.style(line, style) if style else line}" for line in row)
    for way in subject.ways:
        if way.failed:
            yield f"  {way.way}: {way.failed:,} questions could not be asked"
    yield from _halves(subject, terminal)


def _halves(subject: SubjectReport, terminal: Terminal) -> Iterator[str]:
    """Where both generators together find less than one of them: by how much."""
    values = {way.way.removeprefix(f"{TOGETHER}, "): way.measures.ndcg_10 for way in subject.ways}
    if not {"lexical", "vectors", "hybrid"} <= values.keys():
        return
    better = max(("lexical", "vectors"), key=lambda name: values[name])
    if values["hybrid"] < values[better]:
        lost = values[better] - values["hybrid"]
        yield terminal.style(f"  hybrid is {lost:.3f} below {better}, aimed at: never below", "yellow")


def _row(way: WayReport) -> tuple[str, ...]:
    m = way.measures
    measured = (f"{value:.3f}" for value in (m.ndcg_10, m.recall_10, m.recall_50, m.mrr))
    return (way.way, *measured, _percent(way.silent), f"{way.median_ms:.1f}", f"{way.p95_ms:.1f}")


def _silence(silence: Silence, terminal: Terminal) -> Iterator[str]:
    """Who speaks, beside what is aimed at."""
    rows = (
        ("own brain silent", silence.own_silent, silence.own_silent <= MOST_SILENT, "at most 3%"),
        (
            "off-topic brains that answer",
            silence.off_topic_answering,
            silence.off_topic_answering <= MOST_OFF_TOPIC,
            "at most 10%",
        ),
        ("fused over one big brain", silence.fused_share, silence.fused_share >= LEAST_SHARE, "at least 97%"),
        (
            "fused over the right brain",
            silence.beside_others,
            silence.beside_others is None or silence.beside_others >= LEAST_BESIDE,
            "at least 98%",
        ),
    )
    for name, value, reached, aim in rows:
        if value is not None:
            line = f"{name:<28} {_percent(value):>7}  {aim}{'' if reached else ', missed'}"
            yield line if reached else terminal.style(line, "yellow")
    loud = sorted((p for p in silence.pairs if p.asked != p.answering and p.share), key=lambda p: -p.share)
    for pair in loud[:SHOWN]:
        share = f"{_percent(pair.share):>7}"
        yield f"  {share} of the questions of {clean(pair.asked)} are answered by {clean(pair.answering)}"
    quiet = sorted((p for p in silence.pairs if p.asked == p.answering), key=lambda p: p.share)
    for pair in [p for p in quiet if p.share < 1.0][:SHOWN]:
        share = f"{_percent(1.0 - pair.share):>7}"
        yield f"  {share} of its own questions are met with silence by {clean(pair.asked)}"


def _difference(found: WayDifference, terminal: Terminal) -> Iterator[str]:
    moved = found.now - found.before
    head = f"{clean(found.subject)}, {clean(found.way)}"
    yield (
        f"{terminal.style(head, 'bold')}  nDCG@10 {found.before:.3f} -> {found.now:.3f} ({moved:+.3f}): "
        f"{found.better:,} better, {found.worse:,} worse of {found.common:,} questions"
    )
    losses = [each for each in found.changed if each.now < each.before][:SHOWN]
    gains = [each for each in reversed(found.changed) if each.now > each.before][:SHOWN]
    for each in (*losses, *gains):
        yield f"    {each.before:.3f} -> {each.now:.3f}  {clean(each.question)}"


def _percent(share: float) -> str:
    return f"{share * 100:.1f}%"
