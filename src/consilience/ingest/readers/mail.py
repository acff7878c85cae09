"""E-mail (.eml, mbox): each message's paragraphs as events with the message's time, people and subject.

text/plain is preferred, HTML goes through the reader of HTML. What is quoted, and the signature, is kept and ranked
down; attachments are named here and taken by `mail_parts`. Formats: RFC 5322, RFC 2045 to 2049, mbox as in RFC 4155
(`>From ` undone).
"""

from __future__ import annotations

import email
import re
from collections.abc import Iterator
from datetime import UTC
from email import policy
from email.message import EmailMessage, MIMEPart
from email.utils import getaddresses, parsedate_to_datetime

import msgspec

from consilience.ingest import metadata
from consilience.ingest.decoding import Decoded, decode, is_visible, normalise_lines
from consilience.ingest.model import Document, Event, Skip, TextBlock
from consilience.ingest.readers import html, plain
from consilience.ingest.readers.formats import EML, READERS
from consilience.ingest.readers.records import Problems, instant

POLICY = policy.default
MAX_HEADER_CHARS = 8_192
MAX_PEOPLE = 100
MAX_PARTS = 1_000
MAX_NESTING = 20
_UNIT = ("message", "messages")

_FROM_LINE = re.compile(rb"(?:\A|(?<=\n\n)|(?<=\n\r\n))From [^\n]*\d\d:\d\d[^\n]*\n")
_ESCAPED_FROM = re.compile(rb"^>(>*From )", re.MULTILINE)
_HEADER = re.compile(rb"\s*(?:>?From [^\n]*\n)?[!-9;-~]{1,80}:")
_ATTRIBUTION = re.compile(
    r"^(?:On|Am|Le|El|Il|Op|Em|W dniu) .{5,200}"
    r"(?:wrote|schrieb[^:]{0,80}|écrit|escribió|scritto|escreveu|schreef[^:]{0,80})\s?:$",
    re.DOTALL,
)
_ORIGINAL = re.compile(
    r"^\s*(?:-{2,} ?(?:Original Message|Ursprüngliche Nachricht|Message d'origine|Mensaje original) ?-{2,}|_{20,})\s*$",
    re.IGNORECASE,
)
_HEAD_FROM = re.compile(r"^\s*\*?(?:From|Von|De|Da|Van|Från|Fra|От):\*?\s*\S", re.IGNORECASE)
_HEAD_SUBJECT = re.compile(
    r"^\s*\*?(?:Subject|Betreff|Asunto|Objet|Oggetto|Assunto|Onderwerp|Ämne|Emne|Тема):\*?", re.IGNORECASE
)
_HEAD_LINES = 8
"""Within so many lines after its sender the head of a message that is repeated below the answer has its subject."""
UNFIT = re.compile("[\ud800-\udfff\x00]")


def read(data: bytes, name: str) -> Document | Skip:
    """Read a message or a mailbox of them. Skip where there is none; one that is broken takes no other with it."""
    parts = list(messages(data))
    if not parts:
        return Skip("not an e-mail: it does not begin with a header")
    many = is_mailbox(data)
    title = metadata.readable_name(name)
    problems = Problems()
    blocks: list[TextBlock] = []
    for number, part in enumerate(parts, 1):
        try:
            message = _Message(part, number, title if many else "")
            found = list(message.blocks())
        except (Exception, RecursionError):  # the parser's own faults, of which there are some
            problems.note("broken", number)
            continue
        blocks += found
        if not many:
            title = message.subject or title
        if message.when is None:
            problems.note("undated", number)
    said = []
    if where := problems.where("broken", _UNIT):
        said.append(f"cannot be read: {where}")
    if where := problems.where("undated", _UNIT):
        said.append(f"no date, kept without time and people: {where}")
    if not blocks:
        return Skip(said[0] if problems.where("broken") else "no text in it")
    reader, version = READERS[EML]
    return Document(
        title=title,
        blocks=tuple(blocks),
        reader=reader,
        version=version,
        unit="message",
        warnings=tuple(said),
    )


def is_mailbox(data: bytes) -> bool:
    """Whether messages stand one after the other, each below its `From ` line."""
    return _FROM_LINE.match(data) is not None


