"""A request that is told no, in the form that clients of OpenAI's API know."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from enginewright.errors import InputError

_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    429: "rate_limit_error",
}


class ApiError(Exception):
    def __init__(
        self, status: int, message: str, code: str = "", headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.headers = dict(headers or {})

    @classmethod
    def of(cls, error: InputError, status: int = 400) -> ApiError:
        return cls(status, str(error))

    @property
    def document(self) -> dict[str, Any]:
        kind = _TYPES.get(self.status) or (
            "invalid_request_error" if self.status < 500 else "server_error"
        )
        error = {"message": str(self), "type": kind, "param": None, "code": self.code or None}
        return {"error": error}


def too_many(most: int) -> ApiError:
    message = f"the server has {most} requests already, and takes no more: come back in a second"
    return ApiError(429, message, "queue_full", {"Retry-After": "1"})


def too_late(seconds: float) -> ApiError:
    return ApiError(504, f"not answered within {seconds:g} s, and given up", "timeout")


def stopping() -> ApiError:
    message = "the server is stopping: ask another one"
    return ApiError(503, message, "stopping", {"Retry-After": "1", "Connection": "close"})


def worker_lost() -> ApiError:
    message = "the engine's process died while it computed this; nothing more of it comes"
    return ApiError(500, message, "worker_lost")
