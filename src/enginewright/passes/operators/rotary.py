"""`enginewright.rotary(x, cosine, sine)`: rotary position embedding of `x` [batch, heads, sequence,
dimension] with `cosine` and `sine` [batch, sequence, rotary / 2].

Found as the operator RotaryEmbedding of opset 23 (in that form, without position ids), and as what
exporters write for transformers' half layout:

    x * cosines + concat(-x[half:], x[:half]) * sines

where cosines and sines are of angles that stand twice, `concat(angles, angles)`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
import onnx_ir as ir
from onnx import AttributeProto, NodeProto, helper

from enginewright.passes.operators.operator import (
    DOMAIN,
    OPSET,
    Made,
    Match,
    Operator,
    make_node,
)
from enginewright.passes.pattern import (
    attribute,
    closed,
    inputs,
    integers,
    is_op,
    pair,
    producer,
    scalar,
    shape,
)

_FAR = 2**31 - 1  # exporters slice "to the end" with a number at least this large


def _find(nodes: Iterable[ir.Node]) -> list[Match]:
    matches: list[Match] = []
    taken: set[ir.Node] = set()
    for node in nodes:
        match = _operator(node) or _written_out(node)
        if match is None or match.removed & taken:
            continue
        taken |= match.removed
        matches.append(match)
    return matches


def _node(
    x: ir.Value, cosine: ir.Value, sine: ir.Value, y: str, interleaved: int, rotary: int
) -> ir.Node:
    return make_node(
        "rotary",
        [x, cosine, sine],
        [y],
        name=f"{DOMAIN}/rotary/{y}",
        domain=DOMAIN,
        interleaved=interleaved,
        rotary_embedding_dim=rotary,
    )


def _operator(node: ir.Node) -> Match | None:
    if not is_op(node, "RotaryEmbedding") or len(inputs(node)) != 3:
        return None
    x, cosine, sine = inputs(node)
    known = shape(x)
    if known is None or len(known) != 4:
        return None  # three axes are heads and dimension in one

    def make(made: Made) -> tuple[ir.Node, ...]:
        added: list[ir.Node] = []
        tables = [_for_every_item(value, value, x, made, added) for value in (cosine, sine)]
        interleaved = int(attribute(node, "interleaved", 0))
        rotary = int(attribute(node, "rotary_embedding_dim", 0))
        y = str(node.outputs[0].name)
        return (*added, _node(x, tables[0], tables[1], y, interleaved, rotary))

    return Match(frozenset([node]), node, tuple(node.outputs), make)


def _for_every_item(
    value: ir.Value, like: ir.Value, x: ir.Value, made: Made, added: list[ir.Node]
) -> ir.Value:
    """`value` (shaped as `like`) with the batch of `x`; a batch of 1 was there to be broadcast.

    The operator wants the angles of each item. Nodes go to `added` unless an earlier match made
    them.
    """
    known, whole = shape(like), shape(x)
    batch = whole[0] if whole else ""
    if batch != "" and known and known[0] == batch:
        return value
    name = f"{DOMAIN}/expand/{value.name}/{batch or x.name}"
    if name not in made:
        ones = ir.tensor(np.array([1, 1], np.int64), name=f"{name}/ones")
        size = make_node("Shape", [x], [f"{name}/batch"], name=f"{name}/batch", start=0, end=1)
        rest = make_node("Constant", [], [f"{name}/ones"], name=f"{name}/ones", value=ones)
        both = [size.outputs[0], rest.outputs[0]]
        wanted = make_node("Concat", both, [f"{name}/shape"], name=f"{name}/shape", axis=0)
        expand = make_node("Expand", [value, wanted.outputs[0]], [name], name=name)
        added += [size, rest, wanted, expand]
        made[name] = expand.outputs[0]
    return made[name]


@dataclass(frozen=True)
class _Angles:
    """cos or sin of angles that stand twice, for a broadcast over heads."""

    function: str
    half: ir.Value
    """The angles once: [batch, sequence, rotary / 2]."""
    steps: tuple[ir.Node, ...]
    """Casts and scalings that follow, in order."""


def _written_out(node: ir.Node) -> Match | None:
    if not is_op(node, "Add"):
        return None
    for straight, turned in pair(node):
        first, second = producer(straight, "Mul"), producer(turned, "Mul")
        if first is None or second is None:
            continue
        cosine, sine = _with_angles(first, "Cos"), _with_angles(second, "Sin")
        if cosine is None or sine is None or cosine[1].half is not sine[1].half:
            continue
        rotated = _rotated_half(sine[0])
        if rotated is None or rotated[0] is not cosine[0]:
            continue
        found = {node, first, second, *rotated[1]}
        if not closed(found, node.outputs):
            continue
        maker = _maker(rotated[0], (cosine[1], sine[1]), node)
        return Match(frozenset(found), node, tuple(node.outputs), maker)
    return None


def _maker(
    x: ir.Value, both: tuple[_Angles, _Angles], node: ir.Node
) -> Callable[[Made], tuple[ir.Node, ...]]:
    def make(made: Made) -> tuple[ir.Node, ...]:
        added: list[ir.Node] = []
        tables = []
        for angles in both:
            half = _half_angles(angles, made, added)
            tables.append(_for_every_item(half, angles.half, x, made, added))
        y = str(node.outputs[0].name)
        return (*added, _node(x, tables[0], tables[1], y, 0, 0))

    return make


def _with_angles(product: ir.Node, function: str) -> tuple[ir.Value, _Angles] | None:
    """A multiplication as something times angles: the something, and the angles."""
    for other, value in pair(product):
        angles = _angles(value, function)
        if angles:
            return other, angles
    return None


def _angles(value: ir.Value, function: str) -> _Angles | None:
    unsqueeze = producer(value, "Unsqueeze")
    if unsqueeze is None or integers(inputs(unsqueeze)[1]) != (1,):
        return None
    value = inputs(unsqueeze)[0]
    steps: list[ir.Node] = []
    while True:
        node = producer(value)
        if node is None:
            return None
        if is_op(node, function):
            break
        scaling = is_op(node, "Mul") and scalar(node.inputs[1]) is not None
        if not is_op(node, "Cast") and not scaling:
            return None
        steps.insert(0, node)
        value = inputs(node)[0]
    twice = producer(node.inputs[0], "Concat")
    if twice is None or attribute(twice, "axis", 0) not in (-1, 2):
        return None
    parts = inputs(twice)
    if len(parts) != 2 or parts[0] is not parts[1]:
        return None
    return _Angles(function, parts[0], tuple(steps))


def _rotated_half(value: ir.Value) -> tuple[ir.Value, set[ir.Node]] | None:
    """`value` as concat(-x[half:], x[:half]) of the last axis: x, and the nodes."""
    concat = producer(value, "Concat")
    if concat is None or len(concat.inputs) != 2 or attribute(concat, "axis", 0) not in (-1, 3):
        return None
    negated, low = inputs(concat)
    negation = producer(negated, "Neg")
    if negation is None:
        return None
    high = inputs(negation)[0]
    first, second = producer(low), producer(high)
    if first is None or second is None:
        return None
    x = inputs(first)[0]
    found = {concat, negation, first, second}
    if first is second and is_op(first, "Split"):
        in_order = list(first.outputs) == [low, high]
        return (x, found) if in_order and _equal_split(first) else None
    before, after = _slice(first), _slice(second)
    if before is None or after is None or second.inputs[0] is not x:
        return None
    (start, half), (middle, end) = before, after
    known = shape(x)
    width = known[-1] if known else None
    whole = end >= _FAR or end == width
    if start != 0 or half != middle or not whole or width != 2 * half:
        return None
    return x, found


def _equal_split(node: ir.Node) -> bool:
    if attribute(node, "axis", 0) not in (-1, 3):
        return False
    if len(inputs(node)) < 2:
        return bool(attribute(node, "num_outputs", 0) == 2)
    sizes = integers(node.inputs[1])
    return sizes is not None and len(sizes) == 2 and sizes[0] == sizes[1]


def _slice(node: ir.Node) -> tuple[int, int] | None:
    """Start and end of a slice of the last of four axes, with step 1."""
    if not is_op(node, "Slice"):
        return None
    constants = [integers(value) for value in node.inputs[1:]]
    if len(constants) < 3 or any(one is None or len(one) != 1 for one in constants):
        return None
    numbers = [one[0] for one in constants if one]
    if numbers[2] not in (-1, 3) or numbers[3:] not in ([], [1]):
        return None
    return numbers[0], numbers[1]


def _half_angles(angles: _Angles, made: Made, added: list[ir.Node]) -> ir.Value:
    """The same function and steps over the angles once; shared with earlier matches."""
    prefix = f"{DOMAIN}/{angles.function.lower()}"
    last = angles.steps[-1].outputs[0] if angles.steps else angles.half
    name = f"{prefix}/{last.name}"
    if name in made:
        return made[name]
    first = f"{prefix}/{angles.half.name}"
    node = make_node(angles.function, [angles.half], [first], name=first)
    added.append(node)
    for step in angles.steps:
        output = f"{prefix}/{step.outputs[0].name}"
        given = [node.outputs[0], *inputs(step)[1:]]
        node = ir.Node(
            step.domain,
            step.op_type,
            given,
            step.attributes.values(),
            outputs=[ir.Value(name=output)],
            name=output,
        )
        added.append(node)
    made[name] = node.outputs[0]
    return made[name]


def _body() -> NodeProto:
    node = helper.make_node("RotaryEmbedding", ["x", "cosine", "sine"], ["y"])
    for name in ("interleaved", "rotary_embedding_dim"):
        reference = node.attribute.add()
        reference.name, reference.ref_attr_name, reference.type = name, name, AttributeProto.INT
    return node


OPERATOR = Operator(
    "rotary",
    helper.make_function(
        DOMAIN,
        "rotary",
        ["x", "cosine", "sine"],
        ["y"],
        [_body()],
        [helper.make_opsetid("", OPSET)],
        attributes=["interleaved", "rotary_embedding_dim"],
    ),
    _find,
)