def file_name(part: MIMEPart) -> str:
    """The file's name that a part declares; "" where it declares none, or in a way that cannot be read."""
    try:
        return str(part.get_filename() or "")
    except Exception:  # the parser of headers has faults of its own
        return ""


def messages(data: bytes) -> Iterator[bytes]:
    """Each message of a mailbox, or the one that a file holds; none where it begins with no header."""
    starts = [match.span() for match in _FROM_LINE.finditer(data)]
    if not starts or starts[0][0] != 0:
        if _HEADER.match(data[:1024]):
            yield data
        return
    for n, (_, begin) in enumerate(starts):
        end = starts[n + 1][0] if n + 1 < len(starts) else len(data)
        yield _ESCAPED_FROM.sub(rb"\1", data[begin:end])


class _Message:
    def __init__(self, data: bytes, number: int, folder: str) -> None:
        message = email.message_from_bytes(data, policy=POLICY)
        assert isinstance(message, EmailMessage)
        self.message = message
        self.number = number
        self.subject = self._header("subject")
        self.when = self._when()
        people = [self._header(name) for name in ("from", "to", "cc")]
        self.people = tuple(dict.fromkeys(_people(people)))[:MAX_PEOPLE]
        self.headings = tuple(part for part in (folder, self.subject) if part)

    def blocks(self) -> Iterator[TextBlock]:
        for part, inner in _bodies(self.message, 0):
            if part.get_content_type() == "text/html":
                document = html.read(Decoded(_text_of(part), "utf-8"), self.subject or "message")
                for block in document.blocks if isinstance(document, Document) else ():
                    yield self._block(block, ("quoted",) if inner else ())
                continue
            for kind, text in _divided(_text_of(part)):
                for block in _blocks_of("quoted" if inner else kind, text):
                    yield self._block(block, ("quoted",) if inner else (kind,) if kind else ())
        if names := self._attachments():
            text = f"Attachments: {', '.join(names)}"
            block = TextBlock(text=text, role="prose", first_line=1, last_line=1)
            yield self._block(block, ("attachments",))

    def _block(self, block: TextBlock, tags: tuple[str, ...]) -> TextBlock:
        sender = self.people[0] if self.people else ""
        lines = [f"{key}: {value}" for key, value in (("From", sender), ("Subject", self.subject)) if value]
        event = None
        if self.when is not None:
            event = Event(
                when=self.when, participants=self.people, context="\n".join(lines), tags=("email", *tags)
            )
        return msgspec.structs.replace(
            block,
            text=UNFIT.sub("\ufffd", block.text),
            headings=(*self.headings, *block.headings[1:]),
            first_line=self.number,
            last_line=self.number,
            group=block.group and self.number * 100_000 + block.group,
            event=event,
        )

    def _header(self, name: str) -> str:
        """A header's words, RFC 2047 undone; "" where it is absent. Its length is bounded before it is parsed."""
        raw = next((str(value) for key, value in self.message.raw_items() if key.lower() == name), "")
        raw = raw[:MAX_HEADER_CHARS]
        try:
            value = str(POLICY.header_factory(name, re.sub(r"\r?\n\s?", " ", raw)))
        except Exception:  # the parser of headers has faults of its own
            value = raw
        return " ".join(UNFIT.sub("\ufffd", value).split())

    def _when(self) -> str | None:
        """The instant that the message says it was sent; else that it was first received."""
        received = [str(v) for k, v in self.message.raw_items() if k.lower() == "received"]
        for text in (self._header("date"), *(value.rpartition(";")[2] for value in received[::-1][:3])):
            try:
                moment = parsedate_to_datetime(text.strip()[:200])
                return instant(moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC))
            except (ValueError, TypeError, OverflowError, IndexError):
                continue
        return None

    def _attachments(self) -> list[str]:
        names = []
        for n, part in enumerate(self.message.walk()):
            if n > MAX_PARTS:
                break
            if n and not part.is_multipart() and isinstance(part, MIMEPart) and (name := file_name(part)):
                names.append(" ".join(UNFIT.sub("\ufffd", name).split())[:200])
        return list(dict.fromkeys(filter(None, names)))


