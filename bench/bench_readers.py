"""The readers alone: passages, time by reader, words that are in no passage, roles told from text.

    python bench/bench_readers.py speed FOLDER...
    python bench/bench_readers.py loss FOLDER... [--worst 10]
    python bench/bench_readers.py roles FOLDER... [--examples 5]
    python bench/bench_readers.py language FOLDER... [--expect en]
    python bench/bench_readers.py real FOLDER... [--only epub,odt] [--most 200] [--examples 5]
    python bench/bench_readers.py show FILE...

Each FOLDER is one brain's documents. `loss` counts words of the originals that are neither in a passage nor in a
heading path; comments, targets, fences, directives and tags are not counted as words. `language` takes BEIR folders
(corpus.jsonl) as well. `real` reads every file below the folders, those in archives and attached to mail too, and tells
by format how many there are (the same bytes once), how many are read, how many passages, and why the others are not.
`show` writes out the passages of a file as they are indexed.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import re
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

from consilience.ingest import (
    Document,
    Found,
    Passage,
    archives,
    detect_language,
    discover,
    read,
    role_of,
    split,
)
from consilience.ingest.model import Skip
from consilience.ingest.passages import each_passage
from consilience.ingest.readers import media_type_of
from consilience.ingest.readers.formats import ARCHIVES, FORMAT_OF, FORMATS

WORD = re.compile(r"[^\W_]+")
MARKUP = (
    re.compile(r"<!--.*?-->", re.DOTALL),
    re.compile(r"^ *(?:```|~~~).*$", re.MULTILINE),
    re.compile(r"^ *\.\. .*$|^ *:[a-z-]+: .*$", re.MULTILINE),
    re.compile(r"^ *\[[^\]]+\]:.*$", re.MULTILINE),
    re.compile(r"\]\([^)\s]*\)|(?:https?|ftp|mailto):\S+|</?[a-zA-Z][^<>]*>|:[a-z:]+:`|&[a-z]+;"),
    re.compile(r"^ *(?:[-*+]|\d+[.)]|[a-z][.)]) ", re.MULTILINE),
)


def documents(folder: Path) -> Iterator[tuple[Found, bytes, Document, tuple[Passage, ...]]]:
    for item in discover([folder], root=folder):
        if isinstance(item, Found):
            data = item.path.read_bytes()
            document = read(data, item.path.name)
            if isinstance(document, Document):
                yield item, data, document, split(document)


def speed(folder: Path) -> None:
    started = time.process_time()
    items = [item for item in discover([folder], root=folder) if isinstance(item, Found)]
    walking = time.process_time() - started
    spent: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0, 0, 0, 0])
    roles: Counter[str] = Counter()
    passages = words = 0
    for item in items:
        data = item.path.read_bytes()
        started = time.process_time()
        document = read(data, item.path.name)
        after_read = time.process_time()
        if not isinstance(document, Document):
            print(f"  skipped {item.origin}: {document.reason}")
            continue
        found = split(document)
        row = spent[document.reader_id]
        row[0] += after_read - started
        row[1] += time.process_time() - after_read
        row[2] += len(found)
        row[3] += len(data)
        row[4] += 1
        passages += len(found)
        words += sum(p.text.count(" ") + 1 for p in found)
        roles.update(p.role for p in found)
    print(
        f"{folder.name}: {len(items)} files, {passages} passages, {words / max(1, passages):.1f} words each"
    )
    print("  " + ", ".join(f"{role} {count}" for role, count in roles.most_common()))
    print(f"  walking {walking / max(1, len(items)) * 1e6:.0f} us a file")
    for name, (reading, splitting, count, size, files) in spent.items():
        print(
            f"  {name}: {files:.0f} files, {size / 1e6 / (reading + splitting):.2f} MB/s, a passage takes "
            f"{reading / count * 1e3:.3f} ms to read and {splitting / count * 1e3:.3f} ms to split"
        )


def loss(folder: Path, worst: int) -> None:
    lost_words: list[tuple[int, str, Counter[str]]] = []
    total = 0
    for item, data, _, passages in documents(folder):
        shown = data.decode("utf-8", errors="replace")
        for markup in MARKUP:
            shown = markup.sub(" ", shown)
        there = Counter(word for passage in passages for word in WORD.findall(passage.text))
        paths = {p.locator.headings[:n] for p in passages for n in range(1, len(p.locator.headings) + 1)}
        there.update(word for path in paths for word in WORD.findall(path[-1]))
        source = Counter(WORD.findall(shown))
        missing = source - there
        total += sum(source.values())
        lost_words.append((sum(missing.values()), item.origin, missing))
    lost = sum(count for count, _, _ in lost_words)
    print(f"{folder.name}: {lost} of {total} words in no passage ({lost / max(1, total):.3%})")
    for count, origin, missing in sorted(lost_words, key=lambda entry: -entry[0])[:worst]:
        print(f"  {count:5d} {origin}: {' '.join(f'{w}*{n}' for w, n in missing.most_common(10))}")


def roles(folder: Path, examples: int) -> None:
    pairs: Counter[tuple[str, str]] = Counter()
    shown: dict[tuple[str, str], list[str]] = defaultdict(list)
    spent = 0.0
    for item, _, _, passages in documents(folder):
        started = time.process_time()
        told = [role_of(p.text, p.locator.headings) for p in passages]
        spent += time.process_time() - started
        for passage, role in zip(passages, told, strict=True):
            pairs[passage.role, role] += 1
            if passage.role != role:
                text = passage.text[:100].replace("\n", "⏎")
                shown[passage.role, role].append(f"{item.origin}:{passage.locator.first_line} {text}")
    total = sum(pairs.values())
    same = sum(count for (a, b), count in pairs.items() if a == b)
    print(
        f"{folder.name}: {same / max(1, total):.4f} of {total} agree, {spent / max(1, total) * 1e6:.0f} us each"
    )
    for pair, count in pairs.most_common():
        if pair[0] != pair[1]:
            print(f"  {pair[0]} told as {pair[1]}: {count}")
            for line in random.Random(1).sample(shown[pair], min(examples, count)):
                print(f"      {line}")


def language(folder: Path, expect: str) -> None:
    corpus = folder / "corpus.jsonl"
    if corpus.is_file():
        with corpus.open(encoding="utf-8") as lines:
            texts = [json.loads(line)["text"] for line in lines]
    else:
        texts = [p.text for _, _, _, passages in documents(folder) for p in passages if p.role == "prose"]
    started = time.process_time()
    found = Counter(map(detect_language, texts))
    spent = time.process_time() - started
    total = max(1, len(texts))
    wrong = total - found[expect] - found[""]
    print(
        f"{folder.name}: {len(texts)} texts, {expect} {found[expect] / total:.4f}, unknown {found[''] / total:.4f}, "
        f"wrong {wrong / total:.4f}, {spent / total * 1e6:.0f} us each; {found.most_common(6)}"
    )


def files_below(folder: Path) -> Iterator[tuple[str, bytes]]:
    """Origin and bytes of every file of a kind that there is a reader for."""
    for item in discover([folder], root=folder, use_ignore_files=False):
        if not isinstance(item, Found):
            continue
        try:
            data = item.read()
        except OSError as error:
            print(f"  {item.origin}: {error}")
            continue
        media_type = media_type_of(item.path.name, data)
        if media_type in ARCHIVES:
            for member in archives.members(data, str(media_type), item.path.name):
                if isinstance(member, archives.Member):
                    yield f"{item.origin}!/{member.path}", member.data
        else:
            yield item.origin, data


def real(folders: list[Path], only: str, most: int, examples: int) -> None:
    wanted = {f".{each.strip().lstrip('.')}" for each in only.split(",") if each.strip()}
    met: set[bytes] = set()
    files: Counter[str] = Counter()
    taken: Counter[str] = Counter()
    passages: Counter[str] = Counter()
    seconds: Counter[str] = Counter()
    why: dict[str, Counter[str]] = defaultdict(Counter)
    origins: dict[tuple[str, str], list[str]] = defaultdict(list)
    for folder in folders:
        for origin, data in files_below(folder):
            media_type = media_type_of(origin.rpartition("/")[2], data)
            if isinstance(media_type, Skip) or media_type in ARCHIVES:
                continue
            digest = hashlib.sha256(data).digest()
            format = FORMAT_OF[media_type]
            if (
                digest in met
                or (wanted and wanted.isdisjoint(format.suffixes))
                or 0 < most <= files[format.title]
            ):
                continue
            met.add(digest)
            files[format.title] += 1
            started = time.perf_counter()
            document = read(data, "/".join(origin.split("/")[-2:]))
            if isinstance(document, Document):
                taken[format.title] += 1
                passages[format.title] += sum(1 for _ in each_passage(document))
                said = [f"read, but: {warning}" for warning in document.warnings]
            else:
                said = [("FAILED: " if document.failed else "") + document.reason]
            seconds[format.title] += time.perf_counter() - started
            for reason in said:
                general = re.sub(
                    r"\d[\d,]*", "N", re.sub(r"\([^)]*\)|: (?:line|pages?|\d|[\w/]+\.xml).*", "", reason)
                )
                why[format.title][general] += 1
                origins[format.title, general].append(f"{origin}: {reason}")
    print(f"{'format':20} {'files':>6} {'read':>6} {'passages':>9} {'ms/file':>8}")
    for title in (format.title for format in FORMATS if files[format.title]):
        each = seconds[title] / files[title] * 1e3
        print(f"{title:20} {files[title]:6} {taken[title]:6} {passages[title]:9} {each:8.1f}")
        for general, count in why[title].most_common():
            print(f"    {count:5} {general}")
            for line in origins[title, general][:examples]:
                print(f"          {line[:200]}")


def show(path: Path) -> None:
    document = read(path.read_bytes(), "/".join(path.parts[-2:]))
    if not isinstance(document, Document):
        print(f"{path}: {document.reason}")
        return
    print(
        f"{path}: {document.title!r} {document.date or '(no date)'} {document.language} {document.warnings or ''}"
    )
    for passage in each_passage(document):
        place = passage.locator.text() or ""
        when = (
            f" {passage.event.when} {', '.join(passage.event.participants)}"
            if passage.event is not None
            else ""
        )
        print(f"[{passage.role}] {place}{when}\n    " + passage.text.replace("\n", "\n    "))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["speed", "loss", "roles", "language", "real", "show"])
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--worst", type=int, default=10)
    parser.add_argument("--examples", type=int, default=5)
    parser.add_argument("--expect", default="en")
    parser.add_argument("--most", type=int, default=0, help="files of each format; 0: all")
    parser.add_argument("--only", default="", help="endings of the formats to read")
    arguments = parser.parse_args()
    if arguments.what == "real":
        real(arguments.folders, arguments.only, arguments.most, arguments.examples)
        return
    for folder in arguments.folders:
        if arguments.what == "speed":
            speed(folder)
        elif arguments.what == "loss":
            loss(folder, arguments.worst)
        elif arguments.what == "roles":
            roles(folder, arguments.examples)
        elif arguments.what == "show":
            show(folder)
        else:
            language(folder, arguments.expect)


if __name__ == "__main__":
    main()
