"""The arithmetic of the kernels on the CPU, against float64 references in numpy.

The module `host_kernels` comes from the folder in `ENGINEWRIGHT_HOST_KERNELS` (a packaged
`cuda_extension`), or is compiled here from the sources. The last tests run all the others again
with a module that has AddressSanitizer and UndefinedBehaviorSanitizer in it, from the folder in
`ENGINEWRIGHT_SANITIZED_KERNELS` or compiled here.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from enginewright.kernels.compile.extension import ExtensionCompiler
from enginewright.kernels.compile.host_compiler import HostCompiler
from enginewright.kernels.launch import operators

CHECKOUT = Path(__file__).parents[2]
FOLDER = "ENGINEWRIGHT_HOST_KERNELS"
SANITIZED_FOLDER = "ENGINEWRIGHT_SANITIZED_KERNELS"
ROUNDING = {"float16": 2.0**-11, "bfloat16": 2.0**-8, "float32": 2.0**-24}
ACCUMULATION = 3e-6
SENTINEL = np.uint16(0x5A5A)
GXX = "/usr/bin/g++"

dtypes = st.sampled_from(["float16", "bfloat16"])
threads = st.sampled_from([1, 2, 3, 4])
quick = settings(max_examples=60, deadline=None)


def compile_module(folder: Path, sanitizers: tuple[str, ...]) -> None:
    version = subprocess.check_output([GXX, "-dumpfullversion"], text=True).strip()
    compiler = ExtensionCompiler(
        HostCompiler("gcc", version, GXX),
        ("-O1", "-std=c++20", "-Wall", "-Wextra", "-Werror"),
        (str(CHECKOUT / "csrc"),),
        sanitizers,
    )
    compiler.compile("host_kernels", (CHECKOUT / "csrc/cpu/module.cpp",), folder)


@pytest.fixture(scope="module")
def kernels(tmp_path_factory):
    folder = Path(os.environ.get(FOLDER) or tmp_path_factory.mktemp("host_kernels"))
    if not list(folder.glob("host_kernels*.so")):
        compile_module(folder, ())
    (path,) = folder.glob("host_kernels*.so")
    spec = importlib.util.spec_from_file_location("host_kernels", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def encode(values, dtype):
    """float32 to 16-bit patterns, by numpy or by rounding to nearest even."""
    if dtype == "float16":
        return values.astype(np.float16).view(np.uint16)
    bits = values.astype(np.float32).view(np.uint32).astype(np.uint64)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)


def decode(patterns, dtype):
    if dtype == "float16":
        return patterns.view(np.float16).astype(np.float64)
    wide = patterns.astype(np.uint32) << 16
    return wide.view(np.float32).astype(np.float64)


@dataclass
class Matrix:
    """16-bit [rows, columns] with a row stride, in an allocation that ends where it ends."""

    storage: np.ndarray
    rows: int
    columns: int
    stride: int
    offset: int

    @property
    def address(self):
        return self.storage.ctypes.data + 2 * self.offset

    @property
    def view(self):
        return np.lib.stride_tricks.as_strided(
            self.storage[self.offset :], (self.rows, self.columns), (2 * self.stride, 2)
        )

    def values(self, dtype):
        return decode(np.ascontiguousarray(self.view), dtype)

    def gaps_untouched(self):
        outside = self.storage.copy()
        outside_view = np.lib.stride_tricks.as_strided(
            outside[self.offset :], (self.rows, self.columns), (2 * self.stride, 2)
        )
        outside_view[:] = SENTINEL
        return bool((outside == SENTINEL).all())


def matrix(rows, columns, extra, offset, values=None, dtype="float16"):
    stride = columns + extra
    size = offset + (rows - 1) * stride + columns
    # numpy aligns an allocation to 16 bytes; the offset decides the path that the code takes.
    made = Matrix(np.full(size, SENTINEL), rows, columns, stride, offset)
    if values is not None:
        made.view[:] = encode(values, dtype)
    return made


@st.composite
def layouts(draw):
    """Rows, columns, gap between rows and offset of the first element; often packet-aligned."""
    rows = draw(st.integers(1, 5))
    columns = draw(st.one_of(st.integers(1, 200), st.sampled_from([8, 16, 64, 128, 136])))
    if draw(st.booleans()):
        extra = -columns % 8 + 8 * draw(st.integers(0, 2))
        return rows, columns, extra, 8 * draw(st.integers(0, 2))
    return rows, columns, draw(st.integers(0, 9)), draw(st.integers(0, 9))


seeds = st.integers(0, 2**32 - 1)


def assert_close(actual, expected, dtype, scale=None):
    scale = np.abs(expected) if scale is None else scale
    allowed = np.abs(expected) * ROUNDING[dtype] + scale * ACCUMULATION + 2.0**-25
    np.testing.assert_array_less(np.abs(actual - expected), allowed * (1 + 1e-9))


def rms_reference(x, weight, epsilon):
    return x / np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + epsilon) * weight


@given(layout=layouts(), dtype=dtypes, threads=threads, seed=seeds)
@quick
def test_rms_norm(kernels, layout, dtype, threads, seed):
    random = np.random.default_rng(seed)
    rows, columns, extra, offset = layout
    x = matrix(*layout, random.standard_normal((rows, columns)), dtype)
    weight = matrix(1, columns, 0, 0, random.standard_normal((1, columns)), dtype)
    y = matrix(rows, columns, extra + 8, offset)
    kernels.rms_norm(
        dtype, x.address, weight.address, y.address, rows, columns, x.stride, y.stride, 1e-6,
        threads,
    )  # fmt: skip
    assert_close(y.values(dtype), rms_reference(x.values(dtype), weight.values(dtype), 1e-6), dtype)
    assert y.gaps_untouched()


@given(layout=layouts(), dtype=dtypes, threads=threads, seed=seeds)
@quick
def test_add_rms_norm_in_place(kernels, layout, dtype, threads, seed):
    random = np.random.default_rng(seed)
    rows, columns, _, _ = layout
    x = matrix(*layout, random.standard_normal((rows, columns)), dtype)
    residual = matrix(*layout, random.standard_normal((rows, columns)), dtype)
    weight = matrix(1, columns, 0, 0, random.standard_normal((1, columns)), dtype)
    total = encode(x.values(dtype) + residual.values(dtype), dtype)
    # In place, as a decoder does it: the residual stream is updated where it is.
    kernels.add_rms_norm(
        dtype, x.address, residual.address, weight.address, residual.address, x.address, rows,
        columns, x.stride, residual.stride, residual.stride, x.stride, 1e-5, threads,
    )  # fmt: skip
    assert np.array_equal(residual.view, total)
    expected = rms_reference(decode(total, dtype), weight.values(dtype), 1e-5)
    assert_close(x.values(dtype), expected, dtype)
    assert x.gaps_untouched()
    assert residual.gaps_untouched()


@given(layout=layouts(), dtype=dtypes, threads=threads, seed=seeds)
@quick
def test_swiglu(kernels, layout, dtype, threads, seed):
    random = np.random.default_rng(seed)
    rows, columns, extra, offset = layout
    gate = matrix(*layout, random.standard_normal((rows, columns)) * 5, dtype)
    up = matrix(*layout, random.standard_normal((rows, columns)), dtype)
    y = matrix(rows, columns, extra + 8, offset)
    kernels.swiglu(
        dtype, gate.address, up.address, y.address, rows, columns, gate.stride, up.stride,
        y.stride, threads,
    )  # fmt: skip
    g = gate.values(dtype)
    assert_close(y.values(dtype), g / (1 + np.exp(-g)) * up.values(dtype), dtype)
    assert y.gaps_untouched()


@given(batch=st.integers(1, 20), sequence=st.integers(1, 9))
@quick
def test_every_token_has_its_turn(kernels, batch, sequence):
    places = [kernels.token_place(token, batch, sequence) for token in range(batch * sequence)]
    assert sorted(places) == [(item, index) for item in range(batch) for index in range(sequence)]
    # Up to eight items at one index, one after the other.
    together = min(batch, 8)
    assert places[:together] == [(item, 0) for item in range(together)]


def rotary_reference(x, cosine, sine, turned, interleaved):
    c, s = cosine[:, None, :], sine[:, None, :]
    y = x.copy()
    if interleaved:
        a, b = x[..., 0:turned:2], x[..., 1:turned:2]
        y[..., 0:turned:2], y[..., 1:turned:2] = a * c - b * s, b * c + a * s
    else:
        a, b = x[..., : turned // 2], x[..., turned // 2 : turned]
        y[..., : turned // 2], y[..., turned // 2 : turned] = a * c - b * s, b * c + a * s
    return y


@given(
    tokens=st.integers(1, 3),
    heads=st.integers(1, 6),
    pairs=st.one_of(st.integers(1, 40), st.sampled_from([4, 8, 16, 32])),
    rest=st.one_of(st.integers(0, 40), st.sampled_from([0, 8, 16])),
    extra=st.sampled_from([0, 1, 8, None]),
    offset=st.sampled_from([0, 3, 8]),
    interleaved=st.booleans(),
    in_place=st.booleans(),
    dtype=dtypes,
    threads=threads,
    seed=seeds,
)
@settings(quick, max_examples=150)
def test_rotary(
    kernels, tokens, heads, pairs, rest, extra, offset, interleaved, in_place, dtype, threads, seed
):
    random = np.random.default_rng(seed)
    rows, dimension = tokens * heads, 2 * pairs + rest
    if extra is None:  # aligned rows, whose last packet is not whole
        extra, offset = -dimension % 8, 8
    x = matrix(rows, dimension, extra, offset, random.standard_normal((rows, dimension)), dtype)
    before = x.values(dtype).reshape(tokens, heads, dimension)
    y = x if in_place else matrix(rows, dimension, extra, offset)
    angles = random.uniform(0, 100, (tokens, pairs))
    cosine, sine = np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32)
    kernels.rotary(
        dtype, interleaved, x.address, y.address, cosine.ctypes.data, sine.ctypes.data, tokens,
        heads, dimension, 2 * pairs, heads * x.stride, x.stride, heads * y.stride, y.stride,
        threads,
    )  # fmt: skip
    expected = rotary_reference(
        before, cosine.astype(np.float64), sine.astype(np.float64), 2 * pairs, interleaved
    )
    scale = np.abs(before).max(-1, keepdims=True) + np.zeros_like(before)
    shape = (rows, dimension)
    assert_close(y.values(dtype), expected.reshape(shape), dtype, scale.reshape(shape))
    assert y.gaps_untouched()


@given(
    batch=st.integers(1, 3),
    sequence=st.integers(1, 20),
    layout=layouts(),
    splits=st.integers(1, 4),
    normalize=st.booleans(),
    dtype=dtypes,
    threads=threads,
    seed=seeds,
)
@quick
def test_mean_pool(kernels, batch, sequence, layout, splits, normalize, dtype, threads, seed):
    random = np.random.default_rng(seed)
    _, columns, extra, offset = layout
    values = random.standard_normal((batch * sequence, columns))
    mask = (random.random((batch, sequence)) < 0.7).astype(np.int64)
    mask[0] = 0
    # What a mask hides must not matter, NaN included.
    values[mask.ravel() == 0] = np.nan
    x = matrix(batch * sequence, columns, extra, offset, values, dtype)
    partial = np.full((batch, splits, columns), np.nan, np.float32)
    y = np.full((batch, columns), np.nan, np.float32)
    kernels.mean_pool(
        dtype, x.address, mask.ctypes.data, partial.ctypes.data, y.ctypes.data, batch, sequence,
        columns, sequence * x.stride, x.stride, splits, normalize, threads,
    )  # fmt: skip
    kept = np.where(mask[:, :, None] != 0, x.values(dtype).reshape(batch, sequence, columns), 0.0)
    tokens = np.maximum(mask.sum(1, keepdims=True), 1)
    expected, size = kept.sum(1) / tokens, np.abs(kept).sum(1) / tokens
    if normalize:
        length = np.maximum(np.linalg.norm(expected, axis=1, keepdims=True), 1e-12)
        # An item whose mean nearly cancels has a direction that rounding decides.
        expected, size = expected / length, size / length * columns
    assert_close(y, expected, "float32", size)
    assert (y[0] == 0).all()


@st.composite
def draws(draw):
    dtype = draw(st.sampled_from(["float16", "bfloat16", "float32"]))
    return dtype, draw(st.integers(1, 3)), draw(st.integers(1, 90)), draw(st.integers(0, 9))


def logits_of(draw, seed):
    """Logits as the kernel sees them, their address and stride, and the storage to keep alive."""
    dtype, rows, columns, extra = draw
    # Few values, so that many logits are equal.
    values = np.round(np.random.default_rng(seed).standard_normal((rows, columns)) * 3, 1)
    if dtype == "float32":
        storage = np.full((rows, columns + extra), np.float32(1e30))
        storage[:, :columns] = values
        return (
            storage[:, :columns].astype(np.float64),
            storage.ctypes.data,
            columns + extra,
            storage,
        )
    made = matrix(rows, columns, extra, 0, values, dtype)
    return made.values(dtype), made.address, made.stride, made.storage


def sample(kernels, draw, address, stride, threads=1, searched=False, **settings):
    dtype, rows, columns, _ = draw
    chosen = {"temperature": 1.0, "top_k": 0, "top_p": 1.0, "seed": 0, "step": 0} | settings
    tokens = np.full(rows, -1, np.int64)
    kernels.sample(
        dtype,
        address,
        tokens.ctypes.data,
        rows,
        columns,
        stride,
        *chosen.values(),
        threads,
        searched,
    )
    return tokens


@given(
    columns=st.integers(1, 20_000),
    heads=st.integers(1, 128),
    half=st.integers(1, 256),
    rest=st.integers(0, 300),
    tokens=st.integers(1, 9000),
    items=st.integers(1, 5000),
)
@quick
def test_operators_are_launched_as_kernels_are(kernels, columns, heads, half, rest, tokens, items):
    for packets in (2, 4):
        assert kernels.row_block(columns, packets) == (*operators.row_block(columns, packets), 1)
    turned = operators.rotary_block(heads, 2 * half + rest, 2 * half, in_place=False)
    assert kernels.rotary_block(heads, 2 * half + rest, 2 * half) == turned
    assert kernels.pool_block(columns, tokens, items) == operators.pool_block(
        columns, tokens, items
    )


@given(draw=draws(), threads=threads, seed=seeds)
@quick
def test_temperature_zero_takes_the_first_largest(kernels, draw, threads, seed):
    logits, address, stride, _storage = logits_of(draw, seed)
    tokens = sample(kernels, draw, address, stride, threads, temperature=0.0)
    assert np.array_equal(tokens, logits.argmax(1))


@given(
    draw=draws(),
    threads=st.sampled_from([1, 3, 8]),
    seed=seeds,
    temperature=st.floats(0.1, 3),
    top_k=st.integers(0, 9),
    top_p=st.one_of(st.floats(0, 1), st.just(1.0)),
)
@settings(quick, max_examples=200)
def test_candidates_give_the_token_that_a_search_of_the_row_gives(
    kernels, draw, threads, seed, temperature, top_k, top_p
):
    _, address, stride, _storage = logits_of(draw, seed)
    ways = [
        sample(
            kernels, draw, address, stride, threads, searched, temperature=temperature,
            top_k=top_k, top_p=top_p, seed=seed,
        )
        for searched in (False, True)
    ]  # fmt: skip
    assert np.array_equal(*ways)


def test_more_equal_logits_than_candidates_have_room_for(kernels):
    draw = ("float32", 64, 3000, 0)
    logits = np.zeros((64, 3000), np.float32)
    tokens = sample(kernels, draw, logits.ctypes.data, 3000, 2, top_k=1, top_p=0.5, seed=5)
    assert len(set(tokens.tolist())) > 50  # of all that are equally likely


@given(
    draw=draws(),
    threads=threads,
    seed=seeds,
    temperature=st.floats(0.1, 3),
    top_k=st.integers(0, 100),
    top_p=st.floats(0, 1),
)
@settings(quick, max_examples=120)
def test_a_draw_is_within_its_bounds(kernels, draw, threads, seed, temperature, top_k, top_p):
    logits, address, stride, _storage = logits_of(draw, seed)
    tokens = sample(
        kernels, draw, address, stride, threads, temperature=temperature, top_k=top_k,
        top_p=top_p, seed=seed,
    )  # fmt: skip
    for row, token in zip(logits, tokens, strict=True):
        assert 0 <= token < len(row)
        kept = row
        if top_k and top_k < len(row):
            kth = np.sort(row)[-top_k]
            assert row[token] >= kth
            kept = row[row >= kth]
        weights = np.exp((kept - kept.max()) / temperature)
        more_probable = weights[kept > row[token]].sum() / weights.sum()
        assert more_probable <= max(top_p, 0) + 1e-5


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_draws_follow_the_distribution(kernels, dtype):
    draw = (dtype, 1, 12, 0)
    logits, address, _stride, _storage = logits_of(draw, 3)
    many = (dtype, 20_000, 12, 0)
    tokens = sample(kernels, many, address, 0, temperature=1.7, seed=9)
    weights = np.exp(logits[0] / 1.7)
    expected = weights / weights.sum() * 20_000
    chi_square = ((np.bincount(tokens, minlength=12) - expected) ** 2 / expected).sum()
    # 11 degrees of freedom: fewer than one of 100,000 right generators comes above 44.
    assert chi_square < 44


def test_top_k_and_top_p_drop_what_they_say(kernels):
    probabilities = np.array([0.4, 0.3, 0.2, 0.06, 0.04], np.float32)
    row = np.log(probabilities)
    many = ("float32", 1000, 5, 0)

    def drawn(**settings):
        return set(sample(kernels, many, row.ctypes.data, 0, seed=4, **settings).tolist())

    assert drawn() == {0, 1, 2, 3, 4}
    assert drawn(top_k=2) == {0, 1}
    assert drawn(top_p=0.69) == {0, 1}
    assert drawn(top_p=0.71) == {0, 1, 2}
    assert drawn(top_p=0.0) == {0}
    # Top-p is of what top-k left: 0.4 and 0.3 become 0.57 and 0.43.
    assert drawn(top_k=2, top_p=0.5) == {0}
    assert drawn(top_k=2, top_p=0.6) == {0, 1}


def test_nan_and_negative_infinity_are_not_drawn(kernels):
    row = np.array([-np.inf, np.nan, 0.0, -np.inf, 1.0], np.float32)
    many = ("float32", 500, 5, 0)
    assert set(sample(kernels, many, row.ctypes.data, 0, seed=1).tolist()) == {2, 4}
    assert set(sample(kernels, many, row.ctypes.data, 0, temperature=0.0).tolist()) == {4}


def test_draws_repeat_with_the_seed_and_change_with_the_step(kernels):
    row = np.zeros(1000, np.float32)
    many = ("float32", 20, 1000, 0)
    first = sample(kernels, many, row.ctypes.data, 0, seed=5, step=1)
    assert np.array_equal(first, sample(kernels, many, row.ctypes.data, 0, seed=5, step=1))
    assert not np.array_equal(first, sample(kernels, many, row.ctypes.data, 0, seed=5, step=2))
    assert not np.array_equal(first, sample(kernels, many, row.ctypes.data, 0, seed=6, step=1))


@pytest.mark.parametrize(
    ("counter", "key", "expected"),
    [
        ((0, 0, 0, 0), (0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
        (
            (0xFFFFFFFF,) * 4,
            (0xFFFFFFFF,) * 2,
            (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD),
        ),
        (
            (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
            (0xA4093822, 0x299F31D0),
            (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
        ),
    ],
)
def test_philox_gives_the_published_answers(kernels, counter, key, expected):
    """The known answers of the Random123 distribution for philox4x32, 10 rounds."""
    assert kernels.philox(*counter, *key) == expected


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_conversion_rounds_as_numpy_does(kernels, dtype):
    every = np.arange(2**16, dtype=np.uint32) << 16
    nearby = np.concatenate([every + step for step in (0, 0x1000, 0x2FFF, 0x3000, 0x7FFF, 0x8000)])
    floats = nearby.view(np.float32)
    rounded = np.zeros(len(floats), np.uint16)
    widened = np.zeros(len(floats), np.float32)
    kernels.convert(
        dtype, floats.ctypes.data, rounded.ctypes.data, widened.ctypes.data, len(floats)
    )
    number = ~np.isnan(floats)
    with np.errstate(over="ignore"):
        assert np.array_equal(rounded[number], encode(floats[number], dtype))
    assert np.array_equal(widened[number], decode(rounded[number], dtype).astype(np.float32))
    assert np.isnan(widened[~number]).all()


def sanitized(folder, program, *arguments):
    """Run Python with the sanitizers' runtimes in front; the interpreter itself leaks."""
    runtimes = [
        subprocess.check_output([GXX, f"-print-file-name={name}"], text=True).strip()
        for name in ("libasan.so", "libubsan.so")
    ]
    environment = {
        **os.environ,
        "LD_PRELOAD": " ".join(runtimes),
        "ASAN_OPTIONS": "detect_leaks=0:verify_asan_link_order=0",
        "UBSAN_OPTIONS": "print_stacktrace=1",
        "PYTHONPATH": os.pathsep.join(sys.path),
        "PYTHONMALLOC": "malloc",
        FOLDER: str(folder),
    }
    return subprocess.run(
        [sys.executable, *program, *arguments],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def sanitized_folder(tmp_path_factory):
    if os.environ.get(SANITIZED_FOLDER):
        return Path(os.environ[SANITIZED_FOLDER]).resolve()
    folder = tmp_path_factory.mktemp("sanitized")
    compile_module(folder, ("address", "undefined"))
    return folder


def test_sanitizers_find_nothing(sanitized_folder):
    options = ["-q", "-p", "no:cacheprovider", "-k", "not sanitizers", __file__]
    done = sanitized(sanitized_folder, ["-m", "pytest"], *options)
    assert done.returncode == 0, done.stdout[-4000:]
    assert " passed" in done.stdout


# A caller that promises one column more than there is, and one that gives an odd address.
FAULTS = {
    "heap-buffer-overflow": "k.rms_norm('float16', x, w, w, 1, 41, 41, 41, 1e-6, 2)",
    "misaligned address": "k.rms_norm('float16', x + 1, w, w, 1, 4, 4, 4, 1e-6, 1)",
}


@pytest.mark.parametrize("finding", FAULTS)
def test_sanitizers_find_a_planted_fault(sanitized_folder, finding):
    program = f"""
import sys, numpy
sys.path.insert(0, {str(sanitized_folder)!r})
import host_kernels as k
values, more = numpy.ones(40, numpy.float16), numpy.ones(64, numpy.float16)
x, w = values.ctypes.data, more.ctypes.data
{FAULTS[finding]}
print("went on")
"""
    done = sanitized(sanitized_folder, ["-c", program])
    assert done.returncode != 0
    assert finding in done.stdout
    assert "went on" not in done.stdout
