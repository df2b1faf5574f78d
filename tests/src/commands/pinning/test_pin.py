"""Pinning files of a revision: the text, and what is said when it cannot be done."""

from __future__ import annotations

import hashlib
import socket
import threading
from pathlib import Path

import pytest

from enginewright.cli import main
from enginewright.commands.pin import pin
from enginewright.commands.pinning.pin_request import HUGGING_FACE, PinRequest
from enginewright.commands.pinning.remote_file import digest_of
from enginewright.errors import InputError

COMMIT = "0123456789abcdef0123456789abcdef01234567"
FILES = ("config.json", "model.safetensors", "tokenizer.json")
EXPECTED = """\
# team/model at 0123456789abcdef0123456789abcdef01234567, pinned by `enginewright pin`.

file(
    name="config.json",
    source=http_source(
        "file://HUB/team/model/0123456789abcdef0123456789abcdef01234567/config.json",
        len=2,
        sha256="44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a",
        filename="config.json",
    ),
)

file(
    name="model.safetensors",
    source=http_source(
        "file://HUB/team/model/0123456789abcdef0123456789abcdef01234567/model.safetensors",
        len=3,
        sha256="ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
        filename="model.safetensors",
    ),
)

file(
    name="tokenizer.json",
    source=http_source(
        "file://HUB/team/model/0123456789abcdef0123456789abcdef01234567/tokenizer.json",
        len=0,
        sha256="e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        filename="tokenizer.json",
    ),
)

model_checkpoint(
    name="checkpoint",
    config="config.json",
    weights=[
        "model.safetensors",
    ],
    tokenizer=[
        "tokenizer.json",
    ],
    files=[
        ":config.json",
        ":model.safetensors",
        ":tokenizer.json",
    ],
)
"""


@pytest.fixture
def hub(tmp_path: Path) -> Path:
    folder = tmp_path / "team" / "model" / COMMIT
    folder.mkdir(parents=True)
    (folder / "config.json").write_bytes(b"{}")
    (folder / "model.safetensors").write_bytes(b"abc")
    (folder / "tokenizer.json").write_bytes(b"")
    return tmp_path


def template(hub: Path) -> str:
    return f"file://{hub}/{{repository}}/{{revision}}/{{file}}"


def ignore(_: str) -> None:
    pass


def test_text_of_a_pinned_revision(hub: Path) -> None:
    text = pin(PinRequest("team/model", COMMIT, FILES, template(hub)), ignore)
    assert text == EXPECTED.replace("HUB", str(hub))


def test_command_writes_the_file(hub: Path, tmp_path: Path) -> None:
    output = tmp_path / "models" / "new" / "BUILD"
    options = ["--revision", COMMIT, "--url-template", template(hub), "-o", str(output)]
    assert main(["pin", "team/model", *FILES, *options]) == 0
    assert output.read_text(encoding="utf-8") == EXPECTED.replace("HUB", str(hub))


def test_all_unreadable_files_are_named_and_nothing_is_lost(
    hub: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "BUILD"
    output.write_text("old", encoding="utf-8")
    options = ["--revision", COMMIT, "--url-template", template(hub), "-o", str(output)]
    assert main(["pin", "team/model", *FILES, "one.json", "two.json", *options]) == 1
    errors = capsys.readouterr().err
    assert f"file://{hub}/team/model/{COMMIT}/one.json" in errors
    assert f"file://{hub}/team/model/{COMMIT}/two.json" in errors
    assert "No such file" in errors
    assert output.read_text(encoding="utf-8") == "old"


def test_another_revision_says_which_file_is_not_there(hub: Path) -> None:
    other = "f" * 40
    with pytest.raises(InputError) as raised:
        pin(PinRequest("team/model", other, FILES, template(hub)), ignore)
    assert [p.where for p in raised.value.problems] == [
        f"file://{hub}/team/model/{other}/{name}" for name in FILES
    ]


def test_unreachable_host() -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
    request = PinRequest("team/model", COMMIT, FILES, f"http://127.0.0.1:{port}/{{file}}")
    with pytest.raises(InputError, match="cannot be read") as raised:
        pin(request, ignore)
    assert len(raised.value.problems) == len(FILES)
    assert "refused" in raised.value.problems[0].actual


def test_a_transfer_that_breaks_off() -> None:
    def answer(listener: socket.socket) -> None:
        connection, _ = listener.accept()
        with connection:
            connection.recv(1 << 16)
            connection.sendall(b"HTTP/1.0 200 OK\r\nContent-Length: 9\r\n\r\nabc")

    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = threading.Thread(target=answer, args=(listener,))
        server.start()
        with pytest.raises(InputError) as raised:
            digest_of(f"http://127.0.0.1:{listener.getsockname()[1]}/model.safetensors")
        server.join()
    (problem,) = raised.value.problems
    assert (problem.what, problem.expected, problem.actual) == (
        "the transfer broke off",
        "9 bytes",
        "3 bytes",
    )


def test_pointer_is_not_taken_for_the_weights(hub: Path) -> None:
    weights = hub / "team" / "model" / COMMIT / "model.safetensors"
    weights.write_bytes(b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 9\n")
    with pytest.raises(InputError, match="Git LFS pointer"):
        pin(PinRequest("team/model", COMMIT, FILES, template(hub)), ignore)


def test_all_problems_of_a_request() -> None:
    with pytest.raises(InputError) as raised:
        PinRequest("team/model", "main", ("a/vocab.txt", "b/vocab.txt"), "https://host/{path}")
    assert [problem.what for problem in raised.value.problems] == [
        "not a commit: a branch or tag can move",
        "wrong fields",
        "two files of the same name",
        "no configuration",
        "no weights",
    ]


def test_address_on_the_hub() -> None:
    request = PinRequest("Qwen/Qwen3-0.6B", COMMIT, FILES, HUGGING_FACE)
    assert request.url("model.safetensors") == (
        f"https://huggingface.co/Qwen/Qwen3-0.6B/resolve/{COMMIT}/model.safetensors"
    )


def test_large_file_is_hashed_as_a_whole(hub: Path) -> None:
    content = bytes(range(256)) * 8192 + b"end"
    (hub / "team" / "model" / COMMIT / "model.safetensors").write_bytes(content)
    text = pin(PinRequest("team/model", COMMIT, FILES, template(hub)), ignore)
    assert f'len={len(content)},\n        sha256="{hashlib.sha256(content).hexdigest()}"' in text
