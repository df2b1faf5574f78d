"""Where the artifacts of a new lock come from: `origins.py LOCK`, with pip's settings around it.

A lock pins hashes and names no place. Here the places say what they publish, and are compared:

- One file name with two hashes, one of them locked, is an index conflict: both origins are named on
  standard error, and the exit status is 1.
- A locked hash that no index publishes was taken from bytes that nobody vouches for.
- What came from another place than the first index.

Standard output has a line for each of the last two. The simple repository API of packages is
PEP 503 (HTML) and PEP 691 (JSON).
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import sys
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path
from typing import Dict, Iterator, List, Mapping, Optional, Tuple
from urllib.parse import unquote, urljoin, urlsplit, urlunsplit

ACCEPTED = "application/vnd.pypi.simple.v1+json, text/html;q=0.5"
TIMEOUT = 60.0  # seconds
_PIN = re.compile(r"^([A-Za-z0-9][\w.-]*)(?:\[[^\]]*\])?==(\S+)", re.MULTILINE)
_HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")


@dataclass(frozen=True)
class Locked:
    name: str
    version: str
    hashes: Tuple[str, ...]


@dataclass(frozen=True)
class Origin:
    """An index, or a page or folder of `find-links`."""

    place: str
    is_index: bool

    def __str__(self) -> str:
        """Without the password that an address may have."""
        parts = urlsplit(self.place)
        return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))


@dataclass(frozen=True)
class Artifact:
    file: str
    sha256: Optional[str]
    """None where the origin does not say."""
    is_published: bool
    """Said by the origin; otherwise taken from its bytes."""


Answers = Mapping[Origin, Tuple[Artifact, ...]]


def normalized(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def read_lock(text: str) -> List[Locked]:
    pins = list(_PIN.finditer(text))
    ends = [pin.start() for pin in pins[1:]] + [len(text)]
    return [
        Locked(normalized(pin[1]), pin[2], tuple(_HASH.findall(text[pin.end() : ends[number]])))
        for number, pin in enumerate(pins)
    ]


def origins(environment: Mapping[str, str]) -> List[Origin]:
    """In the order in which they are asked."""
    indexes = [
        environment.get("PIP_INDEX_URL", ""),
        *environment.get("PIP_EXTRA_INDEX_URL", "").split(),
    ]
    links = environment.get("PIP_FIND_LINKS", "").split()
    return [Origin(place, True) for place in indexes if place] + [Origin(p, False) for p in links]


def artifacts(origin: Origin, name: str) -> Tuple[Artifact, ...]:
    """The files of a package; raises `OSError` for an origin that does not answer."""
    folder = folder_of(origin.place)
    if folder is not None and not origin.is_index:
        files = [path for path in sorted(folder.iterdir()) if is_of(path.name, name)]
        return tuple(Artifact(path.name, sha256_of(path), False) for path in files)
    if folder is not None:
        page = folder / name / "index.html"  # which pip and uv read for a folder
        return tuple(html_links(page.read_bytes(), page.as_uri()) if page.is_file() else ())
    address = f"{origin.place.rstrip('/')}/{name}/" if origin.is_index else origin.place
    try:
        data, kind, address = get(address)
    except urllib.error.HTTPError as error:
        if error.code in (403, 404, 410):  # what indexes say of a package that they lack
            return ()
        raise
    links = json_links(data) if kind.endswith("json") else html_links(data, address)
    return tuple(item for item in links if origin.is_index or is_of(item.file, name))


def folder_of(place: str) -> Optional[Path]:
    parts = urlsplit(place)
    path = Path(unquote(parts.path) if parts.scheme == "file" else place)
    return path if parts.scheme in ("", "file") and path.is_dir() else None


def is_of(file: str, name: str) -> bool:
    """Whether a wheel `NAME-VERSION-...` or a source archive `NAME-VERSION` is the package's."""
    if file.endswith(".whl"):
        return normalized(file.partition("-")[0]) == name
    return file.endswith((".tar.gz", ".zip")) and normalized(file.rpartition("-")[0]) == name


