"""Readers that go away, streams that are closed, and answers larger than a pipe."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from product import MAIN, QUESTION, Done, Product

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="pipes of a POSIX shell")

BIG = ("search", "--brain", "west", "--no-floor", "-n", "10000", "lorry")


@pytest.fixture(scope="module")
def lorries(farm: Product, tmp_path_factory: pytest.TempPathFactory) -> Product:
    """A project whose answer to BIG is larger than any pipe's buffer."""
    import shutil

    made = Product(Path(shutil.copytree(farm.root, tmp_path_factory.mktemp("lorries") / "farm")))
    text = "\n\n".join(f"Lorry {i} carries sacks of {'very ' * 40}fine sorghum." for i in range(500))
    made.write("in/lorries.md", f"# Lorries\n\n{text}\n")
    made.ingest("in", "--brain", "west")
    assert len(made.csl(*BIG).out) > 1 << 17
    return made


def shell(farm: Product, line: str) -> Done:
    """A line for bash, in which `csl` is the command line; standard output ends with every exit status in the pipe."""
    script = (
        f'csl() {{ {shlex.join([sys.executable, "-c", MAIN])} "$@"; }}\n{line}\necho "${{PIPESTATUS[@]}}"'
    )
    done = subprocess.run(
        ["bash", "-c", script],
        cwd=farm.root,
        env=farm.environment(),
        capture_output=True,
        timeout=300,
        check=False,
    )
    return Product.checked(Done(done.returncode, done.stdout, done.stderr.decode()))


@pytest.mark.parametrize("extra", ["", "--json"])
@pytest.mark.parametrize("reader", ["head -c 1", "true"])
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_reader_that_has_read_enough(lorries: Product, reader: str, extra: str, unbuffered: str) -> None:
    line = f"csl {shlex.join(BIG)} {extra} | {reader} > /dev/null"
    done = shell(lorries, f"export PYTHONUNBUFFERED={unbuffered}; {line}")
    assert done.err == ""
    assert done.text.split() == ["141", "0"]


def test_a_reader_that_takes_its_time_gets_all(lorries: Product) -> None:
    done = shell(lorries, f"csl {shlex.join(BIG)} --json | (sleep 0.2; wc -c) | tr -d ' '")
    size, statuses = done.text.splitlines()
    assert int(size) > 1 << 17 and statuses == "0 0 0"


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_half_an_answer_is_no_answer(lorries: Product, tmp_path: Path, unbuffered: str) -> None:
    """A file that may not grow beyond a part of the object: the rest is missed, and it is said."""
    limited = (
        f"ulimit -f 64; export PYTHONUNBUFFERED={unbuffered}; trap '' XFSZ; "
        f"csl {shlex.join(BIG)} --json > {shlex.quote(str(tmp_path / 'answer'))}"
    )
    done = shell(lorries, limited)
    assert done.text.split() == ["11"]
    assert done.err == "error: the answer could not be written: File too large\n"


def test_the_first_line_is_there(lorries: Product) -> None:
    done = shell(lorries, f"csl {shlex.join(BIG)} | head -1")
    first, statuses = done.text.splitlines()
    assert first.lstrip().startswith("1  1.00  ")
    assert statuses == "141 0"


def test_an_ingest_whose_reader_is_gone_has_committed(own_farm: Product) -> None:
    own_farm.write("in/mule.md", "# Mule\n\nThe mule sleeps in the barn.\n")
    done = shell(own_farm, "csl ingest in --brain west | true")
    assert done.err == "" and done.text.split()[0] in ("0", "141")
    assert own_farm.ingest("in", "--brain", "west")["unchanged"] == 1
    own_farm.verified("west")


@pytest.mark.parametrize("extra", ["", "--json"])
def test_a_closed_standard_output(own_farm: Product, extra: str) -> None:
    own_farm.write("in/mule.md", "# Mule\n\nThe mule sleeps in the barn.\n")
    for command in (f"search --brain west radio {extra}", f"ingest in --brain west {extra}"):
        done = shell(own_farm, f"csl {command} >&-")
        assert done.text.split() == ["11"], (command, done)
        assert done.err.startswith("error: standard output is closed"), done
    assert own_farm.ingest("in", "--brain", "west")["unchanged"] == 1


def test_a_closed_standard_error_and_input(own_farm: Product) -> None:
    done = shell(own_farm, f"csl compound search --all {shlex.quote(QUESTION)} --json 2>&- <&-")
    assert done.text.endswith("}\n0\n")
    done = shell(own_farm, "csl search --brain nowhere x 2>&-")
    assert done.text.split() == ["2"]
    done = shell(own_farm, "csl ingest sources --brain gone 2>&- <&-")
    assert done.text.splitlines()[0].startswith("gone: 5 taken") and done.text.endswith("\n0\n")


def test_what_goes_where(farm: Product) -> None:
    """With --json the object alone on standard output and nothing beside it; else words about words on the other."""
    done = shell(farm, f"csl compound search --all {shlex.quote(QUESTION)} --json")
    assert done.err == "" and done.text.count("\n") == 2
    done = shell(farm, "csl search --brain nowhere x --json")
    assert done.err == "" and done.text.endswith("}\n2\n")
    done = shell(farm, "csl search --brain nowhere x")
    assert done.text == "2\n" and done.err.startswith("error: ")
