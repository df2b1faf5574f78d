"""`enginewright.rotary(x, cosine, sine)`: rotary position embedding of `x` [batch, heads, sequence,
dimension] with `cosine` and `sine` [batch, sequence, rotary / 2].

Found as the operator RotaryEmbedding of opset 23 (in that form, without position ids), and as what
exporters write for transformers' half layout:

    x * cosines + concat(-x[half:], x[:half]) * sines

where cosines and sines are of angles that stand twice, `concat(angles, angles)`.
"""

from __future__ import annotations

from dataclasses import dataclass

from onnx import AttributeProto, NodeProto, TensorProto, helper

from enginewright.passes.graph_index import GraphIndex, attribute
from enginewright.passes.operators.operator import DOMAIN, OPSET, Match, Operator

_FAR = 2**31 - 1  # exporters slice "to the end" with a number at least this large


def _find(index: GraphIndex) -> list[Match]:
    matches: list[Match] = []
    taken: set[int] = set()
    made: set[str] = set()
    for place in range(len(index.nodes)):
        match = _operator(index, place, made) or _written_out(index, place, made)
        if match is None or match.removed & taken:
            continue
        taken |= match.removed
        made.update(name for node in match.added for name in node.output)
        matches.append(match)
    return matches


def _node(x: str, cosine: str, sine: str, y: str, interleaved: int, rotary: int) -> NodeProto:
    return helper.make_node(
        "rotary",
        [x, cosine, sine],
        [y],
        name=f"{DOMAIN}/rotary/{y}",
        domain=DOMAIN,
        interleaved=interleaved,
        rotary_embedding_dim=rotary,
    )


def _operator(index: GraphIndex, place: int, made: set[str]) -> Match | None:
    node = index.nodes[place]
    if not index.is_op(place, "RotaryEmbedding") or len([name for name in node.input if name]) != 3:
        return None
    x, cosine, sine = node.input
    shape = index.shape(x)
    if shape is None or len(shape) != 4:
        return None  # three axes are heads and dimension in one
    interleaved = attribute(node, "interleaved", 0)
    rotary = attribute(node, "rotary_embedding_dim", 0)
    assert isinstance(interleaved, int)
    assert isinstance(rotary, int)
    added: list[NodeProto] = []
    names = [_for_every_item(index, value, value, x, made, added) for value in (cosine, sine)]
    operator = _node(x, names[0], names[1], node.output[0], interleaved, rotary)
    return Match(frozenset([place]), place, (*added, operator))


def _for_every_item(
    index: GraphIndex, value: str, like: str, x: str, made: set[str], added: list[NodeProto]
) -> str:
    """`value` (shaped as `like`) with the batch of `x`; a batch of 1 was there to be broadcast.

    The operator wants the angles of each item. Nodes go to `added` unless an earlier match made
    them.
    """
    shape, whole = index.shape(like), index.shape(x)
    batch = whole[0] if whole else ""
    if batch != "" and shape and shape[0] == batch:
        return value
    name = f"{DOMAIN}/expand/{value}/{batch or x}"
    if name not in made:
        ones = helper.make_tensor(f"{name}/ones", TensorProto.INT64, [2], [1, 1])
        added += [
            helper.make_node("Shape", [x], [f"{name}/batch"], name=f"{name}/batch", start=0, end=1),
            helper.make_node("Constant", [], [f"{name}/ones"], name=f"{name}/ones", value=ones),
            helper.make_node(
                "Concat",
                [f"{name}/batch", f"{name}/ones"],
                [f"{name}/shape"],
                name=f"{name}/shape",
                axis=0,
            ),
            helper.make_node("Expand", [value, f"{name}/shape"], [name], name=name),
        ]
    return name


@dataclass(frozen=True)
class _Angles:
    """cos or sin of angles that stand twice, for a broadcast over heads."""

    function: str
    half: str
    """The angles once: [batch, sequence, rotary / 2]."""
    steps: tuple[int, ...]
    """Casts and scalings that follow, in order."""


def _written_out(index: GraphIndex, place: int, made: set[str]) -> Match | None:
    if not index.is_op(place, "Add"):
        return None
    node = index.nodes[place]
    for straight, turned in (tuple(node.input), tuple(reversed(node.input))):
        first, second = index.producer(straight, "Mul"), index.producer(turned, "Mul")
        if first is None or second is None:
            continue
        cosine = _with_angles(index, first, "Cos")
        sine = _with_angles(index, second, "Sin")
        if cosine is None or sine is None or cosine[1].half != sine[1].half:
            continue
        rotated = _rotated_half(index, sine[0])
        if rotated is None or rotated[0] != cosine[0]:
            continue
        places = {place, first, second, *rotated[1]}
        if not index.closed(places, node.output):
            continue
        added: list[NodeProto] = []
        names = []
        for angles in (cosine[1], sine[1]):
            added += _half_angles(index, angles, made)
            names.append(
                _for_every_item(
                    index, _last_name(index, angles), angles.half, rotated[0], made, added
                )
            )
        operator = _node(rotated[0], names[0], names[1], node.output[0], 0, 0)
        return Match(frozenset(places), place, (*added, operator))
    return None


