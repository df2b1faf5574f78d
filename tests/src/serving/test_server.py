"""`enginewright serve` as its clients see it: right answers, limits, hostile requests."""

import json
import math
import socket
import time

import pytest
import torch
import transformers
from served_engine import CHECKPOINT, JSON, Load, Server, make_package

PROMPTS = (CHECKPOINT / "prompts.txt").read_text(encoding="utf-8").splitlines()


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    return make_package(tmp_path_factory.mktemp("qwen3"))


@pytest.fixture(scope="module")
def server(package, tmp_path_factory):
    with Server(package, tmp_path_factory.mktemp("server"), "--read-seconds=2") as running:
        yield running


@pytest.fixture(scope="module")
def right():
    """24 greedy tokens after each prompt, each alone, by transformers."""
    model = transformers.AutoModelForCausalLM.from_pretrained(CHECKPOINT, dtype=torch.float32)
    tokenizer = transformers.AutoTokenizer.from_pretrained(CHECKPOINT)
    answers = {}
    for prompt in PROMPTS:
        ids = tokenizer(prompt, return_tensors="pt")["input_ids"]
        with torch.no_grad():
            made = model.eval().generate(
                ids, max_new_tokens=24, do_sample=False, pad_token_id=0, use_cache=True
            )
        tokens = made[0, ids.shape[1] :].tolist()
        answers[prompt] = tokens[: tokens.index(0)] if 0 in tokens else tokens
    return answers


def test_clients_beside_each_other_get_the_tokens_that_transformers_computes_alone(server, right):
    load = Load(server, PROMPTS, clients=20)
    time.sleep(5)
    results = load.stop()
    assert len(results) >= 20
    assert [r for r in results if r[1:] != (200, right[r[0]])] == []


def test_a_stream_gives_the_same_text_and_its_usage(server):
    body = {"model": "qwen3", "prompt": PROMPTS[0], "max_tokens": 12, "temperature": 0}
    whole = json.loads(server.call("/v1/completions", body)[1])
    options = {"stream": True, "stream_options": {"include_usage": True}}
    status, text = server.call("/v1/completions", {**body, **options})
    events = [line[6:] for line in text.decode().splitlines() if line]
    assert (status, events[-1]) == (200, "[DONE]")
    documents = [json.loads(event) for event in events[:-1]]
    pieces = [choice["text"] for document in documents for choice in document["choices"]]
    assert "".join(pieces) == whole["choices"][0]["text"]
    assert documents[-1]["usage"] == whole["usage"]


def test_several_prompts_and_token_ids_are_answered_in_their_order(server, right):
    body = {"model": "qwen3", "prompt": PROMPTS[:3], "max_tokens": 24, "temperature": 0}
    status, text = server.call("/v1/completions", {**body, "return_token_ids": True})
    choices = json.loads(text)["choices"]
    assert status == 200
    assert [choice["token_ids"] for choice in choices] == [right[p] for p in PROMPTS[:3]]


def test_the_same_seed_gives_the_same_text_whoever_else_is_served(server):
    def ask():
        return server.complete(PROMPTS[1], temperature=1.0, seed=7, top_k=40)

    alone = ask()
    load = Load(server, PROMPTS, clients=6)
    among = [ask() for _ in range(3)]
    load.stop()
    assert among == [alone] * 3


GOOD = {"model": "qwen3", "prompt": "In the beginning", "max_tokens": 4}


@pytest.mark.parametrize(
    ("change", "status", "said"),
    [
        ({"prompt": "word " * 1100}, 400, "more tokens in the longest prompt than the engine"),
        ({"max_tokens": 2000}, 400, "more tokens than the engine takes"),
        ({"max_tokens": 0}, 400, "max_tokens"),
        ({"temperature": math.nan}, 400, "temperature"),
        ({"temperature": -1}, 400, "temperature"),
        ({"prompt": []}, 400, "prompt"),
        ({"prompt": [10**6]}, 400, "not in the model's vocabulary"),
        ({"prompt": [-1]}, 400, "not in the model's vocabulary"),
        ({"prompt": "\ud800"}, 400, "surrogate"),
        ({"model": "gpt-4"}, 404, "qwen3"),
        ({"n": 5}, 400, "n"),
        ({"logit_bias": {"5": 100}}, 400, "logit_bias"),
        ({"no_such_field": 1}, 400, "no_such_field"),
        ({"prompt": ["a"] * 300}, 400, "more prompts than the server ever takes"),
    ],
)
def test_a_request_that_cannot_be_done_is_refused_and_says_why(server, change, status, said):
    got, text = server.call("/v1/completions", {**GOOD, **change})
    assert (got, said in json.loads(text)["error"]["message"]) == (status, True), text


@pytest.mark.parametrize(
    ("body", "headers", "status"),
    [
        (b"{", JSON, 400),
        (b"[" * 100_000, JSON, 400),
        (b"\xff\xfe", JSON, 400),
        (b"{}", {"Content-Type": "text/plain"}, 415),
        (b" " * (2 << 20), JSON, 413),
    ],
)
def test_a_body_that_is_no_request_is_refused(server, body, headers, status):
    assert server.call("/v1/completions", body, headers)[0] == status


def test_a_path_of_another_task_says_which_ones_there_are(server):
    status, text = server.call("/v1/embeddings", {"model": "qwen3", "input": "a"})
    assert status == 400
    assert "/v1/completions" in json.loads(text)["error"]["message"]


def test_swapping_wants_the_administrators_key(server):
    assert server.call("/admin/rollback", b"")[0] == 401


def test_clients_that_hang_up_or_send_nothing_leave_no_trace(server, right):
    def opened(text):
        end = socket.create_connection(("127.0.0.1", server.port))
        end.sendall(text)
        return end

    body = json.dumps({**GOOD, "max_tokens": 900}).encode()
    head = b"POST /v1/completions HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
    whole = head + b"Content-Length: %d\r\n\r\n" % len(body)
    gone = [opened(whole + body) for _ in range(5)]
    silent, half = opened(b"POST /v1/comp"), opened(whole + body[:9])
    deadline = time.monotonic() + 20
    while server.metric("vllm:num_requests_running") < 5 and time.monotonic() < deadline:
        time.sleep(0.02)
    for end in gone:
        end.close()
    # The one is cut, the other is told; both within the two seconds of `--read-seconds`.
    silent.settimeout(10)
    half.settimeout(10)
    assert silent.recv(100) == b""
    assert b" 408 " in half.recv(200)
    while server.metric("vllm:num_requests_running") and time.monotonic() < deadline:
        time.sleep(0.05)
    assert server.metric("vllm:num_requests_running") == 0
    assert server.complete(PROMPTS[2]) == (200, right[PROMPTS[2]])


def test_metrics_count_what_was_done(server):
    before = server.metric("vllm:generation_tokens_total")
    assert server.complete(PROMPTS[0], 7)[0] == 200
    assert server.metric("vllm:generation_tokens_total") == before + 7
    assert server.metric("vllm:num_requests_waiting") == 0
