"""Step: write the bill of materials and the provenance of a package.

Input: `manifest`, the `engine.json` of an engine; none for other packages. Parameters: a `Build`.
"""

from __future__ import annotations

from pathlib import Path

from enginewright import canonical_json
from enginewright.document import encode
from enginewright.engines.manifest import read_manifest
from enginewright.hashing import FileDigest
from enginewright.provenance import bom, build_provenance
from enginewright.provenance.build import Build
from enginewright.provenance.model_card import ModelCard
from enginewright.step import ActionRequest, Result, main


def run(request: ActionRequest, outputs: Path) -> Result:
    build = request.decode(Build)
    manifests = request.inputs.get("manifest", ())
    cards = [ModelCard.of(read_manifest(file.path)) for file in manifests]
    path = outputs / bom.NAME
    canonical_json.write(path, bom.write_bom(build, cards[0] if cards else None))
    written = {bom.NAME: FileDigest.of(path)}
    statement = build_provenance.state_provenance(build, written)
    canonical_json.write(outputs / build_provenance.NAME, encode(statement))
    return {"files": sorted([bom.NAME, build_provenance.NAME])}


if __name__ == "__main__":
    main(run)
