"""Run the probe and the doctor on a machine with a data-center GPU, and check what they say.

    PYTHONPATH=src:tests/src python3 tests/gpu/check_host.py [OUTPUT_FOLDER]

Needs Python 3.11 or newer and nvidia-ml-py. Every check prints a line; the exit code is 1 when one
fails, and 77 (skipped) where there is no GPU of compute capability 9.0.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import tempfile
from pathlib import Path

from engine_document import plan_document

SKIPPED = 77


def enginewright(*arguments: str) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, "-m", "enginewright", *arguments],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


def write_engine(folder: Path) -> None:
    """A package whose files are sound; its plan is never loaded."""
    folder.mkdir()
    plan = b"a plan that nothing may load"
    digest = {"sha256": hashlib.sha256(plan).hexdigest(), "size": len(plan)}
    (folder / "engine.plan").write_bytes(plan)
    manifest = plan_document(
        {"compute_capabilities": ["8.6", "8.9", "12.0"]}, files={"engine.plan": digest}
    )
    (folder / "engine.json").write_text(json.dumps(manifest), encoding="utf-8")


def main() -> int:
    output = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(tempfile.mkdtemp())
    output.mkdir(parents=True, exist_ok=True)
    _, text = enginewright("probe", "--json")
    host = json.loads(text)
    (output / "probe.json").write_text(text, encoding="utf-8")
    gpus = host["gpus"] if isinstance(host["gpus"], list) else []
    if not any(gpu["compute_capability"] == "9.0" for gpu in gpus):
        print(f"skipped: no GPU of compute capability 9.0 here: {host['gpus']}")
        return SKIPPED

    import pynvml

    pynvml.nvmlInit()
    handle = pynvml.nvmlDeviceGetHandleByIndex(0)
    write_engine(output / "engine")
    code, verdict = enginewright("doctor", "--engine", str(output / "engine"))
    _, healthy = enginewright("doctor")
    _, shown = enginewright("probe")
    (output / "probe.txt").write_text(shown, encoding="utf-8")
    (output / "doctor.txt").write_text(healthy + "\n\n" + verdict, encoding="utf-8")
    bundle = output / "host.bundle"
    enginewright("collect", str(bundle))
    bundle_code, from_bundle = enginewright("probe", "--json", "--bundle", str(bundle))
    same = json.loads(from_bundle)
    for document in (host, same):
        for gpu in document["gpus"]:
            gpu.pop("memory_free"), gpu.pop("pcie_generation")
        document.pop("compute_cache")
    driver = pynvml.nvmlSystemGetDriverVersion()
    checks = {
        "name": gpus[0]["name"] == pynvml.nvmlDeviceGetName(handle),
        "uuid": gpus[0]["uuid"] == pynvml.nvmlDeviceGetUUID(handle),
        "memory": gpus[0]["memory_total"] == pynvml.nvmlDeviceGetMemoryInfo(handle).total,
        "driver": host["driver"]["nvml"] == driver,
        "kernel module": host["driver"]["kernel_module"] in (driver, None)
        or isinstance(host["driver"]["kernel_module"], dict),
        "doctor refuses TensorRT for RTX on 9.0": code == 1
        and "engine.product-cannot-run" in verdict
        and "has compute capability 9.0" in verdict,
        "a bundle gives the same facts": bundle_code == 0 and same == host,
    }
    for name, passed in checks.items():
        print(f"{'ok' if passed else 'FAILED'}: {name}")
    return 0 if all(checks.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
