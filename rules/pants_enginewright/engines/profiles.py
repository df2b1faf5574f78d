"""The field with the optimization profiles of an engine."""

from __future__ import annotations

from typing import Any, Dict, Iterator, Mapping, Tuple

from pants.util.frozendict import FrozenDict

from pants_enginewright.build_files.fields import CheckedField, thaw


def is_range(sizes: Any) -> bool:
    """Three sizes, in whatever order."""
    if not isinstance(sizes, tuple) or len(sizes) != 3:
        return False
    return all(type(size) is int and size >= 0 for size in sizes)


def length_problems(profile: Mapping[str, Any]) -> Iterator[str]:
    """A decoder with a cache always has total_sequence = past_sequence + sequence."""
    names = ("sequence", "past_sequence", "total_sequence")
    if not all(is_range(profile.get(name)) for name in names):
        return
    sequence, past, total = (profile[name] for name in names)
    if sequence[2] > total[2]:
        yield (
            f"axis 'sequence' reaches {sequence[2]}; expected at most {total[2]}, the maximum of "
            f"'total_sequence', which counts 'past_sequence' and 'sequence' together"
        )
    if past[2] + sequence[0] > total[2]:
        yield (
            f"axis 'past_sequence' reaches {past[2]}; expected at most {total[2] - sequence[0]}: "
            f"with the minimum of 'sequence', {sequence[0]}, it must fit into the maximum of "
            f"'total_sequence', {total[2]}"
        )
    if total[0] > past[0] + sequence[0]:
        yield (
            f"axis 'total_sequence' begins at {total[0]}; expected at most {past[0] + sequence[0]},"
            f" the minima of 'past_sequence' and 'sequence' together"
        )


class ProfilesField(CheckedField):
    alias = "profiles"
    default = ()
    expected = "a list of profiles such as {'batch': (1, 1, 8), 'sequence': (1, 128, 1024)}"
    help = "Optimization profiles: minimum, optimum and maximum of each named dynamic axis."

    def is_valid(self) -> bool:
        return isinstance(self.value, tuple) and all(hasattr(item, "items") for item in self.value)

    def problems(self) -> Iterator[str]:
        yield from super().problems()
        if not self.is_valid():
            return
        for number, profile in enumerate(self.value):
            where = f"field `{self.alias}`, profile {number}"
            yield from (f"{where}, {problem}" for problem in length_problems(profile))
            for axis, sizes in profile.items():
                found = f"{where}, axis {axis!r} has value {thaw(sizes)!r}"
                if not is_range(sizes):
                    yield f"{found}; expected (min, opt, max)"
                elif not sizes[0] <= sizes[1] <= sizes[2]:
                    yield f"{found}; expected min <= opt <= max"
                elif sizes[1] == 0:
                    yield f"{found}; expected opt and max of at least 1"

    def shapes(self) -> Tuple[FrozenDict[str, int], ...]:
        """Sizes of all axes at the minimum, optimum and maximum of each profile, each once."""
        shapes = [
            FrozenDict({axis: sizes[place] for axis, sizes in profile.items()})
            for profile in self.value
            for place in range(3)
        ]
        return tuple(dict.fromkeys(shapes))

    def greatest_sizes(self) -> FrozenDict[str, int]:
        """The greatest `batch`, `sequence` and `total_sequence` over all profiles."""
        greatest: Dict[str, int] = {}
        for profile in self.value:
            for axis in ("batch", "sequence", "total_sequence"):
                if axis in profile:
                    greatest[axis] = max(greatest.get(axis, 0), profile[axis][-1])
        return FrozenDict(greatest)
