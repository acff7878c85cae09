"""Exports of chats: a day of a Slack channel (JSON), a WhatsApp chat (text). One message, one event.

How dates of WhatsApp are read, and whose names stand for Slack's ids: docs/decisions/0203-chats.md.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

import msgspec

from consilience.ingest import metadata
from consilience.ingest.decoding import Decoded, decode, is_visible
from consilience.ingest.model import Document, Event, Skip, TextBlock
from consilience.ingest.readers.chat_kinds import HEAD
from consilience.ingest.readers.formats import READERS, SLACK, WHATSAPP
from consilience.ingest.readers.records import Problems, each_line, instant

_UNFIT = re.compile("[\ud800-\udfff\x00]")


def read(data: bytes, name: str, beside: bytes | None = None) -> Document | Skip:
    """Read an export; `beside` is what the file holds that names Slack's users. Never raises on any bytes."""
    decoded = decode(data)
    if isinstance(decoded, Skip):
        return decoded
    if name.lower().endswith(".json"):
        return _slack(decoded, name, beside)
    return _whatsapp(decoded, name)


# --- Slack ------------------------------------------------------------------------------------------------------

_SPOKEN = frozenset(("", "bot_message", "thread_broadcast", "me_message", "file_share", "file_comment"))
_MENTION = re.compile(r"<([@#!])([^>|]+)(?:\|([^>]*))?>")
_LINK = re.compile(r"<((?:https?|mailto|ftp)[^>|\s]+)(?:\|([^>]*))?>")


def _slack(decoded: Decoded, name: str, beside: bytes | None) -> Document | Skip:
    try:
        messages = json.loads(decoded.text)
    except RecursionError:
        return Skip("not read: nested too deeply")
    except ValueError as error:
        return Skip(f"not valid JSON: {error}"[:200])
    if not isinstance(messages, list):
        return Skip("not a day of a Slack channel: no list of messages")
    warnings = list(decoded.warnings)
    names = _users(beside)
    if names is None:
        names = {}
        warnings.append("the names of users.json cannot be read")
    parts = name.replace("\\", "/").split("/")
    channel = f"#{parts[-2]}" if len(parts) > 1 else metadata.readable_name(name)
    problems = Problems()
    blocks = []
    for number, message in enumerate(messages, 1):
        block = _slack_message(message, number, channel, names) if isinstance(message, dict) else None
        if block is None:
            problems.note("left", number)
        elif is_visible(block.text):
            blocks.append(block)
    if where := problems.where("left", ("entry", "entries")):
        warnings.append(f"no message with a time, left out: {where}")
    reader, version = READERS[SLACK]
    return Document(
        title=channel, blocks=tuple(blocks), reader=reader, version=version, encoding=decoded.encoding,
        unit="message", warnings=tuple(warnings),
    )  # fmt: skip


