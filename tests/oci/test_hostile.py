"""Layouts that lie, each by one change from a good one: refused by name, and nothing is written."""

from __future__ import annotations

import json
import re
from pathlib import Path

import layouts
import pytest
from layouts import get, index
from lies import replace_member
from lies_loose import LOOSE
from lies_packed import PACKED
from stores import ACTOR, NOW, fact

from consilience.errors import ConsilienceError
from consilience.oci import import_brain
from consilience.store.verify import verify


def brain_of(root: Path, folder: Path) -> object:
    return import_brain(root, folder / "brains" / "new", actor=ACTOR, now=NOW)


def only_packed(root: Path) -> Path:
    """Leave nothing of a layout but its artifact."""
    (root / "boltzmann" / "head.json").unlink()
    manifest = json.loads(get(root, index(root)["manifests"][0]["digest"]))
    kept = {index(root)["manifests"][0]["digest"], manifest["config"]["digest"]}
    kept |= {each["digest"] for each in manifest["layers"]}
    for path in (root / "blobs" / "sha256").iterdir():
        if f"sha256:{path.name}" not in kept:
            path.unlink()
    return root


@pytest.mark.parametrize("name", [*LOOSE, *PACKED])
def test_a_layout_that_lies_is_refused_by_name_and_nothing_is_written(name: str, folder: Path) -> None:
    spoil, says, status = LOOSE.get(name) or PACKED[name]
    root = layouts.layout(folder)
    if name in PACKED:
        only_packed(root)
    spoil(root)
    before = sorted(p.name for p in folder.iterdir())
    with pytest.raises(ConsilienceError) as caught:
        brain_of(root, folder)
    assert re.search(says, caught.value.message), caught.value.message
    assert caught.value.exit_status == status
    assert sorted(p.name for p in folder.iterdir()) == before


@pytest.mark.parametrize("packed", [False, True])
def test_the_layout_without_a_lie_is_taken(packed: bool, folder: Path) -> None:
    root = layouts.layout(folder)
    if packed:
        only_packed(root)
    brain_of(root, folder)
    assert [p.name for p in (folder / "brains").iterdir()] == ["new"]
    assert verify(folder / "brains" / "new", every_snapshot=True).ok


def test_a_folder_that_is_none_is_refused(folder: Path) -> None:
    (folder / "file").write_bytes(b"")
    for path in (folder / "nothing", folder / "file", folder):
        with pytest.raises(ConsilienceError) as caught:
            brain_of(path, folder)
        assert caught.value.exit_status == 4
        assert not (folder / "brains").exists()


def test_a_good_block_in_the_place_of_another_is_taken(folder: Path) -> None:
    """The tool that the mutations of blocks are made with makes a good layout."""
    root = layouts.layout(folder)
    replace_member(root, "semantic", fact("Another one.").data)
    brain_of(root, folder)
