"""What a candidate is judged by: coverage, similarity, role, and whether it says exactly what was asked for."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from consilience.plan.candidates import Working, entries_for
from consilience.plan.questions import LEAST_SHARE
from consilience.plan.rank import Hearing

RARE_SHARE = 0.002
RARE_COUNT = 5
"""An identifier in at most this many blocks, or this share of them, is a rare exact term."""

QUESTION_SHARE = 0.3
"""How much of a question's similarity to questions in general is taken off its similarity to a block."""


def coverage(work: Working, ns: Sequence[int]) -> dict[int, float]:
    """The share of the question's words, weighted by rarity, that each candidate holds: 0..1.

    The index tells it of what it covers; the rest is read.
    """
    scorer, index, asked = work.scorer(), work.reader.lexical, work.lexical_query
    if scorer is None or asked is None:
        return {}
    covered = index.watermark if index is not None else 0
    read = [n for n in ns if n > covered or n in work.unindexed]
    found = index.coverage(asked, sorted({*ns} - {*read})) if index is not None else {}
    for entry in entries_for(work, read):
        found[entry.n] = scorer.coverage(entry.text, entry.context, entry.language)
    return found


def similarities(work: Working, ns: Sequence[int]) -> dict[int, float]:
    """Cosine in the brain's own model less what question and block have in common with any question (hubs of the
    space, after Radovanović et al., 2010), if the plan embedded the question; absent for a block with no vector.
    """
    index, centre = work.reader.vectors, work.centre
    if index is None or work.question_vector is None or centre is None or not ns:
        return {}
    import numpy as np

    with np.errstate(invalid="ignore"):  # rows of a damaged file
        values = index.scores(work.question_vector, ns) - index.scores(centre, ns)
    return {
        n: round(float(v) - work.commonness, 6)
        for n, v in zip(ns, values, strict=True)
        if not math.isnan(float(v))
    }


def set_centre(work: Working) -> None:
    """Take the centre of this brain's space from its statistics, where they are of the model that is asked."""
    statistics, index = work.reader.statistics, work.reader.vectors
    if statistics is None or index is None or work.question_vector is None:
        return
    noise = statistics.noise_for(work.language)
    if noise is None or noise.tag != index.tag or len(statistics.centre) != len(work.question_vector):
        return
    import numpy as np

    work.centre = np.asarray(statistics.centre, np.float32)
    work.commonness = QUESTION_SHARE * float(work.question_vector @ work.centre)


def roles(work: Working, ns: Sequence[int]) -> dict[int, str]:
    """The role of each candidate, from the facets where they know it; each is looked up once a question."""
    facets, new = work.reader.facets, [n for n in ns if n not in work.roles]
    if new:
        found = facets.roles(new) if facets is not None else {}
        found.update((e.n, e.role) for e in entries_for(work, [n for n in new if n not in found]))
        work.roles.update(found)
    return {n: work.roles[n] for n in ns if n in work.roles}


def hearing(work: Working, ns: Sequence[int]) -> Hearing:
    """How the generators are to be heard on this question: what the brain measured of its vectors, how many words
    there are, and which candidates are in another language."""
    trust, asked = work.reader.trust, work.lexical_query
    words = sum(w.counts for w in asked.words) if asked is not None else 1
    foreign = _foreign(work, ns)
    if trust is None:
        return Hearing(words=words, foreign=foreign)
    abroad = bool(ns) and len(foreign) == len(ns)
    if not trust.reads_across:  # what is near to such a model is no translation
        return Hearing(trust=trust.weight, weak=trust.weak or abroad, words=words)
    return Hearing(trust=trust.weight, weak=trust.weak and not abroad, words=words, foreign=foreign)


def _foreign(work: Working, ns: Sequence[int]) -> frozenset[int]:
    """Candidates in another of the brain's languages than the question's; all of them where it is none of the brain's.

    Languages with a fair share of the passages count, and none where the question's is not known.
    """
    index = work.reader.lexical
    counts = index.statistics.languages if index is not None else work.memory.languages if work.memory else {}
    total = sum(counts.values())
    held = {code for code, count in counts.items() if code and count >= LEAST_SHARE * total}
    others = held - {work.language}
    if not work.language or not others:
        return frozenset()
    if others == held:
        return frozenset(ns)
    facets = work.reader.facets
    found = {n: code for n, (_, code) in facets.traits(ns).items()} if facets is not None else {}
    found.update((e.n, e.language) for e in entries_for(work, [n for n in ns if n not in found]))
    return frozenset(n for n in ns if found.get(n) in others)


def exact(work: Working, ns: Sequence[int]) -> set[int]:
    """Candidates that the floor never withholds: they hold a quoted phrase, or a rare exact term of the question."""
    asked, lexical = work.asked, work.lexical_query
    phrases = [_folded(p) for p in asked.phrases] if lexical is not None and lexical.phrases else []
    rare = _rare_words(work) if asked.identifiers and lexical is not None else ()
    if not phrases and not rare:
        return set()
    found = set()
    for entry in entries_for(work, ns):
        text = _folded(entry.text)
        if any(p in text for p in phrases) or any(
            re.search(rf"(?<!\w){re.escape(w)}(?!\w)", entry.text) for w in rare
        ):
            found.add(entry.n)
    return found


def _folded(text: str) -> str:
    return " ".join(text.casefold().split())


def _rare_words(work: Working) -> tuple[str, ...]:
    lexical = work.lexical_query
    assert lexical is not None
    blocks = max(1, sum(work.reader.view.count(m) for m in work.modules))
    most = max(RARE_COUNT, RARE_SHARE * blocks)
    least_idf = math.log(1.0 + (blocks - most + 0.5) / (most + 0.5))
    idf = {w.exact: w.idf for w in lexical.words if w.known}
    return tuple(w for w in work.asked.identifiers if idf.get(w.casefold(), 0.0) >= least_idf)
