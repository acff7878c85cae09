"""Two judged collections out of folders of proposals: what retrieval is accepted on beside public collections.

    python bench/make_splits.py PROPOSALS OUT [--documents 40] [--passages 800] [--longest 30] [--questions 60]

PROPOSALS holds folders python, rust, swift and go (those that are there are taken) of .rst and .md files. Written are
OUT/titles and OUT/citations: a folder of BEIR folders each, a brain a community, read and split as `ingest` does it.

`titles`: known items. A question is the title of a document without its number; relevant are the passages of that
document. The title is hidden everywhere in the corpus, and the first heading of every document is left out.

`citations`: a question is a sentence of *another* document that names exactly one proposal, without that name; relevant
are the passages of the proposal named. Documents that ask are not in the corpus. Many such sentences say nothing of
what the proposal is about ("as decided in ..."), so two words that few documents hold must stand in both.

In both the passages of the abstract (or what stands first) are graded 2, the others 1; front matter, references and
passages that stand in several documents are in the corpus and relevant to nothing. The same input gives the same files.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from consilience.ingest import Document, Found, discover, read, split

COMMUNITIES = ("python", "rust", "swift", "go")
LEAST_TITLE_WORDS = 3
LEAST_SENTENCE_WORDS = 10
MOST_SENTENCE_WORDS = 60
SHARED_WORDS = 2
SHARED_BY = 0.1
"""A sentence is about a proposal that holds two words of it which at most this share of documents hold."""

A_DOCUMENT = 3
"""Questions that one proposal is the answer of, at most: the famous ones would be half of all questions."""

SILENT_ROLES = ("boilerplate", "reference", "toc", "heading")
NUMBERED = re.compile(r"^(?:(?:PEP|RFC|SE)[\s#-]*)?\d+\s*[–—:.-]+\s*", re.IGNORECASE)
LABELLED = re.compile(
    r"^\W*(?:(?:draft|go|core|language|feature)\s+)*(?:design|proposal|feature name|rfc|summary)"
    r"(?:\s+(?:design|document|doc|draft|proposal))?\W*[:–—-]\s*",
    re.IGNORECASE,
)
ABSTRACT = re.compile(r"^\W*(?:\d+\W+)?(?:abstract|summary|introduction|overview|tl;?dr)\W*$", re.IGNORECASE)
CLOSING = re.compile(
    r"^\W*(?:references?|copyright|footnotes?|acknowledge?ments?|changelog|revision history)\W*$", re.I
)
SENTENCE = re.compile(r"(?<=[.!?])[\"')\]]*\s+(?=[A-Z\"'(`])")
FOREIGN = re.compile(
    r"\b(?:IETF|internet|URIs?|URLs?|HTTPS?|TLS|SSL|UUIDs?|e-?mail|MIME|JSON|timestamps?)\b", re.IGNORECASE
)
NAMES = {
    "python": r"\bPEPs?[\s-]*(\d{1,4})\b",
    "rust": r"\b(?:rust-lang/)?RFCs?[\s#/-]*(\d{1,4})\b",
    "swift": r"\bSE-(\d{4})\b",
    "go": r"(?:https?://)?(?:golang\.org|go\.dev)/(?:issues?|design)/(\d{3,5})(?:-[\w-]+)?|\bproposal\s#(\d{3,5})\b",
}
LINKED = r"⟦(\d+)⟧"
LINK = re.compile(
    r"\[([^\[\]]*)\]\((?:[^()\s]*(?:rfcs?/(?:pull|issues|blob/\w+/text)|(?:golang\.org|go\.dev)/(?:issue|design)|golang/go/issues"
    r"|proposal/blob/\w+/design|proposals)/|(?:\./)?)0*(\d{2,5})(?![\d.])[^()\s]*\)"
)
"""A link of Markdown to a proposal, whose reader drops the target: sentences are read with its number in sight."""


@dataclass(frozen=True, slots=True)
class Text:
    """A passage: `path` are its headings below the document's title, `grade` is 0 where it answers nothing."""

    text: str
    path: tuple[str, ...]
    role: str
    grade: int


