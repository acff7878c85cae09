"""What `bench` measured, as people read it. Lines out, nothing printed."""

from __future__ import annotations

from collections.abc import Iterator

from consilience.bench.ingest import FormatSpeed, IngestSpeed
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
        cells = [f"{row.ms:,.1f} ({_times(row.times, 1.0)})" for row in own]
        grown = [_times(own[-1].ms, own[0].ms)] if growth else []
        rows.append((what, *cells, *grown, own[0].raw))
    right = range(1, len(rows[0]) - 1)
    for place, lines_ in enumerate(table(rows, terminal.width, right=right)):
        yield from (terminal.style(line, "dim") if place == 0 else line for line in lines_)
    yield ""
    for size, text, held in zip(report.sizes, report.text, report.bytes, strict=True):
        yield f"{size:,} passages: {text / 1e6:.1f} MB of text, {held / 1e6:.1f} MB on disk ({_times(held, text)})"
    told = f"medians of {report.repeat}; in brackets: times the engine's CPU, of the compound its time"
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


def ingest_lines(report: IngestSpeed, terminal: Terminal) -> Iterator[str]:
    """One row a format: how much of it, how fast its bytes are read, parsed raw, parsed by us, and taken."""
    head = ("MB/s", "files", "MB", "bytes", "parser", "reader", "ingest", "passages/s", "parser is")
    rows = [head, *(_format(each) for each in report.formats)]
    for place, lines_ in enumerate(table(rows, terminal.width, right=range(1, len(head) - 1))):
        yield from (terminal.style(line, "dim") if place == 0 else line for line in lines_)
    yield ""
    left = sum(each.left for each in report.formats)
    if left or report.other:
        yield f"{left:,} could not be read as what they are; {report.other:,} are archives or of no format"
    jobs = "in one process" if report.jobs == 1 else f"up to {report.jobs} processes parse"
    yield terminal.style(f"bytes and ingest ({jobs}): by the clock", "dim")
    yield terminal.style("parser and reader (and how many times the parser's time): CPU time", "dim")


def _format(each: FormatSpeed) -> tuple[str, ...]:
    size = each.bytes / 1e6
    reader = _rate(size, each.parse_s)
    if each.raw_s is not None:
        reader = f"{reader} ({_times(each.parse_s, each.raw_s)})"
    return (
        clean(each.format),
        f"{each.files:,}",
        f"{size:,.1f}",
        _rate(size, each.read_s),
        _rate(size, each.raw_s) if each.raw_s is not None else "-",
        reader,
        _rate(size, each.ingest_s),
        f"{each.passages / max(each.ingest_s, 1e-9):,.0f}",
        each.raw or "our own",
    )


def _rate(size: float, seconds: float) -> str:
    rate = size / max(seconds, 1e-6)
    return f"{rate:,.0f}" if rate >= 100 else f"{rate:,.1f}" if rate >= 1 else f"{rate:,.2f}"
