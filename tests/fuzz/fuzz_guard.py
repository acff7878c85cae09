"""The guard of SQL under coverage-guided fuzzing: it refuses with a place, or lets through what only reads.

    python tests/fuzz/fuzz_guard.py [CORPUS] -max_total_time=180

Options are libFuzzer's. Needs atheris (Apache-2.0, `pip install atheris`); `make fuzz` runs it where that is installed.
A query that fails is written to a file crash-* in the working directory.
"""

from __future__ import annotations

import re
import sys
import tempfile
from pathlib import Path

import atheris

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "support"), str(HERE.parent / "sql")]

with atheris.instrument_imports(include=["consilience.sql"], enable_loader_override=False):
    from consilience.errors import ConsilienceError, QueryError
    from consilience.sql import parse
    from consilience.sql.guard import checked, guard
    from consilience.sql.order import limit_rows, order_totally

from sql_attacks import ATTACKS  # noqa: E402
from test_fuzz import _TOKEN, CALLS, GOOD, MEMBERS, NAMES, TOKENS, sealed_ground  # noqa: E402

PLACE = re.compile(r"line \d+, column \d+: ")
OF_THE_WHOLE = (
    "the query is empty",
    "the query has ",
    "the query holds a character that is not text",
    "there is no statement in the query",
    "the query is nested too deeply",
    "the query cannot be read",
    "the query does not survive being written out",
)
"""Refusals that are about no place of the query."""

WORDS = [*TOKENS, *NAMES, *CALLS]


def query_of(data: bytes) -> str:
    """Text as it is, or, after a zero byte, two bytes for each word of a vocabulary."""
    if data[:1] != b"\0":
        return data.decode("utf-8", "replace")
    pairs = (int.from_bytes(data[at : at + 2]) for at in range(1, len(data) - 1, 2))
    return "".join(WORDS[pair % len(WORDS)] for pair in pairs)


def words_of(query: str) -> bytes:
    """A query of the vocabulary as `query_of` reads it."""
    return b"\0" + b"".join(WORDS.index(token).to_bytes(2) for token in _TOKEN.findall(query))


class Check:
    """The property, and how many queries were refused and let through."""

    def __init__(self, folder: Path, sealed, parser) -> None:
        self.folder, self.sealed, self.parser = folder, sealed, parser
        self.refused = self.passed = 0
        self.before = self.files()

    def files(self) -> list[tuple[str, int, int]]:
        found = ((path.name, path.stat()) for path in self.folder.rglob("*"))
        return sorted((name, stat.st_size, stat.st_mtime_ns) for name, stat in found)

    def __call__(self, data: bytes) -> None:
        if (self.refused + self.passed) % 5_000 == 4_999:
            print(f"{self.refused} refused, {self.passed} let through", file=sys.stderr)
        query = query_of(data)
        try:
            statement = guard(self.parser, query, MEMBERS).statement
            order_totally(statement)
            limit_rows(statement, 10)
            text = checked(self.parser, statement)
        except QueryError as error:
            self.refused += 1
            assert PLACE.match(error.message) or error.message.startswith(OF_THE_WHOLE), (
                query,
                error.message,
            )
            return
        self.passed += 1
        parse.parse(self.parser, text)
        try:
            self.sealed.run_typed(text, 10, lambda types: None)
        except ConsilienceError as error:
            assert error.exit_status != 1, (query, text, error)
            assert "only one SELECT" not in error.message, (query, text)
        assert self.files() == self.before, (query, text)


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder, corpus = Path(name) / "watched", Path(name) / "corpus"
        folder.mkdir()
        corpus.mkdir()
        seeds = [*GOOD, *(query for kind in ATTACKS for query in ATTACKS[kind] if len(query) < 300)]
        for number, query in enumerate(seeds):
            (corpus / f"{number}").write_bytes(query.encode("utf-8", "replace"))
            (corpus / f"{number}.words").write_bytes(words_of(query))
        with sealed_ground(folder) as (_, sealed, parser):
            check = Check(folder, sealed, parser)
            options = [
                "-max_len=600",
                "-len_control=0",
                "-timeout=60",
                "-rss_limit_mb=0",
                "-print_final_stats=1",
            ]
            atheris.Setup([sys.argv[0], *options, *sys.argv[1:], str(corpus)], check)
            atheris.Fuzz()


if __name__ == "__main__":
    main()
