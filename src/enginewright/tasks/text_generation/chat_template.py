"""A conversation as a prompt, by the template of the checkpoint."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import jinja2
from jinja2.ext import loopcontrols
from jinja2.sandbox import ImmutableSandboxedEnvironment

from enginewright import canonical_json
from enginewright.errors import InputError, Problem

FILE = "chat_template.jinja"
CONFIG = "tokenizer_config.json"


class ChatTemplate:
    """As transformers renders it (`apply_chat_template`): a sandbox, blocks trimmed, a few names.

    A template comes with the checkpoint and is not ours: it can read the conversation and nothing
    else.
    """

    def __init__(self, source: str, where: str, known: Mapping[str, Any]) -> None:
        """`known` are names that the template may use; raises `InputError` for a broken one."""
        environment = ImmutableSandboxedEnvironment(
            trim_blocks=True, lstrip_blocks=True, extensions=[loopcontrols]
        )
        environment.filters["tojson"] = _to_json
        environment.globals["raise_exception"] = _raise
        environment.globals["strftime_now"] = lambda form: datetime.now().strftime(form)
        self._where, self._known = where, known
        try:
            self._template = environment.from_string(source)
        except jinja2.TemplateError as error:
            what = "the chat template cannot be read"
            raise InputError(Problem(what, where, actual=str(error)[:400])) from error

    @classmethod
    def of(cls, files: Mapping[str, Path]) -> ChatTemplate | None:
        """That of a package's files, by path; None where there is none."""
        config = files.get(CONFIG)
        document = canonical_json.read_object(config) if config is not None else {}
        known = {
            name: value.get("content") if isinstance(value, Mapping) else value
            for name, value in document.items()
            if name.endswith("_token")
        }
        path = files.get(FILE)
        if path is not None:
            return cls(path.read_text(encoding="utf-8"), str(path), known)
        source = document.get("chat_template")
        if isinstance(source, list):
            # Templates by name; the one for a plain conversation is `default`.
            named = {item["name"]: item["template"] for item in source}
            source = named.get("default")
        return cls(source, f"{config}, chat_template", known) if isinstance(source, str) else None

    def prompt(self, messages: Sequence[Mapping[str, Any]]) -> str:
        """The conversation, and the beginning of the assistant's answer.

        Raises `InputError` for a conversation that the template refuses.
        """
        try:
            return self._template.render(
                messages=list(messages), add_generation_prompt=True, **self._known
            )
        except (jinja2.TemplateError, TypeError, ValueError) as error:
            what = "the chat template refuses the messages"
            raise InputError(Problem(what, self._where, actual=str(error)[:400])) from error


def _to_json(value: Any, ensure_ascii: bool = False, indent: int | None = None) -> str:
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent)


def _raise(message: str) -> None:
    raise jinja2.TemplateError(message)
