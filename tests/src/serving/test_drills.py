"""What goes wrong while a real server serves: no wrong answer, and nothing lost untold."""

import os
import shutil
import signal
import time

import pytest
from served_engine import CHECKPOINT, Load, Server, make_package

PROMPTS = (CHECKPOINT / "prompts.txt").read_text(encoding="utf-8").splitlines()[:6]


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    return make_package(tmp_path_factory.mktemp("qwen3"))


@pytest.fixture(scope="module")
def right(package, tmp_path_factory):
    """Each answer while nothing goes wrong; test_server.py compares those with transformers."""
    with Server(package, tmp_path_factory.mktemp("quiet")) as server:
        return {prompt: server.complete(prompt)[1] for prompt in PROMPTS}


def wrong(results, right):
    return [r for r in results if r[1:] != (200, right[r[0]])]


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP], ids=["killed", "stalled"])
def test_a_worker_that_dies_or_stalls_is_replaced_and_its_requests_are_done_again(
    package, tmp_path, right, number
):
    with Server(package, tmp_path, "--stall-seconds=2") as server:
        load = Load(server, PROMPTS)
        time.sleep(1)
        os.kill(server.worker_pid(), number)
        before = len(load.results)
        deadline = time.monotonic() + 30
        while server.metric("enginewright:worker_restarts_total") < 1:
            assert time.monotonic() < deadline
            time.sleep(0.1)
        time.sleep(1)
        results = load.stop()
    assert len(results) > before + 8
    assert wrong(results, right) == []


def test_a_storm_over_the_limit_is_told_to_come_back_and_the_others_are_answered(
    package, tmp_path, right
):
    with Server(package, tmp_path, "--max-requests=4") as server:
        load = Load(server, PROMPTS, clients=24)
        time.sleep(2)
        results = load.stop()
    answered = [r for r in results if r[1] == 200]
    assert {r[1] for r in results} == {200, 429}
    assert wrong(answered, right) == []


def test_engines_are_swapped_and_rolled_back_under_load(package, tmp_path, right):
    other = shutil.copytree(package, tmp_path / "other")
    with Server(package, tmp_path) as server:
        load = Load(server, PROMPTS)
        first = server.worker_pid()
        assert server.admin("/admin/swap", {"folder": str(other)})[0] == 200
        assert server.worker_pid() != first
        time.sleep(1)
        assert server.admin("/admin/rollback", {})[0] == 200
        time.sleep(1)
        results = load.stop()
    assert len(results) > 16
    assert wrong(results, right) == []


def test_a_corrupt_package_is_rejected_and_the_old_engine_serves_on(package, tmp_path, right):
    corrupt, cut = (shutil.copytree(package, tmp_path / name) for name in ("corrupt", "cut"))
    weights = sorted(corrupt.glob("model.onnx.data"))[0]
    content = bytearray(weights.read_bytes())
    content[1000] ^= 1
    weights.write_bytes(content)
    # What a full disk leaves of a copy.
    (cut / "tokenizer.json").write_bytes((cut / "tokenizer.json").read_bytes()[:5000])
    with Server(package, tmp_path) as server:
        load = Load(server, PROMPTS)
        for folder, said in ((corrupt, "not the one in the manifest"), (cut, "tokenizer.json")):
            status, document = server.admin("/admin/swap", {"folder": str(folder)})
            assert (status, said in document["error"]["message"]) == (422, True)
        assert server.admin("/admin/rollback", {})[0] == 422
        assert wrong(load.stop(), right) == []


def test_what_was_accepted_is_answered_after_sigterm(package, tmp_path, right):
    with Server(package, tmp_path) as server:
        load = Load(server, PROMPTS, clients=8)
        time.sleep(1)
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(30) == 0
        results = load.stop()
    # Each client was told once that the server stops, and no connection was cut.
    told = [r for r in results if r[1] == 503]
    assert len(told) == 8
    assert wrong([r for r in results if r[1] != 503], right) == []


def test_a_log_on_a_full_disk_stops_nothing(package, tmp_path, right):
    with Server(package, tmp_path, log="/dev/full") as server:
        os.kill(server.worker_pid(), signal.SIGKILL)
        assert server.complete(PROMPTS[0]) == (200, right[PROMPTS[0]])
