"""An input or output of an engine."""

from __future__ import annotations

from dataclasses import dataclass

from enginewright.document import Document


@dataclass(frozen=True)
class EngineTensor:
    name: str
    mode: str
    """`input` or `output`."""
    dtype: str
    """As numpy and ml_dtypes call it: `float16`, `bfloat16`, `int64`."""
    shape: tuple[int | str, ...]
    """Size or axis name of each dim; a dynamic dim without a name is `TENSOR:INDEX`."""

    @property
    def is_dynamic(self) -> bool:
        return any(isinstance(dim, str) for dim in self.shape)

    def to_json(self) -> dict[str, object]:
        return {
            "name": self.name,
            "mode": self.mode,
            "dtype": self.dtype,
            "shape": list(self.shape),
        }

    @classmethod
    def from_document(cls, document: Document) -> EngineTensor:
        mode = document.text("mode")
        if mode not in ("input", "output"):
            document.note("mode", "input or output", mode)
        shape = tuple(dim for dim in document.items("shape") if isinstance(dim, int | str))
        if len(shape) != len(document.items("shape")):
            document.note("shape", "sizes and axis names", document.items("shape"))
        return cls(document.text("name"), mode, document.text("dtype"), shape)
