"""consilience.toml: what it may say, and what a person is told when it says something else."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from consilience.config import (
    RESERVED,
    SETTINGS,
    Embedding,
    check_brain_name,
    find,
    load,
    parse,
    suggest_name,
)
from consilience.errors import ConfigurationError, NoProjectError

HEAD = '[project]\nname = "lectures"\n'


def write(folder: Path, text: str | bytes) -> Path:
    file = folder / "consilience.toml"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return file


def complaint(folder: Path, text: str | bytes) -> str:
    """The message that this file gets, without the folder's path."""
    with pytest.raises(ConfigurationError) as caught:
        load(write(folder, text))
    assert caught.value.exit_status == 3
    return caught.value.message.replace(f"{folder}{os.sep}", "")


class TestReading:
    def test_everything_a_file_can_say(self, tmp_path: Path) -> None:
        file = write(
            tmp_path,
            '[project]\nname = "Vorlesungen é"\nactor = "ana@example.org"\ndescription = "d"\n'
            '[brains.algebra]\n[brains.analisis-ii]\npath = "other/place"\ndescription = "two semesters"\n'
            '[brains.rust]\n[brains.rust.embedding]\nprovider = "openai"\nmodel = "m"\n'
            'url = "http://localhost:11434/v1"\ndims = 768\nquery_prefix = "q: "\npassage_prefix = "p: "\n'
            'api_key_env = "MY_KEY"\n',
        )
        config = load(file)
        assert (config.name, config.actor, config.description) == ("Vorlesungen é", "ana@example.org", "d")
        assert config.brain_names == ("algebra", "analisis-ii", "rust")
        assert config.brains[0].path == tmp_path / "brains" / "algebra"
        assert config.brains[1].path == tmp_path / "other" / "place"
        assert config.brains[2].embedding == Embedding(
            provider="openai",
            model="m",
            url="http://localhost:11434/v1",
            dims=768,
            query_prefix="q: ",
            passage_prefix="p: ",
            api_key_env="MY_KEY",
        )

    def test_a_setting_that_is_documented_is_read(self, tmp_path: Path) -> None:
        """No setting is accepted and then forgotten: each one changes the result."""
        values = {
            "project.name": '"other"',
            "project.actor": '"ana@example.org"',
            "project.description": '"x"',
            "brains.NAME.path": '"elsewhere"',
            "brains.NAME.description": '"x"',
            "brains.NAME.outside": "true",
            "brains.NAME.embedding.provider": '"hashed"',
            "brains.NAME.embedding.model": '"x"',
            "brains.NAME.embedding.url": '"http://x/v1"',
            "brains.NAME.embedding.dims": "3",
            "brains.NAME.embedding.query_prefix": '"x"',
            "brains.NAME.embedding.passage_prefix": '"x"',
            "brains.NAME.embedding.api_key_env": '"X"',
            **{
                f"{table}.{key}": value
                for table in ("retention", "brains.NAME.retention")
                for key, value in (
                    ("canonical_drop", "true"),
                    ("redact", "true"),
                    ("canonical_redact", "true"),
                    ("keep_snapshots", "3"),
                    ("keep_days", "30"),
                )
            },
        }
        assert set(values) == {s.path for s in SETTINGS if s.table != "brains.NAME.sources"}
        plain = parse('project.name = "n"\n[brains.a]\n', tmp_path / "consilience.toml")
        for path, value in values.items():
            name = "" if path == "project.name" else 'project.name = "n"\n'
            brain = "" if path.startswith("brains") else "[brains.a]\n"
            text = f"{path.replace('NAME', 'a')} = {value}\n{name}{brain}"
            assert parse(text, tmp_path / "consilience.toml") != plain, path

    def test_a_setting_of_a_source_that_is_documented_is_read(self, tmp_path: Path) -> None:
        values = {
            "path": ('path = "x"', 'path = "docs"'),
            "git": ('git = "x"', 'git = "repo"'),
            "revision": ('git = "x"', 'git = "x"\nrevision = "v1"'),
            "kind": ('kind = "x"', 'kind = "mail"'),
            "include": ('path = "x"', 'path = "x"\ninclude = ["*.md"]'),
            "exclude": ('path = "x"', 'path = "x"\nexclude = ["*.md"]'),
            "use_ignore_files": ('path = "x"', 'path = "x"\nuse_ignore_files = false'),
            "deleted": ('path = "x"', 'path = "x"\ndeleted = "hide"'),
        }
        assert set(values) == {s.key for s in SETTINGS if s.table == "brains.NAME.sources"}
        head = 'project.name = "n"\n[[brains.a.sources]]\n'
        for key, (plain, changed) in values.items():
            one, other = (parse(f"{head}{t}\n", tmp_path / "consilience.toml") for t in (plain, changed))
            assert one != other, key
            assert len(other.brains[0].sources) == 1

    @pytest.mark.parametrize(
        ("table", "line", "said"),
        [
            ('include = ["*.md"]', 3, "one of path, git and kind is missing"),
            ('path = "a"\ngit = "b"', 5, "path and git exclude each other"),
            ('path = "a"\nrevision = "v1"', 5, "belongs to a source with git"),
            ('path = "a"\ndeleted = "drop"', 5, "must be one of keep, hide"),
            ('path = "a"\ninclude = "*.md"', 5, "must be a list of strings"),
            ('path = "a"\ninclude = [1]', 5, "must be a list of strings"),
            ('path = "a"\nincldue = ["x"]', 5, "did you mean include?"),
            ('path = ""', 4, "is empty"),
            ('path = "~/notes"', 4, "begins with ~"),
            ('git = "a"\nrevision = "--upload-pack=x"', 5, "is no revision"),
            ('path = "a"\n[[brains.a.sources]]\npath = "a"', 5, "a is a source of this brain already"),
        ],
    )
    def test_a_source_that_cannot_be(self, tmp_path: Path, table: str, line: int, said: str) -> None:
        text = f'project.name = "n"\n[brains.a]\n[[brains.a.sources]]\n{table}\n'
        with pytest.raises(ConfigurationError) as caught:
            parse(text, tmp_path / "consilience.toml")
        assert f"consilience.toml:{line}: brains.a.sources" in caught.value.message
        assert said in caught.value.message

    def test_options_of_a_plugin_are_its_own(self, tmp_path: Path) -> None:
        text = (
            'project.name = "n"\n[[brains.a.sources]]\nkind = "mail"\nserver = "x"\nboxes = ["in", "out"]\n'
        )
        (source,) = parse(text, tmp_path / "consilience.toml").brains[0].sources
        assert source.options == (("server", "x"), ("boxes", ("in", "out")))

    def test_sources_that_are_no_list(self, tmp_path: Path) -> None:
        with pytest.raises(ConfigurationError, match=r"\[\[brains.NAME.sources\]\]"):
            parse('project.name = "n"\n[brains.a.sources]\npath = "x"\n', tmp_path / "consilience.toml")

    def test_a_byte_order_mark_and_windows_line_ends(self, tmp_path: Path) -> None:
        assert load(write(tmp_path, b"\xef\xbb\xbf" + HEAD.replace("\n", "\r\n").encode())).name == "lectures"

    def test_the_order_of_brains_is_the_order_of_the_file(self, tmp_path: Path) -> None:
        config = load(write(tmp_path, HEAD + "[brains.z]\n[brains.a]\n[brains.m]\n"))
        assert config.brain_names == ("z", "a", "m")