@dataclass(frozen=True, slots=True)
class Proposal:
    name: str
    number: int | None
    title: str
    texts: tuple[Text, ...]
    said: tuple[str, ...]
    """Its running text with the targets of links in sight, for the sentences that name other proposals."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A question, and the name of the document whose passages answer it."""

    text: str
    answered_by: str


@dataclass(frozen=True, slots=True)
class Size:
    """How many documents and passages a brain has, at most, and citations it is asked. Documents of more than `longest`
    passages are left out: a few of them would be a brain."""

    documents: int
    passages: int
    longest: int
    questions: int


def chance(text: str) -> str:
    """A key that orders names as if at random, the same in every run."""
    return hashlib.sha256(text.encode()).hexdigest()


def proposals(folder: Path) -> list[Proposal]:
    """Every document of a folder that the readers take, by name."""
    found = []
    for item in discover([folder], root=folder):
        if isinstance(item, Found):
            data = item.path.read_bytes()
            shown = LINK.sub(r"\1 ⟦\2⟧", data.decode("utf-8", "replace")).encode()
            document = read(data, item.path.name)
            linking = read(shown, item.path.name) if shown != data else document
            if isinstance(document, Document) and isinstance(linking, Document):
                found.append(_proposal(item.path.stem, document, linking))
    return sorted(found, key=lambda each: each.name)


def _proposal(name: str, document: Document, linking: Document) -> Proposal:
    texts = _texts(document)
    first = next((each.path[:1] for each in texts if each.path and ABSTRACT.match(each.path[0])), None)
    if first is None:
        first = next((each.path[:1] for each in texts if each.grade), ())
    graded = tuple(
        Text(each.text, each.path, each.role, 2 if each.grade and each.path[:1] == first else each.grade)
        for each in texts
    )
    number = re.search(r"\d+", name)
    return Proposal(
        name,
        int(number[0]) if number else None,
        bare_title(document.title),
        graded,
        tuple(each.text for each in _texts(linking) if each.grade and each.role in ("prose", "list")),
    )


def _texts(document: Document) -> list[Text]:
    found = []
    for passage in split(document):
        path = _below(passage.locator.headings, document.title)
        silent = passage.role in SILENT_ROLES or any(map(CLOSING.match, path))
        found.append(Text(passage.text, path, passage.role, 0 if silent else 1))
    return found


def _below(headings: tuple[str, ...], title: str) -> tuple[str, ...]:
    return headings[1:] if headings[:1] == (title,) else headings


def bare_title(title: str) -> str:
    """`PEP 484 – Type Hints` and `Proposal: Type Hints` are both `Type Hints`."""
    before = ""
    while before != title:
        before, title = title, LABELLED.sub("", NUMBERED.sub("", title.strip()))
    return title.strip(" .\"'“”")


def words(text: str) -> list[str]:
    return re.findall(r"[^\W_]+", text)


# --- known items ----------------------------------------------------------------------------------------------------


def titles(found: Sequence[Proposal], size: Size) -> tuple[list[Proposal], list[Asked]]:
    """A sample of the documents, their titles hidden, and the titles as questions."""
    sample = _within(sorted(_sized(found, size), key=lambda each: chance(each.name)), size)
    times: dict[str, int] = defaultdict(int)
    for each in found:
        times[each.title.casefold()] += 1
    asked = [
        Asked(each.title, each.name)
        for each in sample
        if len(words(each.title)) >= LEAST_TITLE_WORDS and times[each.title.casefold()] == 1
    ]
    hide = _hider([each.text for each in asked])
    return [_hidden(each, hide) for each in sample], asked


def _hider(texts: Iterable[str]) -> Callable[[str], str]:
    """Takes these texts out of a text, however their words are separated there (file names, links)."""
    patterns = [
        r"[\W_]+".join(map(re.escape, words(text))) for text in sorted(texts, key=lambda t: (-len(t), t))
    ]
    if not patterns:
        return lambda text: text
    pattern = re.compile(rf"(?<![^\W_])(?:{'|'.join(patterns)})(?![^\W_])", re.IGNORECASE)
    return lambda text: re.sub(r"[^\S\n]{2,}", " ", pattern.sub("", text)).strip()


