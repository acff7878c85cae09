from __future__ import annotations

import contextlib
import json
import socket
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from consilience.embed import Embedder, EmbedderSpec, open_embedder
from consilience.embed import http as http_module
from consilience.errors import ConfigurationError, EmbeddingError

KEY = "sk-very-secret"


class Server:
    """An endpoint on this machine. `answer` gives (status, headers, body) for the nth request, counted from 0."""

    def __init__(self) -> None:
        self.requests: list[tuple[str, dict[str, str], dict[str, Any]]] = []
        self.answer: Callable[[int, dict[str, Any]], tuple[int, dict[str, str], bytes]] = honest
        self.hold = threading.Event()
        self.hold.set()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                raw = self.rfile.read(int(self.headers["Content-Length"]))
                outer.requests.append((self.path, dict(self.headers), json.loads(raw)))
                status, headers, body = outer.answer(len(outer.requests) - 1, outer.requests[-1][2])
                outer.hold.wait(10)
                self.send_response(status)
                for name, value in {"Content-Length": str(len(body)), **headers}.items():
                    self.send_header(name, value)
                with contextlib.suppress(OSError):  # a client that gave up
                    self.end_headers()
                    self.wfile.write(body)

            def log_message(self, format: str, *args: object) -> None:
                pass

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._http.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._http.server_port}/v1"
        self._thread = threading.Thread(
            target=self._http.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True
        )
        self._thread.start()

    def close(self) -> None:
        self.hold.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()


def vector(text: str) -> list[float]:
    return [float(len(text)), 1.0, -2.0]


def body(items: list[dict[str, Any]]) -> bytes:
    return json.dumps({"object": "list", "data": items, "model": "m", "usage": {"total_tokens": 3}}).encode()


def honest(_: int, request: dict[str, Any]) -> tuple[int, dict[str, str], bytes]:
    items = [
        {"object": "embedding", "index": i, "embedding": vector(t)} for i, t in enumerate(request["input"])
    ]
    return 200, {}, body(items)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    server = Server()
    yield server
    server.close()


def embedder(server: Server, waits: list[float] | None = None, **settings: Any) -> Embedder:
    spec = EmbedderSpec(provider="openai", url=server.url, model="nomic", dims=3, api_key=KEY, **settings)
    kept: list[float] = [] if waits is None else waits
    return open_embedder(spec, cache_dir=Path("unused"), sleep=kept.append)


def expected(*texts: str) -> np.ndarray:  # type: ignore[type-arg]
    rows = np.array([vector(text) for text in texts])
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def test_texts_go_in_batches_with_prefix_and_key(server: Server) -> None:
    e = embedder(server, batch=2, passage_prefix="doc: ")
    out = e.embed(["a", "bb", "ccc"], role="passage")
    assert out.dtype == np.float32 and np.allclose(out, expected("doc: a", "doc: bb", "doc: ccc"))
    assert [r[2]["input"] for r in server.requests] == [["doc: a", "doc: bb"], ["doc: ccc"]]
    path, headers, sent = server.requests[0]
    assert (
        path == "/v1/embeddings" and headers["Authorization"] == f"Bearer {KEY}" and sent["model"] == "nomic"
    )
    assert KEY not in e.tag and "nomic" in e.tag and "doc: " in e.tag
    assert e.embed([], role="query").shape == (0, 3)


def test_order_is_that_of_the_index(server: Server) -> None:
    def shuffled(_: int, request: dict[str, Any]) -> tuple[int, dict[str, str], bytes]:
        items = [{"index": i, "embedding": vector(t)} for i, t in enumerate(request["input"])]
        return 200, {}, body(items[::-1])

    server.answer = shuffled
    assert np.allclose(embedder(server).embed(["a", "bb", "ccc"], role="passage"), expected("a", "bb", "ccc"))


def test_empty_texts_surrogates_and_100_kb_can_be_sent(server: Server) -> None:
    out = embedder(server).embed(["", "\ud800", "x" * 1_000_000], role="passage")
    assert np.isfinite(out).all()
    assert [len(text) for text in server.requests[0][2]["input"]] == [1, 1, http_module.LONGEST_TEXT]


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_passing_failure_is_tried_again(server: Server, status: int) -> None:
    server.answer = lambda n, r: (status, {}, b"busy") if n < 2 else honest(n, r)
    waits: list[float] = []
    assert np.allclose(embedder(server, waits).embed(["a"], role="passage"), expected("a"))
    assert waits == [1.0, 2.0]


