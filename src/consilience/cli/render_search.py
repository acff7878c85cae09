"""Matches as people read them: one brain's, several side by side, or fused. Lines out, nothing printed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from consilience.cli.passage import excerpt, spans, word_pattern
from consilience.cli.terminal import Terminal, clean, columns, fit, head, wrap
from consilience.model import (
    Bundle,
    CompoundMatch,
    CompoundResult,
    Contribution,
    Match,
    MemberReport,
    ModuleRoot,
    Source,
    Via,
    two_decimals,
)

INDENT = "    "
ID_DIGITS = 12
ROOT_DIGITS = 8
MOST_COPIES = 4
NEAR_WORDS = {
    "text": "the same words",
    "shingles": "{} of the wording in common",
    "contained": "{} of the shorter is in the longer",
    "meaning": "{} alike in meaning",
}


def bundle(found: Bundle, terminal: Terminal) -> Iterator[str]:
    """One brain's answer."""
    for match in found.matches:
        contribution = _of_one(found.brain, match)
        yield from _match(match, terminal, lead=f"{match.rank:>2}", marks=[contribution])
        yield ""
    count = len(found.matches)
    yield from _summary(
        found.brain,
        count,
        found.truncated,
        found.withheld,
        found.query.limit,
        terminal,
        collapsed=found.collapsed,
    )
    yield from roots(found.verified_against, terminal)


def compound(found: CompoundResult, terminal: Terminal, *, near: bool = False) -> Iterator[str]:
    """Several brains' answer, in the order that the result has; with `near`, what is near to each match under it."""
    links = Links(found) if near else None
    yield from _fused(found, terminal, links) if found.fused else _grouped(found, terminal, links)
    for skipped in found.skipped:
        text = f"{clean(skipped.brain)}: skipped, {clean(skipped.reason)}"
        yield from _hanging(text, terminal, "yellow")


def short(block_id: str) -> str:
    """The first digits of a block id, enough to ask for it again."""
    return block_id.removeprefix("sha256:")[:ID_DIGITS]


def roots(verified_against: Sequence[ModuleRoot], terminal: Terminal) -> Iterator[str]:
    """What the matches were verified against."""
    named = ", ".join(
        f"{ref.module.value} sha256:{short(ref.root)[:ROOT_DIGITS]}…" for ref in verified_against
    )
    if named:
        yield from _hanging(f"verified against {named}", terminal, "dim", indent="  ")


def place(sources: Sequence[Source]) -> str:
    """The first place a block came from, as `file:lines` or `file page 3`, and how many more there are."""
    known = [source for source in sources if source.origin is not None]
    if not known:
        return ""
    where = known[0].place
    lines = ""
    if where.first_line is not None:
        last = where.last_line
        mark = ":" if where.unit == "line" else f" {where.unit} "
        lines = f"{mark}{where.first_line}" + (f"-{last}" if last not in (None, where.first_line) else "")
    more = f" (+{len(known) - 1} more)" if len(known) > 1 else ""
    return clean(known[0].origin or "") + lines + more


def heading_path(match: Match | CompoundMatch) -> list[str]:
    """Title and headings above a passage, outermost first."""
    for source in match.sources:
        if source.place.headings:
            return [clean(heading) for heading in source.place.headings]
    return [clean(match.title)] if match.title else []


# --- the answer of several
# --------------------------------------------------------------------------------------


def _grouped(found: CompoundResult, terminal: Terminal, links: Links | None) -> Iterator[str]:
    for member in found.members:
        yield _rule(member.brain, terminal)
        for match in found.matches:
            mine = [c for c in match.brains if c.brain == member.brain]
            if mine:
                yield from _match(match, terminal, lead=f"{mine[0].rank:>2}", marks=mine)
                yield from links.lines(match, terminal) if links is not None else ()
                yield ""
        yield from _member(member, found.query.limit, terminal)
        yield ""


