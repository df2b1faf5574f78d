"""Launch every packaged kernel on small, awkward shapes, for compute-sanitizer to watch.

    compute-sanitizer --tool memcheck python tests/gpu/launch_every_kernel.py [FOLDER]

No torch: its allocator would hide an access just beyond a tensor, and its kernels are not under
test. Each tensor is an allocation of exactly its size. Outputs are not initialised, so that
`initcheck` sees an element that was not written when it is copied back.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import numpy as np

CHECKOUT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(CHECKOUT / "src"))
from enginewright.kernels.launch import operators  # noqa: E402
from enginewright.kernels.launch.device import Device, LoadedKernels  # noqa: E402
from enginewright.kernels.launch.launch import Launch  # noqa: E402
from enginewright.kernels.launch.package import KernelPackage  # noqa: E402

HALVES = ("float16", "bfloat16")


class Watched:
    """Allocations of one case, on the device and back."""

    def __init__(self, device: Device, random: np.random.Generator) -> None:
        self.device, self.random = device, random
        self.allocations: list[int] = []
        self.outputs: list[tuple[str, int, np.ndarray]] = []

    def allocate(self, size: int) -> int:
        address = int(self.device.call("cuMemAlloc", size))
        self.allocations.append(address)
        return address

    def upload(self, array: np.ndarray, offset: int = 0) -> int:
        """Address of `array`, `offset` bytes into an allocation that ends where it ends."""
        base = self.allocate(offset + array.nbytes)
        if offset:
            self.device.call("cuMemsetD8", base, 0, offset)
        self.device.call("cuMemcpyHtoD", base + offset, array.ctypes.data, array.nbytes)
        return base + offset

    def values(self, dtype: str, *shape: int, offset: int = 0) -> int:
        wide = self.random.standard_normal(shape).astype(np.float32)
        if dtype == "float32":
            return self.upload(wide, offset)
        if dtype == "float16":
            return self.upload(wide.astype(np.float16), offset)
        return self.upload((wide.view(np.uint32) >> 16).astype(np.uint16), offset)

    def output(self, name: str, dtype: type, size: int, offset: int = 0) -> int:
        """Address of `size` elements that the launch must write; not initialised here."""
        host = np.zeros(size, dtype)
        address = self.allocate(offset + host.nbytes) + offset
        self.outputs.append((name, address, host))
        return address

    def not_finite(self) -> list[str]:
        """Copy the outputs back; names of the float32 ones with a NaN or an infinity."""
        for _, address, host in self.outputs:
            self.device.call("cuMemcpyDtoH", host.ctypes.data, address, host.nbytes)
        return [
            name
            for name, _, host in self.outputs
            if host.dtype == np.float32 and not np.isfinite(host).all()
        ]

    def free(self) -> None:
        for address in self.allocations:
            self.device.call("cuMemFree", address)


def norms(watched: Watched, dtype: str, rows: int, columns: int, offset: int) -> list[Launch]:
    x, residual = (watched.values(dtype, rows, columns, offset=offset) for _ in range(2))
    weight = watched.values(dtype, columns)
    size = rows * columns
    y, total, normed = (watched.output(n, np.uint16, size, offset) for n in ("y", "sum", "norm"))
    return [
        operators.rms_norm(
            dtype, x, weight, y, rows, columns, x_stride=columns, y_stride=columns, epsilon=1e-6
        ),
        operators.add_rms_norm(
            dtype, x, residual, weight, total, normed, rows, columns, strides=(columns,) * 4,
            epsilon=1e-6,
        ),
        operators.swiglu(
            dtype, x, residual, y, rows, columns, strides=(columns, columns, columns)
        ),
    ]  # fmt: skip


def rotations(watched: Watched, dtype: str, heads: int, dimension: int, turned: int,
              offset: int) -> list[Launch]:  # fmt: skip
    batch, sequence = 2, 5
    size = batch * sequence * heads * dimension
    x = watched.values(dtype, size, offset=offset)
    cosine, sine = (watched.values("float32", 9, turned // 2) for _ in range(2))
    positions = watched.upload(watched.random.integers(0, 9, (batch, sequence)))
    strides = (sequence * heads * dimension, heads * dimension, dimension)
    return [
        operators.rotary(
            dtype, x, y, cosine, sine, given, (batch, sequence, heads, dimension),
            rotary_dimension=turned, interleaved=interleaved, x_strides=strides, y_strides=strides,
        )
        for interleaved in (False, True)
        for given in (positions, 0)
        for y in (watched.output("y", np.uint16, size, offset), x)
    ]  # fmt: skip


def pools(watched: Watched, dtype: str, sequence: int, columns: int, offset: int) -> list[Launch]:
    batch = 3
    x = watched.values(dtype, batch, sequence, columns, offset=offset)
    mask = watched.upload((watched.random.random((batch, sequence)) < 0.6).astype(np.int64))
    launches: list[Launch] = []
    for splits in (1, 3):
        # One split has no partial sums.
        count = batch * splits * columns
        partial = watched.output("partial", np.float32, count) if splits > 1 else 0
        y = watched.output("y", np.float32, batch * columns)
        launches += operators.mean_pool(
            dtype, x, mask, partial, y, (batch, sequence, columns), splits=splits,
            x_strides=(sequence * columns, columns), y_stride=columns, normalize=True,
        )  # fmt: skip
    return launches


def samples(watched: Watched, dtype: str, rows: int, columns: int, offset: int) -> list[Launch]:
    logits = watched.values(dtype, rows, columns, offset=offset)
    tokens = watched.output("tokens", np.int64, rows)
    return [
        operators.sample(
            dtype, logits, tokens, rows, columns, stride=columns, temperature=temperature,
            top_k=top_k, top_p=top_p, seed=1, step=2,
        )
        for temperature, top_k, top_p in ((0.0, 0, 1.0), (1.0, 0, 1.0), (0.7, 5, 0.8))
    ]  # fmt: skip


CASES: list[tuple[Any, ...]] = [
    *((norms, d, *c) for d in HALVES for c in (
        (1, 1, 0), (5, 13, 2), (3, 128, 0), (9, 384, 16), (2, 1029, 0), (3, 4096, 0), (2, 20000, 0),
    )),
    *((rotations, d, *c) for d in HALVES for c in (
        (1, 2, 2, 0), (3, 64, 64, 0), (32, 128, 128, 0), (2, 80, 32, 0), (3, 66, 34, 2),
    )),
    *((pools, d, *c) for d in HALVES for c in (
        (1, 1, 0), (17, 384, 0), (200, 77, 2), (130, 1029, 0),
    )),
    *((samples, d, *c) for d in (*HALVES, "float32") for c in (
        (1, 1, 0), (3, 1003, 0), (2, 30000, 4),
    )),
]  # fmt: skip


def run_case(device: Device, kernels: LoadedKernels, case: tuple[Any, ...], seed: int) -> bool:
    make, *arguments = case
    watched = Watched(device, np.random.default_rng(seed))
    for launch in make(watched, *arguments):
        kernels.launch(launch)
        device.call("cuCtxSynchronize")
    wrong = watched.not_finite()
    watched.free()
    if wrong:
        print(f"{make.__name__}{tuple(arguments)}: {', '.join(wrong)} is not finite")
    return not wrong


def main() -> None:
    default = os.environ.get("ENGINEWRIGHT_KERNELS", str(CHECKOUT / "dist/csrc"))
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else default)
    device = Device(0)
    kernels = device.load(KernelPackage.read_tree(folder))
    good = [run_case(device, kernels, case, seed) for seed, case in enumerate(CASES)]
    print(f"{sum(good)} of {len(good)} cases launched every kernel")
    sys.exit(0 if all(good) else 1)


if __name__ == "__main__":
    main()