def test_the_server_says_how_long_to_wait(server: Server) -> None:
    after = iter(["7", "1e9", "tomorrow", "-3"])
    server.answer = lambda n, r: (429, {"Retry-After": next(after)}, b"") if n < 4 else honest(n, r)
    waits: list[float] = []
    embedder(server, waits).embed(["a"], role="passage")
    assert waits == [7.0, 60.0, 4.0, 0.0]


def test_attempts_are_bounded_and_fewer_for_a_question(server: Server) -> None:
    server.answer = lambda n, r: (503, {}, b"")
    for role, attempts in http_module.ATTEMPTS.items():
        server.requests.clear()
        with pytest.raises(EmbeddingError, match="status 503") as caught:
            embedder(server).embed(["a"], role=role)
        assert len(server.requests) == attempts and server.url in caught.value.message


def test_a_refusal_is_not_tried_again_and_never_shows_the_key(server: Server) -> None:
    server.answer = lambda n, r: (401, {}, f"bad key {KEY}".encode())
    with pytest.raises(EmbeddingError) as caught:
        embedder(server).embed(["a"], role="query")
    assert len(server.requests) == 1
    assert "status 401" in caught.value.message and server.url in caught.value.message
    assert KEY not in caught.value.message + (caught.value.hint or "") + repr(caught.value)


def test_a_redirect_is_not_followed(server: Server) -> None:
    server.answer = lambda n, r: (307, {"Location": "http://127.0.0.1:1/elsewhere"}, b"")
    with pytest.raises(EmbeddingError, match="status 307"):
        embedder(server).embed(["a"], role="query")


def _items(*rows: tuple[int, list[Any]]) -> bytes:
    return body([{"index": i, "embedding": row} for i, row in rows])


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (_items((0, [1.0, 2.0])), "width 2, not 3"),
        (_items((0, [1, 2, 3]), (1, [1, 2, 3])), "2 vectors"),
        (_items((5, [1, 2, 3])), "indices"),
        (body([]), "0 vectors"),
        (_items((0, [0, 0, 0])), "zeros"),
        (_items((0, [1, None, 3])), "not an embeddings answer"),
        (_items((0, [1, float("nan"), 3])), "not an embeddings answer"),
        (b'{"data": [{"index": 0, "embedding": [1e999, 1, 1]}]}', "not an embeddings answer|finite"),
        (b'{"data": [{"index": 0, "embed', "not an embeddings answer"),
        (b"<html>login</html>", "not an embeddings answer"),
        (b'{"error": {"message": "no such model"}}', "not an embeddings answer"),
        (b"\xff\xfe", "not an embeddings answer"),
        (b"", "not an embeddings answer"),
    ],
)
def test_an_answer_that_is_not_one_good_vector_a_text_is_refused(
    server: Server, answer: bytes, says: str
) -> None:
    server.answer = lambda n, r: (200, {}, answer)
    with pytest.raises(EmbeddingError, match=says):
        embedder(server).embed(["a"], role="passage")


def test_a_slow_server_is_given_up(server: Server) -> None:
    server.hold.clear()
    with pytest.raises(EmbeddingError, match=r"no answer within 0\.1 s"):
        embedder(server, timeout_s=0.1).embed(["a"], role="query")


def test_a_connection_that_breaks_off_is_tried_again(server: Server) -> None:
    server.answer = lambda n, r: (200, {"Content-Length": "999"}, b"{") if n == 0 else honest(n, r)
    assert np.allclose(embedder(server, timeout_s=0.5).embed(["a"], role="passage"), expected("a"))


def test_nobody_listening_names_the_url() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}/v1"
        spec = EmbedderSpec(provider="openai", url=url, model="m", dims=3)
        with pytest.raises(EmbeddingError, match="cannot be reached") as caught:
            open_embedder(spec, cache_dir=Path("unused"), sleep=lambda s: None).embed(["a"], role="query")
    assert url in caught.value.message


@pytest.mark.parametrize(
    "wrong",
    [
        {"url": None},
        {"url": "localhost:11434"},
        {"url": "file:///etc/passwd"},
        {"url": "http://"},
        {"url": "http://host:99999/v1"},
        {"url": "http://a b/v1"},
        {"url": "http://user:secret@host/v1"},
        {"url": "http://host/v1?key=secret"},
        {"model": None},
        {"dims": None},
        {"dims": 0},
        {"api_key": "secret\nHost: x"},
    ],
)
def test_a_setting_that_cannot_work_is_refused_before_any_request(wrong: dict[str, Any]) -> None:
    settings = {"url": "http://127.0.0.1:1/v1", "model": "m", "dims": 3, **wrong}
    with pytest.raises(ConfigurationError) as caught:
        open_embedder(EmbedderSpec(provider="openai", **settings), cache_dir=Path("unused"))
    assert "secret" not in caught.value.message
