"""The files attached to e-mail: their names and bytes, by message. What the words say is `mail`'s.

An attachment is a part that has a file's name or says that it is one; the parts of a message inside a message are met
too. Formats: RFC 2183 (disposition), RFC 2231 (names), RFC 2045 (encodings).
"""

from __future__ import annotations

import email
import mimetypes
from collections.abc import Iterator
from email.message import EmailMessage, MIMEPart

from consilience.ingest.model import Attachment, Document, Skip
from consilience.ingest.readers.mail import MAX_PARTS, POLICY, UNFIT, file_name, is_mailbox, messages

MAX_NAME_CHARS = 200


def may_have_attachments(data: bytes) -> bool:
    """Whether any part could be named; False saves the parsing of messages that are words only."""
    lowered = data.lower()
    return any(mark in lowered for mark in (b"name=", b"name*", b"attachment"))


def read(data: bytes, name: str) -> Document | Skip:
    """The attachments of a message or a mailbox, in its order. A message that is broken has none; `mail` reports it."""
    many = is_mailbox(data)
    found: list[Attachment] = []
    warnings: list[str] = []
    for number, part in enumerate(messages(data), 1):
        try:
            message = email.message_from_bytes(part, policy=POLICY)
            assert isinstance(message, EmailMessage)
            taken = list(_named(message))
        except (Exception, RecursionError):  # the parser's own faults, of which there are some
            warnings.append(f"message {number:,}: its attachments cannot be told apart")
            continue
        prefix = f"{number}/" if many else ""
        found += [Attachment(path=prefix + path, data=content) for path, content in taken]
    return Document(title=name, reader="", version="", attachments=tuple(found), warnings=tuple(warnings))


def _named(message: EmailMessage) -> Iterator[tuple[str, bytes]]:
    met: dict[str, int] = {}
    for n, part in enumerate(message.walk()):
        if n > MAX_PARTS:
            return
        if not n or part.is_multipart():
            continue
        name = _name(part, n)
        content = part.get_payload(decode=True) if name else None
        if not isinstance(content, bytes):
            continue
        met[name] = times = met.get(name, 0) + 1
        yield (name if times == 1 else _again(name, times)), content


def _name(part: MIMEPart, number: int) -> str:
    """The name of a part that is a file, "" for one that is not. No folders: a sender's path names nothing here."""
    given = file_name(part).replace("\\", "/").rpartition("/")[2]
    named = " ".join(UNFIT.sub("\ufffd", given).split())[-MAX_NAME_CHARS:]
    if named or not part.is_attachment():
        return named
    return f"part {number}{mimetypes.guess_extension(part.get_content_type()) or ''}"


def _again(name: str, times: int) -> str:
    """`photo.png` a second time: `photo (2).png`."""
    stem, dot, ending = name.rpartition(".")
    return f"{stem} ({times}).{ending}" if dot and stem else f"{name} ({times})"
