"""E-mail: whose words are when, what is quoted or signed, charsets, mailboxes, and messages nobody should send."""

from __future__ import annotations

import base64
from email.message import EmailMessage
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from consilience.ingest import Document, Skip, read, split
from consilience.ingest.readers import mail
from consilience.model import Query
from consilience.plan.entries import entries_after
from consilience.protocol import Episodic, MemoryType, decode

PLAIN = b"""\
Date: Fri, 1 Mar 2024 10:30:00 +0100
From: Ada Lovelace <ada@example.org>
To: alan@example.org, "Hopper, Grace" <grace@example.org>
Subject: =?utf-8?q?Caf=C3=A9?= and retries
Content-Type: text/plain; charset=utf-8

Retries are spaced so that a service which comes back is not met by all of its clients.

We meet on Thursday.

On Thu, 29 Feb 2024 at 09:00, Alan Turing <alan@example.org> wrote:
> How are the retries spaced?
> I forgot.
>
> Alan

--\x20
Ada Lovelace
Analytical Engines Ltd
"""


def message(data: bytes, name: str = "note.eml") -> Document:
    document = mail.read(data, name)
    assert isinstance(document, Document), document
    return document


def test_paragraphs_are_events_with_time_people_and_subject() -> None:
    document = message(PLAIN)
    assert document.title == "Café and retries"
    first = document.blocks[0]
    assert first.text.startswith("Retries are spaced")
    assert first.event is not None
    assert first.event.when == "2024-03-01T09:30:00Z"
    assert first.event.participants == (
        "Ada Lovelace <ada@example.org>",
        "alan@example.org",
        "Hopper, Grace <grace@example.org>",
    )
    assert first.event.context == "From: Ada Lovelace <ada@example.org>\nSubject: Café and retries"
    assert split(document)[0].locator.text() == "message 1 # Café and retries"


def test_quoted_replies_and_the_signature_are_marked() -> None:
    found = [(b.event.tags[1:], b.text) for b in message(PLAIN).blocks if b.event]
    assert [tags for tags, _ in found] == [(), (), ("quoted",), ("quoted",), ("signature",)]
    assert found[2][1].startswith("On Thu, 29 Feb 2024")
    assert "How are the retries spaced?\nI forgot." in found[2][1]
    assert found[4][1].startswith("Ada Lovelace\nAnalytical")


def test_an_original_below_is_quoted_to_its_end() -> None:
    data = b"Date: 1 Mar 2024 10:00 +0000\n\n"
    data += b"Yes, on Monday.\n\n-----Original Message-----\nFrom: Alan\nSent: x\n\nWhen?\n"
    tags = [b.event.tags for b in message(data).blocks if b.event]
    assert tags == [("email",), ("email", "quoted"), ("email", "quoted")]


def test_plain_text_is_preferred_and_attachments_are_named() -> None:
    made = EmailMessage()
    made["Date"] = "Fri, 1 Mar 2024 10:30:00 +0000"
    made["Subject"] = "x"
    made.set_content("The plain words of it.")
    made.add_alternative("<p>The words of the page.</p>", subtype="html")
    made.add_attachment(b"%PDF-", maintype="application", subtype="pdf", filename="plan v2.pdf")
    texts = [b.text.strip() for b in message(made.as_bytes()).blocks]
    assert texts == ["The plain words of it.", "Attachments: plan v2.pdf"]


def test_every_text_that_is_no_attachment_is_read_and_a_message_inside_is_quoted() -> None:
    inner = EmailMessage()
    inner["Subject"] = "y"
    inner.set_content("Words of another message.")
    made = EmailMessage()
    made["Date"] = "Fri, 1 Mar 2024 10:30:00 +0000"
    made.make_mixed()
    for text in ("First words.", "Second words."):
        part = EmailMessage()
        part.set_content(text)
        made.attach(part)
    made.add_attachment(inner)
    found = [(b.text.strip(), b.event.tags[1:]) for b in message(made.as_bytes()).blocks if b.event]
    assert found == [("First words.", ()), ("Second words.", ()), ("Words of another message.", ("quoted",))]


