"""`csl search` and `csl explain`: one brain asked one question."""

from __future__ import annotations

import click

from consilience.cli import past
from consilience.cli.asking import asking, query
from consilience.cli.framework import command
from consilience.cli.invocation import Invocation


@command(
    "search",
    short_help="Search one brain",
    examples=[
        "csl search how are features deprecated",
        "csl search 'structured concurrency' --brain python --limit 3",
        "csl search 'exam dates' --module episodic --since 2024-01-01",
        "csl search 'exam dates' --at head~3",
    ],
)
@asking
@past.at_option
def search(invocation: Invocation, at_text: str | None, **options: object) -> int:
    """Search one brain. Every match has been verified against the brain's root.

    Several words need no quotes. Options may stand before or after them.
    """
    from consilience.cli import render_search
    from consilience.documents import to_json
    from consilience.envelope import outcome

    asked = query(options)
    brain = invocation.brain_config()
    opened = invocation.project().brain(brain.name)
    at = past.resolve(invocation, opened, at_text)
    bundle = opened.search(asked, at=at)
    told = None if at is None else opened.describe(at)
    return invocation.emit(
        lambda: to_json(bundle),
        lambda terminal: (*render_search.bundle(bundle, terminal), *past.lines(told, terminal)),
        warnings=bundle.warnings,
        error=outcome(bundle),
    )


@command(
    "explain",
    short_help="Show why a brain answers as it does",
    examples=["csl explain how are features deprecated", "csl explain 'exam dates' --analyze"],
)
@asking
@past.at_option
@click.option("--analyze", is_flag=True, help="Run it, and show what was measured beside what was estimated.")
def explain(invocation: Invocation, analyze: bool, at_text: str | None, **options: object) -> int:
    """Show the plan that would answer a question, those rejected, the indices, and the noise floor."""
    from consilience.cli import render_explain
    from consilience.documents import to_json
    from consilience.envelope import outcome

    asked = query(options)
    brain = invocation.brain_config()
    opened = invocation.project().brain(brain.name)
    at = past.resolve(invocation, opened, at_text)
    explanation = opened.explain(asked, analyze=analyze, at=at)
    told = None if at is None else opened.describe(at)
    return invocation.emit(
        lambda: to_json(explanation),
        lambda terminal: (*render_explain.explanation(explanation, terminal), *past.lines(told, terminal)),
        warnings=explanation.warnings,
        error=outcome(explanation),
    )
