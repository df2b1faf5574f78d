"""Where the artifacts of a lock come from."""

from __future__ import annotations

import base64
import hashlib
import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any, Dict, Iterator, List, Optional, Tuple

import pytest
from pants_enginewright.launch.origins import Locked, Origin, compare, main, origins, read_lock

A, B, C = "a" * 64, "b" * 64, "c" * 64
WHEEL = "one-1.0-py3-none-any.whl"


class Index:
    """A package index on a loopback port; `pages` has the answer for each path."""

    def __init__(self, pages: Dict[str, Tuple[str, str]]) -> None:
        self.seen: List[Optional[str]] = []
        index = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                index.seen.append(self.headers.get("Authorization"))
                kind, text = pages.get(self.path, ("", ""))
                self.send_response(200 if kind else 404)
                self.send_header("Content-Type", kind or "text/plain")
                self.end_headers()
                self.wfile.write(text.encode())

            def log_message(self, *_: Any) -> None:
                pass

        self.server = HTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.server.server_port}"

    def origin(self, credentials: str = "") -> Origin:
        return Origin(f"http://{credentials}{self.host}/simple", True)


@pytest.fixture
def start() -> Iterator[Any]:
    started: List[Index] = []

    def begin(**pages: Tuple[str, str]) -> Index:
        started.append(Index({f"/simple/{name}/": page for name, page in pages.items()}))
        return started[-1]

    yield begin
    for index in started:
        index.server.shutdown()
        index.server.server_close()


def html(*links: str) -> Tuple[str, str]:
    return "text/html", "".join(f'<a href="../../files/{link}">x</a>' for link in links)


def as_json(**files: Optional[str]) -> Tuple[str, str]:
    rows = [
        {"filename": f"{name}-1.0-py3-none-any.whl", "hashes": {"sha256": sha} if sha else {}}
        for name, sha in files.items()
    ]
    return "application/vnd.pypi.simple.v1+json", json.dumps({"files": rows})


ONE = Locked("one", "1.0", (A,))


def test_a_lock_is_read_with_its_hashes() -> None:
    text = (
        f"# made by uv\nTwo_Parts.x[a]==2.0+cpu ; sys_platform == 'linux' \\\n"
        f"    --hash=sha256:{A} \\\n    --hash=sha256:{B}\none==1.0 \\\n    --hash=sha256:{C}\n"
    )
    assert read_lock(text) == [
        Locked("two-parts-x", "2.0+cpu", (A, B)),
        Locked("one", "1.0", (C,)),
    ]


def test_places_are_those_of_the_settings_in_their_order() -> None:
    settings = {
        "PIP_INDEX_URL": "https://a.example",
        "PIP_EXTRA_INDEX_URL": "https://b.example https://c.example",
        "PIP_FIND_LINKS": "/wheels",
    }
    assert origins(settings) == [
        Origin("https://a.example", True),
        Origin("https://b.example", True),
        Origin("https://c.example", True),
        Origin("/wheels", False),
    ]


def test_one_index_that_publishes_the_hash_has_nothing_to_say(start: Any) -> None:
    index = start(one=html(f"{WHEEL}#sha256={A}"))
    assert compare([ONE], [index.origin()]) == ([], [])


def test_other_bytes_under_one_name_are_a_conflict_of_two_origins(start: Any) -> None:
    first = start(one=html(f"{WHEEL}#sha256={A}")).origin()
    second = start(one=as_json(one=B)).origin()
    found, _ = compare([ONE], [first, second])
    assert found == [
        f"{WHEEL} has other bytes in one place than in another:\n  {A}  {first}\n  {B}  {second}"
    ]


def test_a_folder_of_wheels_is_compared_by_its_bytes(start: Any, tmp_path: Path) -> None:
    (tmp_path / WHEEL).write_bytes(b"other")
    other = hashlib.sha256(b"other").hexdigest()
    index = start(one=html(f"{WHEEL}#sha256={A}")).origin()
    for place in (str(tmp_path), tmp_path.as_uri()):
        found, _ = compare([ONE], [index, Origin(place, False)])
        assert found == [
            f"{WHEEL} has other bytes in one place than in another:"
            f"\n  {A}  {index}\n  {other}  {place}"
        ]


