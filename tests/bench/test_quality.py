"""Quality of tiny collections: what is reported is what happened, and what an earlier run is compared with."""

from __future__ import annotations

import datetime
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from beir import collection, project

from consilience.bench import against, measures
from consilience.bench.quality import QualityReport, Setting, quality
from consilience.cli.render_bench import lines
from consilience.cli.terminal import Terminal
from consilience.embed import EmbedderSpec
from consilience.errors import NotFoundError, SourceError, ValidationError

pytest.importorskip("ir_measures", reason="the extra bench is not installed")


def now() -> datetime.datetime:
    return datetime.datetime(2026, 3, 1, tzinfo=datetime.UTC)


def setting(work: Path, provider: Any = "none", **values: Any) -> Setting:
    spec = EmbedderSpec(provider=provider)
    return Setting(work=work / "work", cache_dir=work / "cache", clock=now, embedder=spec, **values)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return project(tmp_path_factory.mktemp("farm") / "farm")


@pytest.fixture(scope="module")
def report(folder: Path) -> QualityReport:
    return quality(folder, setting(folder.parent, runs=folder.parent / "runs"))


def test_measures_are_those_of_their_definitions() -> None:
    found = measures.measure(
        {"q": {"a": 2, "b": 1}, "silent": {"a": 1}}, {"q": ("x", "a", *map(str, range(20)), "b")}
    )
    best = 2 / math.log2(2) + 1 / math.log2(3)
    assert found["q"].ndcg_10 == pytest.approx(2 / math.log2(3) / best)
    assert (found["q"].recall_10, found["q"].recall_50, found["q"].mrr) == (0.5, 1.0, 0.5)
    assert found["silent"] == measures.Measures(ndcg_10=0, recall_10=0, recall_50=0, mrr=0)
    assert measures.mean(list(found.values())).mrr == 0.25


def test_every_way_of_asking_is_measured(report: QualityReport) -> None:
    assert [(s.name, s.brains, s.documents, s.questions) for s in report.subjects] == [
        ("pumps", 1, 12, 4),
        ("radio", 1, 12, 4),
        ("farm", 2, 24, 8),
    ]
    assert [way.way for way in report.subjects[0].ways] == ["lexical", "planner"]
    assert [way.way for way in report.subjects[2].ways] == [
        "one big brain, lexical",
        "one big brain, planner",
        "right brain",
        "grouped",
        "fused",
        "deferred",
        "fused, no floor",
        "by strength",
        "plain RRF",
    ]
    for subject in report.subjects:
        assert all(len(way.questions) == subject.questions and way.failed == 0 for way in subject.ways)


def test_a_number_finds_its_document(report: QualityReport) -> None:
    lexical = report.subjects[0].ways[0]
    assert lexical.measures.ndcg_10 == lexical.measures.mrr == 1.0 and lexical.silent == 0.0
    assert {q.question for q in lexical.questions} == {f"pumps/q{i}" for i in (0, 3, 6, 9)}


def test_who_speaks_is_what_grouped_answers_show(report: QualityReport) -> None:
    assert report.silence is not None
    ways = {way.way: way for way in report.subjects[2].ways}
    assert report.silence.own_silent == ways["right brain"].silent
    assert 0.0 <= report.silence.off_topic_answering <= 1.0
    base = ways["one big brain, lexical"].measures.ndcg_10
    assert report.silence.fused_share == pytest.approx(ways["fused"].measures.ndcg_10 / base, abs=1e-3)
    alone = ways["right brain"].measures.ndcg_10
    assert report.silence.beside_others == pytest.approx(ways["fused"].measures.ndcg_10 / alone, abs=1e-3)
    assert [(p.asked, p.answering, p.questions) for p in report.silence.pairs] == [
        ("pumps", "pumps", 4),
        ("pumps", "radio", 4),
        ("radio", "pumps", 4),
        ("radio", "radio", 4),
    ]
    off = [p.share for p in report.silence.pairs if p.asked != p.answering]
    assert sum(off) / 2 == pytest.approx(report.silence.off_topic_answering, abs=1e-3)


