"""Files attached to mail: each an origin of its own with its own reader, bounded as those of an archive are."""

from __future__ import annotations

from collections.abc import Iterator
from email.message import EmailMessage
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from consilience.ingest import archives
from consilience.ingest.archives import Left, Member
from consilience.ingest.readers import mail_parts
from consilience.ingest.readers.formats import EML, MBOX
from tests.ingest.test_archives import FILES, NOTE, OTHER, listed, zipped
from tests.ingest.test_pipeline import INTRO, SECOND, Kept

WORDS = "The minutes of Thursday are in the file below.\n"


def message(*files: tuple[str | None, bytes], subject: str = "Minutes") -> bytes:
    made = EmailMessage()
    made["From"], made["To"], made["Subject"] = "Ada <ada@example.org>", "alan@example.org", subject
    made["Date"] = "Fri, 01 Mar 2024 09:30:00 +0000"
    made.set_content(WORDS)
    for name, data in files:
        made.add_attachment(data, maintype="application", subtype="octet-stream", filename=name)
    return bytes(made)


def box(*messages: bytes) -> bytes:
    return b"".join(b"From ada@example.org Fri Mar  1 09:30:00 2024\n" + each + b"\n\n" for each in messages)


def paths(data: bytes, name: str = "m.eml") -> list[str]:
    return [path for path, _ in listed(data, name)]


def test_files_come_out_with_their_bytes_in_order() -> None:
    data = message(("a.md", NOTE), ("Übersicht.txt", b"words\r\n\x00\xff"))
    assert listed(data, "m.eml") == [("a.md", NOTE), ("Übersicht.txt", b"words\r\n\x00\xff")]


def test_of_a_mailbox_they_are_told_by_message() -> None:
    data = box(message(("a.md", NOTE)), message(), message(("a.md", OTHER)))
    assert listed(data, "m.mbox") == [("1/a.md", NOTE), ("3/a.md", OTHER)]


def test_a_name_twice_a_path_for_a_name_and_no_name() -> None:
    data = message(("a.md", NOTE), ("../../etc/a.md", OTHER), ("C:\\tmp\\b.md", NOTE), (None, b"x"))
    assert paths(data) == ["a.md", "a (2).md", "b.md", "part 5.bin"]


def test_archives_and_mail_in_mail() -> None:
    inner = message(("deep.md", NOTE), ("all.zip", zipped(*FILES)))
    data = message(("all.zip", zipped(*FILES)), ("forwarded.eml", inner))
    assert listed(data, "m.eml") == [
        ("all.zip!/docs/a.md", NOTE),
        ("all.zip!/b.md", OTHER),
        ("forwarded.eml!/deep.md", NOTE),
        ("forwarded.eml!/all.zip", "an archive nested more than 2 deep"),
        ("forwarded.eml", inner),
    ]


def test_mail_in_an_archive_gives_its_files_and_itself() -> None:
    inner = message(("a.md", NOTE))
    assert listed(zipped(("box/m.eml", inner)), "all.zip") == [
        ("box/m.eml!/a.md", NOTE),
        ("box/m.eml", inner),
    ]


def test_a_chain_of_mail_ends() -> None:
    data = message(("last.md", NOTE))
    for n in range(6):
        data = message((f"{n}.eml", data))
    found = listed(data, "m.eml")
    assert found[0][0].count("!/") == archives.MAX_NESTING
    assert len(found) == archives.MAX_NESTING + 1


def test_bounds_name_what_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "MAX_MEMBER_BYTES", 1 << 20)
    data = message(("big.txt", b"x" * (1 << 20) + b"y"), ("a.md", NOTE), ("none.txt", b""))
    assert listed(data, "m.eml") == [
        ("big.txt", "too large: 1 MiB, the limit is 1 MiB"),
        ("a.md", NOTE),
        ("none.txt", "empty"),
    ]
    monkeypatch.setattr(archives, "MAX_MEMBERS", 2)
    found = list(archives.members(message(*((f"{n}.md", NOTE) for n in range(4))), EML, "m.eml"))
    assert [each.path for each in found] == ["0.md", "1.md", archives.ATTACHMENTS]
    assert isinstance(found[-1], Left) and found[-1].failed and "more than 2 files" in found[-1].reason


def test_mail_of_words_alone_is_not_taken_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: object) -> object:
        raise AssertionError("parsed for nothing")

    monkeypatch.setattr("consilience.ingest.readers.contained.read", never)
    assert listed(b"Date: Fri, 1 Mar 2024 10:30:00 +0100\nSubject: Words\n\nOnly words.\n", "m.eml") == []


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_no_flipped_byte_makes_it_raise(data: st.DataObject) -> None:
    broken = bytearray(message(("a.md", NOTE), ("b.txt", b"words")))
    for _ in range(data.draw(st.integers(1, 6))):
        broken[data.draw(st.integers(0, len(broken) - 1))] = data.draw(st.integers(0, 255))
    for media_type in (EML, MBOX):
        for each in archives.members(bytes(broken), media_type, "m.eml"):
            assert isinstance(each, Member | Left)
    mail_parts.read(bytes(broken), "m.eml")


# --- into a brain -------------------------------------------------------------------------------------------------


@pytest.fixture
def kept(tmp_path: Path) -> Iterator[Kept]:
    made = Kept(tmp_path)
    yield made
    made.brain.close()


def origins(kept: Kept) -> list[str]:
    with kept.brain.store.view() as view:
        return [origin for origin, _ in view.origins()]


def test_each_is_an_origin_and_a_second_time_nothing_is_written(kept: Kept) -> None:
    (kept.docs / "m.eml").write_bytes(message(("a.md", NOTE), ("logo.png", b"\x89PNG")))
    report = kept.ingest()
    assert (report.taken, report.failed) == (2, ())
    assert [(p.path, p.reason) for p in report.skipped] == [
        ("docs/m.eml!/logo.png", "no reader for this kind of file (.png)")
    ]
    assert origins(kept) == ["docs/m.eml", "docs/m.eml!/a.md"]
    assert INTRO in kept.texts()
    again = kept.ingest()
    assert (again.wrote, again.unchanged, again.gone) == (False, 2, ())


def test_another_file_under_the_same_mail_supersedes_and_one_less_is_told(kept: Kept) -> None:
    (kept.docs / "m.eml").write_bytes(message(("a.md", NOTE), ("b.md", OTHER)))
    kept.ingest()
    assert SECOND in kept.texts()
    (kept.docs / "m.eml").write_bytes(message(("a.md", NOTE)))
    assert kept.ingest().gone == ("docs/m.eml!/b.md",)


def test_a_damaged_attachment_takes_neither_the_mail_nor_the_others(kept: Kept) -> None:
    files = ("all.zip", zipped(*FILES)[:-30]), ("report.docx", b"PK\x03\x04 no document"), ("b.md", OTHER)
    (kept.docs / "m.eml").write_bytes(message(*files))
    report = kept.ingest()
    assert [p.path for p in report.failed] == ["docs/m.eml!/all.zip"]
    assert [p.path for p in report.skipped] == ["docs/m.eml!/report.docx"]
    assert origins(kept) == ["docs/m.eml", "docs/m.eml!/b.md"]
