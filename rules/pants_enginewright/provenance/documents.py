"""Names of the files of a package that are about it."""

DOCUMENTS = ("bom.cdx.json", "provenance.json")
SIGNATURE = "package.sig"
"""Of the command `enginewright sign`, which puts statements into a folder `attestations`, too."""
