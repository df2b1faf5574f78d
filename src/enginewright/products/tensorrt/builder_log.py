"""Messages of the builder: errors and warnings are kept, the rest is dropped."""

from __future__ import annotations

import re
from typing import Any

_ADDRESS = re.compile(r"0x[0-9a-fA-F]+")
_TIME = re.compile(r"\d+(?:\.\d+)?(?:e-?\d+)?\s?(ms|us|s|seconds|milliseconds)\b")
_SOURCE = re.compile(r"^\w+\.(?:cpp|hpp|h):\d+: ")
# Says that the library's log is used before the build gave it a context; harmless, and it comes
# as an error from querying any option.
_HARMLESS = ("Thread context has not been set",)
_EXPECTED = re.compile(
    # Comes for each int64 input of every model; engine.json and the package's README name them.
    r"Make sure input \S+ has Int64 binding\."
    # Comes for each node of a function that is used again, however the node is called: about
    # asking for tensors by the names of nodes, which nobody does here.
    r"|A node named .+ already exists, the output tensors of this new instance will not be "
    r"queryable\."
)


def normalize(message: str) -> str:
    """The message without addresses and times, which differ from run to run, and source lines."""
    text = _SOURCE.sub("", message.strip())
    return _TIME.sub(r"… \1", _ADDRESS.sub("0x…", text))


class BuilderLog:
    """Collects what the builder says; `logger(trt)` is the object that the library wants."""

    def __init__(self) -> None:
        self._errors: dict[str, None] = {}
        self._warnings: dict[str, None] = {}

    @property
    def errors(self) -> tuple[str, ...]:
        """Each error once, in the order in which they came."""
        return tuple(self._errors)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Each warning once, sorted: threads of the builder log in any order."""
        return tuple(sorted(self._warnings))

    def logger(self, trt: Any) -> Any:
        severity = trt.ILogger.Severity
        log = self

        class Logger(trt.ILogger):  # type: ignore[misc]
            def __init__(self) -> None:
                trt.ILogger.__init__(self)

            def log(self, level: Any, message: str) -> None:
                if level in (severity.ERROR, severity.INTERNAL_ERROR):
                    log.add_error(message)
                elif level == severity.WARNING:
                    log.add_warning(message)

        return Logger()

    def add_error(self, message: str) -> None:
        if not message.startswith(_HARMLESS):
            self._errors.setdefault(normalize(message))

    def add_warning(self, message: str) -> None:
        text = normalize(message)
        if not _EXPECTED.fullmatch(text):
            self._warnings.setdefault(text)
