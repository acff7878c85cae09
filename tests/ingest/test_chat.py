"""Exports of chats: who says what when, whose names stand for ids, and dates that can be read in two ways."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from consilience.ingest import Document, Skip, media_type_of, read, split
from consilience.ingest.readers import chat
from consilience.ingest.readers.formats import JSON, PLAIN, SLACK, WHATSAPP

USERS = [
    {"id": "U1", "name": "ada", "profile": {"real_name": "Ada Lovelace"}},
    {"id": "U2", "name": "alan", "real_name": "Alan Turing"},
]
DAY: list[Any] = [
    {
        "type": "message",
        "user": "U1",
        "ts": "1709285400.000100",
        "text": "<@U2> see <http://x.org/a|the plan> &amp; reply",
    },
    {
        "type": "message",
        "subtype": "channel_join",
        "user": "U2",
        "ts": "1709285460.0",
        "text": "<@U2> has joined",
    },
    {"type": "message", "user": "U3", "ts": "1709285520.5", "text": "", "files": [{"name": "plan.pdf"}]},
    {"type": "message", "user": "U1", "text": "no time"},
    "not an object",
]


def day(messages: Any = None, beside: Any = USERS) -> Document:
    data = json.dumps(DAY if messages is None else messages).encode()
    document = chat.read(
        data, "general/2024-03-01.json", None if beside is None else json.dumps(beside).encode()
    )
    assert isinstance(document, Document), document
    return document


def test_a_day_of_slack() -> None:
    document = day()
    assert [b.text for b in document.blocks] == [
        "Ada Lovelace: @Alan Turing see the plan (http://x.org/a) & reply",
        "Alan Turing: @Alan Turing has joined",
        "U3: Files: plan.pdf",
    ]
    events = [b.event for b in document.blocks if b.event]
    assert [e.when for e in events] == [
        "2024-03-01T09:30:00Z",
        "2024-03-01T09:31:00Z",
        "2024-03-01T09:32:00Z",
    ]
    assert [e.tags for e in events] == [("slack",), ("slack", "system"), ("slack",)]
    assert events[0].participants == ("Ada Lovelace",)
    assert events[0].context == "Chat: #general"
    assert (
        document.warnings == ("no message with a time, left out: 2 entrys (4; 5)",)
        or "2 " in document.warnings[0]
    )
    assert split(document)[0].locator.text() == "message 1 # #general"


def test_without_the_names_ids_stand_for_themselves() -> None:
    assert day(beside=None).blocks[0].text.startswith("U1: @U2 see")
    broken = chat.read(json.dumps(DAY).encode(), "general/2024-03-01.json", b"{broken")
    assert isinstance(broken, Document)
    assert "the names of users.json cannot be read" in broken.warnings


@pytest.mark.parametrize(
    "messages",
    [
        [{"ts": "9" * 400, "text": "x"}],
        [{"ts": None, "text": 3, "user": []}],
        [{"ts": "1709285400.0", "text": "x", "files": [{"name": 3}, 4], "user_profile": 5, "subtype": []}],
        [[], None, 7, {"ts": "1.1", "text": "\ud800"}],
    ],
)
def test_hostile_messages_of_slack(messages: Any) -> None:
    assert isinstance(chat.read(json.dumps(messages).encode(), "c/2024-03-01.json"), Document)


def test_an_export_is_told_from_other_json_and_text() -> None:
    data = json.dumps(DAY).encode()
    assert media_type_of("export/general/2024-03-01.json", data) == SLACK
    assert media_type_of("general.json", data) == JSON
    assert media_type_of("2024-03-01.json", b'[{"a": 1}]') == JSON
    assert media_type_of("chat.txt", ANDROID.encode()) == WHATSAPP
    assert media_type_of("notes.txt", b"1/2/2024, 10:00 - one line alone\nand words.\n") == PLAIN


ANDROID = """\
25/02/2024, 09:00 - Messages and calls are end-to-end encrypted.
25/02/2024, 09:01 - Ana Lopez: We meet on Thursday
at the usual place: ten o'clock
03/03/2024, 21:15 - Ben: <Media omitted>
03/03/2024, 21:16 - Ben: fine
"""


def whatsapp(text: str, name: str = "WhatsApp Chat with Ben.txt") -> Document | Skip:
    return chat.read(text.encode(), name)


def test_a_chat_of_whatsapp() -> None:
    document = whatsapp(ANDROID)
    assert isinstance(document, Document)
    passages = split(document)
    assert [p.text for p in passages] == [
        "Messages and calls are end-to-end encrypted.",
        "Ana Lopez: We meet on Thursday at the usual place: ten o'clock",
        "Ben: <Media omitted>",
        "Ben: fine",
    ]
    events = [p.event for p in passages if p.event]
    assert [e.when for e in events][1:] == [
        "2024-02-25T09:01:00Z",
        "2024-03-03T21:15:00Z",
        "2024-03-03T21:16:00Z",
    ]
    assert ["system" in e.tags for e in events] == [True, False, True, False]
    assert events[1].participants == ("Ana Lopez",)
    assert passages[1].locator.text() == "L2-L3 # WhatsApp Chat with Ben"


@pytest.mark.parametrize(
    ("first", "second", "when"),
    [
        ("[25.02.24, 09:01:02] A: x", "[26.02.24, 09:01:02] A: y", "2024-02-25T09:01:02Z"),
        ("2/25/24, 9:01 PM - A: x", "2/26/24, 9:01 AM - A: y", "2024-02-25T21:01:00Z"),
        ("2/25/24, 12:01\u202fAM - A: x", "2/26/24, 9:01\u202fAM - A: y", "2024-02-25T00:01:00Z"),
        ("2024-02-25, 09:01 - A: x", "2024-02-26, 09:01 - A: y", "2024-02-25T09:01:00Z"),
        ("03.04.2024, 09:01 - A: x", "03.04.2024, 09:02 - A: y", "2024-04-03T09:01:00Z"),
        ("05/05/2024, 09:01 - A: x", "05/05/2024, 09:02 - A: y", "2024-05-05T09:01:00Z"),
        ("30/4/2024, 09:01 - A: x", "1/5/2024, 09:02 - A: y", "2024-04-30T09:01:00Z"),
        ("01/02/2024, 09:01 - A: x", "12/01/2024, 09:02 - A: y", "2024-01-02T09:01:00Z"),
        ("\u200e[25/02/2024, 9:01:02 p.m.] A: x", "[26/02/2024, 9:01:02 p.m.] A: y", "2024-02-25T21:01:02Z"),
    ],
)
def test_dates_of_many_countries(first: str, second: str, when: str) -> None:
    document = whatsapp(f"{first}\n{second}\n")
    assert isinstance(document, Document), document
    event = document.blocks[0].event
    assert event is not None
    assert event.when == when


def test_dates_that_nothing_decides_are_refused_with_the_reason() -> None:
    refused = whatsapp("03/04/2024, 09:01 - A: x\n03/04/2024, 09:02 - A: y\n")
    assert isinstance(refused, Skip)
    assert refused.reason.startswith(
        "its dates can be read as day/month and as month/day (3/4/2024 in line 1)"
    )


def test_a_date_that_does_not_exist_takes_no_other_with_it() -> None:
    document = whatsapp("25/02/2024, 09:01 - A: x\n31/02/2024, 09:01 - A: y\n26/02/2024, 09:01 - A: z\n")
    assert isinstance(document, Document)
    assert [b.text for b in document.blocks] == ["A: x", "A: z"]
    assert document.warnings == ("a date that does not exist, left out: line 2",)


@given(st.text(alphabet="0123456789/.-:, []AaPpMm\u200e\n xé"))
def test_no_text_makes_it_raise(text: str) -> None:
    for line in ("", "1/1/24, 1:00 - A: x\n"):
        assert isinstance(whatsapp(line + text), Document | Skip)


def test_names_come_from_the_file_beside_the_channels(tmp_path: Path) -> None:
    from tests.ingest.test_pipeline import Kept

    kept = Kept(tmp_path)
    (kept.docs / "general").mkdir()
    (kept.docs / "users.json").write_text(json.dumps(USERS))
    (kept.docs / "general" / "2024-03-01.json").write_text(json.dumps(DAY))
    kept.ingest()
    from consilience.protocol import Episodic, MemoryType, decode

    with kept.brain.store.view() as view:
        payloads = [decode(b.data).payload for b in view.scan([MemoryType.EPISODIC]) if b.data]
    assert {p.participants for p in payloads if isinstance(p, Episodic)} == {
        ("Ada Lovelace",),
        ("Alan Turing",),
        ("U3",),
    }
    kept.brain.close()


def test_media_type_decides_not_the_reader() -> None:
    assert isinstance(read(ANDROID.encode(), "chat.txt"), Document)
