"""Bandwidth of the packaged kernels beside a device-to-device copy and torch.

    python benchmarks/kernels.py [--kernels dist/csrc] [--json FILE] [--sweep] [--no-compile]
    python benchmarks/kernels.py --markdown FILE

The second form needs no device: it prints the table of docs/kernels.md from a FILE of the first.

Each kernel moves data several times the size of the L2 cache, on random values. Its bandwidth is
the fewest bytes that the operation must move (each input read once, each output written once) over
the median of event-timed launches; the copy moves as many bytes (half read, half written) in the
same run, and a kernel that is bound by memory should reach 90 % of it. `--sweep` also times other
block shapes, of all kernels or of those named.

Rotary in place moves only the part of a head that turns. Sampling searches its bounds in a row that
it reads again and again from the cache: it is not bound by memory.
"""

from __future__ import annotations

import argparse
import json
import platform
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import torch
import torch.nn.functional as functional

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))
from enginewright.kernels.launch import operators
from enginewright.kernels.launch.device import Device, LoadedKernels
from enginewright.kernels.launch.launch import Launch
from enginewright.kernels.launch.package import KernelPackage

WARM_UP = 5
REPEATS = 30
SETS = 2  # input sets in turn, each itself several times the L2
EPSILON = 1e-6
WANTED = 0.9  # of the copy


@dataclass(frozen=True)
class Case:
    name: str
    shape: str
    bytes_moved: int
    launches: list[list[Launch]]
    """One list a set of inputs."""
    eager: Callable[[int], object]
    """The operation in plain torch, on a set of inputs."""
    kept: object
    """The tensors, kept alive."""
    bound_by_memory: bool = True
    variants: Callable[[], dict[str, list[list[Launch]]]] = dict
    """Launches of other shapes than the chosen one, for `--sweep`."""


def timed(work: Callable[[int], object]) -> float:
    """Median milliseconds of `work(repeat)`, by events, with the queue kept full."""
    for repeat in range(WARM_UP):
        work(repeat)
    torch.cuda.synchronize()
    events = [
        (torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True))
        for _ in range(REPEATS)
    ]
    for repeat, (start, end) in enumerate(events):
        start.record()
        work(repeat)
        end.record()
    torch.cuda.synchronize()
    return median(start.elapsed_time(end) for start, end in events)


def random(dtype: torch.dtype, *shape: int) -> torch.Tensor:
    return torch.randn(*shape, device="cuda").to(dtype)


