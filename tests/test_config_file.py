"""Changing consilience.toml: nothing of a person's is lost, whatever happens meanwhile."""

from __future__ import annotations

import multiprocessing
import os
import stat
import threading
from pathlib import Path

import pytest

from consilience import config_file
from consilience.config import Config, Embedding, load
from consilience.config_file import add_brain, create, edit, remove_brain
from consilience.errors import (
    ActorError,
    BusyError,
    ConfigurationError,
    NoProjectError,
    StorageError,
    UsageError,
)

MINE = '# mine\n[project]\nname = "p"   # spaced oddly\n\n# about b\n[brains.b]\n  path = "here" # there\n'


@pytest.fixture
def file(tmp_path: Path) -> Path:
    file = tmp_path / "consilience.toml"
    file.write_text(MINE)
    return file


class TestCreate:
    def test_makes_the_folder_and_a_file_that_reads_back(self, tmp_path: Path) -> None:
        made = create(tmp_path / "a" / "b", 'Vorlesungen "x" \\ é', actor="ana@example.org", description="d")
        assert load(made.file) == made
        assert (made.name, made.actor, made.description) == ('Vorlesungen "x" \\ é', "ana@example.org", "d")

    def test_never_overwrites(self, file: Path) -> None:
        with pytest.raises(UsageError, match="a project here already"):
            create(file.parent, "other")
        assert file.read_text() == MINE

    @pytest.mark.parametrize("name", ["", "  ", "a\nb", "a\x1b[31m"])
    def test_refuses_a_name_that_is_none(self, tmp_path: Path, name: str) -> None:
        with pytest.raises(UsageError):
            create(tmp_path, name)
        assert list(tmp_path.iterdir()) == []

    def test_refuses_an_actor_that_is_none(self, tmp_path: Path) -> None:
        with pytest.raises(ActorError):
            create(tmp_path, "p", actor="Ana@example.org")
        assert list(tmp_path.iterdir()) == []

    def test_a_folder_that_is_a_file(self, tmp_path: Path) -> None:
        (tmp_path / "x").write_text("")
        with pytest.raises(StorageError, match="cannot make a project"):
            create(tmp_path / "x", "p")


class TestAdd:
    def test_appends_and_leaves_the_rest(self, file: Path) -> None:
        config = add_brain(file, "a", description='said "so"', embedding=Embedding(provider="none"))
        assert file.read_text().startswith(MINE)
        assert config == load(file)
        assert config.brain_names == ("b", "a")
        assert config.brains[1].description == 'said "so"'
        assert config.brains[1].embedding.provider == "none"

    @pytest.mark.parametrize(
        ("name", "options", "said"),
        [
            ("b", {}, "a brain called 'b' already"),
            ("B", {}, "'B' is not a brain's name"),
            ("semantic", {}, "reserved: a module is called so"),
            ("a", {"path": "here"}, "brain 'b' lives in"),
            ("a", {"path": "./x/../HERE/"}, "brain 'b' lives in"),
            ("a", {"path": "here/inner"}, "would live inside the other"),
            ("a", {"path": ".."}, "holds the project itself"),
            ("a", {"path": "../x"}, "is outside of the project"),
            ("a", {"path": "~/x"}, "not expanded"),
            ("a", {"path": ""}, "cannot be empty"),
            ("a", {"path": "x\x00y"}, "control character"),
            ("a", {"embedding": Embedding(provider="opena")}, "did you mean openai?"),
            ("a", {"embedding": Embedding(provider="openai", url="x")}, "embedding url: must begin"),
        ],
    )
    def test_refusals_change_nothing(
        self, file: Path, name: str, options: dict[str, object], said: str
    ) -> None:
        with pytest.raises(UsageError, match=said.replace("?", r"\?")):
            add_brain(file, name, **options)  # type: ignore[arg-type]
        assert file.read_text() == MINE
        assert list(file.parent.iterdir()) == [file]

    def test_outside_is_allowed_by_saying_so(self, file: Path) -> None:
        config = add_brain(file, "a", path="../x", outside=True)
        assert config.brains[1].path == file.parent.parent / "x"
        assert load(file) == config

    def test_a_file_that_cannot_take_it_says_how_to_change_it(self, file: Path) -> None:
        file.write_text('project = {name = "p"}\nbrains = {b = {}}\n')
        with pytest.raises(ConfigurationError, match="cannot take this change") as caught:
            add_brain(file, "a")
        assert "[brains.NAME]" in (caught.value.hint or "")
        assert file.read_text() == 'project = {name = "p"}\nbrains = {b = {}}\n'

    def test_byte_order_mark_and_line_ends_stay(self, file: Path) -> None:
        file.write_bytes(b"\xef\xbb\xbf" + MINE.replace("\n", "\r\n").encode())
        add_brain(file, "a", path="q")
        data = file.read_bytes()
        assert data.startswith(b"\xef\xbb\xbf# mine\r\n")
        assert data.endswith(b'\r\n\r\n[brains.a]\r\npath = "q"\r\n')

    def test_mode_and_link_stay(self, file: Path) -> None:
        real = file.parent / "kept" / "real.toml"
        real.parent.mkdir()
        file.rename(real)
        real.chmod(0o640)
        file.symlink_to("kept/real.toml")
        add_brain(file, "a")
        assert file.is_symlink()
        assert stat.S_IMODE(real.stat().st_mode) == 0o640
        assert load(file).brain_names == ("b", "a")
        assert load(file).brains[1].path == file.parent / "brains" / "a"

    def test_a_broken_file_is_not_touched(self, file: Path) -> None:
        file.write_text("[project\n")
        with pytest.raises(ConfigurationError, match=r"consilience\.toml:1"):
            add_brain(file, "a")
        assert file.read_text() == "[project\n"

    def test_no_file(self, tmp_path: Path) -> None:
        with pytest.raises(NoProjectError):
            add_brain(tmp_path / "consilience.toml", "a")


