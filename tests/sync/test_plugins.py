"""Another kind of source, as a package would bring it."""

from __future__ import annotations

import importlib.metadata
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from sources import Synced, said, text_of

from consilience.config_sources import SourceConfig
from consilience.errors import SourceError
from consilience.sync import Listed

BOX: dict[str, tuple[str, str]] = {}
"""What the server has: name to text and version."""

WORDS = "The pump at the second well was taken out on Tuesday, since its bearing had run dry."
OTHER = "A new bearing was ordered, and the spare pump runs until it has been delivered."


class Server:
    reads = 0

    def __init__(self, options: Mapping[str, Any], root: Path) -> None:
        if "server" not in options:
            raise KeyError("server")
        self.options = options

    def list(self) -> Iterable[Listed]:
        if "down" in BOX:
            raise ConnectionError("the server does not answer")
        for name, (_, version) in BOX.items():
            yield Listed(name=name, file_name="mail.md", stamp=version)

    def read(self, item: Listed) -> bytes:
        type(self).reads += 1
        text = BOX[item.name][0]
        if text == "broken":
            raise RuntimeError("the message is broken")
        return text_of(text).encode()


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A distribution on the path with an entry point, as pip would have made it."""
    site = tmp_path / "site"
    info = site / "example_mail-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: example-mail\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[consilience.sources]\nmail = example_mail:Server\nbroken = example_mail:nothing\n"
    )
    module = ModuleType("example_mail")
    module.Server = Server  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "example_mail", module)
    monkeypatch.syspath_prepend(str(site))
    assert importlib.metadata.entry_points(group="consilience.sources", name="mail")
    BOX.clear()
    BOX["inbox/1"] = (WORDS, "1")
    Server.reads = 0


@pytest.fixture
def kept(tmp_path: Path, installed: None) -> Iterator[Synced]:
    made = Synced(
        tmp_path / "root",
        SourceConfig(kind="mail", deleted="hide", options=(("server", "x"), ("name", "ana"))),
    )
    yield made
    made.brain.close()


def test_new_changed_gone(kept: Synced) -> None:
    assert said(kept.sync()) == [("new", "mail:ana:inbox/1")]
    assert set(kept.shown()) == {WORDS}
    BOX["inbox/2"] = (OTHER, "1")
    assert said(kept.sync()) == [("new", "mail:ana:inbox/2")]
    BOX["inbox/2"] = (WORDS + " And so on.", "2")
    assert said(kept.sync()) == [("changed", "mail:ana:inbox/2")]
    del BOX["inbox/1"]
    assert said(kept.sync()) == [("hidden", "mail:ana:inbox/1")]
    assert set(kept.shown()) == {WORDS + " And so on."}


def test_what_has_the_same_stamp_is_not_read_again(kept: Synced) -> None:
    kept.sync()
    reads = Server.reads
    assert kept.sync().unchanged == 1
    assert Server.reads == reads


def test_without_stamps_everything_is_read_and_nothing_written(kept: Synced) -> None:
    BOX["inbox/1"] = (WORDS, "")
    kept.sync()
    report = kept.sync()
    assert (report.unchanged, report.commits) == (1, 0)


def test_a_server_that_is_down_hides_nothing(kept: Synced) -> None:
    kept.sync()
    BOX["down"] = ("", "")
    report = kept.sync()
    assert "mail:ana cannot be listed: the server does not answer" in str(report.failed_sources[0].error)
    assert set(kept.shown()) == {WORDS}


def test_a_document_that_fails_is_one_failure(kept: Synced) -> None:
    BOX["inbox/0"] = ("broken", "1")
    report = kept.sync()
    assert said(report) == [("failed", "mail:ana:inbox/0"), ("new", "mail:ana:inbox/1")]
    assert "the message is broken" in report.of("failed")[0].detail


def test_patterns_hold_for_names(kept: Synced) -> None:
    BOX["spam/1"] = (OTHER, "1")
    kept.sources = [SourceConfig(kind="mail", exclude=("spam/",), options=(("server", "x"),))]
    assert said(kept.sync()) == [("new", "mail:inbox/1"), ("skipped", "mail:spam/1")]


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (SourceConfig(kind="mail"), "cannot be made: 'server'"),
        (SourceConfig(kind="broken"), "cannot be loaded"),
        (SourceConfig(kind="nothing"), "there is no source of kind 'nothing'"),
        (SourceConfig(kind="git"), "cannot be a kind"),
    ],
)
def test_what_cannot_be_made(kept: Synced, source: SourceConfig, message: str) -> None:
    kept.sources = [source]
    assert message in str(kept.sync().failed_sources[0].error)


def test_an_error_of_ours_goes_through_as_it_is(kept: Synced, monkeypatch: pytest.MonkeyPatch) -> None:
    def down(self: Server) -> Iterable[Listed]:
        raise SourceError("closed on Sundays")

    monkeypatch.setattr(Server, "list", down)
    assert kept.sync().failed_sources[0].error == "closed on Sundays"