def _users(data: bytes | None) -> dict[str, str] | None:
    """Names by id, from `users.json`; None where it is broken."""
    if data is None:
        return {}
    decoded = decode(data)
    try:
        users = None if isinstance(decoded, Skip) else json.loads(decoded.text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(users, list):
        return None
    found = {}
    for user in users:
        if isinstance(user, dict) and isinstance(user.get("id"), str) and (name := _user_name(user)):
            found[user["id"]] = name
    return found


def _user_name(user: Mapping[str, Any]) -> str:
    profile = user.get("profile")
    sources = (user, profile if isinstance(profile, dict) else {})
    for key in ("real_name", "display_name", "name"):
        for source in sources:
            value = source.get(key)
            if isinstance(value, str) and (name := _clean(value)):
                return name
    return ""


def _slack_message(
    message: Mapping[str, Any], number: int, channel: str, names: Mapping[str, str]
) -> TextBlock | None:
    try:
        when = instant(datetime.fromtimestamp(int(str(message["ts"]).partition(".")[0]), UTC))
    except (KeyError, ValueError, OverflowError, OSError):
        return None
    user = message.get("user")
    who = names.get(user, "") if isinstance(user, str) else ""
    for source in (message.get("user_profile"), message.get("bot_profile")):
        who = who or (_user_name(source) if isinstance(source, dict) else "")
    for value in (message.get("username"), user):
        who = who or (_clean(value) if isinstance(value, str) else "")
    text = message.get("text")
    words = _slack_text(text, names) if isinstance(text, str) else ""
    files = message.get("files")
    named = [f.get("name") for f in files if isinstance(f, dict)] if isinstance(files, list) else []
    if attached := ", ".join(_clean(each) for each in named if isinstance(each, str)):
        words = f"{words}\n\nFiles: {attached}" if words else f"Files: {attached}"
    subtype = message.get("subtype", "")
    spoken = isinstance(subtype, str) and subtype in _SPOKEN
    return _said(who, words, number, channel, when, "slack", quiet=not spoken or not who)


def _slack_text(text: str, names: Mapping[str, str]) -> str:
    def mention(match: re.Match[str]) -> str:
        kind, target, label = match.groups()
        if kind == "#":
            return f"#{label or target}"
        return f"@{label or (names.get(target, target) if kind == '@' else target)}"

    def link(match: re.Match[str]) -> str:
        return f"{match[2]} ({match[1]})" if match[2] and match[2] != match[1] else match[1]

    text = _LINK.sub(link, _MENTION.sub(mention, text))
    return text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")


def _said(who: str, words: str, number: int, place: str, when: str, kind: str, *, quiet: bool) -> TextBlock:
    """`quiet`: what the chat says of itself."""
    words = _UNFIT.sub("\ufffd", words).strip()
    return TextBlock(
        text=f"{who}: {words}" if who and words else words,
        role="boilerplate" if quiet else "prose",
        headings=(place,),
        first_line=number,
        last_line=number,
        event=Event(
            when=when,
            participants=(who,) if who else (),
            context=f"Chat: {place}",
            tags=(kind, "system") if quiet else (kind,),
        ),
    )


def _clean(text: str) -> str:
    return " ".join(_UNFIT.sub("\ufffd", text).split())


# --- WhatsApp ---------------------------------------------------------------------------------------------------

_SPEAKER = re.compile(r"([^:]{1,80}): ?(.*)", re.DOTALL)
_OMITTED = re.compile(r"^\u200e|^<[^<>]{3,40}>$")


class _Line(msgspec.Struct, frozen=True):
    """The beginning of a message: three numbers of its date as written, its time of day, and where it stands."""

    date: tuple[int, int, int]
    lengths: tuple[int, int, int]
    clock: tuple[int, int, int]
    number: int
    separator: str


def _whatsapp(decoded: Decoded, name: str) -> Document | Skip:
    heads: list[_Line] = []
    texts: list[list[str]] = []
    for number, line in enumerate(each_line(decoded.text), 1):
        match = HEAD.match(line)
        if match is not None and (head := _head(match, number)) is not None:
            heads.append(head)
            texts.append([match["rest"]])
        elif texts:
            texts[-1].append(line)
    if not heads:
        return Skip("not a WhatsApp chat: no message with a date and a time")
    order = _order_of(heads)
    if isinstance(order, Skip):
        return order
    title = metadata.readable_name(name)
    blocks = []
    problems = Problems()
    for head, lines in zip(heads, texts, strict=True):
        when = _moment(head, order)
        if when is None:
            problems.note("undated", head.number)
            continue
        block = _whatsapp_message(head, lines, title, instant(when))
        if is_visible(block.text):
            blocks.append(block)
    warnings = list(decoded.warnings)
    if where := problems.where("undated"):
        warnings.append(f"a date that does not exist, left out: {where}")
    reader, version = READERS[WHATSAPP]
    return Document(
        title=title, blocks=tuple(blocks), reader=reader, version=version, encoding=decoded.encoding,
        warnings=tuple(warnings),
    )  # fmt: skip


def _head(match: re.Match[str], number: int) -> _Line | None:
    hour, half = int(match["hour"]), (match["half"] or "").lower()
    if half:
        hour = hour % 12 + (12 if half == "p" else 0)
    minute, second = int(match["minute"]), int(match["second"] or 0)
    if hour > 23 or minute > 59 or second > 59:
        return None
    date = match["a"], match["b"], match["c"]
    return _Line(
        (int(date[0]), int(date[1]), int(date[2])),
        (len(date[0]), len(date[1]), len(date[2])),
        (hour, minute, second),
        number,
        match["sep"],
    )


def _whatsapp_message(head: _Line, lines: Sequence[str], title: str, when: str) -> TextBlock:
    text = "\n".join(lines)
    match = _SPEAKER.match(text)
    who, words = (
        (match[1].strip(" \u200e\u202a\u202c~"), match[2]) if match and "\n" not in match[1] else ("", text)
    )
    quiet = not who or _OMITTED.match(words.strip(" ")) is not None
    words = words.strip("\u200e \n")
    block = _said(_clean(who), words, head.number, title, when, "whatsapp", quiet=quiet)
    return msgspec.structs.replace(block, last_line=head.number + len(lines) - 1)


_ORDERS = {"day/month/year": (2, 1, 0), "month/day/year": (2, 0, 1), "year/month/day": (0, 1, 2)}


def _order_of(heads: Sequence[_Line]) -> tuple[int, int, int] | Skip:
    """Which number of a date is the day, told by all dates of the file: those that can only be read one way, then
    the order of the messages. Dots are day first everywhere. Skip where both ways remain and differ."""
    if any(head.lengths[0] > 2 for head in heads):
        return _ORDERS["year/month/day"]
    if all(head.separator == "." for head in heads):
        return _ORDERS["day/month/year"]
    both = [_ORDERS["day/month/year"], _ORDERS["month/day/year"]]
    read = [[_moment(head, order) for head in heads] for order in both]
    only = [
        sum(mine is not None and other is None for mine, other in zip(read[n], read[1 - n], strict=True))
        for n in (0, 1)
    ]
    if read[0] == read[1] or (only[0] and not only[1]):
        return both[0]
    if only[1] and not only[0]:
        return both[1]
    backwards = [sum(a > b for a, b in pairwise(x for x in each if x is not None)) for each in read]
    if backwards[0] != backwards[1] and min(backwards) == 0:
        return both[backwards.index(0)]
    shown = "/".join(map(str, heads[0].date))
    return Skip(
        f"its dates can be read as day/month and as month/day ({shown} in line {heads[0].number:,}), and nothing "
        "in the file decides: export it again with another setting of region, or write one date with a day over 12"
    )


def _moment(head: _Line, order: tuple[int, int, int]) -> datetime | None:
    year, month, day = (head.date[n] for n in order)
    if year < 100:
        year += 2000
    try:
        return datetime(year, month, day, *head.clock, tzinfo=UTC)
    except ValueError:
        return None
