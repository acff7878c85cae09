"""Notebooks of every version: what a cell becomes, and in which cell it stands."""

from __future__ import annotations

import json
from typing import Any

import pytest

from consilience.ingest import Document, Skip, read, split


def notebook(*cells: dict[str, Any], **more: Any) -> bytes:
    return json.dumps(
        {"cells": list(cells), "metadata": {}, "nbformat": 4, "nbformat_minor": 5, **more}
    ).encode()


def text(*lines: str) -> dict[str, Any]:
    return {"cell_type": "markdown", "metadata": {}, "source": "\n".join(lines).splitlines(keepends=True)}


def code(source: str, *outputs: dict[str, Any]) -> dict[str, Any]:
    return {
        "cell_type": "code",
        "execution_count": 1,
        "metadata": {},
        "outputs": list(outputs),
        "source": source,
    }


def stream(*lines: str) -> dict[str, Any]:
    return {"output_type": "stream", "name": "stdout", "text": [f"{line}\n" for line in lines]}


def passages(data: bytes) -> list[tuple[str, str, str]]:
    document = read(data, "a.ipynb")
    assert isinstance(document, Document), document
    return [(p.role, p.text, p.locator.text()) for p in split(document)]


def test_cells_are_passages_and_headings_hold_across_cells() -> None:
    data = notebook(
        text("# Tides", "", "The moon pulls the water."),
        text("## Model", "", "A sum of cosines predicts the height of the water."),
        code("import math\nmath.cos(0)", {"output_type": "execute_result", "data": {"text/plain": ["1.0"]}}),
        text(
            "- spring tide at new moon, when both pull together", "- neap tide at half moon, when they do not"
        ),
    )
    assert passages(data) == [
        ("prose", "The moon pulls the water.", "cell 1 # Tides"),
        ("prose", "A sum of cosines predicts the height of the water.", "cell 2 # Tides > Model"),
        ("code", "import math\nmath.cos(0)", "cell 3 # Tides > Model"),
        ("code", "1.0", "cell 3 # Tides > Model"),
        ("prose", "spring tide at new moon, when both pull together", "cell 4 # Tides > Model"),
        ("prose", "neap tide at half moon, when they do not", "cell 4 # Tides > Model"),
    ]


def test_version_3_has_worksheets_heading_cells_and_inputs() -> None:
    cells = [
        {"cell_type": "heading", "level": 1, "source": ["Old ", "notebook"]},
        {"cell_type": "heading", "level": 2, "source": "Part"},
        {"cell_type": "code", "input": ["x = 1\n", "x"], "language": "python", "collapsed": False,
         "outputs": [{"output_type": "pyout", "text": ["1"]}, {"output_type": "pyerr", "ename": "E", "evalue": "no"}]},
        {"cell_type": "markdown", "source": "Words of the old kind are read like those of the new."},
    ]  # fmt: skip
    data = json.dumps({"metadata": {"name": ""}, "nbformat": 3, "worksheets": [{"cells": cells}]}).encode()
    assert passages(data) == [
        ("code", "x = 1\nx", "cell 3 # Old notebook > Part"),
        ("code", "1\nE: no", "cell 3 # Old notebook > Part"),
        ("prose", "Words of the old kind are read like those of the new.", "cell 4 # Old notebook > Part"),
    ]


@pytest.mark.parametrize(
    "open_", ["```python\nx = 1", "~~~~\nx", "<!-- a note", "<pre>\nx", "<script>\nx", "$$ x"]
)
def test_what_a_cell_leaves_open_ends_with_it(open_: str) -> None:
    data = notebook(
        text("# T"),
        text(*open_.split("\n")),
        text("## Next", "", "Words that come after it are read as what they are."),
    )
    assert ("prose", "Words that come after it are read as what they are.", "cell 3 # T > Next") in passages(
        data
    )


def test_code_with_fences_in_it_stays_one_passage() -> None:
    source = 'DOC = """\n```\nx\n````\n"""\n# not a heading'
    assert [p for p in passages(notebook(text("# T"), code(source))) if p[0] == "code"] == [
        ("code", source, "cell 2 # T")
    ]


def test_outputs_are_bounded_and_pictures_left_out() -> None:
    picture = {
        "output_type": "display_data",
        "data": {"image/png": "iVBOR" * 10_000, "text/plain": "<Figure>"},
    }
    data = notebook(code("plot()", picture, stream(*(f"line {n}" for n in range(10_000)))))
    output = passages(data)[1][1]
    assert output.startswith("<Figure>\nline 0\n")
    assert output.endswith("line 18\n…")


def test_colours_of_a_terminal_and_data_uris_are_no_words() -> None:
    data = notebook(
        code("x", stream("\x1b[1;31mred\x1b[0m")),
        text("A picture ![of a heron](data:image/png;base64," + "iVBORw0K" * 100_000 + ") in the reeds."),
    )
    assert [p[1] for p in passages(data)] == ["x", "red", "A picture of a heron in the reeds."]


def test_a_title_in_the_metadata_counts() -> None:
    data = notebook(
        text("## Part", "", "Some words here, and they make one sentence."), metadata={"title": "Tides"}
    )
    assert passages(data) == [
        ("prose", "Some words here, and they make one sentence.", "cell 1 # Tides > Part")
    ]


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"{", "not a notebook: not valid JSON"),
        (b"[1]", "not a notebook: no cells"),
        (b'{"cells": 5}', "not a notebook: no cells"),
        (b"[" * 100_000, "not a notebook: its JSON is nested too deeply"),
        (b'{"cells": []}', "no text in it"),
        (
            b'{"cells": [1, null, {"cell_type": 5}, {"cell_type": "code", "source": {}, "outputs": {}}]}',
            "no text",
        ),
        (b'{"worksheets": [1, {"cells": [3]}]}', "no text"),
        (
            b'{"cells": [{"cell_type": "code", "source": [1], "outputs": [[], {"output_type": 1}]}]}',
            "no text",
        ),
    ],
)
def test_what_is_no_notebook_is_said(data: bytes, reason: str) -> None:
    skip = read(data, "a.ipynb")
    assert isinstance(skip, Skip), skip
    assert skip.reason.startswith(reason)