def test_both_generators_where_there_is_a_model(tmp_path: Path) -> None:
    found = quality(collection(tmp_path / "pumps", "pumps"), setting(tmp_path, "hashed"))
    assert [way.way for way in found.subjects[0].ways] == ["lexical", "vectors", "hybrid", "planner"]
    assert found.silence is None and found.model == "hashed"


def test_a_text_is_embedded_once_in_a_work_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from consilience.embed.hashed import HashedEmbedder

    embedded: list[str] = []
    embed = HashedEmbedder.embed

    def counting(self: HashedEmbedder, texts: Any, *, role: Any) -> Any:
        embedded.extend(texts if role == "passage" else ())
        return embed(self, texts, role=role)

    monkeypatch.setattr(HashedEmbedder, "embed", counting)
    lent = quality(project(tmp_path / "farm"), setting(tmp_path, "hashed"))
    whole = [text for text in embedded if text.startswith(("The pump of well", "Relay station"))]
    assert sorted(whole) == sorted(set(whole)) and len(whole) == 24
    anew = quality(tmp_path / "farm" / "radio", setting(tmp_path / "other", "hashed"))
    assert [w.measures for w in anew.subjects[0].ways] == [w.measures for w in lent.subjects[1].ways]


def test_run_files_give_the_same_measures(folder: Path, report: QualityReport) -> None:
    import ir_measures

    runs = folder.parent / "runs"
    qrels = list(ir_measures.read_trec_qrels(str(runs / "farm.qrels")))
    for tag, way in (("fused", "fused"), ("one-big-brain-lexical", "one big brain, lexical")):
        run = list(ir_measures.read_trec_run(str(runs / f"farm.{tag}.run")))
        value = ir_measures.calc_aggregate([ir_measures.nDCG @ 10], qrels, run)[ir_measures.nDCG @ 10]
        wanted = next(each for each in report.subjects[2].ways if each.way == way)
        assert value == pytest.approx(wanted.measures.ndcg_10, abs=1e-4)


def test_brains_are_made_once(folder: Path, report: QualityReport, monkeypatch: pytest.MonkeyPatch) -> None:
    from consilience.bench import brains

    def never(*_: object) -> None:
        raise AssertionError("made again")

    monkeypatch.setattr(brains, "fill", never)
    again = quality(folder, setting(folder.parent))
    assert [way.measures for s in again.subjects for way in s.ways] == [
        way.measures for s in report.subjects for way in s.ways
    ]
    with pytest.raises(AssertionError, match="made again"):  # another sample is another brain
        quality(folder, setting(folder.parent, documents=6))


def test_a_collection_that_cannot_be_read_does_not_take_the_others_with_it(tmp_path: Path) -> None:
    project(tmp_path / "farm")
    (tmp_path / "farm" / "radio" / "qrels" / "test.tsv").write_text("")
    found = quality(tmp_path / "farm", setting(tmp_path))
    assert [subject.name for subject in found.subjects] == ["pumps"]
    assert found.warnings[0].startswith("radio is left out: ")
    (tmp_path / "farm" / "pumps" / "queries.jsonl").unlink()
    with pytest.raises(SourceError, match="no collection"):
        quality(tmp_path / "farm", setting(tmp_path))


def test_a_question_that_cannot_be_asked_finds_nothing(tmp_path: Path) -> None:
    folder = collection(tmp_path / "pumps", "pumps")
    with (folder / "queries.jsonl").open("a") as file:
        file.write('{"_id": "odd", "text": "?!"}\n')
    with (folder / "qrels" / "test.tsv").open("a") as file:
        file.write("odd\td0\t1\n")
    found = quality(folder, setting(tmp_path))
    assert [way.failed for way in found.subjects[0].ways] == [1, 1]
    assert found.subjects[0].ways[0].measures.ndcg_10 == 0.8


def shown(report: QualityReport) -> str:
    return "\n".join(lines(report, Terminal()))


