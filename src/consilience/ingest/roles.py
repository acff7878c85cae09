"""What part a passage plays in its document, told from its text and heading path alone.

Ranking turns some roles down; nothing is ever hidden by its role. The same function is used when a document is split
and, later, when an index entry is made from a stored block, where nothing but text and headings is known. It leans on
the normal form of passages (docs/decisions/0040): running text has no line ends, so lines mean code, list or table.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from consilience.ingest.metadata import HEAD_KEYS, field

ROLES_VERSION = "1"

_REFERENCE_SECTION = re.compile(
    r"^(?:\W|\d)*(?:references|bibliography|footnotes?|endnotes|works cited|citations|external links|further reading|"
    r"links|see also)(?: (?:and|&|/) (?:footnotes?|links|references|notes|acknowledge?ments))?\W*$",
    re.IGNORECASE,
)
_CONTENTS_SECTION = re.compile(r"^(?:table of )?contents\W*$|^toc$", re.IGNORECASE)
_LEGAL_SECTION = re.compile(
    r"^(?:copyright|licen[cs]e|licensing|legal)(?: (?:notices?|statement|information|and licen[cs]e))?\W*$",
    re.IGNORECASE,
)
_LEGAL = re.compile(
    r"\bplaced in the public domain\b|\bcc0-1\.0\b|\ball rights reserved\b|^©|\bcopyright (?:©|\(c\)|\d{4})"
    r"|\bpermission is hereby granted\b|^spdx-license-identifier\b|\bopen publication license\b"
    r"|^(?:this|the) (?:document|work|file|proposal|content)s? (?:is|are|has been) "
    r"(?:hereby )?(?:licen[cs]ed|released)\b"
)
_LEGAL_WORDS = (
    "copyright",
    "©",
    "public domain",
    "cc0",
    "rights reserved",
    "hereby",
    "spdx",
    "licen",
    "released",
)
_MODE_LINE = re.compile(
    r"^(?:Local Variables:|-\*-|vim?: (?:set|ft|ts)|\s*(?:indent-tabs-mode|fill-column):)"
)
_URL = re.compile(r"<?(?:https?|ftp)://[^\s>]+>?|\bwww\.\S+|\bdoi:\S+")
_THREAD = re.compile(
    r"^(?:(?:original |related |previous |follow-?up )?swift-evolution (?:discussion )?threads?|implementation branch"
    r"|(?:mailing list |forum )?discussion(?: threads?| at)?|pitch(?: threads?)?|tracking issue)\b ?:? ",
    re.IGNORECASE,
)
_LABEL = re.compile(r"^\[[^\]\n]{1,40}\]:? ")
_ITEM = re.compile(r"^ *- (?!\()")
_NAMED_CELL = re.compile(r"^[^|]{1,60}?: .*? \| [^|]{1,60}?: ")
_WORD = re.compile(r"[^\W\d_]{2,}")
_SENTENCE_END = re.compile(r"[.!?…。！？][\"'”’)\]]*$")
_PLAIN_WORD = re.compile(r"^[\"'“‘(\[]*[^\W\d_]+(?:[-'’/][^\W\d_]+)*[\"'”’)\].,;:!?…]*$")
_SECTION_NAMES = frozenset(
    (
        "abstract", "acknowledgements", "acknowledgments", "alternatives", "alternatives considered", "appendix",
        "background", "changelog", "conclusion", "copyright", "detailed design", "drawbacks", "effect on abi stability",
        "effect on api resilience", "example", "examples", "explanation", "future directions", "future possibilities",
        "future work", "goals", "guide-level explanation", "implementation", "introduction", "motivation", "non-goals",
        "open issues", "overview", "prior art", "proposal", "proposed solution", "rationale",
        "rationale and alternatives", "reference implementation", "reference-level explanation", "references",
        "rejected ideas", "specification", "source compatibility", "summary", "table of contents",
        "unresolved questions",
    )
)  # fmt: skip
_CODE_START = re.compile(
    r"^(?:>>> |\.\.\. |\$ |% |# ?include\b|#!|//|/\*|@\w"
    r"|(?:pub |public |private |static |async |export |unsafe |extern |open )*"
    r"(?:def|class|import|from \S+ import|fn|func|let|var|const|struct|enum|impl|trait|type|package|return|typedef|use"
    r"|extension|protocol|template|namespace|void|mod|macro_rules!|if|for|while|switch|match|try|with|else|print|del"
    r"|raise|yield|await|assert|lambda|case|guard|typealias|where|goto|init)\b)"
)
_COMMAND = re.compile(
    r"^(?:cargo|git|pip3?|python3?|py|rustc|npm|docker|curl|go (?:build|test|run|get|mod|tool|vet|install)"
    r"|swift (?:build|test|run|package)|swiftc|make|cd|sudo) (?:-|\S+$|\S+ -|\S+ \S+$)"
)
_CODE_SIGN = re.compile(
    r"[A-Za-z_\])]\(|\)[({.]|->|=>|:=|[=!<>+*/|&-]=|::|\{|\}|;$|\w\[|\w<\w|__\w+__|\w\.\w+\(|^\s*[-+]{1,2}\w|[\\$`~^]"
    r"| = | \+ | \* |\w: \w+[,)]|\bself\b|\B--\w"
)
_ASSIGNMENT = re.compile(r"^\S+(?:, \S+)*(?:: \S+)? = \S")


_LICENCE_FILE = re.compile(r"(?:^|/)(?:(?i:(?:un)?licen[cs]es?|copying|copyright)|NOTICE)(?:[.-][\w.+-]*)?$")


def is_licence_file(origin: str) -> bool:
    """Whether a path is that of a file which projects keep their licence in: LICENSE, COPYING.LESSER, NOTICE.txt."""
    return _LICENCE_FILE.search(origin) is not None


def role_of(text: str, headings: Sequence[str] = ()) -> str:
    """One of prose, code, list, table, reference, toc, boilerplate, heading. Pure; costs some ten microseconds."""
    section = headings[-1] if headings else ""
    lines = text.split("\n") if "\n" in text else None
    if _is_boilerplate(text, lines, section, headings):
        return "boilerplate"
    if lines is not None:
        return _of_lines(text, lines, section)
    if _CONTENTS_SECTION.match(section) and len(text) < 200:
        return "toc"
    if _is_reference(text, section):
        return "reference"
    if " | " in text and _is_row(text):
        return "table"
    if _is_code_line(text):
        return "code"
    return "heading" if _announces(text) else "prose"


def _is_boilerplate(text: str, lines: Sequence[str] | None, section: str, headings: Sequence[str]) -> bool:
    if _LEGAL_SECTION.match(section):
        return len(text) < 1500
    if len(text) < 600:
        lowered = text.lower()
        if any(word in lowered for word in _LEGAL_WORDS) and _LEGAL.search(lowered):
            return True
    if _MODE_LINE.match(text):
        return True
    if len(headings) > 1 and not (lines and len(lines) > 2):
        return False
    known = total = 0
    for line in lines or (text,):
        pair = field(line)
        total += pair is not None
        known += pair is not None and pair[0].lower() in HEAD_KEYS
    if len(headings) > 1:
        return known >= 4 and total * 2 > len(lines or ())
    return known >= 4 or (known * 3 >= total > 0 and total * 3 >= len(lines or (text,)))


def _of_lines(text: str, lines: Sequence[str], section: str) -> str:
    items = sum(1 for line in lines if _ITEM.match(line))
    if items == len(lines) or (items * 2 > len(lines) and items > 1):
        if _CONTENTS_SECTION.match(section) or _names_sections(lines):
            return "toc"
        if _REFERENCE_SECTION.match(section) or all(_is_link_only(_ITEM.sub("", line)) for line in lines):
            return "reference"
        return "list"
    cells = f" {lines[0]} ".count(" | ")
    if cells and all(f" {line} ".count(" | ") == cells for line in lines) and not _many_signs(lines[0]):
        return "table"
    if _is_reference(lines[0], section) and all(_is_reference(line, section) for line in lines):
        return "reference"
    return "prose" if _reads_as_prose(text, lines) else "code"


def _names_sections(lines: Sequence[str]) -> bool:
    names = sum(_ITEM.sub("", line).strip(" .:0123456789").casefold() in _SECTION_NAMES for line in lines)
    return names >= 3 and names * 5 >= len(lines)


def _is_reference(text: str, section: str) -> bool:
    """A pointer to something else: an entry under References, a labelled note with a link, a bare link."""
    words = text.count(" ") + 1
    if words > 60:
        return False
    label, link = bool(_LABEL.match(text)), bool(_URL.search(text))
    if _REFERENCE_SECTION.match(section):
        return words <= 25 or link or (label and words <= 40)
    return (
        (label and (words <= 12 or link))
        or _is_link_only(text)
        or (words <= 20 and bool(_THREAD.match(text)))
    )


def _is_link_only(text: str) -> bool:
    if "://" not in text and "www." not in text:
        return False
    rest, count = _URL.subn("", text)
    return count > 0 and len(_WORD.findall(rest)) <= 4 * count and not _SENTENCE_END.search(rest)


def _announces(text: str) -> bool:
    """A line that labels or announces what follows rather than saying something itself."""
    words = text.count(" ") + 1
    if text.endswith(":"):
        return words <= 8
    return words <= 3 and len(text) < 40


def _is_row(text: str) -> bool:
    if _NAMED_CELL.match(text):
        return True
    words = text.count(" ") + 1
    return text.count(" | ") >= 2 and words <= 40 and not _SENTENCE_END.search(text) and not _many_signs(text)


def _many_signs(text: str) -> bool:
    return bool(_CODE_START.match(text)) or len(_CODE_SIGN.findall(text)) >= 2


def _is_code_line(text: str) -> bool:
    count = text.count(" ") + 1
    if count > 40:
        return False
    ends = _SENTENCE_END.search(text) is not None and not text.endswith("...")
    words = text.split(" ")
    if ends and count > 5 and _PLAIN_WORD.match(words[0]) and _PLAIN_WORD.match(words[1]):
        return False
    signs = len(_CODE_SIGN.findall(text))
    if not signs:
        return bool(_COMMAND.match(text)) and not ends
    plain = sum(1 for word in words if _PLAIN_WORD.match(word))
    if _CODE_START.match(text) and (signs >= 2 or not ends) and plain * 4 < count * 3:
        return True
    if plain * 10 >= count * 7 and count >= 5:
        return False
    if not ends and (_ASSIGNMENT.match(text) or _COMMAND.match(text)):
        return True
    if ends and count > 3:
        return False
    return (signs >= 2 and plain * 2 < count) or (count <= 4 and plain <= 1)


def _reads_as_prose(text: str, lines: Sequence[str]) -> bool:
    """Text of other software may come with soft line ends: long lines of plain words and whole sentences."""
    words = text.split()
    if len(words) < 8 * len(lines) or any(line[:2] in ("  ", "\t") for line in lines):
        return False
    plain = sum(1 for word in words if _PLAIN_WORD.match(word))
    return plain * 10 >= len(words) * 9 and bool(_SENTENCE_END.search(text.rstrip()))
