"""What each rule about passages is worth: known items are asked for, with one rule at a time changed.

    python bench/bench_passages.py FOLDER... [--share 1] [--questions 150] [--vectors] [--only NAME...] [--json FILE]

Each FOLDER is read and split as `ingest` does it and becomes one collection. The rules of the product are the base
line; every other line changes one of them through what the product's own functions take (limits of splitting, roles,
language, context). Questions are made from the documents, a fixed sample of each kind:

    title      a document's title; found is any passage of the document. The title is hidden in it.
    heading    the heading of a section, hidden there; found is any passage of the section
    question   the same, where the heading is a question that somebody wrote
    item       every other word of a list's introduction and of one item; found is that item
    code       the same for introduced code
    table      the same for introduced tables and their rows
    row        the name of a column and the first cell of a row; found is the row
    long       every other word of a sentence in a paragraph of over 150 words; found is the piece that holds it
    short      the words of a passage of under six, and every other word of its heading
    legal      the beginning of a licence, a notice, metadata: ranked down must not mean lost

Measured: nDCG@10 of the first passage that is right, recall@10, MRR@10, and the share found within the first 300 words
of the answer (a limit that pieces of any size share). Differences come with the questions won and lost and the p of a
two-sided sign test. `--vectors` fuses the lists of words and of vectors as a brain does; else words alone.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from consilience.embed import EmbedderSpec, Role, open_embedder
from consilience.index.lexical import LexicalIndex
from consilience.ingest import Document, Found, detect_language, discover, read, split
from consilience.ingest.introductions import introduction
from consilience.ingest.model import Passage
from consilience.ingest.passages import LIMITS, Limits, measure, prose
from consilience.ingest.prepared import distinct, label_of
from consilience.model import Entry, Locator, Source
from consilience.plan.entries import embedded_text, entry_of
from consilience.plan.rank import QUIET_ROLES, Hearing, fuse_generators
from consilience.protocol import Kind, MemoryType, Semantic

DEPTH = 100
SHOWN = 10
WORDS_READ = 300
_WORD = re.compile(r"[^\W_]+")
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z])")
_NUMBERED = re.compile(r"^(?:\W|\d|(?:PEP|RFC|SE|Proposal|Chapter|Appendix)\b)+", re.IGNORECASE)


def words_of(text: str) -> list[str]:
    return [w.casefold() for w in _WORD.findall(text)]


def content(text: str) -> list[str]:
    """The words that carry a meaning, roughly: those of four letters and more, each once."""
    return list(dict.fromkeys(w for w in words_of(text) if len(w) > 3))


def halved(text: str, most: int) -> list[str]:
    """Every other word that carries a meaning: what somebody remembers of a text."""
    return content(text)[::2][:most]


# --- what is asked ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Question:
    """`path`: the section that is right; else the passages of `document` that hold `words` (or whose words they hold)
    and stand in `lines`, where these are given."""

    kind: str
    text: str
    document: int
    path: tuple[str, ...] = ()
    words: frozenset[str] = frozenset()
    lines: tuple[int, int] | None = None

    def found_in(self, piece: Piece) -> bool:
        return any(document == self.document and self._at(place, piece) for document, place in piece.places)

    def _at(self, place: Locator, piece: Piece) -> bool:
        if not self.words:
            return place.headings[: len(self.path)] == self.path
        if self.lines is not None and place.first_line is not None:
            last = place.last_line or place.first_line
            if place.first_line > self.lines[1] or last < self.lines[0]:
                return False
        smaller = min(len(self.words), len(piece.words))
        return len(self.words & piece.words) >= 0.8 * smaller > 0


@dataclass
class Piece:
    """A block, and every place it stands in; the first gives the context."""

    passage: Passage
    introduction: str
    places: list[tuple[int, Locator]]
    words: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        self.words = frozenset(words_of(self.passage.text))


@dataclass(frozen=True)
class Collection:
    """`hidden`: by document the headings that are kept from the index because somebody asks for them."""

    name: str
    documents: list[Document]
    questions: list[Question]
    hidden: Mapping[int, frozenset[str]]


def documents_of(folder: Path, share: int) -> list[Document]:
    """Every `share`-th document that has text."""
    found = [item for item in discover([folder], root=folder) if isinstance(item, Found)]
    out = []
    for item in found[::share]:
        document = read(item.path.read_bytes(), item.path.name)
        if isinstance(document, Document) and document.rows is None and document.blocks:
            out.append(document)
    return out


def collection_of(folder: Path, share: int, most: int) -> Collection:
    documents = documents_of(folder, share)
    by_kind: dict[str, list[tuple[Question, str]]] = defaultdict(list)
    headings = Counter(h for d in documents for h in {h for b in d.blocks for h in b.headings})
    for n, document in enumerate(documents):
        for made in (_of_headings(n, document, headings), _of_passages(n, document), _of_rows(n, document)):
            for question, hides in made:
                by_kind[question.kind].append((question, hides))
    hidden: dict[int, set[str]] = defaultdict(set)
    questions = []
    for kind in sorted(by_kind):
        unique = list({q.text.casefold(): (q, hides) for q, hides in by_kind[kind]}.values())
        step = max(1, len(unique) / most)
        for i in range(min(most, len(unique))):
            question, hides = unique[int(i * step)]
            questions.append(question)
            if hides:
                hidden[question.document].add(hides)
    frozen = {n: frozenset(texts) for n, texts in hidden.items()}
    return Collection(folder.name, documents, questions, frozen)


def _of_headings(n: int, document: Document, headings: Counter[str]) -> Iterator[tuple[Question, str]]:
    title = _NUMBERED.sub("", document.title)
    if len(words_of(title)) >= 3:
        yield Question("title", title, n), document.title
    paths = dict.fromkeys(b.headings[:k] for b in document.blocks for k in range(2, len(b.headings) + 1))
    for path in paths:
        text = _NUMBERED.sub("", path[-1])
        if len(words_of(text)) >= 3 and headings[path[-1]] == 1 and path[-1] not in path[:-1]:
            kind = "question" if text.rstrip().endswith("?") else "heading"
            yield Question(kind, text, n, path=path), path[-1]


def _of_passages(n: int, document: Document) -> Iterator[tuple[Question, str]]:
    passages = distinct(split(document))
    introductions = introductions_of(passages)
    for passage, said in zip(passages, introductions, strict=True):
        place = passage.locator
        words = frozenset(words_of(passage.text))
        lines = (place.first_line or 1, place.last_line or 1)
        kind = {"code": "code", "table": "table"}.get(passage.role, "item")
        if len(content(said)) >= 4 and len(words) >= 5:
            text = " ".join([*halved(said, 4), *halved(passage.text, 4)])
            yield Question(kind, text, n, words=words, lines=lines), ""
        if passage.role in ("prose", "list") and 2 <= len(words_of(passage.text)) < 6 and place.headings:
            text = " ".join([*words_of(passage.text), *halved(place.headings[-1], 3)])
            yield Question("short", text, n, words=words, lines=lines), ""
        if passage.role == "boilerplate" and len(words) >= 8:
            yield Question("legal", " ".join(passage.text.split()[:12]), n, words=words, lines=lines), ""
    for block in document.blocks:
        if block.role == "prose" and not block.group and measure(text := prose(block.text)) > LIMITS.words:
            sentences = [s for s in _SENTENCE.split(text) if len(content(s)) >= 10]
            if sentences:
                asked = sentences[len(sentences) // 2]
                target = frozenset(words_of(asked))
                yield Question("long", " ".join(halved(asked, 8)), n, words=target), ""


def _of_rows(n: int, document: Document) -> Iterator[tuple[Question, str]]:
    heads: dict[int, tuple[str, ...]] = {}
    for block in document.blocks:
        if block.group and block.head:
            heads.setdefault(block.group, block.cells)
        elif block.group in heads and len(block.cells) > 1 and block.cells[0].strip():
            text = " ".join([*content(heads[block.group][-1])[:3], *words_of(block.cells[0])[:6]])
            words = frozenset(w for cell in block.cells for w in words_of(cell))
            if len(words) >= 4 and len(text.split()) >= 2:
                yield Question("row", text, n, words=words, lines=(block.first_line, block.last_line)), ""


# --- the rules --------------------------------------------------------------------------------------------------


def introductions_of(passages: Sequence[Passage]) -> list[str]:
    """What introduces each passage, looked up as the index does it: by the line that its locator names."""
    out: list[str] = []
    at: dict[int | None, str] = {}
    for passage in passages:
        line = passage.locator.introduced_by
        out.append(introduction(at.get(line, "")) if line is not None else "")
        at[passage.locator.first_line] = passage.text
    return out


@dataclass(frozen=True)
class Rules:
    """The product's by default."""

    limits: Limits = LIMITS
    introduces: Callable[[Passage], bool] = lambda passage: True
    path: bool = True
    role: Callable[[Piece, str], str] = lambda piece, role: role
    language: Callable[[str], str] = detect_language


