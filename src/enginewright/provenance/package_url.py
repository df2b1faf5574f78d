"""Package URLs of wheels. Source: the purl specification, type `pypi`."""

from __future__ import annotations

from packageurl import PackageURL

from enginewright.provenance.wheel import Wheel


def package_url(wheel: Wheel) -> PackageURL:
    """Of the file, since a release has wheels for several platforms."""
    # NB: of `_` and capitals the library makes what the type `pypi` wants.
    return PackageURL("pypi", None, wheel.name, wheel.version, {"file_name": wheel.file})