def _fused(found: CompoundResult, terminal: Terminal, links: Links | None) -> Iterator[str]:
    for rank, match in enumerate(found.matches, 1):
        held = " ".join(f"{clean(c.brain)}#{c.rank}" for c in match.brains)
        yield from _match(match, terminal, lead=f"{rank:>2}", marks=match.brains, held=held)
        yield from links.lines(match, terminal) if links is not None else ()
        yield ""
    if not found.matches:
        yield "no match"
        yield ""
    for member in found.members:
        yield from _member(member, found.query.limit, terminal, of=found.count)


def _member(member: MemberReport, limit: int, terminal: Terminal, *, of: int | None = None) -> Iterator[str]:
    truncated, withheld = member.truncated, member.withheld
    yield from _summary(
        member.brain,
        member.count,
        truncated,
        withheld,
        limit,
        terminal,
        of=of,
        collapsed=member.collapsed,
        deferred=member.deferred,
    )
    yield from roots(member.verified_against, terminal)


def _rule(name: str, terminal: Terminal) -> str:
    text = f"── {clean(name)} "
    return terminal.style(text + "─" * max(2, terminal.prose - columns(text)), "cyan")


def _summary(
    brain: str,
    count: int,
    truncated: bool,
    withheld: int,
    limit: int,
    terminal: Terminal,
    *,
    of: int | None = None,
    collapsed: int = 0,
    deferred: int = 0,
) -> Iterator[str]:
    """How many matches, whether there is more, what the floor held back: read it before saying "it has
    none"."""
    if of is not None and (count or truncated):
        said = [f"in {count} of {of} match{'' if of == 1 else 'es'}"]
    else:
        said = [f"{count} match{'' if count == 1 else 'es'}" if count else "no match"]
    if deferred:
        said.append(f"less sure: its ranks count {deferred} place{'s' if deferred > 1 else ''} later")
    if collapsed:
        said.append(f"{collapsed:,} cop{'y' if collapsed == 1 else 'ies'} collapsed (--no-collapse)")
    if truncated:
        said.append("more (--limit)" if count >= limit or of is not None else "there may be more")
    if withheld:
        why = " as no nearer than chance" if not count and not truncated else ""
        said.append(f"{withheld:,} withheld{why} (--no-floor)")
    yield from _hanging(f"{clean(brain)}: {'; '.join(said)}", terminal)


# --- one match
# --------------------------------------------------------------------------------------------------


def _match(
    match: Match | CompoundMatch,
    terminal: Terminal,
    *,
    lead: str,
    marks: Sequence[Contribution],
    held: str = "",
) -> Iterator[str]:
    start = f"{lead}  {two_decimals(match.score)}  "
    held = fit(held, max(0, terminal.prose - columns(start) - 20))
    room = terminal.prose - columns(start) - (columns(held) + 2 if held else 0)
    title = _path(heading_path(match) or [match.memory_type.value], room)
    names = terminal.style(held, "cyan") + "  " if held else ""
    yield terminal.style(start, "dim") + names + terminal.style(title, "bold")
    width = terminal.prose - len(INDENT)
    if match.resolvable:
        matched = word_pattern(match.highlights)
        for line in excerpt(match.text, match.highlights, match.role, width):
            yield (INDENT + _marked(line, matched, terminal)).rstrip()
    else:
        yield INDENT + terminal.style("its bytes are not here (a member all the same)", "yellow")
    for line in _facts(match, marks, width):
        yield INDENT + terminal.style(line, "dim")
    for mark in marks:
        if mark.via is not None:
            yield INDENT + terminal.style(fit(_way(mark.via), width), "cyan")
    yield from _copies([id_ for mark in marks for id_ in mark.also], terminal)
    if match.superseded_by is not None:
        yield INDENT + terminal.style(f"superseded by {short(match.superseded_by)}", "yellow")


def _facts(match: Match | CompoundMatch, marks: Sequence[Contribution], width: int) -> Iterator[str]:
    """Source, module, strength and id on one line; the source on its own where they do not fit."""
    strengths = [c.strength for c in marks if c.strength is not None]
    facts = [match.memory_type.value]
    if strengths:
        facts.append(f"strength {two_decimals(max(strengths))}")
    facts.append(short(match.block_id))
    rest = " · ".join(facts)
    where = place(match.sources)
    if where and columns(where) + columns(rest) + 3 <= width:
        yield f"{where} · {rest}"
        return
    if where:
        yield _fit_left(where, width)
    yield from [rest] if columns(rest) <= width else facts