def sha256_of(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        for block in iter(lambda: stream.read(1 << 20), b""):
            digest.update(block)
    return digest.hexdigest()


def get(address: str) -> Tuple[bytes, str, str]:
    """What a page says, its media type, and the address that it was found at in the end."""
    parts = urlsplit(address)
    credentials, _, host = parts.netloc.rpartition("@")
    request = urllib.request.Request(urlunsplit(parts._replace(netloc=host)))
    request.add_header("Accept", ACCEPTED)
    if credentials:
        encoded = base64.b64encode(unquote(credentials).encode()).decode()
        request.add_unredirected_header("Authorization", f"Basic {encoded}")
    with urllib.request.urlopen(request, timeout=TIMEOUT) as answer:
        return answer.read(), answer.headers.get_content_type(), answer.geturl()


def json_links(data: bytes) -> Iterator[Artifact]:
    for file in json.loads(data)["files"]:
        sha256 = file.get("hashes", {}).get("sha256")
        yield Artifact(file["filename"], sha256, sha256 is not None)


class _Anchors(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.addresses: List[str] = []

    def handle_starttag(self, tag: str, attrs: List[Tuple[str, Optional[str]]]) -> None:
        address = dict(attrs).get("href")
        if tag == "a" and address:
            self.addresses.append(address)


def html_links(data: bytes, page: str) -> Iterator[Artifact]:
    parser = _Anchors()
    parser.feed(data.decode("utf-8", "replace"))
    for address in parser.addresses:
        parts = urlsplit(urljoin(page, address))
        found = re.search(r"sha256=([0-9a-f]{64})", parts.fragment)
        sha256 = found[1] if found else None
        yield Artifact(unquote(parts.path.rpartition("/")[2]), sha256, sha256 is not None)


def conflicts(package: Locked, answers: Answers) -> Iterator[str]:
    """One file name, two hashes, one of them locked."""
    by_file: Dict[str, Dict[str, Origin]] = {}
    for origin, found in answers.items():
        for item in found:
            if item.sha256 is not None:
                by_file.setdefault(item.file, {}).setdefault(item.sha256, origin)
    for file, hashes in sorted(by_file.items()):
        if len(hashes) > 1 and not {*hashes}.isdisjoint(package.hashes):
            lines = "".join(f"\n  {sha256}  {origin}" for sha256, origin in hashes.items())
            yield f"{file} has other bytes in one place than in another:{lines}"


def notes(package: Locked, answers: Answers, first: Origin) -> Iterator[str]:
    published = {i.sha256 for found in answers.values() for i in found if i.is_published}
    unknown = [sha256 for sha256 in package.hashes if sha256 not in published]
    title = f"{package.name} {package.version}"
    if unknown:
        places = ", ".join(
            str(origin)
            for origin, found in answers.items()
            if any(not item.is_published for item in found)
        )
        yield (
            f"{title}: no index publishes {len(unknown)} of its {len(package.hashes)} hashes; they "
            f"were taken from the bytes of {places or 'an index'}, trusted on first use"
        )
    for origin, found in answers.items():
        locked = {item.sha256 for item in found} & {*package.hashes}
        if locked and origin != first:
            in_first = {item.sha256 for item in answers[first]} & locked
            if not in_first:
                yield f"{title} comes from {origin}"


def compare(packages: List[Locked], places: List[Origin]) -> Tuple[List[str], List[str]]:
    """All conflicts, and all notes."""

    def ask(package: Locked) -> Answers:
        return {place: artifacts(place, package.name) for place in places}

    found_conflicts: List[str] = []
    found_notes: List[str] = []
    with ThreadPoolExecutor(8) as pool:
        answered = list(pool.map(ask, packages))
    for number, package in enumerate(packages):
        found_conflicts += conflicts(package, answered[number])
        found_notes += notes(package, answered[number], places[0])
    return found_conflicts, found_notes


def main(lock: str) -> None:
    packages = read_lock(Path(lock).read_text(encoding="utf-8"))
    places = origins(os.environ)
    if not places:
        return
    try:
        found_conflicts, found_notes = compare(packages, places)
    except (OSError, ValueError, KeyError) as error:
        sys.exit(f"an origin of the lock's artifacts cannot be asked what it publishes: {error!r}")
    if found_conflicts:
        fix = "Remove one of the places from `[python-repos]`, or the file from one of them."
        sys.exit("\n".join([*found_conflicts, fix]))
    print("".join(f"{note}\n" for note in found_notes), end="")


if __name__ == "__main__":
    main(*sys.argv[1:])
