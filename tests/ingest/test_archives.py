"""Archives: each file an origin of its own, nothing written, and bombs, nests, links and damage bounded and named."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from consilience.ingest import archives, media_type_of
from consilience.ingest.archives import Left, Member, members
from consilience.ingest.readers.formats import GZIP, TAR, XZ, ZIP
from consilience.protocol import Episodic, MemoryType, decode
from tests.ingest.test_pipeline import INTRO, SECOND, Kept

NOTE = f"# Notes\n\n{INTRO}\n".encode()
OTHER = f"# Other\n\n{SECOND}\n".encode()


def zipped(*files: tuple[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        for name, data in files:
            archive.writestr(name, data)
    return out.getvalue()


def tarred(*files: tuple[str, bytes]) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for name, data in files:
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return out.getvalue()


def listed(data: bytes, name: str = "a.zip") -> list[tuple[str, bytes | str]]:
    media_type = media_type_of(name, data)
    assert isinstance(media_type, str), media_type
    found = members(data, media_type, name)
    return [(each.path, each.data if isinstance(each, Member) else each.reason) for each in found]


FILES = (("docs/a.md", NOTE), ("b.md", OTHER))


@pytest.mark.parametrize(
    ("name", "data", "media_type"),
    [
        ("a.zip", zipped(*FILES), ZIP),
        ("a.tar", tarred(*FILES), TAR),
        ("a.tgz", gzip.compress(tarred(*FILES)), GZIP),
        ("a.tar.gz", gzip.compress(tarred(*FILES)), GZIP),
        ("a.tar.bz2", bz2.compress(tarred(*FILES)), "application/x-bzip2"),
        ("a.tar.xz", lzma.compress(tarred(*FILES)), XZ),
        ("called.zip", gzip.compress(tarred(*FILES)), GZIP),
    ],
)
def test_files_come_out_in_order(name: str, data: bytes, media_type: str) -> None:
    assert media_type_of(name, data) == media_type
    assert listed(data, name) == list(FILES)


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress])
def test_a_file_compressed_alone(pack: object) -> None:
    data = pack(NOTE) + pack(OTHER)  # type: ignore[operator]
    ending = {gzip.compress: "gz", bz2.compress: "bz2", lzma.compress: "xz"}[pack]  # type: ignore[index]
    assert listed(data, f"notes.md.{ending}") == [("notes.md", NOTE + OTHER)]


def test_an_archive_in_an_archive_and_no_deeper() -> None:
    third = zipped(("deep.md", NOTE))
    second = zipped(("c.md", OTHER), ("third.zip", third))
    assert listed(zipped(("second.zip", second), ("b.md", NOTE))) == [
        ("second.zip!/c.md", OTHER),
        ("second.zip!/third.zip", "an archive nested more than 2 deep"),
        ("b.md", NOTE),
    ]


def test_names_that_lead_elsewhere_are_names() -> None:
    found = listed(
        zipped(("../../etc/passwd.md", NOTE), ("/srv/b.md", OTHER), ("c\\d.md", b"x"), ("e\x1b[2J.md", b"y"))
    )
    assert [path for path, _ in found] == ["../../etc/passwd.md", "srv/b.md", "c/d.md", "e%1B[2J.md"]


def test_what_is_left_out_and_why() -> None:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        link = zipfile.ZipInfo("link.md")
        link.external_attr = 0o120777 << 16
        archive.writestr(link, "/etc/passwd")
        archive.writestr("__MACOSX/a.md", b"x")
        archive.writestr(".hidden/a.md", b"x")
        archive.writestr("m.md", b"x" * 100, zipfile.ZIP_LZMA)
        archive.writestr("a.md", NOTE)
        with pytest.warns(UserWarning):
            archive.writestr("a.md", OTHER)
    data = bytearray(out.getvalue())
    assert listed(bytes(data)) == [
        ("link.md", "a link"),
        ("__MACOSX/a.md", "hidden"),
        (".hidden/a.md", "hidden"),
        ("m.md", "compressed by a method that is not read here"),
        ("a.md", NOTE),
        ("a.md", "a second file of this name in the archive"),
    ]


def test_links_and_devices_in_a_tar() -> None:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for name, kind in (("l.md", tarfile.SYMTYPE), ("h.md", tarfile.LNKTYPE), ("d.md", tarfile.CHRTYPE)):
            info = tarfile.TarInfo(name)
            info.type, info.linkname = kind, "/etc/passwd"
            archive.addfile(info)
    assert listed(out.getvalue(), "a.tar") == [
        ("l.md", "a link"),
        ("h.md", "a link"),
        ("d.md", "not a regular file"),
    ]


def test_an_encrypted_file_is_named() -> None:
    data = bytearray(zipped(("a.md", NOTE), method=zipfile.ZIP_STORED))
    data[6] |= 1
    data[data.index(b"PK\x01\x02") + 8] |= 1
    assert listed(bytes(data)) == [("a.md", "encrypted")]


# --- bombs --------------------------------------------------------------------------------------------------------


def test_a_zip_bomb_is_named_and_the_rest_goes_in() -> None:
    found = listed(zipped(("bomb.txt", bytes(20 << 20)), ("a.md", NOTE)))
    assert found[1] == ("a.md", NOTE)
    assert found[0][0] == "bomb.txt"
    assert "taken for a bomb" in str(found[0][1])


def test_a_zip_that_lies_about_its_sizes() -> None:
    data = bytearray(zipped(("bomb.txt", bytes(20 << 20)), ("a.md", NOTE)))
    at = data.index(b"PK\x01\x02")
    data[at + 24 : at + 28] = (1000).to_bytes(4, "little")
    found = dict(listed(bytes(data)))
    assert len(found["bomb.txt"]) < 2000
    assert found["a.md"] == NOTE


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress])
@pytest.mark.parametrize("inner", [bytes(32 << 20), tarred(("a.md", NOTE), ("z.txt", bytes(32 << 20)))])
def test_a_compressed_bomb_is_bounded(pack: object, inner: bytes) -> None:
    ending = {gzip.compress: "gz", bz2.compress: "bz2", lzma.compress: "xz"}[pack]  # type: ignore[index]
    name = f"z.tar.{ending}" if inner[:4] == b"a.md" else f"z.txt.{ending}"
    found = listed(pack(inner), name)  # type: ignore[operator]
    assert found[-1][0] == ""
    assert "taken for a bomb" in str(found[-1][1])
    assert found[:-1] == ([("a.md", NOTE)] if ".tar." in name else [])


def test_bounds_of_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "MAX_MEMBERS", 3)
    found = listed(zipped(*((f"{n}.md", NOTE) for n in range(5))))
    assert [path for path, _ in found] == ["0.md", "1.md", "2.md", ""]
    assert found[-1][1] == "more than 3 files in it: the rest is left out"
    assert listed(zipped(*((f"{n}.md", NOTE) for n in range(7)))) == [
        ("", "more than 3 files in it: none is taken")
    ]
    nested = zipped(*((f"{n}.zip", zipped(("a.md", NOTE), ("b.md", NOTE))) for n in range(3)))
    assert len([path for path, _ in listed(nested) if path]) < 4
    monkeypatch.setattr(archives, "MAX_MEMBERS", 1000)
    monkeypatch.setattr(archives, "MAX_TOTAL_BYTES", 2_000_000)
    noise = bytes(range(256)) * 4_000
    assert "MiB in it" in str(
        listed(tarred(("a.txt", noise), ("b.txt", noise), ("c.txt", noise)), "a.tar")[-1][1]
    )
    monkeypatch.setattr(archives, "MAX_MEMBER_BYTES", 100)
    assert "too large" in str(listed(zipped(("a.txt", noise[:200])))[0][1])


# --- damage -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cut", [1, 30, 200])
@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("a.zip", zipped(*FILES)),
        ("a.tar.gz", gzip.compress(tarred(*FILES, ("z.md", bytes(range(256)) * 20)))),
        ("a.tar.xz", lzma.compress(tarred(*FILES, ("z.md", bytes(range(256)) * 20)))),
    ],
)
def test_archives_cut_off(name: str, data: bytes, cut: int) -> None:
    found = list(members(data[:-cut], str(media_type_of(name, data)), name))
    assert isinstance(found[-1], Left) or cut < 200
    for each in found:
        assert isinstance(each, Member) or each.reason


def test_a_damaged_file_takes_no_other_with_it() -> None:
    data = bytearray(zipped(("a.md", NOTE), ("b.md", OTHER), method=zipfile.ZIP_STORED))
    data[data.index(b"Notes")] ^= 1
    found = listed(bytes(data))
    assert found[1] == ("b.md", OTHER)
    assert str(found[0][1]).startswith("damaged: Bad CRC-32")


@settings(max_examples=60)
@given(st.data())
def test_no_flipped_byte_makes_it_raise(data: st.DataObject) -> None:
    name, whole = data.draw(
        st.sampled_from(
            [
                ("a.zip", zipped(*FILES)),
                ("a.tar", tarred(*FILES)),
                ("a.tar.gz", gzip.compress(tarred(*FILES))),
            ]
        )
    )
    broken = bytearray(whole)
    for _ in range(data.draw(st.integers(1, 4))):
        broken[data.draw(st.integers(0, len(broken) - 1))] = data.draw(st.integers(0, 255))
    for media_type in (ZIP, TAR, GZIP):
        for each in members(bytes(broken), media_type, name):
            assert isinstance(each, Member | Left)


# --- into a brain -------------------------------------------------------------------------------------------------


@pytest.fixture
def kept(tmp_path: Path) -> Iterator[Kept]:
    made = Kept(tmp_path)
    yield made
    made.brain.close()


def origins(kept: Kept) -> list[str]:
    with kept.brain.store.view() as view:
        return [origin for origin, _ in view.origins()]


def test_each_file_is_an_origin_and_a_second_time_nothing_is_written(kept: Kept) -> None:
    (kept.docs / "all.zip").write_bytes(zipped(*FILES, ("photo.png", b"\x89PNG")))
    report = kept.ingest()
    assert (report.taken, report.passages, report.failed) == (3, 2, ())
    assert [(p.path, p.reason) for p in report.skipped] == [
        ("docs/all.zip!/photo.png", "no reader for this kind of file (.png)")
    ]
    assert origins(kept) == ["docs/all.zip", "docs/all.zip!/b.md", "docs/all.zip!/docs/a.md"]
    assert sorted(kept.texts()) == sorted([INTRO, SECOND])
    again = kept.ingest()
    assert (again.wrote, again.unchanged, again.gone) == (False, 3, ())
    assert {path.name for path in kept.root.rglob("*.md")} == set()


def test_a_changed_archive_changes_its_files_and_tells_those_that_are_gone(kept: Kept) -> None:
    (kept.docs / "all.zip").write_bytes(zipped(*FILES))
    kept.ingest()
    edited = NOTE.replace(b"at once", b"in the same second")
    (kept.docs / "all.zip").write_bytes(zipped(("docs/a.md", edited)))
    for paths in ((), (kept.docs / "all.zip",)):
        report = kept.ingest(*paths)
        assert report.gone == ("docs/all.zip!/b.md",)
    assert edited.decode().split("\n\n")[1].strip() in kept.texts()
    assert INTRO in kept.texts(hidden=True)


def test_a_damaged_archive_is_reported_and_what_came_before_is_in(kept: Kept) -> None:
    noise = bytes(range(256)) * 2000
    (kept.docs / "all.tar.gz").write_bytes(gzip.compress(tarred(*FILES, ("z.txt", noise)))[:-600])
    report = kept.ingest()
    assert [p.path for p in report.failed] == ["docs/all.tar.gz"]
    assert "damaged" in report.failed[0].reason
    assert sorted(kept.texts()) == sorted([INTRO, SECOND])
    assert "docs/all.tar.gz" not in origins(kept)


def test_an_export_of_slack_as_it_is_downloaded(kept: Kept) -> None:
    users = json.dumps([{"id": "U1", "real_name": "Ada Lovelace"}]).encode()
    day = json.dumps([{"type": "message", "user": "U1", "ts": "1709285400.0", "text": "Words."}]).encode()
    (kept.docs / "export.zip").write_bytes(zipped(("users.json", users), ("general/2024-03-01.json", day)))
    kept.ingest()
    with kept.brain.store.view() as view:
        payloads = [decode(b.data).payload for b in view.scan([MemoryType.EPISODIC]) if b.data]
    assert [(p.summary, p.context) for p in payloads if isinstance(p, Episodic)] == [
        ("Ada Lovelace: Words.", "Chat: #general")
    ]
