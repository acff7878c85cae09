"""Charts and diagrams in Office documents: the data that a chart shows as a table, the words of a diagram as a list.

ECMA-376-1, clauses 21.2 (DrawingML charts) and 21.4 (diagrams). Values are those that the file keeps beside the
references into its workbook, which is not opened.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, timedelta
from xml.etree.ElementTree import Element

from consilience.ingest.readers.flow import Flow
from consilience.ingest.readers.package import Package, RefusedError, child, is_on, number

MAX_POINTS = 1_000
MAX_SERIES = 100
_EPOCH = date(1899, 12, 30)
_EPOCH_1904 = date(1904, 1, 1)


def add(node: Element, relations: dict[str, tuple[str, str]], package: Package, flow: Flow) -> None:
    """Add the charts and diagrams anchored in a node to the flow. One that is damaged becomes a warning."""
    for each in node.iter():
        kind, path = relations.get(each.get("r:id") or each.get("r:dm") or "", ("", ""))
        if each.tag not in ("chart", "relIds") or kind not in ("chart", "diagramData"):
            continue
        try:
            if path not in package.names:
                raise RefusedError(f"{path} is not in it")
            root = package.optional_xml(path)
            if root is None:
                raise RefusedError(f"{path} is damaged")
        except RefusedError as refused:
            flow.warnings.append(
                f"a {'chart' if kind == 'chart' else 'diagram'} left out: {refused.skip.reason}"
            )
            continue
        if kind == "chart":
            _chart(root, flow)
        else:
            _diagram(root, flow)


# --- charts -----------------------------------------------------------------------------------------------------


def _chart(root: Element, flow: Flow) -> None:
    title = _words(child(root, "chart", "title"))
    since = _EPOCH_1904 if is_on(root, "date1904") else _EPOCH
    plot = child(root, "chart", "plotArea")
    if title:
        flow.add(title)
    for names, series in _plots(plot if plot is not None else root, since):
        group = flow.new_group()
        points = sorted({at for _, values in series for at in values})[:MAX_POINTS]
        if any(name for name, _ in series):
            flow.row(["", *(name for name, _ in series)], group, head=True)
        for at in points:
            flow.row([names.get(at, ""), *(values.get(at, "") for _, values in series)], group)


def _plots(plot: Element, since: date) -> Iterator[tuple[dict[int, str], list[tuple[str, dict[int, str]]]]]:
    """Names of points and named series of each plot; series that share their points stand side by side."""
    names: dict[int, str] | None = None
    series: list[tuple[str, dict[int, str]]] = []
    for n, each in enumerate(plot.iter("ser")):
        if n == MAX_SERIES:
            break
        x, y = _either(each, "cat", "xVal"), _either(each, "val", "yVal")
        points = _points(x, since)
        if names is not None and points != names:
            yield names, series
            series = []
        names = points
        name = _words(child(each, "tx")) or " ".join(
            "".join(_points(child(each, "tx"), since).values()).split()
        )
        series.append((name, _points(y, since)))
    if series and names is not None:
        yield names, series


def _either(node: Element, *tags: str) -> Element | None:
    return next((found for tag in tags if (found := child(node, tag)) is not None), None)


def _points(node: Element | None, since: date) -> dict[int, str]:
    """Values by their index. Of names in levels the innermost."""
    if node is None:
        return {}
    levels = next(node.iter("lvl"), None)
    source = levels if levels is not None else node
    code = next((each.text or "" for each in source.iter("formatCode")), "")
    found: dict[int, str] = {}
    for each in source.iter("pt"):
        text = next((inner.text or "" for inner in each if inner.tag == "v"), "")
        found[number(each.get("idx"), most=10**6, otherwise=len(found))] = _shown(text, code, since)
    if not found:
        text = next((each.text or "" for each in source.iter("v")), "")
        found = {0: text} if text else {}
    return found


def _shown(text: str, code: str, since: date) -> str:
    """A value as people write it: a spreadsheet keeps 4.3 as 4.2999999999999998, and dates as numbers of days."""
    try:
        value = float(text)
    except ValueError:
        return text
    if "y" in code.lower() and 0 <= value < 2_958_466:
        return (since + timedelta(days=int(value))).isoformat()
    return repr(value) if len(text) > 15 else text


def _words(node: Element | None) -> str:
    if node is None:
        return ""
    return " ".join("".join(each.text or "" for each in node.iter("t")).split())


# --- diagrams ---------------------------------------------------------------------------------------------------


def _diagram(root: Element, flow: Flow) -> None:
    group = flow.new_group()
    for n, point in enumerate(root.iter("pt")):
        if n == MAX_POINTS:
            break
        if text := _words(child(point, "t")):
            flow.add(text, "list", group=group)
