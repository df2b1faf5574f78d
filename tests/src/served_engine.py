"""The tree's Qwen3 as a package, and a real server of it, for the tests of serving."""

import http.client
import json
import os
import re
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from enginewright import canonical_json
from enginewright.actions.export_direct import run as export_direct
from enginewright.actions.verify_checkpoint import run as verify_checkpoint
from enginewright.hashing import FileDigest
from enginewright.products.onnxruntime.build import run as build_engine
from enginewright.products.onnxruntime.describe import run as write_manifest
from enginewright.step import ActionRequest, InputFile

CHECKPOINT = Path(__file__).parents[2] / "models/qwen3"
TASK = "text-generation-with-past"
ADMIN_KEY = "an administrator's key"
JSON = {"Content-Type": "application/json"}


def files(*paths):
    return tuple(InputFile(path, FileDigest.of(path)) for path in paths)


def make_package(folder):
    """As `./pants package engines:qwen3_cpu` makes it, tokenizer included."""
    weights, verified = CHECKPOINT / "model.safetensors", folder / "verified"
    verified.mkdir(parents=True)
    inputs = {"config": files(CHECKPOINT / "config.json"), "weights": files(weights)}
    verify_checkpoint(ActionRequest("verify_checkpoint", inputs, {}), verified)
    names = {"config": "config.json", "descriptor": "checkpoint.json"}
    inputs = {role: files(verified / name) for role, name in names.items()}
    parameters = {"task": TASK, "opset": 23, "dtype": "float32", "logits": "last"}
    export_direct(ActionRequest("export_direct", inputs, parameters), folder)
    (folder / "model/model.safetensors").write_bytes(weights.read_bytes())
    engine = folder / "engine"
    engine.mkdir()
    inputs = {"model": files(*sorted((folder / "model").iterdir()))}
    build = build_engine(ActionRequest("build_onnxruntime_engine", inputs, {}), engine)
    canonical_json.write(folder / "build.json", build)
    document = {"name": "qwen3", "task": TASK, "inputs": [], "files": {}}
    document["source"] = {"kind": "onnx", "address": "models/qwen3:cpu"}
    inputs = {"build": files(folder / "build.json")}
    write_manifest(ActionRequest("write_manifest", inputs, document), engine)
    manifest = canonical_json.read_object(engine / "engine.json")
    for name in ("tokenizer.json", "tokenizer_config.json"):
        (engine / name).write_bytes((CHECKPOINT / name).read_bytes())
        manifest["files"][name] = vars(FileDigest.of(engine / name))
    manifest["generation"] = {"stop": [0], "begin": []}
    canonical_json.write(engine / "engine.json", manifest)
    return engine


class Server:
    """`enginewright serve` in a process of its own, with ports and keys of its own."""

    def __init__(self, package, folder, *arguments, log=None):
        keys = folder / "admin_keys"
        keys.write_text(ADMIN_KEY)
        self.log_path = folder / "log"
        with Path(log or self.log_path).open("wb") as out:
            self.process = subprocess.Popen(
                [
                    *(sys.executable, "-m", "enginewright.commands.serve", str(package)),
                    *("--port=0", f"--port-file={folder / 'port'}", f"--admin-keys={keys}"),
                    *("--threads=1", *arguments),
                ],
                stdout=out,
                stderr=out,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            )
        deadline = time.monotonic() + 60
        while not (folder / "port").is_file() and time.monotonic() < deadline:
            assert self.process.poll() is None, self.log_path.read_text()
            time.sleep(0.05)
        self.port = int((folder / "port").read_text())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()

    def call(self, path, body=None, headers=JSON, method=None):
        """Status and document of one request."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            text = body if isinstance(body, bytes | None) else json.dumps(body)
            connection.request(method or ("GET" if body is None else "POST"), path, text, headers)
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()

    def complete(self, prompt, tokens=24, **changes):
        """Status, and the token ids of a greedy completion or the message."""
        body = {"model": "qwen3", "prompt": prompt, "max_tokens": tokens, "temperature": 0}
        status, text = self.call("/v1/completions", {**body, "return_token_ids": True, **changes})
        document = json.loads(text)
        if status != 200:
            return status, document["error"]["message"]
        return status, document["choices"][0]["token_ids"]

    def admin(self, path, body):
        headers = {**JSON, "Authorization": f"Bearer {ADMIN_KEY}"}
        status, text = self.call(path, body, headers)
        return status, json.loads(text)

    def metric(self, name):
        text = self.call("/metrics")[1].decode()
        return sum(
            float(value) for value in re.findall(rf"^{name}(?:{{.*}})? (\S+)$", text, re.MULTILINE)
        )

    def worker_pid(self):
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        return max(map(int, children.read_text().split()))


class Load:
    """Clients that ask one prompt after the other until `stop`."""

    def __init__(self, server, prompts, clients=8, tokens=24):
        self.results = []
        self._stop = threading.Event()
        self._pool = ThreadPoolExecutor(clients)
        self._runs = [
            self._pool.submit(self._run, server, prompts, n, tokens) for n in range(clients)
        ]

    def _run(self, server, prompts, number, tokens):
        while not self._stop.is_set():
            prompt = prompts[number % len(prompts)]
            try:
                result = server.complete(prompt, tokens)
            except (OSError, http.client.HTTPException) as error:
                result = (0, repr(error))
            self.results.append((prompt, *result))
            if result[0] == 503:
                break  # It is told to ask another server.
            number += 1

    def stop(self):
        self._stop.set()
        for run in self._runs:
            run.result()
        self._pool.shutdown()
        return self.results