def name_of(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def rms_norm_case(dtype: torch.dtype, rows: int, columns: int) -> Case:
    weight = random(dtype, columns)
    xs = [random(dtype, rows, columns) for _ in range(SETS)]
    ys = [torch.empty_like(x) for x in xs]
    launches = [
        [operators.rms_norm(name_of(dtype), x.data_ptr(), weight.data_ptr(), y.data_ptr(), rows,
                            columns, x_stride=columns, y_stride=columns, epsilon=EPSILON)]
        for x, y in zip(xs, ys, strict=True)
    ]  # fmt: skip

    def eager(i: int) -> object:
        wide = xs[i].float()
        scale = torch.rsqrt(wide.square().mean(-1, keepdim=True) + EPSILON)
        return (wide * scale).to(dtype) * weight

    moved = 2 * xs[0].nbytes + weight.nbytes
    kept = (xs, ys, weight)
    variants = partial(row_variants, launches)
    size = f"{rows}x{columns}"
    return Case("rms_norm", size, moved, launches, eager, kept, variants=variants)


def add_rms_norm_case(dtype: torch.dtype, rows: int, columns: int) -> Case:
    weight = random(dtype, columns)
    xs, residuals = ([random(dtype, rows, columns) for _ in range(SETS)] for _ in range(2))
    totals, ys = ([torch.empty_like(x) for x in xs] for _ in range(2))
    launches = [
        [operators.add_rms_norm(name_of(dtype), x.data_ptr(), r.data_ptr(), weight.data_ptr(),
                                t.data_ptr(), y.data_ptr(), rows, columns,
                                strides=(columns,) * 4, epsilon=EPSILON)]
        for x, r, t, y in zip(xs, residuals, totals, ys, strict=True)
    ]  # fmt: skip

    def eager(i: int) -> object:
        total = xs[i] + residuals[i]
        wide = total.float()
        scale = torch.rsqrt(wide.square().mean(-1, keepdim=True) + EPSILON)
        return total, (wide * scale).to(dtype) * weight

    moved = 4 * xs[0].nbytes + weight.nbytes
    kept = (xs, residuals, totals, ys, weight)
    variants = partial(row_variants, launches)
    size = f"{rows}x{columns}"
    return Case("add_rms_norm", size, moved, launches, eager, kept, variants=variants)


def swiglu_case(dtype: torch.dtype, rows: int, columns: int) -> Case:
    gates, ups = ([random(dtype, rows, columns) for _ in range(SETS)] for _ in range(2))
    ys = [torch.empty_like(gate) for gate in gates]
    launches = [
        [operators.swiglu(name_of(dtype), g.data_ptr(), u.data_ptr(), y.data_ptr(), rows, columns,
                          strides=(columns,) * 3)]
        for g, u, y in zip(gates, ups, ys, strict=True)
    ]  # fmt: skip

    def eager(i: int) -> object:
        return functional.silu(gates[i]) * ups[i]

    moved = 3 * gates[0].nbytes
    variants = partial(swiglu_variants, launches)
    size, kept = f"{rows}x{columns}", (gates, ups, ys)
    return Case("swiglu", size, moved, launches, eager, kept, variants=variants)


def rotary_case(
    dtype: torch.dtype,
    shape: tuple[int, int, int, int],
    turned: int,
    interleaved: bool,
    in_place: bool = False,
) -> Case:
    batch, sequence, heads, dimension = shape
    xs = [random(dtype, *shape) for _ in range(SETS)]
    ys = xs if in_place else [torch.empty_like(x) for x in xs]
    table = torch.randn(sequence, turned // 2, device="cuda")
    cosine, sine = table.cos(), table.sin()
    positions = torch.arange(sequence, device="cuda").expand(batch, sequence).contiguous()
    launches = [
        [operators.rotary(name_of(dtype), x.data_ptr(), y.data_ptr(), cosine.data_ptr(),
                          sine.data_ptr(), positions.data_ptr(), shape, rotary_dimension=turned,
                          interleaved=interleaved, x_strides=x.stride()[:3],
                          y_strides=y.stride()[:3])]
        for x, y in zip(xs, ys, strict=True)
    ]  # fmt: skip

    def variants() -> dict[str, list[list[Launch]]]:
        columns = launches[0][0].block[0]
        tried = {}
        for together in sorted({1, 2, 4, 8, 16} & set(range(1, heads + 1))):
            for tokens in (1, 2, 4, 8, 16):
                if 32 <= columns * together * tokens <= 256:
                    grid = (-(-batch * sequence // tokens), 1, 1)
                    block = (columns, together, tokens)
                    tried[str(block)] = reshaped(launches, grid, block)
        return tried

    def eager(i: int) -> object:
        x, rest = xs[i][..., :turned], xs[i][..., turned:]
        c, s = (t[positions][:, :, None, :].to(dtype) for t in (cosine, sine))
        if interleaved:
            a, b = x[..., 0::2], x[..., 1::2]
            y = torch.stack((a * c - b * s, b * c + a * s), -1).flatten(-2)
        else:
            a, b = x.chunk(2, -1)
            y = torch.cat((a * c - b * s, b * c + a * s), -1)
        if in_place:
            x.copy_(y)
            return None
        return torch.cat((y, rest), -1) if rest.numel() else y

    part = turned / dimension if in_place else 1
    moved = int(2 * xs[0].nbytes * part) + cosine.nbytes + sine.nbytes + positions.nbytes
    name = "rotary_interleaved" if interleaved else "rotary_half"
    size = "x".join(map(str, shape)) + (f" first {turned}" if turned != dimension else "")
    size += " in place" if in_place else ""
    kept = (xs, ys, cosine, sine, positions)
    return Case(name, size, moved, launches, eager, kept, variants=variants)


def mean_pool_case(dtype: torch.dtype, batch: int, sequence: int, columns: int) -> Case:
    xs = [random(dtype, batch, sequence, columns) for _ in range(SETS)]
    mask = torch.ones(batch, sequence, device="cuda", dtype=torch.int64)
    chosen = operators.pool_splits(batch, sequence)
    choices = sorted({1, 2, 4, chosen // 2, chosen, chosen * 3 // 2, 2 * chosen} - {0})
    sums = torch.empty(batch, max(choices), columns, device="cuda")
    y = torch.empty(batch, columns, device="cuda")

    def split(splits: int) -> list[list[Launch]]:
        return [
            list(operators.mean_pool(
                name_of(dtype), x.data_ptr(), mask.data_ptr(), sums.data_ptr(), y.data_ptr(),
                (batch, sequence, columns), splits=splits, x_strides=(sequence * columns, columns),
                y_stride=columns, normalize=True,
            ))
            for x in xs
        ]  # fmt: skip

    launches = split(chosen)

    def variants() -> dict[str, list[list[Launch]]]:
        tried = {}
        for splits in choices:
            across = launches[0][0].block[0]
            for rows in (1, 2, 4, 5, 8):
                block = (across, rows, 1)
                if 64 <= across * rows <= 224 and across * rows % 32 == 0:
                    grid = (batch, splits, 1)
                    tried[f"{block} splits {splits}"] = reshaped(split(splits), grid, block)
        return tried

    def eager(i: int) -> object:
        weights = mask[:, :, None].float()
        pooled = (xs[i].float() * weights).sum(1) / weights.sum(1).clamp(min=1e-9)
        return functional.normalize(pooled)

    moved = xs[0].nbytes + mask.nbytes + y.nbytes
    kept = (xs, mask, sums, y)
    size = f"{batch}x{sequence}x{columns}"
    return Case("mean_pool", size, moved, launches, eager, kept, variants=variants)


def sample_case(dtype: torch.dtype, rows: int, columns: int) -> Case:
    logits = [random(dtype, rows, columns) * 3 for _ in range(SETS)]
    tokens = torch.empty(rows, device="cuda", dtype=torch.int64)
    launches = [
        [operators.sample(name_of(dtype), x.data_ptr(), tokens.data_ptr(), rows, columns,
                          stride=columns, temperature=0.8, top_k=50, top_p=0.9, seed=1, step=0)]
        for x in logits
    ]  # fmt: skip

    def eager(i: int) -> object:
        values, indices = torch.topk(logits[i].float() / 0.8, 50)
        chances = values.softmax(-1)
        chances = chances.where(chances.cumsum(-1) - chances < 0.9, 0.0)
        return indices.gather(-1, torch.multinomial(chances, 1))

    return Case("sample", f"{rows}x{columns}", logits[0].nbytes, launches, eager, logits, False)


def cases(dtype: torch.dtype) -> list[tuple[str, Callable[[], Case]]]:
    """Names and makers: made one at a time, so that only one holds memory."""
    half, interleaved, in_place = {"interleaved": False}, {"interleaved": True}, {"in_place": True}
    wanted: list[tuple[str, Callable[..., Case], tuple[object, ...], dict[str, bool]]] = [
        ("rms_norm", rms_norm_case, (65536, 4096), {}),
        ("rms_norm", rms_norm_case, (262144, 1024), {}),
        ("rms_norm", rms_norm_case, (2097152, 128), {}),
        ("rms_norm", rms_norm_case, (32768, 8192), {}),
        ("add_rms_norm", add_rms_norm_case, (32768, 4096), {}),
        ("add_rms_norm", add_rms_norm_case, (131072, 1024), {}),
        ("swiglu", swiglu_case, (16384, 12288), {}),
        ("swiglu", swiglu_case, (65536, 3072), {}),
        ("rotary", rotary_case, ((8, 8192, 32, 128), 128), half),
        ("rotary", rotary_case, ((8, 8192, 32, 128), 128), interleaved),
        ("rotary", rotary_case, ((8, 8192, 32, 128), 64), half),
        ("rotary", rotary_case, ((8, 8192, 32, 128), 64), {**half, **in_place}),
        ("rotary", rotary_case, ((8, 32768, 8, 128), 128), half),
        ("rotary", rotary_case, ((8, 32768, 8, 128), 128), interleaved),
        ("mean_pool", mean_pool_case, (2048, 512, 384), {}),
        ("mean_pool", mean_pool_case, (4096, 128, 768), {}),
        ("mean_pool", mean_pool_case, (64, 8192, 1024), {}),
        ("sample", sample_case, (132, 151936), {}),
    ]
    return [(name, partial(make, dtype, *sizes, **more)) for name, make, sizes, more in wanted]


def copy_time(bytes_moved: int) -> float:
    """Milliseconds of a device-to-device copy that reads and writes `bytes_moved` together."""
    count = bytes_moved // 4
    pairs = [
        (torch.empty(count, dtype=torch.int16, device="cuda"),
         torch.randint(-999, 999, (count,), dtype=torch.int16, device="cuda"))
        for _ in range(SETS)
    ]  # fmt: skip
    return timed(lambda repeat: pairs[repeat % SETS][0].copy_(pairs[repeat % SETS][1]))


def kernel_time(kernels: LoadedKernels, launches: list[list[Launch]]) -> float:
    stream = torch.cuda.current_stream().cuda_stream

    def work(repeat: int) -> None:
        for launch in launches[repeat % SETS]:
            kernels.launch(launch, stream)

    return timed(work)


def reshaped(
    launches: list[list[Launch]], grid: tuple[int, int, int], block: tuple[int, int, int]
) -> list[list[Launch]]:
    """The same launches, with another shape of the first one of each set."""
    return [[replace(one[0], grid=grid, block=block), *one[1:]] for one in launches]


def row_variants(launches: list[list[Launch]]) -> dict[str, list[list[Launch]]]:
    """Blocks of other sizes for norms, and their grids, which cover all rows or go around."""
    launch = launches[0][0]
    first = 3 if launch.kernel.startswith("rms") else 5
    rows, columns = int(launch.arguments[first]), int(launch.arguments[first + 1])
    tried = {}
    for packets in (1, 2, 4):
        threads = -(-columns // (8 * packets))
        threads = 1 << (threads - 1).bit_length() if threads <= 32 else -(-threads // 32) * 32
        for size in (64, 128, 256, 512):
            together = size // threads
            if together:
                for blocks in (-(-rows // together), 132 * 8):
                    block = (threads, together, 1)
                    tried[f"{block} grid {blocks}"] = reshaped(launches, (blocks, 1, 1), block)
    return tried


def swiglu_variants(launches: list[list[Launch]]) -> dict[str, list[list[Launch]]]:
    launch = launches[0][0]
    tried = {}
    for size in (64, 128, 256, 512):
        whole = launch.grid[0] * launch.threads // size
        for blocks in (whole, whole // 2):
            block = (size, 1, 1)
            tried[f"{block} grid {blocks}"] = reshaped(launches, (blocks, 1, 1), block)
    return tried


def sweep(kernels: LoadedKernels, case: Case, copy_ms: float) -> list[dict[str, object]]:
    """Shares of the copy of other shapes, the best first."""
    found: list[dict[str, object]] = [
        {"shape": shape, "of_copy": copy_ms / kernel_time(kernels, launches)}
        for shape, launches in case.variants().items()
    ]
    return sorted(found, key=lambda entry: -entry["of_copy"])  # type: ignore[operator]


def torch_times(case: Case, compiled: bool) -> dict[str, float | str | None]:
    times: dict[str, float | str | None] = {
        "eager_ms": timed(lambda repeat: case.eager(repeat % SETS)),
        "compiled_ms": None,
    }
    if compiled:
        try:
            torch._dynamo.reset()
            # With the set as a constant, each is specialised once, in the warm-up.
            fast = torch.compile(case.eager)
            times["compiled_ms"] = timed(lambda repeat: fast(repeat % SETS))
        except Exception as error:  # what breaks inside torch is a result here, not our failure
            times["compiled_ms"] = f"failed: {type(error).__name__}"
    return times


def measure(kernels: LoadedKernels, case: Case, arguments: argparse.Namespace) -> dict[str, object]:
    copy_ms = copy_time(case.bytes_moved)
    kernel_ms = kernel_time(kernels, case.launches)
    again_ms = kernel_time(kernels, case.launches)
    launch = case.launches[0][0]
    entry: dict[str, object] = {
        "kernel": case.name,
        "shape": case.shape,
        "bytes": case.bytes_moved,
        "bound_by_memory": case.bound_by_memory,
        "grid": launch.grid,
        "block": launch.block,
        "kernel_ms": kernel_ms,
        "kernel_again_ms": again_ms,
        "copy_ms": copy_ms,
        "kernel_gb_s": case.bytes_moved / kernel_ms / 1e6,
        "copy_gb_s": case.bytes_moved / copy_ms / 1e6,
        "of_copy": copy_ms / kernel_ms,
        **torch_times(case, not arguments.no_compile),
    }
    entry["verdict"] = verdict(entry)
    if arguments.sweep is not None and case.name.startswith(tuple(arguments.sweep) or ("",)):
        entry["sweep"] = sweep(kernels, case, copy_ms)
    return entry


def line(dtype: str, entry: dict[str, object]) -> str:
    def number(value: object) -> str:
        return f"{value:8.3f}" if isinstance(value, float) else f"{value or '-':>8}"

    text = (
        f"{dtype:8} {entry['kernel']:18} {entry['shape']:30} {entry['kernel_gb_s']:7.0f} "
        f"{entry['copy_gb_s']:7.0f} {entry['of_copy']:6.1%} {number(entry['kernel_ms'])} "
        f"{number(entry['eager_ms'])} {number(entry['compiled_ms'])}  {entry['verdict']:12} "
        f"{entry['block']}"
    )
    for other in entry.get("sweep", [])[:3]:  # type: ignore[index]
        text += f"\n{'':11}sweep {other['of_copy']:6.1%} {other['shape']}"
    return text


def verdict(entry: dict[str, object]) -> str:
    if not entry["bound_by_memory"]:
        return "not memory"
    return "good" if entry["of_copy"] >= WANTED else "SLOW"  # type: ignore[operator]


def driver_version() -> str | None:
    program = shutil.which("nvidia-smi")
    if program is None:
        return None
    command = [program, "--query-gpu=driver_version", "--format=csv,noheader", "--id=0"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else None


def markdown(report: dict[str, Any]) -> str:
    """The card, the versions, and a table of a report's results."""

    def ms(value: object) -> str:
        return f"{value:.3f}" if isinstance(value, float) else str(value or "-")

    versions = [f"{name} {report[name]}" for name in ("driver", "cuda", "torch", "python")
                if report[name]]  # fmt: skip
    lines = [
        f"{report['device']}, compute capability {report['compute_capability']}, "
        f"{report['multiprocessors']} multiprocessors, L2 {report['l2_bytes'] / 2**20:.0f} MiB; "
        + ", ".join(versions) + ".",
        "",
        "| kernel | dtype | shape | MB | GB/s | copy GB/s | share | ms | eager ms | compiled ms |",
        "| --- | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]  # fmt: skip
    for entry in report["results"]:
        share = f"{entry['of_copy']:.1%}"
        if not entry["bound_by_memory"]:
            share = "not memory"
        elif entry["of_copy"] < WANTED:
            share = f"**{share}**"
        lines.append(
            f"| {entry['kernel']} | {entry['dtype']} | {entry['shape']} | "
            f"{entry['bytes'] / 1e6:.0f} | {entry['kernel_gb_s']:.0f} | {entry['copy_gb_s']:.0f} | "
            f"{share} | {ms(entry['kernel_ms'])} | {ms(entry['eager_ms'])} | "
            f"{ms(entry['compiled_ms'])} |"
        )
    bound = [entry for entry in report["results"] if entry["bound_by_memory"]]
    good = sum(entry["of_copy"] >= WANTED for entry in bound)
    lines += ["", f"{good} of {len(bound)} cases bound by memory reach {WANTED:.0%} of the copy"
                  + (", the others in bold." if good < len(bound) else ".")]  # fmt: skip
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kernels", type=Path, default=Path("dist/csrc"))
    parser.add_argument("--json", type=Path)
    parser.add_argument(
        "--sweep", nargs="*", help="also time other block shapes [of kernels that begin so]"
    )
    parser.add_argument("--only", nargs="+", default=[""], help="kernels that begin so")
    parser.add_argument("--no-compile", action="store_true", help="leave torch.compile out")
    parser.add_argument("--dtypes", nargs="+", default=["float16", "bfloat16"])
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="print FILE as a table")
    arguments = parser.parse_args()
    if arguments.markdown:
        print(markdown(json.loads(arguments.markdown.read_text())))
        return
    torch.manual_seed(7)
    torch.zeros(1, device="cuda")
    kernels = Device(torch.cuda.current_device()).load(KernelPackage.read_tree(arguments.kernels))
    properties = torch.cuda.get_device_properties(0)
    report: dict[str, object] = {
        "device": properties.name,
        "compute_capability": f"{properties.major}.{properties.minor}",
        "multiprocessors": properties.multi_processor_count,
        "l2_bytes": properties.L2_cache_size,
        "driver": driver_version(),
        "torch": torch.__version__,
        "cuda": torch.version.cuda,
        "python": platform.python_version(),
    }
    print(", ".join(f"{key} {value}" for key, value in report.items() if value))
    print(f"{'dtype':8} {'kernel':18} {'shape':30} {'GB/s':>7} {'copy':>7} {'share':>6} "
          f"{'ms':>8} {'eager':>8} {'compiled':>8}  {'verdict':12} block")  # fmt: skip
    entries = report["results"] = []
    for dtype in arguments.dtypes:
        for name, make in cases(getattr(torch, dtype)):
            if not name.startswith(tuple(arguments.only)):
                continue
            entry = {"dtype": dtype, **measure(kernels, make(), arguments)}
            entries.append(entry)
            print(line(dtype, entry), flush=True)
            torch.cuda.empty_cache()
    bound = [entry for entry in entries if entry["bound_by_memory"]]
    slow = [entry for entry in bound if entry["of_copy"] < WANTED]
    print(f"{len(bound)} cases bound by memory, {len(slow)} under {WANTED:.0%} of the copy")
    for entry in slow:
        print(f"  {entry['dtype']} {entry['kernel']} {entry['shape']}: {entry['of_copy']:.1%}")
    if arguments.json:
        arguments.json.write_text(json.dumps(report, indent=2, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()