def _with_angles(index: GraphIndex, product: int, function: str) -> tuple[str, _Angles] | None:
    """A multiplication as something times angles: the something, and the angles."""
    left, right = index.nodes[product].input
    for other, value in ((left, right), (right, left)):
        angles = _angles(index, value, function)
        if angles:
            return other, angles
    return None


def _angles(index: GraphIndex, value: str, function: str) -> _Angles | None:
    unsqueeze = index.producer(value, "Unsqueeze")
    if unsqueeze is None or index.integers(index.nodes[unsqueeze].input[1]) != (1,):
        return None
    value = index.nodes[unsqueeze].input[0]
    steps: list[int] = []
    while True:
        place = index.producer(value)
        if place is None:
            return None
        if index.is_op(place, function):
            break
        scaling = (
            index.is_op(place, "Mul") and index.scalar(index.nodes[place].input[1]) is not None
        )
        if not index.is_op(place, "Cast") and not scaling:
            return None
        steps.insert(0, place)
        value = index.nodes[place].input[0]
    twice = index.producer(index.nodes[place].input[0], "Concat")
    if twice is None or attribute(index.nodes[twice], "axis", 0) not in (-1, 2):
        return None
    parts = index.nodes[twice].input
    if len(parts) != 2 or parts[0] != parts[1]:
        return None
    return _Angles(function, parts[0], tuple(steps))


def _rotated_half(index: GraphIndex, value: str) -> tuple[str, set[int]] | None:
    """`value` as concat(-x[half:], x[:half]) of the last axis: x, and the places of the nodes."""
    concat = index.producer(value, "Concat")
    if concat is None or len(index.nodes[concat].input) != 2:
        return None
    if attribute(index.nodes[concat], "axis", 0) not in (-1, 3):
        return None
    negated, low = index.nodes[concat].input
    negation = index.producer(negated, "Neg")
    if negation is None:
        return None
    high = index.nodes[negation].input[0]
    first, second = index.producer(low), index.producer(high)
    if first is None or second is None:
        return None
    x = index.nodes[first].input[0]
    places = {concat, negation, first, second}
    if first == second and index.is_op(first, "Split"):
        node = index.nodes[first]
        return (
            (x, places) if list(node.output) == [low, high] and _equal_split(index, node) else None
        )
    before, after = _slice(index, first), _slice(index, second)
    if before is None or after is None or index.nodes[second].input[0] != x:
        return None
    (start, half), (middle, end) = before, after
    shape = index.shape(x)
    width = shape[-1] if shape else None
    whole = end >= _FAR or end == width
    if start != 0 or half != middle or not whole or width != 2 * half:
        return None
    return x, places


def _equal_split(index: GraphIndex, node: NodeProto) -> bool:
    if attribute(node, "axis", 0) not in (-1, 3):
        return False
    if len(node.input) < 2:
        return attribute(node, "num_outputs", 0) == 2
    sizes = index.integers(node.input[1])
    return sizes is not None and len(sizes) == 2 and sizes[0] == sizes[1]


def _slice(index: GraphIndex, place: int) -> tuple[int, int] | None:
    """Start and end of a slice of the last of four axes, with step 1."""
    if not index.is_op(place, "Slice"):
        return None
    constants = [index.integers(name) for name in index.nodes[place].input[1:]]
    if len(constants) < 3 or any(one is None or len(one) != 1 for one in constants):
        return None
    numbers = [one[0] for one in constants if one]
    if numbers[2] not in (-1, 3) or numbers[3:] not in ([], [1]):
        return None
    return numbers[0], numbers[1]


def _last_name(index: GraphIndex, angles: _Angles) -> str:
    last = index.nodes[angles.steps[-1]].output[0] if angles.steps else angles.half
    return f"{DOMAIN}/{angles.function.lower()}/{last}"


def _half_angles(index: GraphIndex, angles: _Angles, made: set[str]) -> tuple[NodeProto, ...]:
    """The same function and steps over the angles once; nothing where an earlier match made it."""
    if _last_name(index, angles) in made:
        return ()
    prefix = f"{DOMAIN}/{angles.function.lower()}"
    value = f"{prefix}/{angles.half}"
    nodes = [helper.make_node(angles.function, [angles.half], [value], name=value)]
    for place in angles.steps:
        step = NodeProto()
        step.CopyFrom(index.nodes[place])
        step.input[0] = value
        value = step.output[0] = f"{prefix}/{step.output[0]}"
        step.name = value
        nodes.append(step)
    return tuple(nodes)


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
