"""Speed of the e5-small embedder: texts a second by length, and the CPU of a cold question.

    python bench/bench_embed.py [--texts N] [--accelerate] [--prototype FOLDER]

CPU seconds are the figure to compare on a shared machine; wall seconds say what a user waits. `--prototype` names the
folder of the experiment that this encoder came from and prints the ratio to it on the same texts.
"""

from __future__ import annotations

import argparse
import importlib
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

TEXT = """the task group waits for every child and cancels the rest when one of them raises an error while a feature
that is deprecated keeps its behaviour for two releases so that code can migrate operator overloading was rejected
because readers could not tell what an expression would call el módulo carga los datos y devuelve una lista"""

COLD = """
import resource, sys
from pathlib import Path
from consilience.embed import EmbedderSpec, open_embedder
embedder = open_embedder(EmbedderSpec(), cache_dir=Path(sys.argv[1]))
embedder.embed(["how are features deprecated in the standard library"], role="query")
used = resource.getrusage(resource.RUSAGE_SELF)
print(used.ru_utime + used.ru_stime)
"""
BARE = "import resource{}; u = resource.getrusage(resource.RUSAGE_SELF); print(u.ru_utime + u.ru_stime)"


def texts(words: int, count: int) -> list[str]:
    chosen = random.Random(words)
    return [" ".join(chosen.choices(TEXT.split(), k=words)) for _ in range(count)]


def measure(run: Callable[[], Any]) -> tuple[float, float]:
    """(wall, CPU) seconds."""
    wall, cpu = time.perf_counter(), time.process_time()
    run()
    return time.perf_counter() - wall, time.process_time() - cpu


def cold(code: str, *arguments: str) -> float:
    """The least CPU of five processes, in milliseconds."""
    command = [sys.executable, "-c", code, *arguments]
    return (
        min(
            float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
            for _ in range(5)
        )
        * 1e3
    )


def bulk(embedder: Any, prototype: Any, words: int, count: int) -> None:
    sample = texts(words, count)
    tokens = sum(len(embedder.tokens(text, "passage")) for text in sample)
    wall, cpu = measure(lambda: embedder.embed(sample, role="passage"))
    line = f"{words:4d} words {count / wall:7.1f} texts/s {tokens / wall:6.0f} tokens/s"
    line += f" {tokens / cpu:6.0f} tokens/CPU-s"
    if prototype is not None:
        other_wall, other_cpu = measure(lambda: prototype.encode(sample, "passage: "))
        line += f"   prototype: {other_wall / wall:.2f}x the time, {other_cpu / cpu:.2f}x the CPU"
    print(line, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--texts", type=int, default=256)
    parser.add_argument("--accelerate", action="store_true", help="let OpenVINO do the bulk")
    parser.add_argument("--prototype", type=Path)
    options = parser.parse_args()

    from consilience.embed.e5 import open_e5
    from consilience.embed.e5_source import locate

    with tempfile.TemporaryDirectory() as folder:
        embedder = open_e5(Path(folder), accelerate=options.accelerate, warn=print)
        prototype = None
        if options.prototype is not None:
            sys.path.insert(0, str(options.prototype))
            prototype = importlib.import_module("npe5").E5np(str(locate()))
        embedder.embed(texts(60, 128), role="passage")
        for words in (10, 30, 60, 150, 300):
            bulk(embedder, prototype, words, max(16, options.texts * 60 // max(60, words)))
        bare, numpy = cold(BARE.format("")), cold(BARE.format(", numpy"))
        print(
            f"cold question {cold(COLD, folder):.0f} ms of CPU; python with numpy {numpy:.0f}, without {bare:.0f}"
        )
        print(
            f"load {os.getloadavg()[0]:.1f}, peak {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB"
        )


if __name__ == "__main__":
    main()