def _bodies(part: MIMEPart, depth: int, inner: bool = False) -> Iterator[tuple[MIMEPart, bool]]:
    """The parts that are read, in their order, and whether they are of a message inside the message: every text that is
    no attachment; of alternatives plain text, else the last that has any."""
    kind = part.get_content_type()
    if depth > MAX_NESTING:
        return
    if part.is_multipart():
        payload = part.get_payload()
        below = [each for each in payload if isinstance(each, MIMEPart)] if isinstance(payload, list) else []
        inner = inner or kind.startswith("message/")
        found = [list(_bodies(each, depth + 1, inner)) for each in below[:MAX_PARTS]]
        if kind == "multipart/alternative":
            plain_ones = [
                each for each in found if any(b.get_content_type() == "text/plain" for b, _ in each)
            ]
            found = plain_ones[:1] or [each for each in found if each][-1:]
        for each in found:
            yield from each
    elif (
        kind.startswith(
            ("text/plain", "text/html", "multipart/")
        )  # of several parts, but without what parts them
        and not (part.is_attachment() or part.get_filename())
        and is_visible(_text_of(part))
    ):
        yield part, inner


def _people(headers: list[str]) -> Iterator[str]:
    for name, address in getaddresses([header for header in headers if header]):
        if name and address:
            yield f"{name} <{address}>"
        elif name or address:
            yield name or address


def _text_of(part: MIMEPart) -> str:
    try:
        content = part.get_content()
        if isinstance(content, str):
            return normalise_lines(content)
    except (LookupError, ValueError, AttributeError, AssertionError):  # an unknown charset, a broken encoding
        pass
    payload = part.get_payload(decode=True)
    decoded = decode(payload) if isinstance(payload, bytes) else Skip("")
    return "" if isinstance(decoded, Skip) else decoded.text


def _divided(text: str) -> Iterator[tuple[str, str]]:
    """A plain body in runs: what is said (""), `quoted` (without its marks), `signature`."""
    lines = text.split("\n")
    kinds = [_kind(line) for line in lines]
    for n, line in enumerate(lines):
        if kinds[n] == "" and _ATTRIBUTION.match(line.strip()):
            kinds[n] = "quoted"
        elif kinds[n] == "quoted" and n > 1 and kinds[n - 1] == kinds[n - 2] == "":
            if _ATTRIBUTION.match(f"{lines[n - 2]} {lines[n - 1]}".strip()):
                kinds[n - 2 : n] = ["quoted", "quoted"]
        elif _begins_another(line, lines[n + 1 : n + _HEAD_LINES]):
            kinds[n:] = ["quoted"] * (len(lines) - n)
            break
        elif line in ("-- ", "--") and n:
            kinds[n:] = ["signature"] * (len(lines) - n)
            break
    run: list[str] = []
    for n, line in enumerate(lines):
        run.append(re.sub(r"^(?:\s?>)+ ?", "", line) if kinds[n] == "quoted" else line)
        if n + 1 == len(lines) or kinds[n + 1] != kinds[n]:
            yield kinds[n], "\n".join(run)
            run = []


def _begins_another(line: str, after: list[str]) -> bool:
    """Whether a message that is repeated below an answer begins here."""
    if _ORIGINAL.match(line):
        return any(":" in each for each in after[:2])
    return _HEAD_FROM.match(line) is not None and _is_head(after)


def _is_head(lines: list[str]) -> bool:
    """Whether the lines after a sender go on as the head of a message does, to its subject without a gap."""
    for line in lines:
        if _HEAD_SUBJECT.match(line):
            return True
        if not line.strip():
            return False
    return False


def _kind(line: str) -> str:
    return "quoted" if line.startswith((">", " >")) else ""


def _blocks_of(kind: str, text: str) -> Iterator[TextBlock]:
    if not is_visible(text):
        return
    if not kind:
        yield from plain.read(Decoded(text, "utf-8"), "message").blocks
        return
    for paragraph in re.split(r"\n[ \t]*\n", text.removeprefix("-- \n").removeprefix("--\n")):
        if is_visible(paragraph):
            yield TextBlock(text=paragraph, role="boilerplate", first_line=1, last_line=1)