def test_a_page_alone_is_read_as_one() -> None:
    data = b"Date: 1 Mar 2024 10:00 +0000\nContent-Type: text/html\n\n"
    data += b"<p>One <b>bold</b> word.</p><script>no</script><p>Two."
    assert [b.text for b in message(data).blocks] == ["One bold word.", "Two."]


@pytest.mark.parametrize(
    ("charset", "body"),
    [
        ("latin-1", "Grüße".encode("latin-1")),
        ("no-such-charset", "Grüße".encode()),
        ("ascii", "Grüße".encode()),
    ],
)
def test_charsets_known_unknown_and_wrong(charset: str, body: bytes) -> None:
    head = f"Date: 1 Mar 2024 10:00 +0000\nContent-Type: text/plain; charset={charset}\nContent-Transfer-Encoding: "
    for encoding, data in (("8bit", body), ("base64", base64.b64encode(body))):
        (block,) = message(f"{head}{encoding}\n\n".encode() + data + b"\n").blocks
        assert "Gr" in block.text
        if charset != "ascii":
            assert block.text.strip() == "Grüße"


def test_a_mailbox_is_its_messages_and_a_broken_one_takes_none_with_it() -> None:
    box = (
        b"From ada@example.org Fri Mar  1 10:30:00 2024\nDate: Fri, 1 Mar 2024 10:30:00 +0000\nSubject: One\n"
        b"\nFirst words.\n"
        b"\n>From here it is quoted by the mailbox.\n\n"
        b"From alan@example.org Fri Mar  1 11:30:00 2024\nSubject: Two\n\nWords without a date.\n\n"
        b"From grace@example.org Fri Mar  1 12:30:00 2024\nDate: Fri, 1 Mar 2024 12:30:00 +0000\nSubject: Three\n\n"
        b"From the start of a line.\n"
    )
    document = message(box, "archive.mbox")
    assert document.warnings == ("no date, kept without time and people: message 2",)
    passages = split(document)
    assert [p.text for p in passages] == [
        "First words.",
        "From here it is quoted by the mailbox.",
        "Words without a date.",
        "From the start of a line.",
    ]
    assert passages[-1].locator.text() == "message 3 # Archive > Three"
    assert passages[2].event is None


def test_parts_without_what_parts_them_are_text() -> None:
    data = b"Date: 1 Mar 2024 10:00 +0000\nContent-Type: multipart/report\n\nNot delivered: too many hops.\n"
    assert [b.text for b in message(data).blocks] == ["Not delivered: too many hops."]


def test_the_first_receipt_stands_in_for_a_date() -> None:
    data = b"Received: b; Fri, 1 Mar 2024 11:00:00 +0000\nReceived: a; Fri, 1 Mar 2024 10:00:00 +0000\n"
    data += b"Date: soon\n\nWords.\n"
    event = message(data).blocks[0].event
    assert event is not None and event.when == "2024-03-01T10:00:00Z"


@pytest.mark.parametrize(
    "data",
    [
        b"Subject: x\nDate: Fri, 99 Foo 99999 99:99:99 +9999\n\nWords.\n",
        b"From: " + b"<a@b>, " * 50_000 + b"\n\nWords.\n",
        b"Subject: " + b"=?utf-8?q?=FF?= " * 20_000 + b"\n\nWords.\n",
        b"To: \x00\xff<<<>>>,;:@[]()\n\nWords.\n",
        b"Content-Type: multipart/mixed; boundary=b\n\n--b\nContent-Type: multipart/mixed; boundary=b\n\n--b\n" * 50,
        b"Content-Type: multipart/mixed\n\nno boundary\n",
        b"Content-Type: text/plain; charset*=utf-8''%FF%FE; charset*0=x\n\nWords.\n",
        b"Content-Transfer-Encoding: base64\n\n!!!! not base64 ####\n",
        b"Subject: \n" + b" x\n" * 100_000 + b"\nWords.\n",
        b"X: y\n\n" + b"> " * 100_000,
        b"Content-Type: message/rfc822\n\n" * 2_000 + b"Words.\n",
    ],
    ids=[
        "impossible date", "50,000 people", "encoded words", "broken address", "nested parts", "no boundary",
        "broken parameter", "not base64", "folded header", "quoted deeply", "message in message",
    ],
)  # fmt: skip
def test_hostile_messages(data: bytes) -> None:
    assert isinstance(mail.read(data, "x.eml"), Document | Skip)