class TestRemove:
    def test_leaves_the_rest(self, file: Path) -> None:
        add_brain(file, "a", embedding=Embedding(provider="none"))
        assert remove_brain(file, "a").brain_names == ("b",)
        assert file.read_text() == MINE

    def test_unknown(self, file: Path) -> None:
        with pytest.raises(UsageError, match="no brain called 'c'") as caught:
            remove_brain(file, "c")
        assert caught.value.hint == "known: b"

    def test_inline(self, file: Path) -> None:
        text = 'project = {name = "p"}\nbrains = {b = {}, c = {}}\n'
        file.write_text(text)
        with pytest.raises(ConfigurationError, match="inline table"):
            remove_brain(file, "b")
        assert file.read_text() == text


class TestConcurrency:
    def test_an_editor_that_saves_meanwhile_loses_nothing(self, file: Path) -> None:
        """The first try finds that the file has changed since it was read, and is made again."""
        tries = []

        def change(text: str, config: Config) -> str:
            if not tries:
                file.write_text(MINE + "\n[brains.theirs]\n")
            tries.append(config.brain_names)
            return text + "\n[brains.ours]\n"

        assert edit(file, change).brain_names == ("b", "theirs", "ours")
        assert tries == [("b",), ("b", "theirs")]

    def test_a_file_that_never_stands_still(self, file: Path) -> None:
        def change(text: str, config: Config) -> str:
            file.write_text(file.read_text() + "# again\n")
            return text + "[brains.ours]\n"

        with pytest.raises(BusyError):
            edit(file, change)
        assert "ours" not in file.read_text()
        assert list(file.parent.iterdir()) == [file]

    @pytest.mark.skipif(os.name == "nt", reason="no such locks there")
    def test_a_change_waits_for_another_one(self, file: Path) -> None:
        import fcntl

        handle = os.open(file.parent, os.O_RDONLY)
        fcntl.flock(handle, fcntl.LOCK_EX)
        thread = threading.Thread(target=add_brain, args=(file, "a"))
        thread.start()
        thread.join(0.5)
        assert thread.is_alive()
        assert file.read_text() == MINE
        os.close(handle)
        thread.join(60)
        assert load(file).brain_names == ("b", "a")

    def test_many_processes_add_at_once(self, file: Path) -> None:
        context = multiprocessing.get_context("fork")
        workers = [context.Process(target=add_brain, args=(file, f"n{i}")) for i in range(8)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join(60)
            assert worker.exitcode == 0
        assert sorted(load(file).brain_names) == ["b", *(f"n{i}" for i in range(8))]
        assert list(file.parent.iterdir()) == [file]

    def test_a_full_disk_leaves_the_old_file(self, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def full(handle: int) -> None:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(config_file.os, "fsync", full)
        with pytest.raises(StorageError, match="No space left"):
            add_brain(file, "a")
        assert file.read_text() == MINE
        assert list(file.parent.iterdir()) == [file]

    def test_a_read_only_file(self, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(config_file.os, "access", lambda path, mode: False)
        with pytest.raises(StorageError, match="read-only"):
            add_brain(file, "a")
        assert file.read_text() == MINE
