"""Files of several formats, made of words that mean nothing: the same ones each time."""

from __future__ import annotations

import html
import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path

WORDS = 5_000
FILE_BYTES = 16 << 10


def write(folder: Path, size: int, rng: random.Random) -> None:
    """About `size` bytes of each format, in files of 16 KiB; of records in one file."""
    folder.mkdir(parents=True)
    words = ["".join(rng.choices("aeioubdfgklmnprstvz", k=rng.randint(3, 10))) for _ in range(WORDS)]

    def sentence() -> str:
        return " ".join(rng.choices(words, k=rng.randint(8, 24))).capitalize() + "."

    for suffix, make in _TEXTS.items():
        for n in range(max(1, size // FILE_BYTES)):
            (folder / f"{n:05d}{suffix}").write_text("".join(_filled(make, sentence)), encoding="utf-8")
    for suffix, record in _RECORDS.items():
        lines, length = ["id,name,said\n"] if suffix == ".csv" else [], 0
        while length < size:
            lines.append(record(len(lines), sentence))
            length += len(lines[-1])
        (folder / f"records{suffix}").write_text("".join(lines), encoding="utf-8")


_Sentence = Callable[[], str]


def _filled(make: Callable[[int, _Sentence], str], sentence: _Sentence) -> Iterator[str]:
    length = number = 0
    while length < FILE_BYTES:
        piece = make(number, sentence)
        yield piece
        length, number = length + len(piece), number + 1


def _markdown(number: int, said: _Sentence) -> str:
    head = "" if number % 8 else f"## {said()}\n\n"
    return f"{head}{said()} *{said()}*\n\n- {said()}\n- `{said()}`\n\n"


def _rst(number: int, said: _Sentence) -> str:
    title = said()
    head = "" if number % 8 else f"{title}\n{'=' * len(title)}\n\n"
    return f"{head}{said()} *{said()}*\n\n- {said()}\n- ``{said()}``\n\n"


def _html(number: int, said: _Sentence) -> str:
    return f"<h2>{html.escape(said())}</h2><p>{said()} <em>{said()}</em></p><ul><li>{said()}</li></ul>\n"


def _plain(number: int, said: _Sentence) -> str:
    return f"{said()} {said()}\n\n"


def _python(number: int, said: _Sentence) -> str:
    return f'def f{number}(x: int) -> int:\n    """{said()}"""\n    # {said()}\n    return x + {number}\n\n\n'


def _mail(number: int, said: _Sentence) -> str:
    return (
        f"From a@example.org Mon Jan  1 10:00:{number % 60:02d} 2024\nFrom: a@example.org\nTo: b@example.org\n"
        f"Subject: {said()[:60]}\nDate: Mon, 01 Jan 2024 10:00:{number % 60:02d} +0000\n\n{said()}\n\n{said()}\n\n"
    )


_TEXTS = {
    ".md": _markdown, ".rst": _rst, ".html": _html, ".txt": _plain, ".py": _python, ".mbox": _mail,
}  # fmt: skip
_RECORDS: dict[str, Callable[[int, _Sentence], str]] = {
    ".csv": lambda n, said: f'{n},item {n},"{said()}"\n',
    ".jsonl": lambda n, said: json.dumps({"id": n, "name": f"item {n}", "said": said()}) + "\n",
}
