"""What every list of lies about a layout shares."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from layouts import canonical, change_snapshot, get, head, put

from consilience.protocol import merkle

Mutation = Callable[[Path], object]
Lies = dict[str, tuple[Mutation, str, int]]
"""By name: what spoils a layout, what the error must say, its exit status."""


def mutation(table: Lies, says: str, status: int = 5) -> Callable[[Mutation], Mutation]:
    """One way to spoil a layout."""

    def add(function: Mutation) -> Mutation:
        table[function.__name__] = (function, says, status)
        return function

    return add


def snapshot(root: Path) -> dict:
    return json.loads(get(root, head(root)["snapshot"]))


def member(root: Path, module: str = "semantic", at: int = 0) -> str:
    composition = json.loads(get(root, snapshot(root)["modules"][module]["composition"]))
    return composition["block_ids"][at]


def recompose(folder: Path, data: bytes, module: str = "semantic", **changes: object) -> None:
    """Give a module other composition bytes, under their right digest."""
    digest = put(folder, data)

    def change(value: dict) -> None:
        value["modules"][module] |= {"composition": digest, **changes}

    change_snapshot(folder, change)


def composition(root: Path, module: str = "semantic") -> dict:
    return json.loads(get(root, snapshot(root)["modules"][module]["composition"]))


def replace_member(root: Path, module: str, data: bytes) -> None:
    """Put another block in the place of a module's first one; root and count are right."""
    value = composition(root, module)
    ids = sorted([*value["block_ids"][1:], put(root, data)])
    found = merkle.root([bytes.fromhex(i[7:]) for i in ids])
    recompose(
        root,
        canonical({**value, "block_ids": ids}),
        module,
        root=f"sha256:{found.hex()}",
        block_count=len(ids),
    )


def write(root: Path, name: str, data: bytes) -> None:
    (root / name).write_bytes(data)