class TestComplaints:
    """Each names file, line and key."""

    @pytest.mark.parametrize(
        ("text", "said"),
        [
            ('[project]\nname = "x\n', "consilience.toml:2:10: "),
            ("[project]\nname =\n", "consilience.toml:2:7: Invalid value"),
            ('[project]\nname = "x"\nname = "y"\n', "consilience.toml:3:"),
            (HEAD + "[project]\n", "consilience.toml:3:"),
            ("", "consilience.toml:1: project: there is no [project] table"),
            ('[project]\nactor = "a@example.org"\n', "consilience.toml:1: project.name: is missing"),
            ("[project]\nname = 3\n", "consilience.toml:2: project.name: must be a string"),
            ('[project]\nname = " "\n', "consilience.toml:2: project.name: is empty"),
            ('[project]\nname = "a\\u0007"\n', "project.name: holds a control character"),
            (HEAD + 'acto = "x"\n', "consilience.toml:3: project.acto: no such setting; did you mean actor?"),
            (HEAD + 'zzz = "x"\n', "project.zzz: no such setting; known here: name, actor, description"),
            (HEAD + 'actor = "Ana@example.org"\n', "consilience.toml:3: project.actor: "),
            (HEAD + "[brain.x]\n", "consilience.toml:3: brain: no such setting; did you mean brains?"),
            (HEAD + "[brains.Python]\n", "consilience.toml:3: brains.Python: 'Python' is not a brain's name"),
            (HEAD + '[brains."a b"]\n', 'consilience.toml:3: brains."a b": '),
            (HEAD + "[brains]\nx = 3\n", "consilience.toml:4: brains.x: a brain is a table: [brains.x]"),
            (
                HEAD + "[brains.x]\npth = 'y'\n",
                "consilience.toml:4: brains.x.pth: no such setting; did you mean path?",
            ),
            (HEAD + "[brains.x]\npath = ''\n", "brains.x.path: a brain's path cannot be empty"),
            (HEAD + "[brains.x]\npath = 7\n", "consilience.toml:4: brains.x.path: must be a string"),
            (
                HEAD + '[brains.x]\npath = "a\\u0000b"\n',
                "brains.x.path: the path 'a\\x00b' holds a control character",
            ),
            (HEAD + "[brains.x]\npath = '~/b'\n", "begins with ~"),
            (HEAD + "[brains.x]\npath = '.'\n", "holds the project itself"),
            (HEAD + "[brains.x]\npath = '..'\noutside = true\n", "holds the project itself"),
            (HEAD + "[brains.x]\npath = '../y'\n", "outside of the project; outside = true allows it"),
            (HEAD + "[brains.x]\noutside = 1\n", "brains.x.outside: must be true or false"),
            (HEAD + "[brains.x]\nembedding = 'e5'\n", "brains.x.embedding: must be a table"),
            (
                HEAD + "[brains.x.embedding]\nprovider = 'opena'\n",
                "consilience.toml:4: brains.x.embedding.provider: there is no provider 'opena'; did you mean openai?",
            ),
            (HEAD + "[brains.x.embedding]\ndims = 0\n", "brains.x.embedding.dims: must lie between"),
            (HEAD + "[brains.x.embedding]\ndims = true\n", "brains.x.embedding.dims: must be a whole number"),
            (
                HEAD + "[brains.x.embedding]\nurl = 'localhost'\n",
                "brains.x.embedding.url: must begin with http",
            ),
            (HEAD + "[brains.x.embedding]\napi_key_env = 'sk-123'\n", "must be a variable's name"),
            ("project = 3\n", "consilience.toml:1: project: must be a table"),
            (HEAD + "[[brains]]\n", "consilience.toml:3: brains: must be a table"),
        ],
    )
    def test_file_line_and_key(self, tmp_path: Path, text: str, said: str) -> None:
        assert said in complaint(tmp_path, text)

    def test_two_brains_in_one_folder(self, tmp_path: Path) -> None:
        text = HEAD + "[brains.a]\npath = 'same'\n[brains.b]\npath = './x/../same'\n"
        message = complaint(tmp_path, text)
        assert message.startswith("consilience.toml:6: brains.b.path: brain 'a' lives in ")

    def test_two_brains_in_one_folder_by_a_link(self, tmp_path: Path) -> None:
        (tmp_path / "real").mkdir()
        (tmp_path / "link").symlink_to("real")
        text = HEAD + "[brains.a]\npath = 'real'\n[brains.b]\npath = 'link'\n"
        assert "brain 'a' lives in" in complaint(tmp_path, text)

    def test_folders_that_differ_by_case_are_one_folder_somewhere(self, tmp_path: Path) -> None:
        text = HEAD + "[brains.a]\npath = 'Notes'\n[brains.b]\npath = 'notes'\n"
        assert "brain 'a' lives in" in complaint(tmp_path, text)

    def test_a_brain_inside_another(self, tmp_path: Path) -> None:
        text = HEAD + "[brains.a]\npath = 'x'\n[brains.b]\npath = 'x/y'\n"
        assert "would live inside the other" in complaint(tmp_path, text)
        text = HEAD + "[brains.a]\npath = 'x'\n[brains.b]\npath = 'xy'\n"
        assert load(write(tmp_path, text)).brain_names == ("a", "b")

    def test_a_link_that_leads_outside_is_outside(self, tmp_path: Path) -> None:
        inside = tmp_path / "project"
        inside.mkdir()
        (tmp_path / "elsewhere").mkdir()
        (inside / "link").symlink_to(tmp_path / "elsewhere")
        assert "outside of the project" in complaint(inside, HEAD + "[brains.a]\npath = 'link'\n")
        config = load(write(inside, HEAD + "[brains.a]\npath = 'link'\noutside = true\n"))
        assert config.brains[0].outside

    def test_a_project_reached_by_a_link_keeps_its_brains_inside(self, tmp_path: Path) -> None:
        (tmp_path / "real").mkdir()
        write(tmp_path / "real", HEAD + "[brains.a]\n")
        (tmp_path / "link").symlink_to("real")
        assert load(tmp_path / "link" / "consilience.toml").brain_names == ("a",)

    def test_everything_that_is_wrong_is_said_at_once_in_order(self, tmp_path: Path) -> None:
        text = HEAD + "acto = 'x'\n[brains.B]\n[brains.c]\npath = 3\nzz = 1\n"
        lines = complaint(tmp_path, text).splitlines()
        assert [line.split(":")[1] for line in lines] == ["3", "4", "6", "7"]

    def test_the_line_is_right_below_values_that_span_lines(self, tmp_path: Path) -> None:
        text = '[project]\nname = "x"\ndescription = """\n[brains.fake]\npth = 1\n"""\n[brains.a]\n# c\npth = 1\n'
        assert complaint(tmp_path, text).startswith("consilience.toml:9: brains.a.pth: ")

    @pytest.mark.parametrize(
        "text",
        ['brains.a.pth = 1\nproject.name = "x"\n', 'brains = {a = {pth = 1}}\nproject = {name = "x"}\n'],
    )
    def test_dotted_keys_and_inline_tables(self, tmp_path: Path, text: str) -> None:
        assert complaint(tmp_path, text).startswith("consilience.toml:1: brains.a.pth: ")

    def test_bytes_that_are_not_utf8(self, tmp_path: Path) -> None:
        assert complaint(tmp_path, HEAD.encode() + b"# caf\xe9\n") == (
            "consilience.toml:3: byte 0xe9 is not UTF-8"
        )

    def test_binary_and_huge_files(self, tmp_path: Path) -> None:
        assert "consilience.toml:2: byte 0x80 is not UTF-8" in complaint(tmp_path, bytes(range(256)) * 100)
        assert "consilience.toml:1:1: " in complaint(tmp_path, b"\x00\x01")
        assert "larger than" in complaint(tmp_path, b"#" * (1 << 21))
        assert "nested too deeply" in complaint(tmp_path, "x = " + "[" * 100_000)

    def test_a_folder_of_that_name(self, tmp_path: Path) -> None:
        (tmp_path / "consilience.toml").mkdir()
        with pytest.raises(ConfigurationError, match="cannot be read"):
            load(tmp_path / "consilience.toml")

    def test_a_link_to_nowhere(self, tmp_path: Path) -> None:
        (tmp_path / "consilience.toml").symlink_to("gone.toml")
        with pytest.raises(ConfigurationError, match="a link to a file that does not exist"):
            load(tmp_path / "consilience.toml")

    def test_no_file(self, tmp_path: Path) -> None:
        with pytest.raises(NoProjectError, match="no consilience"):
            load(tmp_path / "consilience.toml")


