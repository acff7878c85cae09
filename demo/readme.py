"""Puts the present output of the commands that the README shows into the README (`make readme`, after the demo)."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
_SHOWN = re.compile(r"^```\n\$ (csl .+)\n(?:.*\n)*?```$", re.MULTILINE)


def output(command: str) -> str:
    """What a command prints in demo-project/, on 80 columns and without colour."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environ = {**os.environ, "PATH": path, "COLUMNS": "80", "NO_COLOR": "1"}
    done = subprocess.run(
        command,
        shell=True,
        cwd=ROOT / "demo-project",
        env=environ,
        text=True,
        stdout=subprocess.PIPE,
        check=False,
    )
    if done.returncode not in (0, 5):  # 5: what the README shows failing
        raise SystemExit(f"{command}: exit status {done.returncode}")
    return "\n".join(line.rstrip() for line in done.stdout.rstrip().splitlines())


def main() -> None:
    file = ROOT / "README.md"
    text = file.read_text(encoding="utf-8")
    file.write_text(
        _SHOWN.sub(lambda match: f"```\n$ {match[1]}\n{output(match[1])}\n```", text), encoding="utf-8"
    )


if __name__ == "__main__":
    main()
