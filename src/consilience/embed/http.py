"""Vectors from an OpenAI-compatible embeddings endpoint (OpenAI, Ollama, vLLM, llama.cpp and the like).

POST {url}/embeddings with {"model", "input", "encoding_format": "float"}, `url` ending in the API's version
(http://localhost:11434/v1 for Ollama). Vectors are put in the order of the response's `index`, not of its list.
"""

from __future__ import annotations

import re
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Sequence
from http.client import HTTPException
from urllib.parse import urlsplit

import msgspec
import numpy as np

from consilience.embed.base import EmbedderSpec, Role
from consilience.embed.e5_source import Floats
from consilience.errors import ConfigurationError, EmbeddingError

ATTEMPTS: dict[Role, int] = {"query": 2, "passage": 5}
"""A person waits for a question; an ingest has time."""

LONGEST_WAIT_S = 60.0
LONGEST_TEXT = 1 << 17
LARGEST_RESPONSE = 1 << 28

_PRINTABLE = re.compile("[!-~]+")
_RETRIED = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})


class _Request(msgspec.Struct, frozen=True):
    model: str
    input: list[str]
    encoding_format: str = "float"


class _Item(msgspec.Struct, frozen=True):
    index: int
    embedding: list[float]


class _Response(msgspec.Struct, frozen=True):
    data: list[_Item]


class _RetryableError(Exception):
    """An attempt that may succeed later: why, and how long the server asked to wait (None: it did not say)."""

    def __init__(self, reason: str, after_s: float | None = None) -> None:
        super().__init__(reason)
        self.after_s = after_s