def _hidden(proposal: Proposal, hide: Callable[[str], str]) -> Proposal:
    texts = [
        Text(hide(each.text), tuple(filter(words, map(hide, each.path))), each.role, each.grade)
        for each in proposal.texts
    ]
    return Proposal(proposal.name, None, "", tuple(each for each in texts if words(each.text)), ())


# --- citations ------------------------------------------------------------------------------------------------------


def citations(found: Sequence[Proposal], name: str, size: Size) -> tuple[list[Proposal], list[Asked]]:
    """Proposals that others name, and what those say of them, the name taken out."""
    by_number: dict[int, list[Proposal]] = defaultdict(list)
    for each in found:
        if each.number is not None:
            by_number[each.number].append(each)
    single = {number: held[0] for number, held in by_number.items() if len(held) == 1}
    pattern = re.compile(f"{name}|{LINKED}", re.IGNORECASE)
    about = _about(found)
    named = [
        (each.name, target.name, text)
        for each in found
        for number, text in _sentences(each, pattern)
        if (target := single.get(number)) is not None and target is not each and about(text, target)
    ]
    answering = _answering(_sized(found, size), named)
    cited: dict[str, list[str]] = defaultdict(list)
    for asker, target_name, text in named:
        if asker not in answering and target_name in answering:
            cited[target_name].append(text)
    order = sorted(
        (each for each in _sized(found, size) if each.name in answering),
        key=lambda each: (each.name not in cited, chance(each.name)),
    )
    sample = _within(order, size)
    asked = [Asked(text, each.name) for each in sample for text in _some(cited[each.name])]
    asked.sort(key=lambda each: chance(each.text))
    return sample, sorted(asked[: size.questions], key=lambda each: (each.answered_by, each.text))


def _about(found: Sequence[Proposal]) -> Callable[[str, Proposal], bool]:
    """Whether a sentence is about a proposal: its rare words are there, its title is not."""
    held = {each.name: set(words(" ".join(t.text for t in each.texts).casefold())) for each in found}
    times: dict[str, int] = defaultdict(int)
    for vocabulary in held.values():
        for word in vocabulary:
            times[word] += 1
    hiders = {each.name: _hider([each.title] if words(each.title) else []) for each in found}

    def about(text: str, target: Proposal) -> bool:
        rare = {word for word in words(text.casefold()) if times[word] <= SHARED_BY * len(found)}
        if len(rare & held[target.name]) < SHARED_WORDS:
            return False
        return len(words(hiders[target.name](text))) == len(words(text))

    return about


def _some(texts: Iterable[str]) -> Iterator[str]:
    return islice(sorted(dict.fromkeys(texts), key=chance), A_DOCUMENT)


def _sentences(proposal: Proposal, name: re.Pattern[str]) -> Iterator[tuple[int, str]]:
    """(number named, the sentence without the name) of every sentence that names one proposal and says more."""
    for text in proposal.said:
        for line in text.split("\n"):
            for sentence in SENTENCE.split(line.lstrip("- ")):
                numbers = {int(next(filter(None, each.groups()))) for each in name.finditer(sentence)}
                if len(numbers) == 1 and not FOREIGN.search(sentence):
                    left = _without(sentence, name)
                    if LEAST_SENTENCE_WORDS <= len(words(left)) <= MOST_SENTENCE_WORDS:
                        yield numbers.pop(), left


def _without(sentence: str, name: re.Pattern[str]) -> str:
    left = name.sub(" ", sentence)
    left = re.sub(
        r"[(\[]\s*(?:(?:see|cf\.?|e\.g\.|in|by|per|as|and|also)[\s,]*)*[)\]]", " ", left, flags=re.IGNORECASE
    )
    return re.sub(r"\s+([,.;:)\]!?])", r"\1", " ".join(left.split())).strip(" ,;:")