def without(role: str) -> Rules:
    return Rules(role=lambda piece, found: "prose" if found == role else found)


def repeated(piece: Piece, role: str) -> str:
    """A rule that the product does not have: what five documents and more hold is a header, a footer, a notice."""
    return "boilerplate" if len({document for document, _ in piece.places}) >= 5 else role


def variants() -> dict[str, Rules]:
    found = {
        "no introductions": Rules(introduces=lambda passage: False),
        "introductions, not of code": Rules(introduces=lambda passage: passage.role != "code"),
        "no heading path": Rules(path=False),
        "no context at all": Rules(path=False, introduces=lambda passage: False),
        "no quiet role": Rules(role=lambda piece, role: "prose"),
        "repeated passages quiet": Rules(role=repeated),
        "language: none": Rules(language=lambda text: ""),
        "language: all English": Rules(language=lambda text: "en"),
    }
    for role in sorted(QUIET_ROLES):
        found[f"{role} not quiet"] = without(role)
    for words in (75, 100, 225, 300, 10**6):
        found[f"paragraphs to {words} words"] = Rules(limits=replace(LIMITS, words=words))
    for words in (0, 3, 10, 10**6):
        found[f"items under {words} words joined"] = Rules(limits=replace(LIMITS, short_words=words))
    for rows in (0, 5, 25, 10**6):
        found[f"tables to {rows} rows whole"] = Rules(limits=replace(LIMITS, table_rows=rows))
    for lines in (15, 30, 120, 10**6):
        found[f"code to {lines} lines"] = Rules(limits=replace(LIMITS, code_lines=lines))
    return found


