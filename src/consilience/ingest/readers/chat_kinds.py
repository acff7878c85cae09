"""What tells the export of a chat from other JSON and text."""

from __future__ import annotations

import re

from consilience.ingest.readers.formats import SLACK, WHATSAPP

_DAY_NAME = re.compile(r"\d{4}-\d\d-\d\d\.json")
_SLACK_HEAD = re.compile(rb"\s*\[\s*\{")
_SLACK_TS = re.compile(rb'"ts"\s*:\s*"\d{9,10}\.\d{1,6}"')
_MARKS = b"\xef\xbb\xbf\xe2\x80\x8e[ "
_DATE = r"(?P<a>\d{1,4})(?P<sep>[./-]) ?(?P<b>\d{1,2})(?P=sep) ?(?P<c>\d{1,4})\.?"
_TIME = r"(?P<hour>\d{1,2})[:.](?P<minute>\d\d)(?:[:.](?P<second>\d\d))?(?:\s?(?P<half>[AaPp])\.?\s?[Mm]\.?)?"
HEAD = re.compile(rf"[\u200e\ufeff]*(?P<open>\[)?{_DATE},?\s+{_TIME}(?(open)\]|\s+[-–])\s(?P<rest>.*)")
"""How a message of WhatsApp begins."""


def chat_type(name: str, data: bytes) -> str | None:
    """The media type of a chat's export among JSON and text files; None for everything else."""
    head = data[:8192]
    if _DAY_NAME.fullmatch(name) and _SLACK_HEAD.match(head) and _SLACK_TS.search(head):
        return SLACK if b'"message"' in head else None
    if name.lower().endswith((".txt", ".text")) and head[:64].lstrip(_MARKS)[:1].isdigit():
        lines = [line for line in head.decode("utf-8-sig", "replace").split("\n")[:40] if line.strip()]
        if lines and HEAD.match(lines[0]) and sum(HEAD.match(line) is not None for line in lines) > 1:
            return WHATSAPP
    return None
