"""LaTeX inside a paragraph to text: marks go, words stay, mathematics stays as it is written."""

from __future__ import annotations

import re
import unicodedata

_MATH = re.compile(
    r"(?<!\\)\$\$.{1,5000}?(?<!\\)\$\$|(?<!\\)\$[^$]{1,2000}(?<!\\)\$|\\\(.{0,2000}?\\\)|\\\[.{0,5000}?\\\]"
    r"|\\begin\{(equation|align|gather|multline|eqnarray|displaymath|math|alignat|flalign|subequations)\*?\}"
    r".{0,20000}?\\end\{\1\*?\}",
    re.DOTALL,
)
_ESCAPED = {"{": "\x01", "}": "\x02", "%": "%", "&": "&", "$": "\x03", "#": "#", "_": "_"}
_ESCAPE = re.compile(r"\\([{}%&$#_])")
_ACCENT = re.compile(
    r"\\([`'^\"~=.])\s*(?:\{(\\[ij]|[A-Za-z])\}|(\\[ij]\b|[A-Za-z]))|\\([uvHckrd])\{(\\[ij]|[A-Za-z])\}"
)
_COMBINING = {
    "`": "\u0300", "'": "\u0301", "^": "\u0302", '"': "\u0308", "~": "\u0303", "=": "\u0304", ".": "\u0307",
    "u": "\u0306", "v": "\u030c", "H": "\u030b", "c": "\u0327", "k": "\u0328", "r": "\u030a", "d": "\u0323",
}  # fmt: skip
_SYMBOLS = {
    "ss": "ß", "o": "ø", "O": "Ø", "ae": "æ", "AE": "Æ", "oe": "œ", "OE": "Œ", "aa": "å", "AA": "Å", "l": "ł", "L": "Ł",
    "i": "ı", "j": "ȷ", "LaTeX": "LaTeX", "TeX": "TeX", "BibTeX": "BibTeX", "ldots": "…", "dots": "…", "textbackslash":
    "\\", "S": "§", "P": "¶", "copyright": "©", "textendash": "–", "textemdash": "—", "textasciitilde": "~", "textbar":
    "|", "textless": "<", "textgreater": ">", "pounds": "£", "euro": "€", "textquotesingle": "'", "slash": "/",
}  # fmt: skip
_TWO = re.compile(r"\\(href|textcolor|colorbox|setlength|hyperref\[[^\]{}]*\])\s*\{([^{}]*)\}\s*\{([^{}]*)\}")
_THREE = re.compile(r"\\multi(?:column|row)\s*\{[^{}]*\}\s*\{[^{}]*\}\s*\{([^{}]*)\}")
_ONE = re.compile(r"\\([A-Za-z@]+)\*?\s?(?:\[[^\]{}]*\]){0,2}\{([^{}]*)\}")
_DROPPED = frozenset(
    [
        "label",
        "index",
        "vspace",
        "hspace",
        "bibliographystyle",
        "bibliography",
        "usepackage",
        "documentclass",
        "includegraphics",
        "pagestyle",
        "input",
        "thispagestyle",
        "color",
        "fontsize",
        "include",
        "nocite",
        "phantomsection",
        "addcontentsline",
        "pagenumbering",
        "hyphenation",
        "glsadd",
        "subfile",
        "addtocounter",
        "setcounter",
        "raisebox",
        "vskip",
        "hskip",
        "begin",
        "end",
        "rule",
        "selectlanguage",
        "markboth",
        "graphicspath",
        "bibitem",
    ]
)
_REFERENCES = re.compile(r"(?:[A-Za-z]*cite[A-Za-z]*|[A-Za-z]*ref)$")
_SYMBOL = re.compile(r"\\([A-Za-z@]+)\*?(?:\s*\{\})?[ \t]?(?:\[[^\]{}]*\])?")
_OTHER = re.compile(r"\\[^A-Za-z]")
_MAX_PASSES = 30


def plain_text(source: str) -> str:
    """The words of a paragraph of LaTeX; lines stay lines. Never raises; time grows with its length."""
    kept: list[str] = []

    def keep(match: re.Match[str]) -> str:
        kept.append(match[0])
        return f"\x04{len(kept) - 1}\x05"

    text = _MATH.sub(keep, re.sub("[\x00-\x08\x0b-\x1f]", "", source))
    text = re.sub(r"\\\\(?:\[[^\]]{0,40}\])?", " ", text)
    text = text.replace("}{", "} {")
    text = _ESCAPE.sub(lambda match: _ESCAPED[match[1]], text)
    text = _ACCENT.sub(_accented, text)
    text = re.sub(r"\\(?:verb|lstinline)\*?([^A-Za-z\s{*])(.*?)\1", lambda match: match[2], text)
    for _ in range(_MAX_PASSES):
        before = text
        text = _THREE.sub(r"\1", _TWO.sub(_two, text))
        text = _ONE.sub(_one, text)
        if text == before:
            break
    text = _SYMBOL.sub(lambda match: _SYMBOLS.get(match[1], ""), text)
    text = _OTHER.sub(lambda match: " " if match[0][1] in " ,;:!/" else match[0][1], text)
    text = re.sub(r"[{}]", "", text).replace("~", " ")
    text = text.replace("---", "—").replace("--", "–").replace("``", "“").replace("''", "”")
    text = text.replace("\x01", "{").replace("\x02", "}").replace("\x03", "$")
    return unicodedata.normalize("NFC", re.sub("\x04(\\d+)\x05", lambda match: kept[int(match[1])], text))


def _accented(match: re.Match[str]) -> str:
    letter = (match[2] or match[3] or match[5]).lstrip("\\")
    return unicodedata.normalize("NFC", letter + _COMBINING[match[1] or match[4]])


def _two(match: re.Match[str]) -> str:
    command, first, second = match.groups()
    if command == "href":
        return f"{second} ({first})" if second != first else first
    return "" if command == "setlength" else str(second)


def _one(match: re.Match[str]) -> str:
    command, argument = match.groups()
    if command in _DROPPED:
        return ""
    if _REFERENCES.match(command):
        return f"[{argument}]"
    if command == "footnote":
        return f" ({argument})"
    return str(_SYMBOLS.get(command, "") + argument)
