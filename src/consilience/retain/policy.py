"""What a brain allows to be removed: `[retention]` in `consilience.toml`."""

from __future__ import annotations

from consilience.errors import PolicyError
from consilience.model import Value

ALLOWS = {
    "canonical_drop": "dropping originals",
    "redact": "destroying bytes",
    "canonical_redact": "destroying the bytes of originals",
}


class Policy(Value, frozen=True, kw_only=True):
    """What is allowed; nothing by default, because none of it can be undone by the brain alone.

    `canonical_drop`: originals may be dropped. `redact`: bytes of blocks may be destroyed. `canonical_redact`: those
    of originals too. `where` is what a person edits to allow something.
    """

    canonical_drop: bool = False
    redact: bool = False
    canonical_redact: bool = False
    where: str = "the brain's policy"

    def lacking(self, needs: tuple[str, ...]) -> tuple[str, ...]:
        """Those of the settings needed that are not on."""
        return tuple(name for name in needs if not getattr(self, name))


def refuse(policy: Policy, lacking: tuple[str, ...]) -> None:
    """Raise PolicyError if anything is lacking, saying what would have to be allowed."""
    if lacking:
        what = " and ".join(ALLOWS[name] for name in lacking)
        settings = ", ".join(f"{name} = true" for name in lacking)
        raise PolicyError(
            f"the policy does not allow {what}; nothing was changed",
            hint=f"{settings} under [retention] in {policy.where} allows it",
        )
