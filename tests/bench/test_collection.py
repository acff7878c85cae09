"""Reading judged collections: whole ones, broken ones, samples of them."""

from __future__ import annotations

from pathlib import Path

import pytest
from beir import collection, project

from consilience.bench.collection import folders_of, load, sample
from consilience.errors import NotFoundError, ValidationError


def test_a_folder_or_a_folder_of_folders(tmp_path: Path) -> None:
    project(tmp_path / "all")
    assert [each.name for each in folders_of(tmp_path / "all")] == ["pumps", "radio"]
    assert folders_of(tmp_path / "all" / "radio") == (tmp_path / "all" / "radio",)
    for wrong in (tmp_path / "all" / "radio" / "qrels", tmp_path / "nowhere"):
        with pytest.raises(NotFoundError):
            folders_of(wrong)


def test_what_is_read(tmp_path: Path) -> None:
    read = load(collection(tmp_path / "pumps", "pumps"))
    assert (len(read.documents), len(read.questions), read.warnings) == (12, 4, ())
    assert read.relevant["q3"] == {"d3": 1}


def test_lines_that_cannot_be_read_are_left_out_and_named(tmp_path: Path) -> None:
    folder = collection(tmp_path / "pumps", "pumps")
    with (folder / "corpus.jsonl").open("ab") as file:
        file.write(
            b'{"_id": "x"\n\n[]\n\xff\xfe\n{"text": "no id"}\n{"_id": 7, "text": "a number for an id"}\n'
        )
    with (folder / "qrels" / "test.tsv").open("a") as file:
        file.write("q0\td1\tmany\nq0\tnobody\t1\nq0\td7\t0\nq6 0 d7 2\n")
    read = load(folder)
    assert read.documents["7"] == "a number for an id" and len(read.documents) == 13
    assert read.relevant["q0"] == {"d0": 1} and read.relevant["q6"] == {"d6": 1, "d7": 2}
    assert read.warnings == (
        "pumps/corpus.jsonl: 4 lines left out, the first is line 13",
        "pumps/qrels/test.tsv: 1 line left out, the first is line 6",
    )


def test_a_title_is_a_part_of_its_document(tmp_path: Path) -> None:
    folder = collection(tmp_path / "pumps", "pumps")
    (folder / "corpus.jsonl").write_text('{"_id": "d0", "title": "On pumps", "text": "They pump."}\n')
    assert load(folder).documents == {"d0": "On pumps\nThey pump."}


def test_nothing_judged_is_an_error(tmp_path: Path) -> None:
    folder = collection(tmp_path / "pumps", "pumps")
    (folder / "qrels" / "test.tsv").write_text("q0\tother\t1\n")
    with pytest.raises(ValidationError, match="no question has a relevant document"):
        load(folder)
    (folder / "qrels" / "test.tsv").unlink()
    with pytest.raises(NotFoundError, match=r"no qrels/test\.tsv"):
        load(folder)


def test_a_sample_keeps_what_is_relevant_and_is_the_same_each_time(tmp_path: Path) -> None:
    read = load(collection(tmp_path / "pumps", "pumps"))
    part = sample(read, questions=2, documents=5)
    assert list(part.questions) == ["q0", "q6"] and set(part.documents) == {"d0", "d6", "d1", "d2", "d3"}
    assert sample(read, questions=2, documents=1).documents.keys() == {"d0", "d6"}
    assert sample(read, questions=99, documents=99) == read
