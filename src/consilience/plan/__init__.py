"""A question planned by cost, run, fused by rank, floored and verified, inside one brain."""

from consilience.plan.reader import Reader

__all__ = ["Reader"]