def _way(via: Via) -> str:
    """The way from the match that led to this one: `↳ related to 1a2b3c4d5e6f: next, then link`."""
    return f"↳ related to {short(via.block_id)}: {', then '.join(map(clean, via.by))}"


def _copies(ids: Sequence[str], terminal: Terminal) -> Iterator[str]:
    """The blocks that differ from a match in case, punctuation or numbering alone."""
    if ids:
        named = " ".join(map(short, ids[:MOST_COPIES])) + (" …" if len(ids) > MOST_COPIES else "")
        said = f"{len(ids)} more but for case, punctuation or numbering: {named}"
        yield INDENT + terminal.style(fit(said, terminal.prose - len(INDENT)), "dim")


class Links:
    """What is near to a match, as lines under it: how near, which brain, where in it."""

    def __init__(self, found: CompoundResult) -> None:
        self._held = {
            (contribution.brain, match.block_id): contribution
            for match in found.matches
            for contribution in match.brains
        }

    def lines(self, match: CompoundMatch, terminal: Terminal) -> Iterator[str]:
        for link in match.near:
            how = NEAR_WORDS[link.rule].format(two_decimals(link.measure))
            held = self._held[link.brain, link.block_id]
            lead = f"{INDENT}≈ {clean(link.brain)}#{held.rank}  "
            rest = " · ".join(part for part in (how, place(held.sources), short(link.block_id)) if part)
            if columns(lead) + columns(rest) <= terminal.prose:
                yield terminal.style(lead, "cyan") + terminal.style(rest, "dim")
                continue
            yield terminal.style(lead, "cyan") + terminal.style(f"{how} · {short(link.block_id)}", "dim")
            if held.sources:
                where = _fit_left(place(held.sources), terminal.prose - 2 * len(INDENT))
                yield 2 * INDENT + terminal.style(where, "dim")


def _of_one(brain: str, match: Match) -> Contribution:
    return Contribution(
        brain=brain,
        rank=match.rank,
        score=match.score,
        strength=match.strength,
        resolvable=match.resolvable,
        superseded_by=match.superseded_by,
        sources=match.sources,
        cite="",
        also=tuple(copy.block_id for copy in match.also),
        via=match.via,
    )


def _marked(line: str, matched: object, terminal: Terminal) -> str:
    if not terminal.colour:
        return line
    out, done = [], 0
    for start, end in spans(line, matched):  # type: ignore[arg-type]
        out += [line[done:start], terminal.style(line[start:end], "bold", "yellow")]
        done = end
    return "".join([*out, line[done:]])


def _path(headings: Sequence[str], width: int) -> str:
    """`Title > Part > Section` in `width` columns: middle parts go first, then the ends are cut."""
    parts = list(headings)
    text = " > ".join(parts)
    while columns(text) > width and len(parts) > 2:
        del parts[1]
        text = " > ".join([parts[0], "…", *parts[1:]])
    if columns(text) > width and len(parts) == 2:
        joint = " > … > " if len(headings) > 2 else " > "
        room = width - columns(joint)
        last = fit(parts[1], max(room // 2, room - columns(parts[0])))
        text = fit(parts[0], room - columns(last)) + joint + last
    return fit(text, width)


def _fit_left(text: str, width: int) -> str:
    """Cut at the front: the end of a path says more than its beginning."""
    if columns(text) <= width:
        return text
    kept = head(text[::-1], width - 1)[::-1]
    return "…" + kept


def _hanging(text: str, terminal: Terminal, *styles: str, indent: str = "") -> Iterator[str]:
    """A sentence over as many lines as it needs, continued under an indent."""
    for at, line in enumerate(wrap(text, terminal.prose - 4)):
        lead = indent if at == 0 else indent + "  "
        yield lead + (terminal.style(line, *styles) if styles else line)
