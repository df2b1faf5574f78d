"""What a user asks of the builder, decoded and validated."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from enginewright.errors import Problem, raise_if_any
from enginewright.products.tensorrt.optimization_profile import Range
from enginewright.products.tensorrt.variant import Variant

TILING_LEVELS = ("none", "fast", "moderate", "full")
PROFILING_VERBOSITIES = ("layer_names_only", "detailed", "none")
CURRENT = "current"


@dataclass(frozen=True)
class Toolchain:
    product: Variant
    version: str
    libraries: Mapping[str, str]
    """File name -> sha256 of each shared library that the builder may load."""


@dataclass(frozen=True)
class ProfileRequest:
    axes: Mapping[str, tuple[int, int, int]]
    """Name of a dynamic axis -> its minimum, optimum and maximum."""
    values: Mapping[str, Range] = field(default_factory=dict)
    """Name of a shape-tensor input -> minimum, optimum and maximum of its values."""


@dataclass(frozen=True)
class BuildOptions:
    """Options of the builder; `None` leaves the choice to the product."""

    compute_capabilities: tuple[str, ...]
    """Such as `8.6`, in ascending order, or `current` alone."""
    optimization_level: int | None = None
    """0 to 5."""
    tiling_optimization_level: str | None = None
    l2_limit_for_tiling: int | None = None
    """Bytes."""
    weight_streaming: bool = False
    memory_pool_limits: Mapping[str, int] = field(default_factory=dict)
    """Pool -> bytes."""
    max_aux_streams: int | None = None
    max_num_tactics: int | None = None
    avg_timing_iterations: int | None = None
    engine_capability: str | None = None
    runtime_platform: str | None = None
    profiling_verbosity: str | None = None
    builder_flags: Mapping[str, bool] = field(default_factory=dict)
    """Flag in lower case -> on or off."""


@dataclass(frozen=True)
class BuildRequest:
    toolchain: Toolchain
    profiles: tuple[ProfileRequest, ...]
    options: BuildOptions

    @classmethod
    def decode(cls, parameters: Mapping[str, Any], variant: Variant) -> BuildRequest:
        """What is asked of `variant`; raises `InputError` with every problem of the parameters."""
        problems: list[Problem] = []
        known = {"toolchain", "profiles", "shape_values", *BuildOptions.__dataclass_fields__}
        for name in sorted({*parameters} - known):
            problems.append(_wrong("unknown option", name, known, name))
        toolchain = _decode_toolchain(parameters.get("toolchain"), variant, problems)
        profiles = _decode_profiles(parameters, problems)
        options = _OptionDecoder(parameters, toolchain, problems).decode()
        raise_if_any(problems)
        assert toolchain is not None  # for the type checker: a missing one is a problem
        return cls(toolchain, profiles, options)


def _wrong(what: str, where: str, expected: str | Sequence[str] | set[str], actual: Any) -> Problem:
    valid = expected if isinstance(expected, str) else "one of " + ", ".join(sorted(expected))
    return Problem(what, where, valid, str(actual))


def _decode_toolchain(value: Any, variant: Variant, problems: list[Problem]) -> Toolchain | None:
    if not isinstance(value, Mapping):
        problems.append(_wrong("no toolchain", "toolchain", "product, version, libraries", value))
        return None
    product, version = str(value.get("product")), str(value.get("version"))
    before = len(problems)
    if product != variant.name:
        problems.append(_wrong("another product", "toolchain.product", variant.name, product))
    if not re.fullmatch(r"\d+(\.\d+){3}", version):
        expected = "all four fields, as 1.7.1.116"
        problems.append(_wrong("incomplete version", "toolchain.version", expected, version))
    libraries = _decode_libraries(value.get("libraries"), problems)
    return Toolchain(variant, version, libraries) if len(problems) == before else None


def _decode_libraries(value: Any, problems: list[Problem]) -> dict[str, str]:
    where = "toolchain.libraries"
    if not isinstance(value, Mapping) or not value:
        expected = "file name -> sha256 of each library"
        problems.append(_wrong("no libraries", where, expected, value))
        return {}
    for name, sha256 in sorted(value.items()):
        if not isinstance(sha256, str) or not re.fullmatch(r"[0-9a-f]{64}", sha256):
            expected = "64 lower-case hex digits"
            problems.append(_wrong("not a sha256", f"{where}.{name}", expected, sha256))
    return dict(value)


def _is_count(value: Any, minimum: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= minimum


def _decode_profiles(
    parameters: Mapping[str, Any], problems: list[Problem]
) -> tuple[ProfileRequest, ...]:
    profiles = parameters.get("profiles") or []
    values = parameters.get("shape_values") or []
    if not isinstance(profiles, list) or not all(isinstance(p, Mapping) for p in profiles):
        problems.append(_wrong("not a list of profiles", "profiles", "[{axis: range}]", profiles))
        return ()
    if not isinstance(values, list) or not all(isinstance(v, Mapping) for v in values):
        problems.append(_wrong("not a list", "shape_values", "[{tensor: range}]", values))
        return ()
    if values and len(values) != max(len(profiles), 1):
        expected = f"one entry a profile: {max(len(profiles), 1)}"
        problems.append(_wrong("shape values of another profile", "shape_values", expected, values))
        return ()
    count = max(len(profiles), len(values))
    return tuple(
        ProfileRequest(
            _decode_axes(profiles[i] if profiles else {}, f"profiles[{i}]", problems),
            _decode_values(values[i] if values else {}, f"shape_values[{i}]", problems),
        )
        for i in range(count)
    )


def _decode_axes(
    axes: Mapping[str, Any], where: str, problems: list[Problem]
) -> dict[str, tuple[int, int, int]]:
    decoded = {}
    for axis, bounds in sorted(axes.items()):
        place = f"{where}, axis `{axis}`"
        is_range = isinstance(bounds, list | tuple) and len(bounds) == 3
        # The minimum may be 0: a cache of keys and values is empty at first.
        if not is_range or not all(map(_is_count, bounds, (0, 1, 1))):
            expected = "minimum, optimum, maximum: integers, at least 0, 1, 1"
            problems.append(_wrong("not a range", place, expected, bounds))
        elif not bounds[0] <= bounds[1] <= bounds[2]:
            expected = "minimum <= optimum <= maximum"
            problems.append(_wrong("range is not in order", place, expected, bounds))
        else:
            decoded[axis] = (bounds[0], bounds[1], bounds[2])
    return decoded


def _decode_values(
    tensors: Mapping[str, Any], where: str, problems: list[Problem]
) -> dict[str, Range]:
    decoded: dict[str, Range] = {}
    for tensor, rows in sorted(tensors.items()):
        place = f"{where}, tensor `{tensor}`"
        if not (isinstance(rows, list | tuple) and len(rows) == 3) or not all(
            isinstance(row, list | tuple) and all(isinstance(v, int) for v in row) for row in rows
        ):
            expected = "minimum, optimum, maximum: three lists of integers"
            problems.append(_wrong("not a range of values", place, expected, rows))
        elif len({len(row) for row in rows}) != 1 or not all(
            low <= best <= high for low, best, high in zip(*rows, strict=True)
        ):
            expected = "three lists of one length, minimum <= optimum <= maximum"
            problems.append(_wrong("range of values is not in order", place, expected, rows))
        else:
            decoded[tensor] = (tuple(rows[0]), tuple(rows[1]), tuple(rows[2]))
    return decoded


@dataclass
class _OptionDecoder:
    parameters: Mapping[str, Any]
    toolchain: Toolchain | None
    problems: list[Problem]

    def decode(self) -> BuildOptions:
        product = self.toolchain.product if self.toolchain else None
        streaming = self.parameters.get("weight_streaming", False)
        if not isinstance(streaming, bool):
            self.problems.append(
                _wrong("not a boolean", "weight_streaming", "true or false", streaming)
            )
        return BuildOptions(
            compute_capabilities=self._compute_capabilities(),
            optimization_level=self._integer("optimization_level", 0, 5),
            tiling_optimization_level=self._choice("tiling_optimization_level", TILING_LEVELS),
            l2_limit_for_tiling=self._integer("l2_limit_for_tiling", 0),
            weight_streaming=bool(streaming),
            memory_pool_limits=self._memory_pools(product),
            max_aux_streams=self._integer("max_aux_streams", 0),
            max_num_tactics=self._integer("max_num_tactics", 1),
            avg_timing_iterations=self._integer("avg_timing_iterations", 1),
            engine_capability=self._choice(
                "engine_capability", product.engine_capabilities if product else None
            ),
            runtime_platform=self._choice(
                "runtime_platform", product.runtime_platforms if product else None
            ),
            profiling_verbosity=self._choice("profiling_verbosity", PROFILING_VERBOSITIES),
            builder_flags=self._builder_flags(product),
        )

    def _integer(self, name: str, minimum: int, maximum: int | None = None) -> int | None:
        value = self.parameters.get(name)
        if value is None:
            return None
        if not _is_count(value, minimum) or (maximum is not None and value > maximum):
            limit = f"at least {minimum}" if maximum is None else f"{minimum} to {maximum}"
            self.problems.append(_wrong("option out of range", name, f"an integer, {limit}", value))
            return None
        return int(value)

    def _choice(self, name: str, valid: tuple[str, ...] | None) -> str | None:
        value = self.parameters.get(name)
        if value is None:
            return None
        if valid is not None and value not in valid:
            self.problems.append(_wrong("unknown value of an option", name, set(valid), value))
        return str(value)

    def _mapping(self, name: str, valid: tuple[str, ...] | None) -> Mapping[str, Any]:
        value = self.parameters.get(name) or {}
        if not isinstance(value, Mapping):
            self.problems.append(_wrong("not a table", name, "{name: value}", value))
            return {}
        for key in sorted({*value} - {*(valid if valid is not None else value)}):
            self.problems.append(
                _wrong(
                    "the product does not have this option", f"{name}.{key}", set(valid or ()), key
                )
            )
        return dict(sorted(value.items()))

    def _memory_pools(self, product: Variant | None) -> Mapping[str, int]:
        limits = self._mapping("memory_pool_limits", product.memory_pools if product else None)
        for pool, limit in limits.items():
            if not _is_count(limit, 1):
                self.problems.append(
                    _wrong("not a size", f"memory_pool_limits.{pool}", "bytes, at least 1", limit)
                )
        return limits

    def _builder_flags(self, product: Variant | None) -> Mapping[str, bool]:
        flags = self._mapping("builder_flags", product.builder_flags if product else None)
        for flag, value in flags.items():
            if not isinstance(value, bool):
                self.problems.append(
                    _wrong("not a boolean", f"builder_flags.{flag}", "true or false", value)
                )
        return flags

    def _compute_capabilities(self) -> tuple[str, ...]:
        """Only the form is checked here; which ones exist is known once the product is loaded."""
        name = "compute_capabilities"
        given = self.parameters.get(name) or []
        if not isinstance(given, list | tuple) or not given:
            self.problems.append(
                _wrong("no compute capabilities", name, 'at least one, as "8.6"', given)
            )
            return ()
        capabilities = [str(capability) for capability in given]
        for capability in capabilities:
            if capability != CURRENT and not re.fullmatch(r"\d+\.\d", capability):
                expected = f'major and minor, as "8.6", or "{CURRENT}"'
                self.problems.append(
                    _wrong("not a compute capability", name, expected, repr(capability))
                )
                return ()
        if CURRENT in capabilities and len(capabilities) > 1:
            self.problems.append(
                _wrong("not alone", name, f'"{CURRENT}" without others', capabilities)
            )
            return ()
        # Sorted: the order in which they are written must not change the plan.
        return tuple(sorted({*capabilities}, key=lambda text: [*map(_number, text.split("."))]))


def _number(text: str) -> int:
    return int(text) if text.isdigit() else 0