def _answering(found: Sequence[Proposal], named: Sequence[tuple[str, str, str]]) -> set[str]:
    """The documents that answer, so that many questions cross over: in order of how often each is named, one goes there
    when it is named by more of those that ask than it names itself of those that answer."""
    by: dict[str, set[str]] = defaultdict(set)
    names: dict[str, set[str]] = defaultdict(set)
    for asker, target, _ in named:
        by[target].add(asker)
        names[asker].add(target)
    answering: set[str] = set()
    for each in sorted(found, key=lambda each: (-len(by[each.name]), each.name)):
        if len(by[each.name] - answering) > len(names[each.name] & answering):
            answering.add(each.name)
    asking = {asker for asker, target, _ in named if target in answering} - answering
    return answering | {each.name for each in found if each.name not in asking and not names[each.name]}


# --- what both share ------------------------------------------------------------------------------------------------


def _sized(found: Iterable[Proposal], size: Size) -> list[Proposal]:
    return [each for each in found if 1 < len(each.texts) <= size.longest]


def _within(order: Iterable[Proposal], size: Size) -> list[Proposal]:
    """The first so many documents that have no more passages than so many together, by name."""
    sample: list[Proposal] = []
    held = 0
    for each in order:
        if len(sample) == size.documents:
            break
        if held + len(each.texts) <= size.passages:
            sample.append(each)
            held += len(each.texts)
    return sorted(sample, key=lambda each: each.name)


def write(folder: Path, sample: Sequence[Proposal], asked: Sequence[Asked]) -> tuple[int, int]:
    """One BEIR folder; how many passages and questions it has."""
    lines: dict[tuple[str, str], str] = {}
    grades: dict[str, dict[str, int]] = {}
    standing: dict[str, set[str]] = defaultdict(set)
    for proposal in sample:
        for place, each in enumerate(proposal.texts, 1):
            key = (" > ".join(each.path), each.text)
            own = lines.setdefault(key, f"{proposal.name}#{place}")
            standing[own].add(proposal.name)
            if each.grade:
                grades.setdefault(proposal.name, {}).setdefault(own, each.grade)
    corpus = [{"_id": name, "title": title, "text": text} for (title, text), name in lines.items()]
    queries, judged = [], ["query-id\tcorpus-id\tscore"]
    for count, question in enumerate(asked, 1):
        own_grades = {n: g for n, g in grades.get(question.answered_by, {}).items() if len(standing[n]) == 1}
        if own_grades:
            queries.append({"_id": f"q{count}", "text": question.text})
            judged += [f"q{count}\t{name}\t{grade}" for name, grade in own_grades.items()]
    (folder / "qrels").mkdir(parents=True, exist_ok=True)
    for name, rows in (("corpus", corpus), ("queries", queries)):
        text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        (folder / f"{name}.jsonl").write_text(text, encoding="utf-8")
    (folder / "qrels" / "test.tsv").write_text("\n".join(judged) + "\n", encoding="utf-8")
    return len(corpus), len(queries)


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("proposals", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--documents", type=int, default=40, help="documents a brain, at most")
    parser.add_argument("--passages", type=int, default=800, help="passages a brain, at most")
    parser.add_argument("--longest", type=int, default=30, help="passages a document, at most")
    parser.add_argument("--questions", type=int, default=60, help="citations a brain, at most")
    given = parser.parse_args(argv)
    size = Size(given.documents, given.passages, given.longest, given.questions)
    folders = [given.proposals / name for name in COMMUNITIES if (given.proposals / name).is_dir()]
    if not folders:
        parser.error(f"{given.proposals} holds none of the folders {', '.join(COMMUNITIES)}")
    for folder in folders:
        found = proposals(folder)
        known = titles(found, size)
        named = citations(found, NAMES[folder.name], size)
        for kind, (sample, asked) in (("titles", known), ("citations", named)):
            passages, questions = write(given.out / kind / folder.name, sample, asked)
            print(
                f"{kind}/{folder.name}: {len(sample)} documents, {passages:,} passages, {questions} questions"
            )


if __name__ == "__main__":
    main()
