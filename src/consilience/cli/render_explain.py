"""Why a brain answers as it does, as people read it. Lines out, nothing printed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from consilience.cli.render_search import short
from consilience.cli.terminal import Terminal, clean, columns, fit, pad, table, wrap
from consilience.model import CompoundExplanation, Explanation, FloorReport, GeneratorReport, PlanReport

LEAST_COLUMN = 14


def explanation(told: Explanation, terminal: Terminal) -> Iterator[str]:
    """One brain's explanation."""
    yield from _question(told.query.text, terminal)
    yield from _brain(told, terminal)


def compound(told: CompoundExplanation, terminal: Terminal) -> Iterator[str]:
    """The members' main figures side by side, then each member's own explanation. There is no compound
    plan."""
    yield from _question(told.query.text, terminal)
    yield from _side_by_side(told.members, terminal)
    for member in told.members:
        yield ""
        text = f"── {clean(member.brain)} "
        yield terminal.style(text + "─" * max(2, terminal.width - columns(text)), "cyan")
        yield from _brain(member, terminal)
    if told.skipped:
        yield ""
    for skipped in told.skipped:
        yield terminal.style(f"{clean(skipped.brain)}: skipped, {clean(skipped.reason)}", "yellow")


def _question(text: str, terminal: Terminal) -> Iterator[str]:
    shown = fit(" ".join(clean(text).split()), terminal.width - 12)
    yield f"question    {terminal.style(shown, 'bold')}"


def _brain(told: Explanation, terminal: Terminal) -> Iterator[str]:
    snapshot = f"sha256:{short(told.snapshot)}…" if told.snapshot else "none yet"
    yield from _fact("brain", f"{clean(told.brain)}, snapshot {snapshot}", terminal)
    yield from _fact("intent", clean(told.intent), terminal)
    yield from _fact("statistics", clean(told.statistics), terminal)
    yield from _fact("floor", floor_text(told.floor), terminal)
    if told.count is not None:
        yield from _fact("matches", f"{told.count:,}", terminal)
    yield ""
    yield from _plans(told, terminal)
    yield ""
    yield from _indices(told, terminal)


def _fact(name: str, text: str, terminal: Terminal) -> Iterator[str]:
    for at, line in enumerate(wrap(text, terminal.width - 12) or [""]):
        yield pad(name if at == 0 else "", 12) + line


def floor_text(floor: FloorReport) -> str:
    """The noise floor and what it did, in one sentence."""
    said = []
    if floor.threshold is None:
        said.append("none measured")
    else:
        said.append(
            f"the best must reach {floor.speaks or 0.0:.2f}, every match {floor.threshold:.2f}, by"
            f" {floor.samples:,} unrelated questions"
        )
    if not floor.applied:
        said.append("not applied")
    if floor.best is not None:
        said.append(f"best {floor.best:.4f}")
    if floor.withheld:
        best = f", the best at {floor.best_withheld:.4f}" if floor.best_withheld is not None else ""
        said.append(f"{floor.withheld:,} withheld{best}")
    if floor.detail:
        said.append(clean(floor.detail))
    return "; ".join(said)


def _plans(told: Explanation, terminal: Terminal) -> Iterator[str]:
    """Plans, the chosen one first and marked, its generators below it; then those rejected, with the
    reason."""
    measured = ["measured µs", "error"] if told.analyzed else []
    rows = [["", "plan", "est. µs", *measured, "recall", "why"]]
    chosen_rows: list[int] = []
    for plan in sorted(told.plans, key=lambda each: not each.chosen):
        if plan.chosen:
            chosen_rows.append(len(rows))
        rows.append(_plan_row(plan, told.analyzed))
        if plan.chosen:
            rows.extend(_generator_rows(plan, told.analyzed))
    numbers = (2, 3, 4, 5) if told.analyzed else (2, 3)
    for at, lines in enumerate(table(rows, terminal.width, right=numbers, prose=True)):
        style = ("dim",) if at == 0 else ("bold",) if at in chosen_rows else ()
        yield from (terminal.style(line, *style) if style else line for line in lines)


def _plan_row(plan: PlanReport, analyzed: bool) -> list[str]:
    actual = [_number(plan.actual_us), _error(plan)] if analyzed else []
    recall = f"{plan.estimated_recall:.2f}"
    mark = "*" if plan.chosen else ""
    return [mark, clean(plan.name), _number(plan.estimated_us), *actual, recall, clean(plan.reason)]


def _generator_rows(plan: PlanReport, analyzed: bool) -> Iterator[list[str]]:
    for part in plan.generators:
        actual = [_number(part.actual_us), _error(part)] if analyzed else []
        rows = f"{part.estimated_rows:,.0f} rows"
        if part.actual_rows is not None:
            rows += f", {part.actual_rows:,} measured"
        said = f"k {part.k:,}, weight {part.weight:.2f}, {rows}"
        yield ["", f"  {clean(part.name)}", _number(part.estimated_us), *actual, "", said]


def _indices(told: Explanation, terminal: Terminal) -> Iterator[str]:
    rows = [["index", "covers", "consulted", "why"]]
    for index in told.indices:
        covers = f"{index.covered:,} of {index.of:,}" if index.available else "not built"
        rows.append([clean(index.name), covers, "yes" if index.consulted else "no", clean(index.detail)])
    for at, lines in enumerate(table(rows, terminal.width, prose=True)):
        yield from (terminal.style(line, "dim") if at == 0 else line for line in lines)


def _error(told: PlanReport | GeneratorReport) -> str:
    """How many times as long as estimated it took."""
    if told.actual_us is None or told.estimated_us <= 0.0:
        return "-"
    return f"x{told.actual_us / told.estimated_us:,.2f}"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:,.0f}"


# --- side by side
# -----------------------------------------------------------------------------------------------


def _side_by_side(members: Sequence[Explanation], terminal: Terminal) -> Iterator[str]:
    """One column a brain; as many tables below each other as the width asks for."""
    label = 13
    each = max(1, (terminal.width - label) // (LEAST_COLUMN + 2))
    for start in range(0, len(members), each):
        some = members[start : start + each]
        share = (terminal.width - label) // len(some) - 2
        facts = [_figures(member) for member in some]
        yield ""
        for at, name in enumerate(facts[0]):
            cells = [pad(fit(list(figures.values())[at], share), share) for figures in facts]
            line = (pad(name, label) + "  ".join(cells)).rstrip()
            yield terminal.style(line, "bold") if at == 0 else line


def _figures(told: Explanation) -> dict[str, str]:
    plan = next((plan for plan in told.plans if plan.chosen), None)
    figures = {"": clean(told.brain)}
    figures["plan"] = clean(plan.name) if plan else "-"
    figures["est. µs"] = _number(plan.estimated_us if plan else None)
    if told.analyzed:
        figures["measured µs"] = _number(plan.actual_us if plan else None)
        figures["error"] = _error(plan) if plan else "-"
    figures["recall"] = f"{plan.estimated_recall:.2f}" if plan else "-"
    figures["rejected"] = str(sum(not each.chosen for each in told.plans))
    figures["consulted"] = ", ".join(clean(i.name) for i in told.indices if i.consulted) or "none"
    figures["floor"] = (
        f"{told.floor.speaks or 0.0:.2f} best, {told.floor.threshold:.2f} each"
        if told.floor.threshold is not None
        else "none"
    )
    figures["best"] = f"{told.floor.best:.4f}" if told.floor.best is not None else "-"
    figures["withheld"] = f"{told.floor.withheld:,}"
    if told.count is not None:
        figures["matches"] = f"{told.count:,}"
    return figures