def test_what_is_no_message() -> None:
    assert mail.read(b"\xff\xfe\x00 nothing", "x.eml") == Skip(
        "not an e-mail: it does not begin with a header"
    )
    assert read(b"", "x.eml") == Skip("not an e-mail: it does not begin with a header")


@given(st.binary(max_size=400))
def test_no_bytes_make_it_raise(data: bytes) -> None:
    for head in (b"", b"From a 10:00 x\n", b"Content-Type: text/plain\n", b"Date: "):
        assert isinstance(mail.read(head + data, "x.eml"), Document | Skip)


def test_events_are_found_by_words_and_time_and_the_quoted_ones_rank_down(tmp_path: Path) -> None:
    from tests.ingest.test_pipeline import Kept

    kept = Kept(tmp_path)
    (kept.docs / "note.eml").write_bytes(PLAIN)
    report = kept.ingest()
    assert (report.taken, report.warnings) == (1, ())
    with kept.brain.store.view() as view:
        payloads = [decode(b.data).payload for b in view.scan([MemoryType.EPISODIC]) if b.data]
    assert len(payloads) == 5
    assert all(isinstance(p, Episodic) and p.occurred_at == "2024-03-01T09:30:00Z" for p in payloads)
    found = kept.brain.search(Query(text="how are retries spaced", floor=False)).matches
    said = [m.text for m in found if "spaced" in m.text]
    assert said[0].startswith("Retries are spaced so that")
    assert "How are the retries spaced?" in said[1]
    with kept.brain.store.view() as view:
        roles = [entry.role for entry in entries_after(view, 0) if entry.module is MemoryType.EPISODIC]
    assert roles == ["prose", "prose", "boilerplate", "boilerplate", "boilerplate"]
    assert kept.ingest().unchanged == 1
    (kept.docs / "note.eml").write_bytes(PLAIN.replace(b"on Thursday", b"on Friday"))
    again = kept.ingest()
    assert (again.changed, again.superseded + again.demoted) == (1, 1)
    kept.brain.close()


OUTLOOK = (
    "That suits me.\n\nFrom: Alan Turing <alan@example.org>\nSent: Thursday, February 29, 2024 9:00 AM\n"
    "To: Ada Lovelace <ada@example.org>\nSubject: RE: Thursday\n\nShall we meet on Thursday?\n"
)
ENVIADO = OUTLOOK.replace("From:", "De:").replace("Sent:", "Enviado el:").replace("Subject:", "Asunto:")
BOLD = OUTLOOK.replace("From:", "*Von:*").replace("Sent:", "*Gesendet:*").replace("Subject:", "*Betreff:*")


@pytest.mark.parametrize("body", [OUTLOOK, ENVIADO, BOLD], ids=["en", "es", "de"])
def test_the_head_of_a_message_begins_what_is_quoted(body: str) -> None:
    head = b"Date: Fri, 1 Mar 2024 10:30:00 +0100\nFrom: ada@example.org\nSubject: RE: Thursday\n\n"
    found = [(b.event.tags[1:], b.text) for b in message(head + body.encode()).blocks if b.event]
    assert found[0] == ((), "That suits me.")
    assert [tags for tags, _ in found[1:]] == [("quoted",)] * 2
    assert found[2][1].strip() == "Shall we meet on Thursday?"


def test_words_that_only_begin_like_a_head_are_said() -> None:
    head = b"Date: Fri, 1 Mar 2024 10:30:00 +0100\nFrom: ada@example.org\nSubject: Ways\n\n"
    body = b"From: the station, take the bus.\n\nSubject: to change.\n"
    assert [b.event.tags[1:] for b in message(head + body).blocks if b.event] == [(), ()]
