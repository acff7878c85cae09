"""A project whose policy allows everything that can be removed."""

from __future__ import annotations

from pathlib import Path

from product import Product, new_project

ALLOWED = "\n[retention]\ncanonical_drop = true\nredact = true\ncanonical_redact = true\n"


def allowing(root: Path) -> Product:
    """Two brains with the stand-in model, north and south."""
    made = new_project(root)
    for name in ("north", "south"):
        assert made.csl("project", "add", name, "--model", "hashed").status == 0
    made.file.write_text(made.file.read_text() + ALLOWED)
    return made