class TestFinding:
    def test_the_nearest_above(self, tmp_path: Path) -> None:
        outer = write(tmp_path, HEAD)
        deep = tmp_path / "a" / "b" / "c"
        deep.mkdir(parents=True)
        assert find(deep) == outer
        inner = write(tmp_path / "a" / "b", HEAD)
        assert find(deep) == inner

    def test_a_broken_one_is_not_passed_over(self, tmp_path: Path) -> None:
        write(tmp_path, HEAD)
        inner = tmp_path / "a"
        inner.mkdir()
        (inner / "consilience.toml").symlink_to("nowhere")
        assert find(inner) == inner / "consilience.toml"


class TestNames:
    @pytest.mark.parametrize("name", ["a", "7", "python", "analisis-ii", "a_b-c", "2024", "a" * 64])
    def test_good(self, name: str) -> None:
        assert check_brain_name(name) is None

    @pytest.mark.parametrize(
        "name",
        [
            "", "A", "Python", "-a", "a-", "_a", "a--b", "a_-b", "a b", "a/b", "../a", "á", "a.b", "a\n", "a\x00",
            "a" * 65, "ａ", "١", "a,b", "./brains/a", "*",
        ],
    )  # fmt: skip
    def test_bad(self, name: str) -> None:
        assert check_brain_name(name) is not None

    def test_reserved_names_say_why(self) -> None:
        assert check_brain_name("semantic") == "'semantic' is reserved: a module is called so"
        for name in ("canonical", "provenance", "blocks", "main", "temp", "information_schema", "all", "nul"):
            assert name in RESERVED
            assert "is reserved" in (check_brain_name(name) or "")

    @pytest.mark.parametrize(
        ("name", "better"),
        [
            ("Python", "python"),
            ("Análisis II", "analisis-ii"),
            ("a//b", "a-b"),
            ("", None),
            ("漢字", None),
            ("ALL", None),
        ],
    )
    def test_a_better_name(self, name: str, better: str | None) -> None:
        assert suggest_name(name) == better

    @given(st.text(max_size=80))
    def test_a_suggestion_is_always_a_name(self, name: str) -> None:
        better = suggest_name(name)
        assert better is None or check_brain_name(better) is None
