"""The packaged kernels on a device, against float64 references on random data.

Needs Python, torch, cuda-bindings and pytest, and a folder with packaged `cuda_kernels` targets in
it or below it in `ENGINEWRIGHT_KERNELS` (by default `dist/csrc` in the checkout). Without a device
every test is skipped and says so.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="the reference needs torch")
from enginewright.errors import InputError  # noqa: E402
from enginewright.kernels.launch import operators  # noqa: E402
from enginewright.kernels.launch.device import Device  # noqa: E402
from enginewright.kernels.launch.package import KernelPackage  # noqa: E402

CHECKOUT = Path(__file__).parents[2]
FOLDER = Path(os.environ.get("ENGINEWRIGHT_KERNELS", CHECKOUT / "dist/csrc"))
DTYPES = {"float16": torch.float16, "bfloat16": torch.bfloat16}
# Half a unit in the last place of the output, and float32 accumulation on top of it.
ROUNDING = {"float16": 2.0**-11, "bfloat16": 2.0**-8}
ACCUMULATION = 3e-6
SENTINEL = -77.0

dtypes = pytest.mark.parametrize("dtype", sorted(DTYPES))


@pytest.fixture(scope="module")
def kernels():
    if not torch.cuda.is_available():
        pytest.skip("no CUDA device on this host")
    if not any(FOLDER.rglob("kernels.json")):
        pytest.skip(f"no packaged kernels in {FOLDER}: package csrc:: first")
    torch.cuda.init()
    torch.zeros(1, device="cuda")
    torch.manual_seed(20)
    try:
        return Device(torch.cuda.current_device()).load(KernelPackage.read_tree(FOLDER))
    except InputError as error:
        pytest.fail(str(error))


def launch(kernels, *launches):
    for one in launches:
        kernels.launch(one, torch.cuda.current_stream().cuda_stream)
    torch.cuda.synchronize()


def random(dtype, *shape):
    return torch.randn(*shape, device="cuda", dtype=torch.float32).to(DTYPES[dtype])


def strided(dtype, rows, columns, stride, offset=0):
    """Random [rows, columns] with a row stride, starting `offset` elements into an allocation."""
    storage = random(dtype, rows * stride + offset)
    return storage[offset:].as_strided((rows, columns), (stride, 1), storage_offset=offset)


def poisoned(dtype, rows, columns, stride, offset=0):
    """An output like `strided`, and its whole allocation: NaN to write, sentinels to leave."""
    storage = torch.full((rows * stride + offset,), SENTINEL, device="cuda", dtype=dtype)
    view = storage.as_strided((rows, columns), (stride, 1), storage_offset=offset)
    view.fill_(float("nan"))
    return view, storage


def assert_only_written(view, storage):
    outside = torch.ones_like(storage, dtype=torch.bool)
    outside.as_strided(view.shape, view.stride(), view.storage_offset()).fill_(False)
    assert not torch.isnan(view).any(), "elements were not written"
    assert (storage[outside] == SENTINEL).all(), "wrote outside the tensor"


def assert_close(actual, expected, dtype, scale=None):
    """Every element within one rounding of the output and float32 accumulation."""
    scale = expected.abs() if scale is None else scale
    rounding = ROUNDING.get(dtype, 2.0**-24)
    # 2^-24 is the spacing of float16 below its normal range, as good as exact otherwise.
    allowed = expected.abs() * rounding + scale * ACCUMULATION + 2.0**-25
    worst = ((actual.double() - expected).abs() / allowed).max().item()
    assert worst <= 1.0, f"error is {worst:.3g} times what is allowed"


# rows, columns, extra stride, offset of the first element
MATRICES = [
    pytest.param(1, 1, 0, 0, id="small-one_element"),
    pytest.param(1, 4096, 0, 0, id="small-one_row"),
    pytest.param(7, 13, 0, 0, id="small-odd"),
    pytest.param(5, 128, 8, 0, id="small-head"),
    pytest.param(33, 384, 8, 8, id="small-strided"),
    pytest.param(9, 1000, 1, 1, id="small-unaligned"),
    pytest.param(17, 1021, 3, 8, id="small-aligned_pointer_odd_stride"),
    pytest.param(6, 5120, 0, 0, id="small-5120"),
    pytest.param(3, 7168 + 5, 3, 0, id="small-tail"),
    pytest.param(2, 40_000, 0, 0, id="beyond_registers"),
    pytest.param(100_000, 256, 0, 0, id="100000_rows"),
    pytest.param(100_000, 1027, 5, 3, id="100000_odd_rows"),
    pytest.param(8192, 4096, 0, 0, id="large"),
]
matrices = pytest.mark.parametrize(("rows", "columns", "extra", "offset"), MATRICES)
EPSILON = 1e-6


def rms_reference(x, weight):
    x = x.double()
    return x / (x.square().mean(-1, keepdim=True) + EPSILON).sqrt() * weight.double()


@dtypes
@matrices
def test_rms_norm(kernels, dtype, rows, columns, extra, offset):
    stride = columns + extra
    x, weight = strided(dtype, rows, columns, stride, offset), random(dtype, columns)
    y, storage = poisoned(DTYPES[dtype], rows, columns, stride, offset)
    launch(
        kernels,
        operators.rms_norm(
            dtype, x.data_ptr(), weight.data_ptr(), y.data_ptr(), rows, columns,
            x_stride=stride, y_stride=stride, epsilon=EPSILON,
        ),
    )  # fmt: skip
    assert_only_written(y, storage)
    assert_close(y, rms_reference(x, weight), dtype)


@dtypes
def test_rms_norm_in_place(kernels, dtype):
    x, weight = random(dtype, 19, 2048), random(dtype, 2048)
    expected = rms_reference(x, weight)
    launch(
        kernels,
        operators.rms_norm(
            dtype, x.data_ptr(), weight.data_ptr(), x.data_ptr(), 19, 2048,
            x_stride=2048, y_stride=2048, epsilon=EPSILON,
        ),
    )  # fmt: skip
    assert_close(x, expected, dtype)


@dtypes
@matrices
def test_add_rms_norm(kernels, dtype, rows, columns, extra, offset):
    stride = columns + extra
    x = strided(dtype, rows, columns, stride, offset)
    residual = strided(dtype, rows, columns, columns)
    weight = random(dtype, columns)
    total, total_storage = poisoned(DTYPES[dtype], rows, columns, stride, offset)
    y, y_storage = poisoned(DTYPES[dtype], rows, columns, columns + 2 * extra)
    launch(
        kernels,
        operators.add_rms_norm(
            dtype, x.data_ptr(), residual.data_ptr(), weight.data_ptr(), total.data_ptr(),
            y.data_ptr(), rows, columns,
            strides=(stride, columns, stride, columns + 2 * extra), epsilon=EPSILON,
        ),
    )  # fmt: skip
    assert_only_written(total, total_storage)
    assert_only_written(y, y_storage)
    assert torch.equal(total, x + residual)
    assert_close(y, rms_reference(total, weight), dtype)


@dtypes
@matrices
def test_swiglu(kernels, dtype, rows, columns, extra, offset):
    stride = columns + extra
    gate = strided_copy(random(dtype, rows, columns) * 4, stride, offset)
    up = strided(dtype, rows, columns, columns)
    y, storage = poisoned(DTYPES[dtype], rows, columns, stride, offset)
    launch(
        kernels,
        operators.swiglu(
            dtype, gate.data_ptr(), up.data_ptr(), y.data_ptr(), rows, columns,
            strides=(stride, columns, stride),
        ),
    )  # fmt: skip
    assert_only_written(y, storage)
    wide = gate.double()
    # The sigmoid keeps its relative error, up to the fast exponential's of a few 2^-22.
    assert_close(y, wide * torch.sigmoid(wide) * up.double(), dtype)


def strided_copy(values, stride, offset):
    rows, columns = values.shape
    storage = torch.zeros(rows * stride + offset, device="cuda", dtype=values.dtype)
    view = storage.as_strided((rows, columns), (stride, 1), storage_offset=offset)
    view.copy_(values)
    return view


def test_swiglu_of_extreme_gates(kernels):
    gate = torch.tensor([[-65504.0, -100.0, -20.0, 0.0, 20.0, 100.0, 65504.0, 1.0, -1.0]])
    gate = gate.to("cuda", torch.float16)
    up = torch.ones_like(gate)
    y = torch.full_like(gate, float("nan"))
    launch(
        kernels,
        operators.swiglu(
            "float16", gate.data_ptr(), up.data_ptr(), y.data_ptr(), 1, 9, strides=(9, 9, 9)
        ),
    )
    assert_close(y, gate.double() * torch.sigmoid(gate.double()), "float16")


def angles(positions, rotary):
    frequency = 10_000.0 ** (-torch.arange(0, rotary, 2, device="cuda").double() / rotary)
    table = torch.arange(positions, device="cuda").double()[:, None] * frequency
    return table.cos().float().contiguous(), table.sin().float().contiguous()


def rotary_reference(x, cosine, sine, positions, rotary, interleaved):
    x = x.double()
    c, s = (table.double()[positions][:, :, None, :] for table in (cosine, sine))
    turned, rest = x[..., :rotary], x[..., rotary:]
    if interleaved:
        a, b = turned[..., 0::2], turned[..., 1::2]
        turned = torch.stack((a * c - b * s, b * c + a * s), -1).flatten(-2)
    else:
        a, b = turned.chunk(2, -1)
        turned = torch.cat((a * c - b * s, b * c + a * s), -1)
    return torch.cat((turned, rest), -1)


# batch, sequence, heads, dimension, rotary, extra per head, offset, explicit positions
ROTARIES = [
    pytest.param(1, 1, 1, 2, 2, 0, 0, False, id="small-one_pair"),
    pytest.param(2, 9, 5, 64, 64, 0, 0, True, id="small-64"),
    pytest.param(2, 5, 16, 128, 128, 0, 0, False, id="small-128"),
    pytest.param(1, 7, 3, 80, 32, 0, 0, True, id="small-partial"),
    pytest.param(3, 4, 2, 96, 48, 8, 8, True, id="small-partial_strided"),
    pytest.param(2, 6, 3, 66, 34, 1, 1, True, id="small-odd_unaligned"),
    pytest.param(1, 3, 2, 77, 64, 0, 0, False, id="small-odd_dimension"),
    pytest.param(2, 3, 2, 77, 64, 3, 8, True, id="small-aligned_odd_dimension"),
    pytest.param(1, 2, 4, 512, 512, 0, 0, True, id="small-wide"),
    pytest.param(1, 1, 32, 128, 128, 0, 0, True, id="small-one_token"),
    pytest.param(4, 25_000, 3, 64, 64, 0, 0, True, id="100000_tokens"),
    pytest.param(8, 1024, 32, 128, 128, 0, 0, True, id="large"),
]


@dtypes
@pytest.mark.parametrize("interleaved", [False, True], ids=["half", "interleaved"])
@pytest.mark.parametrize(
    ("batch", "sequence", "heads", "dimension", "rotary", "extra", "offset", "explicit"), ROTARIES
)
def test_rotary(
    kernels, dtype, interleaved, batch, sequence, heads, dimension, rotary, extra, offset, explicit
):
    stride = dimension + extra
    rows = batch * sequence * heads
    x = strided(dtype, rows, dimension, stride, offset)
    y, storage = poisoned(DTYPES[dtype], rows, dimension, stride, offset)
    cosine, sine = angles(sequence + 100, rotary)
    positions = torch.arange(sequence, device="cuda").expand(batch, sequence)
    if explicit:
        positions = torch.randint(0, sequence + 100, (batch, sequence), device="cuda")
    strides = (sequence * heads * stride, heads * stride, stride)
    launch(
        kernels,
        operators.rotary(
            dtype, x.data_ptr(), y.data_ptr(), cosine.data_ptr(), sine.data_ptr(),
            positions.data_ptr() if explicit else 0, (batch, sequence, heads, dimension),
            rotary_dimension=rotary, interleaved=interleaved, x_strides=strides, y_strides=strides,
        ),
    )  # fmt: skip
    assert_only_written(y, storage)
    shaped = x.reshape(batch, sequence, heads, dimension)
    expected = rotary_reference(shaped, cosine, sine, positions, rotary, interleaved)
    # A difference of products may cancel: its error is relative to the operands.
    scale = shaped.double().abs().amax(-1, keepdim=True).expand_as(expected).reshape(y.shape)
    assert_close(y, expected.reshape(y.shape), dtype, scale)


@dtypes
@pytest.mark.parametrize("interleaved", [False, True], ids=["half", "interleaved"])
@pytest.mark.parametrize(
    ("batch", "heads", "dimension", "rotary"),
    [(1, 1, 2, 2), (2, 5, 128, 64), (3, 7, 80, 32), (11, 3, 77, 64), (9, 2, 96, 24)],
)
def test_rotary_in_place(kernels, dtype, interleaved, batch, heads, dimension, rotary):
    """Also more items than stand side by side, and an odd number of packets that turn."""
    sequence = 6
    x = random(dtype, batch, sequence, heads, dimension)
    # What passes is not touched, whatever is in it.
    x[..., rotary:] = float("nan")
    before = x.clone()
    cosine, sine = angles(sequence, rotary)
    launch(
        kernels,
        operators.rotary(
            dtype, x.data_ptr(), x.data_ptr(), cosine.data_ptr(), sine.data_ptr(), 0,
            (batch, sequence, heads, dimension), rotary_dimension=rotary, interleaved=interleaved,
            x_strides=x.stride()[:3], y_strides=x.stride()[:3],
        ),
    )  # fmt: skip
    positions = torch.arange(sequence, device="cuda").expand(batch, sequence)
    turned = before[..., :rotary]
    expected = rotary_reference(turned, cosine, sine, positions, rotary, interleaved)
    scale = turned.double().abs().amax(-1, keepdim=True).expand_as(expected)
    assert_close(x[..., :rotary], expected, dtype, scale)
    assert torch.equal(
        x[..., rotary:].contiguous().view(torch.int16),
        before[..., rotary:].contiguous().view(torch.int16),
    )


@dtypes
def test_rotary_of_transposed_heads(kernels, dtype):
    """[batch, heads, sequence, dimension] in memory, as attention wants it."""
    batch, sequence, heads, dimension = 2, 11, 4, 64
    x = random(dtype, batch, heads, sequence, dimension).transpose(1, 2)
    y = torch.full_like(x, float("nan"))
    assert y.stride() == x.stride()
    cosine, sine = angles(sequence, dimension)
    launch(
        kernels,
        operators.rotary(
            dtype, x.data_ptr(), y.data_ptr(), cosine.data_ptr(), sine.data_ptr(), 0,
            (batch, sequence, heads, dimension), rotary_dimension=dimension, interleaved=False,
            x_strides=x.stride()[:3], y_strides=y.stride()[:3],
        ),
    )  # fmt: skip
    positions = torch.arange(sequence, device="cuda").expand(batch, sequence)
    expected = rotary_reference(x, cosine, sine, positions, dimension, False)
    assert_close(y, expected, dtype, x.double().abs().amax(-1, keepdim=True).expand_as(expected))


# batch, sequence, columns, extra, offset
POOLS = [
    pytest.param(1, 1, 1, 0, 0, id="small-one_element"),
    pytest.param(3, 17, 384, 0, 0, id="small-384"),
    pytest.param(2, 200, 384, 8, 8, id="small-strided"),
    pytest.param(5, 33, 77, 1, 1, id="small-unaligned"),
    pytest.param(2, 40, 1029, 3, 0, id="small-tail"),
    pytest.param(1, 5000, 768, 0, 0, id="one_long_item"),
    pytest.param(100_000, 3, 64, 0, 0, id="100000_items"),
    pytest.param(512, 512, 384, 0, 0, id="large"),
]


@dtypes
@pytest.mark.parametrize("normalize", [True, False], ids=["normalized", "mean"])
@pytest.mark.parametrize("parts", ["chosen", 1, 3])
@pytest.mark.parametrize(("batch", "sequence", "columns", "extra", "offset"), POOLS)
def test_mean_pool(kernels, dtype, normalize, parts, batch, sequence, columns, extra, offset):
    stride = columns + extra
    x = strided(dtype, batch * sequence, columns, stride, offset)
    lengths = torch.randint(1, sequence + 1, (batch, 1), device="cuda")
    mask = (torch.arange(sequence, device="cuda") < lengths).long()
    if batch > 2:
        mask[1] = 0
    # What a mask hides must not matter, NaN included.
    x[mask.flatten() == 0] = float("nan")
    splits = operators.pool_splits(batch, sequence) if parts == "chosen" else parts
    partial = torch.full((batch, splits, columns), float("nan"), device="cuda")
    y, storage = poisoned(torch.float32, batch, columns, columns + extra)
    launch(
        kernels,
        *operators.mean_pool(
            dtype, x.data_ptr(), mask.data_ptr(), partial.data_ptr(), y.data_ptr(),
            (batch, sequence, columns), splits=splits, x_strides=(sequence * stride, stride),
            y_stride=columns + extra, normalize=normalize,
        ),
    )  # fmt: skip
    assert_only_written(y, storage)
    counted = mask.bool()[:, :, None]
    values = x.reshape(batch, sequence, columns).double().where(counted, 0.0)
    tokens = mask.sum(1, keepdim=True).clamp(min=1)
    expected = values.sum(1) / tokens
    size = values.abs().sum(1) / tokens
    if normalize:
        length = expected.norm(dim=1, keepdim=True).clamp(min=1e-12)
        expected, size = expected / length, size / length
    # A sum that cancels has an error relative to its terms.
    assert_close(y, expected, "float32", size)


def draw(kernels, logits, temperature=1.0, top_k=0, top_p=1.0, seed=0, step=0):
    rows, columns = logits.shape
    tokens = torch.full((rows,), -1, device="cuda", dtype=torch.int64)
    dtype = str(logits.dtype).removeprefix("torch.")
    launch(
        kernels,
        operators.sample(
            dtype, logits.data_ptr(), tokens.data_ptr(), rows, columns, stride=logits.stride(0),
            temperature=temperature, top_k=top_k, top_p=top_p, seed=seed, step=step,
        ),
    )  # fmt: skip
    return tokens


sample_dtypes = pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
VOCABULARIES = [
    pytest.param(1, 1, 0, id="small-one_token"),
    pytest.param(4, 50, 0, id="small-50"),
    pytest.param(3, 1003, 1, id="small-odd"),
    pytest.param(2, 32_000, 0, id="small-32000"),
    pytest.param(16, 151_936, 0, id="large"),
    pytest.param(100_000, 300, 0, id="100000_rows"),
]


def logits_of(dtype, rows, columns, extra):
    wide = torch.randn(rows, columns + extra, device="cuda") * 3
    return wide.to(getattr(torch, dtype))[:, :columns]


@sample_dtypes
@pytest.mark.parametrize(("rows", "columns", "extra"), VOCABULARIES)
def test_greedy_takes_the_first_largest(kernels, dtype, rows, columns, extra):
    logits = logits_of(dtype, rows, columns, extra)
    largest = logits == logits.amax(1, keepdim=True)
    first = torch.where(largest, torch.arange(columns, device="cuda"), columns).amin(1)
    assert torch.equal(draw(kernels, logits, temperature=0.0), first)


@sample_dtypes
@pytest.mark.parametrize(("rows", "columns", "extra"), VOCABULARIES)
def test_bounds_of_a_draw(kernels, dtype, rows, columns, extra):
    logits = logits_of(dtype, rows, columns, extra)
    wide = logits.double()
    top_k, top_p, temperature = min(20, columns), 0.7, 0.8
    tokens = draw(kernels, logits, temperature, top_k, top_p, seed=3)
    drawn = wide.gather(1, tokens[:, None])
    kth = wide.topk(top_k, dim=1).values[:, -1:]
    assert (drawn >= kth).all(), "below the k-th largest"
    kept = (wide / temperature).where(wide >= kth, -float("inf")).softmax(1)
    above = (kept * (wide > drawn)).sum(1)
    assert (above < top_p + 1e-5).all(), "outside the nucleus"


@sample_dtypes
def test_draws_follow_the_distribution(kernels, dtype):
    columns, rows = 40, 200_000
    one = (torch.randn(1, columns, device="cuda") * 1.5).to(getattr(torch, dtype))
    tokens = draw(kernels, one.expand(rows, columns), temperature=0.9, seed=11)
    expected = (one[0].double() / 0.9).softmax(0) * rows
    counted = torch.bincount(tokens, minlength=columns).double()
    chi_square = ((counted - expected).square() / expected).sum().item()
    # 39 degrees of freedom: fewer than one of 100,000 right generators comes above 90.
    assert chi_square < 90


@sample_dtypes
def test_draws_repeat_with_the_seed_and_change_with_the_step(kernels, dtype):
    logits = logits_of(dtype, 64, 5000, 0)
    first = draw(kernels, logits, seed=5, step=1)
    assert torch.equal(draw(kernels, logits, seed=5, step=1), first)
    assert not torch.equal(draw(kernels, logits, seed=5, step=2), first)
    assert not torch.equal(draw(kernels, logits, seed=6, step=1), first)


def test_nan_and_negative_infinity_are_not_drawn(kernels):
    logits = torch.full((256, 33), -float("inf"), device="cuda")
    logits[:, 5] = float("nan")
    logits[:, 7] = 0.0
    logits[:, 32] = 1.0
    tokens = draw(kernels, logits, seed=1)
    assert set(tokens.tolist()) == {7, 32}


def test_a_kernel_that_is_not_in_the_package(kernels):
    wrong = operators.swiglu("float16", 0, 0, 0, 1, 1, strides=(1, 1, 1))
    with pytest.raises(InputError, match="no such kernel"):
        kernels.launch(type(wrong)("swiglu_f8", wrong.grid, wrong.block, wrong.arguments))