class HttpEmbedder:
    """Embedder behind HTTP. Texts longer than 131,072 characters are cut; an empty text is sent as one space, which
    every server accepts. Rows are scaled to length 1.
    """

    def __init__(self, spec: EmbedderSpec, *, sleep: Callable[[float], None] | None = None) -> None:
        """Raises ConfigurationError where url, model or dims are missing or not usable. Connects to nothing yet."""
        self._url = _endpoint(spec.url)
        if not spec.model:
            raise ConfigurationError(
                "the embedding provider openai needs a model", hint="set its model's name"
            )
        if not spec.dims or spec.dims < 1:
            raise ConfigurationError(
                f"the embedding provider openai needs the width of {spec.model}'s vectors, not {spec.dims}",
                hint="set dims to what the model gives, such as 768",
            )
        if spec.api_key and not _PRINTABLE.fullmatch(spec.api_key):
            raise ConfigurationError(
                "the API key of the embedding provider has a space or an unprintable character"
            )
        self.dims = spec.dims
        self._spec = spec
        self._model = spec.model
        self._sleep = sleep or time.sleep
        prefixes = f"{spec.query_prefix!r}-{spec.passage_prefix!r}"
        self.tag = f"openai:{self._url}:{spec.model}:d{spec.dims}:{prefixes}:v1"

    def embed(self, texts: Sequence[str], *, role: Role) -> Floats:
        """See `Embedder.embed`."""
        prefix = self._spec.query_prefix if role == "query" else self._spec.passage_prefix
        out = np.empty((len(texts), self.dims), np.float32)
        size = max(1, self._spec.batch)
        for start in range(0, len(texts), size):
            inputs = [_sendable(prefix, text) for text in texts[start : start + size]]
            out[start : start + size] = self._vectors(self._ask(inputs, ATTEMPTS[role]), len(inputs))
        return out

    def _ask(self, inputs: list[str], attempts: int) -> bytes:
        body = msgspec.json.encode(_Request(self._model, inputs))
        wait = 1.0
        for attempt in range(1, attempts + 1):
            try:
                return self._post(body)
            except _RetryableError as retry:
                if attempt == attempts:
                    raise EmbeddingError(
                        f"{self._url}: {retry}, {attempts} times in a row",
                        hint="is the embedding server running? try again later",
                    ) from None
                self._sleep(min(LONGEST_WAIT_S, wait if retry.after_s is None else retry.after_s))
                wait *= 2
        raise AssertionError("unreachable")

    def _post(self, body: bytes) -> bytes:
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if self._spec.api_key:
            headers["Authorization"] = f"Bearer {self._spec.api_key}"
        request = urllib.request.Request(self._url, data=body, headers=headers, method="POST")
        try:
            with _opener.open(request, timeout=self._spec.timeout_s) as response:
                raw: bytes = response.read(LARGEST_RESPONSE + 1)
                missing = response.length or 0
        except urllib.error.HTTPError as error:
            raise self._refusal(error) from None
        except TimeoutError:
            raise _RetryableError(f"no answer within {self._spec.timeout_s:g} s") from None
        except urllib.error.URLError as error:
            raise _RetryableError(f"cannot be reached ({error.reason})") from None
        except (OSError, HTTPException) as error:
            raise _RetryableError(f"the connection broke ({type(error).__name__})") from None
        if len(raw) > LARGEST_RESPONSE:
            raise EmbeddingError(
                f"{self._url}: an answer of more than {LARGEST_RESPONSE} bytes", hint="lower batch"
            )
        if missing:
            raise _RetryableError(f"the answer broke off {missing} bytes before its end")
        return raw

    def _refusal(self, error: urllib.error.HTTPError) -> Exception:
        with error:
            try:
                detail = error.read(2000).decode("utf-8", "replace").strip()
            except (OSError, HTTPException):
                detail = ""
        if error.code in _RETRIED:
            return _RetryableError(f"status {error.code}", _seconds(error.headers.get("Retry-After")))
        if self._spec.api_key:
            detail = detail.replace(self._spec.api_key, "[key]")
        hint = "check the API key" if error.code in (401, 403) else "check url and model"
        return EmbeddingError(
            f"{self._url}: status {error.code} {' '.join(detail.split())[:300]}".rstrip(), hint=hint
        )

    def _vectors(self, raw: bytes, count: int) -> Floats:
        try:
            items = msgspec.json.decode(raw, type=_Response).data
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise EmbeddingError(
                f"{self._url}: not an embeddings answer ({error})", hint="check url"
            ) from None
        if sorted(item.index for item in items) != list(range(count)):
            raise EmbeddingError(
                f"{self._url}: {len(items)} vectors with indices that are not those of {count} texts"
            )
        widths = {len(item.embedding) for item in items}
        if widths != {self.dims}:
            found = ", ".join(map(str, sorted(widths)))
            raise EmbeddingError(
                f"{self._url}: {self._model} gives vectors of width {found}, not {self.dims}",
                hint="set dims to the model's width, and embed this brain anew",
            )
        out = np.array([item.embedding for item in sorted(items, key=lambda item: item.index)], np.float64)
        lengths = np.linalg.norm(out, axis=1, keepdims=True)
        if not np.isfinite(lengths).all() or not lengths.all():
            raise EmbeddingError(
                f"{self._url}: {self._model} gave a vector of zeros or without finite length"
            )
        return np.asarray(out / lengths, np.float32)


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """A redirect would carry the key to another host."""

    def redirect_request(self, *_: object) -> None:
        return None


_opener = urllib.request.build_opener(_NoRedirects)


def _endpoint(url: str | None) -> str:
    """The URL that is posted to. Its host and path show in messages and tags, so it may carry no secret."""
    example = "such as http://localhost:11434/v1"
    try:
        parts = urlsplit(url or "")
        usable = (
            parts.scheme in ("http", "https")
            and bool(parts.hostname)
            and (parts.port is None or parts.port > 0)
        )
    except ValueError:
        usable = False
    if not url or not usable or not _PRINTABLE.fullmatch(url):
        raise ConfigurationError(
            f"the embedding provider openai needs the URL of an API, not {url!r}", hint=example
        )
    if parts.username or parts.password or parts.query or parts.fragment:
        raise ConfigurationError(
            "the embedding URL carries a user, password, query or fragment",
            hint=f"{example}, the key as api_key",
        )
    return f"{url.rstrip('/')}/embeddings"


def _sendable(prefix: str, text: str) -> str:
    whole = prefix + text[:LONGEST_TEXT]
    return whole.encode("utf-8", "replace").decode("utf-8") if whole.strip() else " "


def _seconds(value: str | None) -> float | None:
    try:
        return max(0.0, float(value)) if value else None
    except ValueError:
        return None
