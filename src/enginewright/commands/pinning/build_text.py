"""The text of a BUILD file for a pinned checkpoint."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from enginewright.commands.pinning.pin_request import PinRequest
from enginewright.hashing import FileDigest

CONFIG = "config.json"
WEIGHTS = (".safetensors", ".safetensors.index.json")


def render(request: PinRequest, digests: Mapping[str, FileDigest]) -> str:
    """A `file` target for each of `digests`, by path, and the `model_checkpoint` of them all."""
    names = [file.rpartition("/")[2] for file in request.files]
    weights = [name for name in names if name.endswith(WEIGHTS)]
    others = [name for name in names if name != CONFIG and name not in weights]
    files = [
        _file(name, request.url(path), digests[path])
        for name, path in zip(names, request.files, strict=True)
    ]
    checkpoint = (
        "model_checkpoint(\n"
        '    name="checkpoint",\n'
        f"    config={json.dumps(CONFIG)},\n"
        f"    weights={_list(weights)},\n"
        f"    tokenizer={_list(others)},\n"
        f"    files={_list([f':{name}' for name in names])},\n"
        ")\n"
    )
    head = f"# {request.repository} at {request.revision}, pinned by `enginewright pin`.\n"
    return "\n".join([head, *files, checkpoint])


def _file(name: str, url: str, digest: FileDigest) -> str:
    return (
        "file(\n"
        f"    name={json.dumps(name)},\n"
        "    source=http_source(\n"
        f"        {json.dumps(url)},\n"
        f"        len={digest.size},\n"
        f'        sha256="{digest.sha256}",\n'
        f"        filename={json.dumps(name)},\n"
        "    ),\n"
        ")\n"
    )


def _list(items: Sequence[str]) -> str:
    if not items:
        return "[]"
    return "[\n" + "".join(f"        {json.dumps(item)},\n" for item in items) + "    ]"
