"""Text to vectors: one seam, several providers."""

from consilience.embed.base import (
    PROVIDERS,
    Embedder,
    EmbedderSpec,
    Provider,
    Role,
    available,
    open_embedder,
)
from consilience.embed.shared import shared_embedder

__all__ = [
    "PROVIDERS",
    "Embedder",
    "EmbedderSpec",
    "Provider",
    "Role",
    "available",
    "open_embedder",
    "shared_embedder",
]
