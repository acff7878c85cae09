"""Knowledge that a model or a person proposes, and the gate it goes through: task, schema, validation, commit.

A task names source blocks and the kinds of block that may be made of them; candidates answer it; nothing is written
that the gate has not let through. No language model is in here: whoever reads the task proposes.
"""

from __future__ import annotations