def pieces_of(collection: Collection, limits: Limits) -> list[Piece]:
    """The blocks of a collection: equal texts are one. What holds a hidden title as its text is left out."""
    found: dict[str, Piece] = {}
    for n, document in enumerate(collection.documents):
        hidden = {" ".join(words_of(h)) for h in collection.hidden.get(n, ())}
        passages = distinct(split(document, limits))
        for passage, said in zip(passages, introductions_of(passages), strict=True):
            if hidden and passage.role in ("boilerplate", "heading", "toc"):
                text = " ".join(words_of(passage.text))
                if any(each in text for each in hidden):
                    continue
            if passage.text in found:
                found[passage.text].places.append((n, passage.locator))
            else:
                found[passage.text] = Piece(passage, said, [(n, passage.locator)])
    return list(found.values())


def entries_of(collection: Collection, pieces: Sequence[Piece], rules: Rules) -> Iterator[Entry]:
    for n, piece in enumerate(pieces, 1):
        document, place = piece.places[0]
        hidden = collection.hidden.get(document, frozenset())
        headings = tuple(h for h in place.headings if h not in hidden) if rules.path else ()
        shown = Locator(headings=headings, date=place.date).text()
        text = piece.passage.text
        entry = entry_of(
            n,
            MemoryType.SEMANTIC,
            Semantic(kind=Kind.FACT, label=label_of(text), statement=text),
            [Source(block_id="", origin=str(document), locator=shown)],
            introduction=piece.introduction if rules.introduces(piece.passage) else "",
        )
        yield Entry(
            n=n, module=entry.module, text=entry.text, context=entry.context, role=rules.role(piece, entry.role),
            language=rules.language(text) if rules.language is not detect_language else entry.language,
            kind=entry.kind, origins=entry.origins, date=entry.date,
        )  # fmt: skip


# --- asking -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Gain:
    """Of one question: all in 0..1."""

    ndcg: float = 0.0
    recall: float = 0.0
    mrr: float = 0.0
    early: float = 0.0


class Vectors:
    """Embeds each text once over all variants."""

    def __init__(self) -> None:
        self._embedder = open_embedder(EmbedderSpec(), cache_dir=Path(tempfile.gettempdir()))
        self._known: dict[tuple[str, str], NDArray[np.float32]] = {}

    def of(self, texts: Sequence[str], role: Role) -> NDArray[np.float32]:
        """One row a text."""
        missing = [t for t in dict.fromkeys(texts) if (role, t) not in self._known]
        for start in range(0, len(missing), 256):
            part = missing[start : start + 256]
            self._known.update(
                zip(((role, t) for t in part), self._embedder.embed(part, role=role), strict=True)
            )
        return np.stack([self._known[role, t] for t in texts])


