"""Export and import of a brain as an OCI image layout, beside hashing the same bytes.

    python bench/bench_oci.py FOLDER_OF_A_BRAIN

Reads the brain, writes into a temporary folder beside this process's other ones, removes it again. CPU seconds and
wall seconds; `x hash` is CPU time over that of reading and hashing every blob of the layout once.
"""

from __future__ import annotations

import argparse
import datetime as dt
import hashlib
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from consilience.oci import export_brain, import_brain
from consilience.protocol import Actor, ActorKind
from consilience.store import Store

ACTOR = Actor(id="bench/oci", kind=ActorKind.AGENT)


def timed(work: Callable[[], Any]) -> tuple[Any, float, float]:
    """What work returns, its CPU seconds and its wall seconds."""
    wall, cpu = time.perf_counter(), time.process_time()
    result = work()
    return result, time.process_time() - cpu, time.perf_counter() - wall


def hash_all(layout: Path) -> int:
    """Read and hash every blob; their bytes."""
    total = 0
    for path in (layout / "blobs" / "sha256").iterdir():
        data = path.read_bytes()
        assert hashlib.sha256(data).hexdigest() == path.name
        total += len(data)
    return total


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("brain", type=Path)
    parser.add_argument(
        "--in", dest="where", type=Path, help="where to write; the system's folder by default"
    )
    options = parser.parse_args()
    work = Path(tempfile.mkdtemp(prefix="bench-oci-", dir=options.where))
    now = dt.datetime.now(dt.UTC)
    try:
        with Store.open(options.brain, read_only=True) as store:
            rows = [
                (
                    "export, loose",
                    timed(lambda: export_brain(store, work / "loose", name="b", artifact=False)),
                ),
                ("export, with artifact", timed(lambda: export_brain(store, work / "all", name="b"))),
                ("export again", timed(lambda: export_brain(store, work / "all", name="b"))),
            ]
        for name, tag in (("import, loose", None), ("import, artifact", "latest")):

            def take(tag: str | None = tag, target: Path = work / name) -> object:
                return import_brain(work / "all", target, actor=ACTOR, now=now, tag=tag)

            rows.append((name, timed(take)))
        size, base, wall = timed(lambda: hash_all(work / "all"))
        report = rows[1][1][0]
        print(
            f"{report.blocks:,} blocks, {report.snapshots} snapshots, {size / 1e6:.1f} MB in {report.files:,} blobs"
        )
        print(f"{'read and hash every blob':26} {base:7.2f} s CPU {wall:7.2f} s")
        for name, (_, cpu, elapsed) in rows:
            print(f"{name:26} {cpu:7.2f} s CPU {elapsed:7.2f} s  {cpu / base:5.1f} x hash")
    finally:
        shutil.rmtree(work)


if __name__ == "__main__":
    main()
