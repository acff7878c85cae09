"""Markdown that CommonMark does not know, made into Markdown that it does: admonitions and the bodies of footnotes.

Line for line: the text has as many lines as before, and places stay what they are. Known are `!!! note "Title"` and
`??? note` with an indented body (Python-Markdown, MkDocs), `:::warning` to `:::` (Docusaurus, Pandoc, MyST),
`> [!NOTE]` (GitHub), and the further paragraphs of `[^1]: ...`, which are indented and would be code otherwise.
"""

from __future__ import annotations

import re

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)$")
_INDENTED = re.compile(
    r'(?P<lead> *)(?:!!!|\?\?\?\+?)[ \t]+[\w-]+(?:[ \t]+[\w-]+)*(?:[ \t]+"(?P<title>[^"]*)")?[ \t]*$'
)
_COLONS = re.compile(r" {0,3}(?P<colons>:{3,})(?P<rest>.*)$")
_KIND = re.compile(
    r"[ \t]*(?:\{[^{}]*\}|[A-Za-z][\w-]*)[ \t]*(?:\[(?P<bracketed>[^\[\]]*)\]|(?P<title>.*?))[ \t]*:*[ \t]*$"
)
_ALERT = re.compile(
    r"((?: {0,3}>)+ ?)\[!(?:NOTE|TIP|IMPORTANT|WARNING|CAUTION|INFO|DANGER|EXAMPLE)\][+-]?[ \t]*(.*)$", re.I
)
_FOOTNOTE = re.compile(r" {0,3}\[\^[^\]\s]+\]:")
_STEP = 4


def plain(text: str) -> str:
    """The text with the marks of admonitions gone; their titles and bodies stay, as paragraphs of their own."""
    if not any(mark in text for mark in ("!!!", "???", ":::", "[!", "[^")):
        return text
    lines = text.split("\n")
    fence = ""
    opened: list[int] = []
    """How far the bodies that are open here stand in, outermost first."""
    colons = 0
    for n, line in enumerate(lines):
        if not line.strip():
            continue
        inset = len(line) - len(line.lstrip(" "))
        while opened and not fence and inset < opened[-1]:
            opened.pop()
        removed = _STEP * len(opened)
        line = line[min(removed, inset) :]
        lines[n] = line
        match = _FENCE.match(line)
        if fence:
            if match and match[1].startswith(fence) and not match[2].strip():
                fence = ""
            continue
        if match:
            fence = match[1]
        elif (found := _INDENTED.match(line)) is not None and _has_body(lines, n, inset + _STEP):
            lines[n] = found["lead"] + (found["title"] or "")
            opened.append(inset + _STEP)
        elif _FOOTNOTE.match(line):
            opened.append(inset + _STEP)
        elif (found := _COLONS.match(line)) is not None:
            kind = _KIND.match(found["rest"])
            if not found["rest"].strip() and colons:
                colons -= 1
                lines[n] = ""
            elif kind is not None and found["rest"].strip() and _closes(lines, n):
                colons += 1
                lines[n] = (kind["bracketed"] or kind["title"] or "").strip()
        elif (found := _ALERT.match(line)) is not None:
            lines[n] = found[1].rstrip() + (f" {found[2]}" if found[2] else "")
    return "\n".join(lines)


def _has_body(lines: list[str], at: int, inset: int) -> bool:
    """Whether the next line that is not empty stands in so far."""
    after = next((line for line in lines[at + 1 : at + 20] if line.strip()), "")
    return len(after) - len(after.lstrip(" ")) >= inset


def _closes(lines: list[str], at: int) -> bool:
    """Whether a line of colons alone follows."""
    return any(line.strip() and not line.strip().strip(":") for line in lines[at + 1 : at + 2_000])
