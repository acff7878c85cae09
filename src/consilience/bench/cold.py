"""Processes that start with nothing: what one question costs from the shell, beside the engines alone."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from consilience.errors import StorageError

RAW_SEARCH = """
import sqlite3, sys, tantivy
index = tantivy.Index.open(sys.argv[1])
searcher = index.searcher()
hits = searcher.search(index.parse_query(sys.argv[3], ["text"]), 60).hits
ns = [searcher.doc(address)["n"][0] for _, address in hits]
rows = sqlite3.connect(sys.argv[2])
for n in ns[:10]:
    rows.execute("SELECT data FROM rows WHERE n = ?", (n,)).fetchone()
"""


def measurable() -> bool:
    """Whether the system says what a process cost."""
    return hasattr(os, "wait4")


def cpu_ms(command: Sequence[str], repeat: int) -> float:
    """Least CPU milliseconds (user and system) of a command over `repeat` runs after a first one, which writes
    compiled files and fills the system's caches. Raises StorageError for a command that fails."""
    return min([_run(command) for _ in range(repeat + 1)][1:])


def _run(command: Sequence[str]) -> float:
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        shown = " ".join(Path(part).name for part in command[:4])
        raise StorageError(f"{shown} ended with {process.returncode}", hint="run that command to see why")
    return (usage.ru_utime + usage.ru_stime) * 1e3


def search_command(project: Path, brain: str, question: str) -> list[str]:
    """One question to one brain of a project, as a shell asks it."""
    asked = ["--project", str(project), "search", question, "--brain", brain]
    return [sys.executable, "-m", "consilience", *asked]


def raw_search_command(words: Path, rows: Path, question: str) -> list[str]:
    """The same by tantivy and SQLite alone."""
    return [sys.executable, "-c", RAW_SEARCH, str(words), str(rows), question]
