"""What `consilience.toml` says of retention: a brain narrows, never widens, and contradictions are named."""

from __future__ import annotations

from pathlib import Path

import pytest

from consilience.config import RetentionConfig, parse
from consilience.errors import ConfigurationError, PolicyError
from consilience.retain.policy import Policy, refuse

FILE = Path("/projects/lake/consilience.toml")
HEAD = '[project]\nname = "lake"\n'


def retention(text: str) -> RetentionConfig:
    """Of the brain `a`."""
    config = parse(HEAD + text, FILE)
    return config.brains[0].retention


def test_nothing_is_allowed_by_default() -> None:
    assert retention("[brains.a]\n") == RetentionConfig()
    assert not any(getattr(RetentionConfig(), key) for key in RetentionConfig.__struct_fields__)


def test_the_project_speaks_for_its_brains_and_a_brain_for_itself() -> None:
    both = "[retention]\nredact = true\n[brains.a]\n"
    assert retention(both) == RetentionConfig(redact=True)
    assert retention(both + "[brains.a.retention]\nredact = false\n") == RetentionConfig()
    own = "[brains.a]\n[brains.a.retention]\ncanonical_drop = true\n"
    assert retention(own) == RetentionConfig(canonical_drop=True)
    assert retention("[retention]\nredact = true\n" + own) == RetentionConfig(
        redact=True, canonical_drop=True
    )


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ("[retention]\nredact = false\n[brains.a]\n[brains.a.retention]\nredact = true\n", 7, "contradicts"),
        ("[retention]\nredact = false\ncanonical_redact = true\n[brains.a]\n", 5, "contradict"),
        ("[brains.a]\n[brains.a.retention]\nredact = false\ncanonical_redact = true\n", 6, "contradict"),
        (
            "[retention]\nredact = true\ncanonical_redact = true\n[brains.a]\n[brains.a.retention]\nredact = false\n",
            8,
            "contradict",
        ),
        ("[retention]\nredactt = true\n[brains.a]\n", 4, "did you mean redact?"),
        ('[retention]\nredact = "yes"\n[brains.a]\n', 4, "must be true or false"),
        ("retention = true\n", 1, "must be a table"),
        ("[brains.a]\nretention = 1\n", 4, "must be a table"),
    ],
)
def test_contradictions_and_mistakes_have_file_and_line(text: str, line: int, says: str) -> None:
    whole = text + HEAD if text.startswith("retention =") else HEAD + text
    with pytest.raises(ConfigurationError) as caught:
        parse(whole, FILE)
    assert f"{FILE}:{line}: " in caught.value.message and says in caught.value.message


def test_a_contradiction_of_the_project_is_said_once() -> None:
    text = "[retention]\nredact = false\ncanonical_redact = true\n[brains.a]\n[brains.b]\n"
    with pytest.raises(ConfigurationError) as caught:
        parse(HEAD + text, FILE)
    assert caught.value.message.count("contradict") == 1


def test_a_refusal_says_what_would_have_to_be_allowed() -> None:
    policy = Policy(redact=True, where="lake.toml")
    refuse(policy, policy.lacking(("redact",)))
    with pytest.raises(PolicyError, match="originals") as caught:
        refuse(policy, policy.lacking(("redact", "canonical_redact")))
    assert caught.value.hint == "canonical_redact = true under [retention] in lake.toml allows it"
