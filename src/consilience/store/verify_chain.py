"""Whether the snapshots of a store hang together: each leads to the head over its parents, and stands after them.

Most stores are a line, one parent each. An import can bring histories that were merged; they are kept parents
first (docs/decisions/0130), so that the snapshot before need not be the parent.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from consilience.protocol import Digest, Snapshot

__all__ = ["Link", "chain_problems", "first_missing"]

Link = tuple[int, Digest, Snapshot]
"""Number, digest, and what the document says; ascending."""


def chain_problems(links: Sequence[Link], pruned: Digest | None) -> Iterator[str]:
    """What is wrong. `pruned`: the last snapshot that a prune removed, which a later one must name."""
    number = {digest: seq for seq, digest, _ in links}
    for seq, _, snapshot in links:
        if any(number.get(parent, 0) >= seq for parent in snapshot.parents):
            yield f"snapshot {seq}: a parent of it stands after it"
    reached = {links[-1][1]} if links else set()
    for _, digest, snapshot in reversed(links):
        if digest in reached:
            reached.update(snapshot.parents)
    for seq, digest, _ in links:
        if digest not in reached:
            yield f"snapshot {seq}: the snapshot after it does not name it as its parent, nor does a later one"
    if links and pruned is not None and pruned not in reached:
        yield f"snapshot {links[0][0]}: its parent is not the last snapshot that was pruned"


def first_missing(links: Sequence[Link]) -> Digest | None:
    """The first parent that is not here: history begins after it."""
    here = {digest for _, digest, _ in links}
    return next((p for _, _, snapshot in links for p in snapshot.parents if p not in here), None)
