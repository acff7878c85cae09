from __future__ import annotations

import dataclasses
import shutil

import pytest
from sql_brains import make
from stores import fact

from consilience.brain import Brain
from consilience.compound import Compound
from consilience.embed import EmbedderSpec

pytest.importorskip("duckdb")


@pytest.fixture(scope="session")
def templates(tmp_path_factory):
    """A brain without tables, and the same with all of them."""
    bare = make(tmp_path_factory.mktemp("templates"))
    bare.brain.close()
    path = shutil.copytree(bare.brain.path, bare.brain.path.with_name("ready"))
    with Brain.open(path, name="ready") as ready:
        ready.sql("SELECT count(*) FROM blocks")
    return bare, path


def _copy(made, path, to, name):
    spec = EmbedderSpec(provider="hashed")
    return dataclasses.replace(
        made, brain=Brain.open(shutil.copytree(path, to / name), name=name, embedder=spec)
    )


@pytest.fixture
def bare(templates, tmp_path):
    """A brain whose tables are still to be made."""
    made = _copy(templates[0], templates[0].brain.path, tmp_path, "algebra")
    yield made
    made.brain.close()


@pytest.fixture
def algebra(templates, tmp_path):
    made = _copy(*templates, tmp_path, "algebra")
    yield made
    made.brain.close()


@pytest.fixture
def pair(templates, tmp_path):
    """Two brains that share most of their blocks, and a compound of them."""
    one, two = _copy(*templates, tmp_path, "algebra"), _copy(*templates, tmp_path, "rust")
    two.commit(fact("Only in the second."))
    yield one, two, Compound([one.brain, two.brain])
    one.brain.close()
    two.brain.close()