def test_an_index_may_be_a_folder(tmp_path: Path) -> None:
    (tmp_path / "simple" / "one").mkdir(parents=True)
    (tmp_path / "simple" / "one" / "index.html").write_text(html(f"{WHEEL}#sha256={A}")[1])
    place = Origin((tmp_path / "simple").as_uri(), True)
    assert compare([ONE, Locked("two", "1.0", ())], [place]) == ([], [])


def test_the_hash_of_a_source_archive_is_published_too(start: Any, tmp_path: Path) -> None:
    index = start(**{"two-parts": html(f"two_parts-2.0.tar.gz#sha256={A}")}).origin()
    assert compare([Locked("two-parts", "2.0", (A,))], [index]) == ([], [])
    (tmp_path / "two-parts-2.0.tar.gz").write_bytes(b"archive")
    (tmp_path / "two-parts-more-2.0.tar.gz").write_bytes(b"another package")
    sha256 = hashlib.sha256(b"archive").hexdigest()
    folder = Origin(str(tmp_path), False)
    _, found = compare([Locked("two-parts", "2.0", (A, sha256))], [index, folder])
    assert found == [
        "two-parts 2.0: no index publishes 1 of its 2 hashes; they were taken from the bytes of "
        f"{tmp_path}, trusted on first use",
        f"two-parts 2.0 comes from {tmp_path}",
    ]


def test_a_conflict_of_a_file_that_is_not_locked_is_none_of_ours(start: Any) -> None:
    first, second = start(one=as_json(one=B)), start(one=as_json(one=C))
    third = start(one=html(f"one-1.0-cp311-linux_x86_64.whl#sha256={A}"))
    places = [third.origin(), first.origin(), second.origin()]
    assert compare([ONE], places) == ([], [])


def test_a_hash_that_no_index_published_is_said(start: Any) -> None:
    index = start(one=html(WHEEL)).origin()
    assert compare([ONE], [index]) == (
        [],
        [
            "one 1.0: no index publishes 1 of its 1 hashes; they were taken from the bytes of "
            f"{index}, trusted on first use"
        ],
    )


def test_what_comes_from_a_later_place_is_said(start: Any) -> None:
    first, second = start().origin(), start(one=as_json(one=A)).origin()
    assert compare([ONE], [first, second]) == ([], [f"one 1.0 comes from {second}"])


def test_a_password_reaches_the_index_and_no_message(start: Any) -> None:
    index = start(one=html(WHEEL))
    _, (note,) = compare([ONE], [index.origin("me:se%40cret@")])
    assert "cret" not in note
    assert index.host in note
    assert index.seen == ["Basic " + base64.b64encode(b"me:se@cret").decode()]


def test_an_index_that_does_not_answer_ends_the_lock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, start: Any
) -> None:
    index = start()
    index.server.shutdown()
    index.server.server_close()
    lock = tmp_path / "body.txt"
    lock.write_text(f"one==1.0 \\\n    --hash=sha256:{A}\n")
    monkeypatch.setenv("PIP_INDEX_URL", index.origin().place)
    with pytest.raises(SystemExit, match="cannot be asked what it publishes"):
        main(str(lock))


def test_the_program_ends_with_the_conflict(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, start: Any
) -> None:
    lock = tmp_path / "body.txt"
    lock.write_text(f"one==1.0 \\\n    --hash=sha256:{A}\n")
    monkeypatch.setenv("PIP_INDEX_URL", start(one=as_json(one=A)).origin().place)
    monkeypatch.setenv("PIP_EXTRA_INDEX_URL", start(one=as_json(one=B)).origin().place)
    monkeypatch.delenv("PIP_FIND_LINKS", raising=False)
    with pytest.raises(SystemExit, match="has other bytes in one place than in another"):
        main(str(lock))
