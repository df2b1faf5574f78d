"""The command `enginewright`: look at a host, ask whether an engine runs there, size, lock, pin.

Exit codes: 0 all is well, 1 something has to change, 2 the command was used wrongly.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from enginewright import canonical_json
from enginewright.commands.pinning.pin import pin
from enginewright.commands.pinning.pin_request import HUGGING_FACE, PinRequest
from enginewright.commands.record_comparison import compare, read_record
from enginewright.commands.record_comparison import render as render_comparison
from enginewright.commands.store_verification import default_store, verify_store
from enginewright.compatibility.question import Question, answer
from enginewright.compatibility.tables import TABLES, row, table
from enginewright.doctor import report as doctor_report
from enginewright.doctor.engine_facts import read_engine
from enginewright.doctor.finding import Diagnosis, diagnose
from enginewright.doctor.host_fit import host_device, host_problems, host_request
from enginewright.doctor.messages import explain, read_log
from enginewright.doctor.tensorrt_llm import engine_config_findings, is_tensorrt_llm_engine
from enginewright.doctor.walk import examine, lost_inside
from enginewright.errors import InputError, Problem, raise_if_any
from enginewright.host import nvml
from enginewright.host import report as host_report
from enginewright.host.bundle import read_bundle, write_bundle
from enginewright.host.captured import CapturedSource, RecordingSource
from enginewright.host.fact import to_json
from enginewright.host.model import Host
from enginewright.host.probe import probe
from enginewright.host.sources import LiveSource
from enginewright.memory import report as size_report
from enginewright.memory.gpu import gpu_memory
from enginewright.memory.kv_cache import DTYPE_BYTES
from enginewright.memory.model_shape import read_model_shape
from enginewright.memory.server_plan import GIB, RUNTIMES, SizeRequest, plan
from enginewright.memory.weights import read_weights
from enginewright.toolchains.lock_file import read_lock_file, selected
from enginewright.toolchains.marker import LINUX_X86_64
from enginewright.toolchains.request import read_request
from enginewright.toolchains.resolve import LockFacts, resolve
from enginewright.toolchains.toolchain import read_toolchain
from enginewright.toolchains.wheel import (
    libraries_in,
    uncovered_requirements,
    unlocked_wheel,
    wheel_metadata,
)

EXIT_USAGE = 2


def live_source() -> LiveSource:
    return LiveSource(nvml.load(), int(time.time()))


def host_of(bundle: Path | None) -> Host:
    """This host, or the one that a bundle was collected on."""
    return probe(CapturedSource(read_bundle(bundle)) if bundle else live_source())


def run_probe(options: argparse.Namespace) -> int:
    host = host_of(options.bundle)
    if options.json:
        sys.stdout.write(canonical_json.dumps(to_json(host)))
    else:
        print(host_report.text(host))
    return 0


def run_collect(options: argparse.Namespace) -> int:
    recording = RecordingSource(live_source())
    probe(recording)
    write_bundle(recording.capture, options.file)
    print(f"{options.file}: examine it with `enginewright doctor --bundle {options.file}`")
    return 0


def run_doctor(options: argparse.Namespace) -> int:
    host = host_of(options.bundle)
    if options.engine and is_tensorrt_llm_engine(options.engine):
        config = canonical_json.read_object(options.engine / "config.json")
        diagnosis = diagnose(engine_config_findings(config, options.tensorrt_llm))
        return show_diagnosis(options, diagnosis)
    engine = read_engine(options.engine) if options.engine else None
    if options.log:
        diagnosis = Diagnosis(tuple(explain(read_log(options.log), host)), None)
    else:
        diagnosis = examine(host, engine, options.engine, options.tensor_parallel)
    if options.outside:
        hidden = lost_inside(host_of(options.outside), host)
        diagnosis = diagnose([*diagnosis.findings, *hidden], diagnosis.summary)
    return show_diagnosis(options, diagnosis)


def show_diagnosis(options: argparse.Namespace, diagnosis: Diagnosis) -> int:
    if options.json:
        sys.stdout.write(canonical_json.dumps(diagnosis.to_json()))
    elif options.log and not diagnosis.findings:
        print("No known error text in this log.")
    else:
        print(doctor_report.text(diagnosis))
    return diagnosis.exit_code


def run_compat(options: argparse.Namespace) -> int:
    if not options.key:
        for key in table(options.table):
            print(key)
        return 0
    found = row(options.table, " ".join(options.key))
    question = Question(
        target=options.target,
        gcc=options.gcc,
        ptx=options.ptx,
        opset=options.opset,
        ir_version=options.ir_version,
        driver=options.driver,
    )
    raise_if_any(answer(found, question))
    if options.json:
        document = {"table": found.table, "key": found.key, "source": found.source}
        sys.stdout.write(canonical_json.dumps({**document, "values": dict(found.values)}))
    else:
        print(found.text())
    return 0


def run_size(options: argparse.Namespace) -> int:
    shape = read_model_shape(options.checkpoint / "config.json")
    # As vLLM's `auto`: models stored in float32 are computed in float16.
    stored = "float16" if shape.dtype == "float32" else shape.dtype
    dtype = options.dtype if options.dtype != "auto" else stored
    request = SizeRequest(
        memory=gpu_memory(options.gpu) if options.gpu else int(options.memory_gib * GIB),
        utilization=options.memory_utilization,
        tensor_parallel=options.tensor_parallel,
        max_model_len=options.max_model_len,
        dtype=dtype,
        kv_dtype=options.kv_dtype if options.kv_dtype != "auto" else dtype,
        batched_tokens=options.max_num_batched_tokens,
        sequences=options.max_num_seqs,
        runtime=options.runtime,
    )
    sized = plan(shape, read_weights(options.checkpoint, dtype), request)
    if options.json:
        sys.stdout.write(canonical_json.dumps(size_report.to_json(shape, request, sized)))
    else:
        print(size_report.text(shape, request, sized))
    return 1 if sized.problems else 0


def run_lock(options: argparse.Namespace) -> int:
    if options.from_host:
        sys.stdout.write(host_request(host_of(options.bundle), options.environment))
        return 0
    if options.file is None:
        raise InputError(Problem("no file named", expected="a request, or a toolchain to --check"))
    if options.check:
        raise_if_any(host_problems(read_toolchain(options.file), host_of(options.bundle)))
        print(f"{options.file} fits this host")
        return 0
    if options.lock is None:
        raise InputError(Problem("no lock file named", expected="--lock FILE"))
    packages = read_lock_file(options.lock)
    locked = selected(packages, LINUX_X86_64)
    libraries: dict[str, str] = {}
    for path in options.libraries:
        if path.suffix == ".whl":
            uncovered = uncovered_requirements(wheel_metadata(path), locked, LINUX_X86_64)
            raise_if_any([*unlocked_wheel(path, packages), *uncovered])
        libraries.update(libraries_in(path))
    request = read_request(options.file)
    device = host_device(host_of(options.bundle))
    text = resolve(request, LockFacts(packages, libraries, device)).text()
    _write(options.output, text)
    return 0


def _write(output: Path | None, text: str) -> None:
    """To the file, in a new folder where it has none, or to standard output."""
    if output is None:
        sys.stdout.write(text)
        return
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(text, encoding="utf-8")


def run_pin(options: argparse.Namespace) -> int:
    request = PinRequest(
        options.repository, options.revision, tuple(options.files), options.url_template
    )
    text = pin(request, lambda message: print(message, file=sys.stderr))
    _write(options.output, text)
    return 0


def run_record(options: argparse.Namespace) -> int:
    first, second = (read_record(path) for path in (options.first, options.second))
    pairs = compare(first, second)
    print(render_comparison(pairs))
    return int(any(pair.is_nondeterministic for pair in pairs))


def run_verify_store(options: argparse.Namespace) -> int:
    report = verify_store(options.store or default_store())
    print(report)
    return int(bool(report.damaged))


def parser() -> argparse.ArgumentParser:
    root = argparse.ArgumentParser("enginewright", description=__doc__)
    commands = root.add_subparsers(required=True, metavar="COMMAND")

    def add(name: str, run: object, summary: str) -> argparse.ArgumentParser:
        command = commands.add_parser(name, help=summary, description=summary)
        command.set_defaults(run=run)
        return command

    command = add("probe", run_probe, "show the GPUs, driver, libraries and limits of a host")
    _add_bundle(command)
    command.add_argument("--json", action="store_true")

    command = add("collect", run_collect, "write everything that the probe reads into one file")
    command.add_argument("file", type=Path, metavar="FILE")

    _add_doctor(add("doctor", run_doctor, "what is wrong with a host, or between it and an engine"))
    _add_compat(add("compat", run_compat, "show a row of a compatibility table, or a table's keys"))

    command = add("record", run_record, "show two build records side by side")
    command.add_argument("first", type=Path, metavar="FIRST")
    command.add_argument("second", type=Path, metavar="SECOND")

    command = add("verify-store", run_verify_store, "hash the large files of Pants' store anew")
    command.add_argument(
        "--store", type=Path, metavar="DIR", help="by default ~/.cache/pants/lmdb_store"
    )

    _add_size(add("size", run_size, "what of a checkpoint fits on a GPU"))
    _add_lock(add("lock-toolchain", run_lock, "resolve a request into a toolchain file"))
    _add_pin(add("pin", run_pin, "write the BUILD file that pins a checkpoint on a hub"))
    return root


def _add_bundle(command: argparse.ArgumentParser) -> None:
    help_text = "a file from `enginewright collect`, instead of this host"
    command.add_argument("--bundle", type=Path, metavar="FILE", help=help_text)


def _add_doctor(command: argparse.ArgumentParser) -> None:
    _add_bundle(command)
    command.add_argument("--engine", type=Path, metavar="DIR", help="folder of a packaged engine")
    command.add_argument("--log", type=Path, metavar="FILE", help="explain the errors of a log")
    command.add_argument(
        "--outside", type=Path, metavar="FILE", help="bundle of the host around this container"
    )
    command.add_argument("--tensor-parallel", type=int, metavar="N")
    command.add_argument(
        "--tensorrt-llm",
        metavar="RELEASE",
        help="the server's release, for an engine of that product",
    )
    command.add_argument("--json", action="store_true")


def _add_compat(command: argparse.ArgumentParser) -> None:
    command.add_argument("table", choices=TABLES)
    command.add_argument("key", nargs="*", metavar="KEY")
    for name in ("target", "gcc", "ptx", "driver"):
        command.add_argument(f"--{name}", metavar="VERSION", help="does the row go with it?")
    for name in ("opset", "ir-version"):
        command.add_argument(f"--{name}", type=int, metavar="N", help="does the reader take it?")
    command.add_argument("--json", action="store_true")


def _add_pin(command: argparse.ArgumentParser) -> None:
    command.add_argument("repository", metavar="REPOSITORY", help="such as Qwen/Qwen3-0.6B")
    command.add_argument("files", nargs="+", metavar="FILE", help="path inside the repository")
    command.add_argument("--revision", required=True, metavar="COMMIT")
    command.add_argument(
        "--url-template",
        default=HUGGING_FACE,
        metavar="URL",
        help=f"default {HUGGING_FACE}",
    )
    command.add_argument("--output", "-o", type=Path, metavar="FILE", help="the BUILD file")


def _add_size(command: argparse.ArgumentParser) -> None:
    command.add_argument("checkpoint", type=Path, metavar="CHECKPOINT_DIR")
    memory = command.add_mutually_exclusive_group(required=True)
    memory.add_argument("--gpu", metavar="NAME", help="a name of `enginewright compat gpu`")
    memory.add_argument("--memory-gib", type=float, metavar="N")
    command.add_argument("--memory-utilization", type=float, default=0.9, metavar="PART")
    command.add_argument("--tensor-parallel", "--tp", type=int, default=1, metavar="N")
    command.add_argument("--max-model-len", type=int, metavar="TOKENS")
    command.add_argument("--max-num-seqs", type=int, default=256, metavar="N")
    command.add_argument("--max-num-batched-tokens", type=int, default=2048, metavar="TOKENS")
    command.add_argument(
        "--dtype", default="auto", choices=("auto", "float32", "float16", "bfloat16")
    )
    command.add_argument("--kv-dtype", default="auto", choices=("auto", *DTYPE_BYTES))
    command.add_argument("--runtime", default="vllm", choices=RUNTIMES)
    command.add_argument("--json", action="store_true")


def _add_lock(command: argparse.ArgumentParser) -> None:
    command.add_argument("file", type=Path, nargs="?", metavar="REQUEST_OR_TOOLCHAIN")
    command.add_argument("--lock", type=Path, metavar="FILE", help="lock file of the environment")
    command.add_argument(
        "--libraries",
        type=Path,
        nargs="+",
        default=[],
        metavar="PATH",
        help="the product's wheels, or folders where they are installed",
    )
    command.add_argument("--output", "-o", type=Path, metavar="FILE")
    command.add_argument("--check", action="store_true", help="whether a toolchain fits the host")
    command.add_argument("--from-host", action="store_true", help="print a request for this host")
    command.add_argument("--environment", default="lockfiles:tensorrt_rtx", metavar="ADDRESS")
    _add_bundle(command)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return its exit code."""
    options = parser().parse_args(arguments)
    try:
        return int(options.run(options))
    except InputError as error:
        print(error, file=sys.stderr)
        # Without facts or an engine there is no diagnosis: that is not a finding.
        return EXIT_USAGE if options.run in (run_probe, run_doctor) else 1
    except OSError as error:
        print(f"{error.filename or 'output'}: {error.strerror or error}", file=sys.stderr)
        return EXIT_USAGE
