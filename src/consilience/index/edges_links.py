"""What a document is called, and what the lines of a document name: paths, file names, headings, numbered papers.

Read from the source text, since passages keep the words of a link and not its target. Patterns, not parsers: one pass
over the lines for every markup, linear in the text. Pure.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple
from urllib.parse import unquote

from consilience.index.edges_file import ANYWHERE, key_of

HEAD_CHARACTERS = 2_000
"""How far into a document its own number is looked for."""

LONGEST_LINE = 20_000
LONGEST_TARGET = 500

_INLINE = re.compile(r"\]\(\s*<?([^\s()<>]+(?:\([^\s()<>]*\)[^\s()<>]*)*)")
_WIKI = re.compile(r"\[\[([^\[\]|#]*)(?:#([^\[\]|]*))?(?:\|[^\[\]]*)?\]\]")
_DEFINITION = re.compile(r"^ {0,3}\[([^\]^][^\]]*)\]:\s*<?(\S+?)>?(?:\s|$)")
_USED = re.compile(r"\[([^\[\]]+)\](?:\[([^\[\]]*)\])?(?![(:])")
_HTML = re.compile(r"""\bhref\s*=\s*["']([^"'<>]+)["']""", re.IGNORECASE)
_RST = re.compile(r"`[^`<>]*<([^`<>\s]+)>`__?")
_RST_TARGET = re.compile(r"^\.\. +_[^:]+: +(\S+)\s*$")
_RST_ROLE = re.compile(r":(?:doc|ref|download):`(?:[^`<>]*<)?([^`<>]+)>?`")
_BARE = re.compile(r"https?://[^\s<>()\[\]\"'`]+")
_NUMBERED = re.compile(r"\b([A-Z][A-Z]{1,9})(?:[ \u00a0]|[ -]?#|-)0{0,5}([1-9][0-9]{0,5})\b")
_NUMBERED_ROLE = re.compile(r":([a-z]{2,10}):`(?:[^`<>]*<)?0{0,5}([1-9][0-9]{0,5})\b")
_STEM_WORD = re.compile(r"([a-z]{2,10})[-_ ]?0{0,5}([1-9][0-9]{0,5})(?![0-9a-z])")
_STEM_NUMBER = re.compile(r"0{0,5}([1-9][0-9]{1,5})(?![0-9])")
_CAPITALS = re.compile(r"\b[A-Z]{2,6}\b")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_SUFFIX = re.compile(r"\.[A-Za-z0-9]{1,8}$")
_PLAIN_STEMS = frozenset(
    ("index", "readme", "default", "contents", "changelog", "license", "summary", "main")
)


class Named(NamedTuple):
    """That a line (from 1) names something."""

    line: int
    key: int
    section: int


def names_of(origin: str, head: str) -> tuple[int, ...]:
    """What the document of an origin is called: its path, its file name, the number it bears, as keys.

    `head` is the beginning of its text, where a numbered paper says what it is a number of.
    """
    stem = _stem(origin)
    found = [path_key(origin)]
    if is_distinct(stem):
        found.append(key_of("stem", stem))
    if match := _STEM_WORD.match(stem):
        found.append(_number_key(match[1], match[2]))
    elif match := _STEM_NUMBER.match(stem):
        number = re.compile(rf"(?<![0-9])0{{0,5}}{match[1]}(?![0-9])")
        for line in head[:HEAD_CHARACTERS].split("\n"):
            if number.search(line):
                found += [_number_key(word, match[1]) for word in _CAPITALS.findall(line)]
    return tuple(dict.fromkeys(found))


def named_in(origin: str, lines: Sequence[str]) -> Iterator[Named]:
    """What each line names. References of Markdown count where they are used, not where they are defined."""
    definitions = {m[1].casefold(): m[2] for line in lines if (m := _DEFINITION.match(line))}
    for number, line in enumerate(lines, 1):
        line = line[:LONGEST_LINE]
        for key, section in dict.fromkeys(_of_line(origin, line, definitions)):
            yield Named(number, key, section)


def _of_line(origin: str, line: str, definitions: dict[str, str]) -> Iterator[tuple[int, int]]:
    if "[" in line and not _DEFINITION.match(line):
        for match in _INLINE.finditer(line):
            yield from _target(origin, match[1])
        for match in _WIKI.finditer(line):
            yield from _wiki(origin, match[1].strip(), match[2] or "")
        if definitions:
            for match in _USED.finditer(line):
                target = definitions.get((match[2] or match[1]).casefold())
                if target is not None:
                    yield from _target(origin, target)
    if "`" in line or line.startswith(".. "):
        for pattern in (_RST, _RST_ROLE, _RST_TARGET):
            for match in pattern.finditer(line):
                yield from _target(origin, match[1].strip())
        for match in _NUMBERED_ROLE.finditer(line):
            yield _number_key(match[1], match[2]), ANYWHERE
    if "href" in line.lower():
        for match in _HTML.finditer(line):
            yield from _target(origin, match[1])
    if "://" in line:
        for match in _BARE.finditer(line):
            yield from _target(origin, match[0].rstrip(".,;:!?*_"))
    for match in _NUMBERED.finditer(line):
        yield _number_key(match[1], match[2]), ANYWHERE


def _target(origin: str, target: str) -> Iterator[tuple[int, int]]:
    """A path is taken from where the document stands; of an address the last part, where it names a file."""
    if len(target) > LONGEST_TARGET:
        return
    place, _, fragment = target.partition("#")
    section = section_key(unquote(fragment)) if fragment else ANYWHERE
    if _SCHEME.match(place) or place.startswith("//"):
        if not place.lower().startswith(("http:", "https:", "//")):
            return
        stem = _stem(unquote(place.partition("?")[0].rstrip("/")))
        if place.count("/") > 2 and is_distinct(stem) and re.search(r"[a-z]", stem):
            yield key_of("stem", stem), section
        return
    place = unquote(place.partition("?")[0])
    if not place:
        if section != ANYWHERE:
            yield path_key(origin), section
        return
    folder, name = posixpath.split(place)
    if _SUFFIX.search(name):
        below = "" if place.startswith("/") else posixpath.dirname(origin)
        yield path_key(posixpath.join(below, place.lstrip("/"))), section
    elif is_distinct(name.casefold()) and (folder or "-" in name or "_" in name):
        yield key_of("stem", name.casefold()), section


def _wiki(origin: str, name: str, heading: str) -> Iterator[tuple[int, int]]:
    section = section_key(heading) if heading.strip() else ANYWHERE
    if not name:
        if section != ANYWHERE:
            yield path_key(origin), section
    else:
        stem = (
            _stem(name)
            if name.lower().endswith((".md", ".markdown"))
            else posixpath.basename(name).casefold()
        )
        yield key_of("stem", stem), section


def is_distinct(stem: str) -> bool:
    """Whether a file's name, without folder and suffix, tells it from others."""
    return len(stem) >= 3 and stem not in _PLAIN_STEMS


def path_key(path: str) -> int:
    """A path, or an address of a file, as a number."""
    return key_of("path", posixpath.normpath(path))


def section_key(heading: str) -> int:
    """A heading, or the fragment of an address that means it, as a number; ANYWHERE for one without a word."""
    slug = re.sub(r"[\W_]+", "-", heading.casefold()).strip("-")
    return key_of("section", slug) if slug else ANYWHERE


def _number_key(word: str, number: str) -> int:
    return key_of("number", f"{word.casefold()} {int(number)}")


def _stem(path: str) -> str:
    """The file name of a path without its suffix, lower case."""
    return _SUFFIX.sub("", posixpath.basename(path)).casefold()