def ask(collection: Collection, rules: Rules, vectors: Vectors | None) -> list[Gain]:
    """The gain of every question, in their order."""
    pieces = pieces_of(collection, rules.limits)
    entries = list(entries_of(collection, pieces, rules))
    roles = {e.n: e.role for e in entries}
    dense = vectors.of([embedded_text(e) for e in entries], "passage") if vectors else None
    asked = vectors.of([q.text for q in collection.questions], "query") if vectors else None
    with tempfile.TemporaryDirectory() as folder:
        with LexicalIndex.open_for_write(Path(folder)) as writer:
            writer.add(entries)
            writer.commit(len(entries))
        index = LexicalIndex.open(Path(folder))
        assert index is not None
        gains = []
        for place, question in enumerate(collection.questions):
            language = detect_language(question.text)
            query = index.analyze(question.text, languages=(language,) if language else ())
            lists = [("lexical", [h.n for h in index.search(query, DEPTH).hits])]
            if dense is not None and asked is not None:
                order = (-(dense @ asked[place])).argsort(kind="stable")[:DEPTH]
                lists.append(("vectors", [int(i) + 1 for i in order]))
            ns = sorted({n for _, listed in lists for n in listed})
            coverage = index.coverage(query, ns) if dense is not None else {}
            hearing = Hearing(words=sum(word.counts for word in query.words))
            ranked = fuse_generators(lists, coverage, {n: roles[n] for n in ns}, hearing)
            gains.append(gain_of(question, [pieces[r.n - 1] for r in ranked[:SHOWN]]))
    return gains


def gain_of(question: Question, shown: Sequence[Piece]) -> Gain:
    read = 0
    for rank, piece in enumerate(shown, 1):
        if question.found_in(piece):
            return Gain(1 / math.log2(1 + rank), 1.0, 1 / rank, float(read < WORDS_READ))
        read += piece.passage.text.count(" ") + 1
    return Gain()


# --- what is shown ----------------------------------------------------------------------------------------------


def sign_test(won: int, lost: int) -> float:
    """Two-sided p of so many wins and losses if either were as likely."""
    count = won + lost
    tail = sum(math.comb(count, k) for k in range(min(won, lost) + 1)) / 2**count if count else 1.0
    return min(1.0, 2 * tail)


def mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values) if values else 0.0


def compared(
    kinds: Sequence[str], base: Sequence[Gain], other: Sequence[Gain]
) -> dict[str, dict[str, float]]:
    """By kind, and over all questions: the change that the variant makes."""
    out = {}
    for kind in [*sorted(set(kinds)), "all"]:
        pairs = [(b, o) for k, b, o in zip(kinds, base, other, strict=True) if kind in (k, "all")]
        won, lost = sum(o.ndcg > b.ndcg for b, o in pairs), sum(o.ndcg < b.ndcg for b, o in pairs)
        row: dict[str, float] = {"n": len(pairs), "won": won, "lost": lost, "p": sign_test(won, lost)}
        for name in Gain.__dataclass_fields__:
            row[name] = mean([getattr(b, name) for b, _ in pairs])
            row[f"d_{name}"] = mean([getattr(o, name) - getattr(b, name) for b, o in pairs])
        out[kind] = row
    return out


def show(name: str, table: Mapping[str, Mapping[str, float]]) -> None:
    for kind, row in table.items():
        if row["won"] or row["lost"] or kind == "all":
            print(
                f"  {name:<30} {kind:<9} n {row['n']:>4.0f}  nDCG {row['ndcg']:.3f} {row['d_ndcg']:+.4f}"
                f"  R {row['d_recall']:+.3f}  MRR {row['d_mrr']:+.3f}  <{WORDS_READ}w {row['d_early']:+.3f}"
                f"  won {row['won']:>3.0f} lost {row['lost']:>3.0f}  p {row['p']:.3f}",
                flush=True,
            )
            name = ""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--share", type=int, default=1, help="every so-manieth document")
    parser.add_argument("--questions", type=int, default=150, help="of each kind, of each folder")
    parser.add_argument("--vectors", action="store_true")
    parser.add_argument(
        "--only", nargs="*", default=None, help="variants whose name holds one of these words"
    )
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    vectors = Vectors() if given.vectors else None
    collections = [collection_of(folder, given.share, given.questions) for folder in given.folders]
    for each in collections:
        counts = sorted(Counter(q.kind for q in each.questions).items())
        print(f"{each.name}: {len(each.documents)} documents; " + ", ".join(f"{k} {n}" for k, n in counts))
    kinds = [q.kind for each in collections for q in each.questions]
    base = [gain for each in collections for gain in ask(each, Rules(), vectors)]
    print("base line")
    for kind, row in compared(kinds, base, base).items():
        print(
            f"  {kind:<9} n {row['n']:>4.0f}  nDCG {row['ndcg']:.3f}  R {row['recall']:.3f}  MRR {row['mrr']:.3f}"
            f"  <{WORDS_READ}w {row['early']:.3f}"
        )
    out = {}
    for name, rules in variants().items():
        if given.only is None or any(word in name for word in given.only):
            gains = [gain for each in collections for gain in ask(each, rules, vectors)]
            out[name] = compared(kinds, base, gains)
            show(name, out[name])
    if given.json is not None:
        given.json.write_text(json.dumps(out, indent=1))


if __name__ == "__main__":
    main()
