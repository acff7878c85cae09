"""reStructuredText inline markup as the text that a reader sees."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

_START = r"(?:(?<=^)|(?<=[\s'\"(\[{<\-/:‘“’«¡¿–—]))"
_END = r"(?=$|[\s'\")\]}>\-/:.,;!?\\’”»–—…])"
_MARKUP = re.compile(
    r"\\(?P<escaped>\s|.)"
    r"|``(?P<literal>[^\s`](?:[^`]|`(?!`))*?|`+[^`]*?)``(?!`)"
    r"|(?P<role>:[A-Za-z][\w.+:-]*:)?(?<!`)`(?P<text>[^`\s](?:[^`\\]|\\.)*)`(?P<after>:[A-Za-z][\w.+:-]*:|__?\b|__?)?"
    rf"|{_START}\*\*(?P<strong>[^\s*](?:[^*]|\*(?!\*))*?)(?<![\s\\])\*\*"
    rf"|{_START}\*(?P<emph>[^\s*](?:[^*\\]|\\.)*?)(?<![\s\\])\*{_END}"
    rf"|{_START}\|(?P<subst>[^\s|][^|\n]{{0,100}}?)(?<!\s)\|_{{0,2}}{_END}"
    rf"|\[(?P<note>[#*]?[\w.:+-]{{0,80}})\]_{_END}"
    rf"|\b(?P<name>[A-Za-z0-9](?:[\w.:+-]{{0,80}}[A-Za-z0-9])?)__?{_END}",
    re.DOTALL,
)
_TARGET = re.compile(r"^(?P<text>.*?)\s*<(?P<target>[^<>]*)>$", re.DOTALL)
_PREFIX = {
    ":pep:": "PEP ",
    ":rfc:": "RFC ",
    ":cpython-issue:": "#",
    ":cpython-pr:": "#",
    ":sup:": "^",
    ":sub:": "_",
}


def normal_name(name: str) -> str:
    return " ".join(name.split()).casefold()


def render(text: str, targets: Collection[str] = (), substitutions: Mapping[str, str] = {}) -> str:
    """Drop the markup and keep the words. `targets` are the names that `name_` may point at; an unknown one stays.

    Line ends stay where they are, so that line k of the result comes from line k of `text`.
    """
    if not _HAS_MARKUP.search(text):
        return text

    def replace(match: re.Match[str]) -> str:
        kind = match.lastgroup
        if match["text"] is not None:
            return _interpreted(match["text"], match["role"] or "", match["after"] or "")
        if kind == "literal" or kind == "strong" or kind == "emph":
            inside = match[kind]
            return inside if kind == "literal" else render(inside, targets, substitutions)
        if kind == "escaped":
            return ("\n" if match[kind] == "\n" else "") if match[kind].isspace() else match[kind]
        if kind == "subst":
            return substitutions.get(normal_name(match[kind]), match[kind])
        if kind == "note":
            return f"[{match[kind].lstrip('#') or match[kind]}]"
        name = match["name"]
        return name if normal_name(name) in targets else match[0]

    return _MARKUP.sub(replace, text)


_HAS_MARKUP = re.compile(r"[\\`*|]|_(?!\w)")


def _interpreted(text: str, role: str, after: str) -> str:
    role = role or (after if after.startswith(":") else "")
    plain = re.sub(r"\\(.)", r"\1", text)
    if match := _TARGET.match(plain):
        target = match["target"]
        kept = match["text"] or target.removesuffix("_")
        return kept + "\n" * (text.count("\n") - kept.count("\n"))
    if role in _PREFIX:
        return _PREFIX[role] + plain.split("#")[0].lstrip("!")
    if role and plain.startswith(("~", "!")):
        plain = plain.rsplit(".", 1)[-1] if plain[0] == "~" else plain[1:]
    if role.endswith((":func:", ":meth:")) and not plain.endswith(")"):
        plain += "()"
    return plain