def test_against_an_earlier_run(report: QualityReport, tmp_path: Path) -> None:
    import msgspec

    worse = msgspec.json.decode(msgspec.json.encode({"data": report}))
    way = worse["data"]["subjects"][0]["ways"][0]
    way["questions"][0]["measures"]["ndcg_10"] = 0.25
    del way["questions"][1]
    file = tmp_path / "before.json"
    file.write_text(json.dumps(worse))
    compared = against.compare(report, against.read(file))
    first = compared.against[0]
    assert (first.subject, first.way, first.common, first.better, first.worse) == (
        "pumps",
        "lexical",
        3,
        1,
        0,
    )
    assert [(each.question, each.before, each.now) for each in first.changed] == [("pumps/q0", 0.25, 1.0)]
    assert all(each.better == each.worse == 0 for each in compared.against[1:])
    assert "0.250 -> 1.000  pumps/q0" in shown(compared)
    file.write_text(json.dumps(worse["data"]))
    assert against.read(file).subjects[0].ways[0].way == "lexical"


@pytest.mark.parametrize("text", ["", "[1]", '{"data": {}}', "\x00"])
def test_a_file_that_is_no_report(tmp_path: Path, text: str) -> None:
    (tmp_path / "f").write_text(text)
    with pytest.raises(ValidationError, match="is not a report"):
        against.read(tmp_path / "f")
    with pytest.raises(NotFoundError):
        against.read(tmp_path / "none")


def test_the_table_says_what_was_missed(report: QualityReport) -> None:
    text = shown(report)
    assert "farm  2 brains, 24 documents, 8 questions" in text
    assert "own brain silent" in text and "at most 3%" in text
    assert report.silence is not None
    assert ("at least 97%, missed" in text) == (report.silence.fused_share < 0.97)
    assert report.silence.beside_others is not None
    assert ("at least 98%, missed" in text) == (report.silence.beside_others < 0.98)
    assert ("answered by" in text) == any(p.share and p.asked != p.answering for p in report.silence.pairs)


def test_the_table_says_where_both_are_worse_than_one(report: QualityReport) -> None:
    import msgspec

    def subject(**reached: float) -> QualityReport:
        way = report.subjects[0].ways[0]
        ways = tuple(
            msgspec.structs.replace(
                way, way=name, measures=msgspec.structs.replace(way.measures, ndcg_10=value)
            )
            for name, value in reached.items()
        )
        one = msgspec.structs.replace(report.subjects[0], ways=ways)
        return msgspec.structs.replace(report, subjects=(one,), silence=None)

    worse = shown(subject(lexical=0.5, vectors=0.25, hybrid=0.4))
    assert "hybrid is 0.100 below lexical, aimed at: never below" in worse
    assert "aimed at" not in shown(subject(lexical=0.5, vectors=0.25, hybrid=0.5))
    assert "aimed at" not in shown(report)


def test_without_the_library_it_says_what_to_install(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    from consilience.errors import MissingExtraError

    monkeypatch.setitem(sys.modules, "ir_measures", None)
    with pytest.raises(MissingExtraError) as caught:
        quality(folder, setting(folder.parent))
    assert caught.value.hint == "pip install 'consilience[bench]'"


def test_the_command(folder: Path, tmp_path: Path, capfdbinary: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from consilience.cli.main import main

    monkeypatch.setenv("CONSILIENCE_CACHE", str(folder.parent / "cache"))
    monkeypatch.chdir(tmp_path)
    run: Callable[..., int] = main
    args = ["bench", "quality", str(folder), "--work", str(folder.parent / "work"), "--model", "none"]
    assert run([*args, "--json"]) == 0
    out = capfdbinary.readouterr().out
    assert json.loads(out)["data"]["subjects"][2]["name"] == "farm"
    (tmp_path / "before.json").write_bytes(out)
    assert run([*args, "--against", "before.json"]) == 0
    assert b"0 better, 0 worse of 8 questions" in capfdbinary.readouterr().out
    assert run([*args[:-1], "word2vec"]) == 2
