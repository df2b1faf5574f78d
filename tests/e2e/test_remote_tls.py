"""A remote cache behind TLS and tokens: who has what it wants shares, all others build for
themselves, and add nothing to it.

One engine is built again and again, each time with an empty store. Those who are refused come
first, so that the server would know it from them if it had let them in, and once more at the end,
when the server knows all of it.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import buildgrid
import pytest
from buildgrid import BuildGrid
from certificate_authority import CertificateAuthority
from machine import Machine
from token_issuer import TokenIssuer
from workspace import Run, Workspace

ENGINE = "engines:tiny_cached"
STEPS = 9
HOUR = 3600

NOT_READ = "[WARN] Failed to read from remote cache (1 occurrences so far): "
NOT_WRITTEN = "[WARN] Failed to write to remote cache (1 occurrences so far): "
BAD_TOKEN = "Unauthenticated:"
BAD_CERTIFICATE = 'Unavailable: "error trying to connect: invalid certificate: UnknownIssuer"'


@dataclass(frozen=True)
class Site:
    """A server, and who vouches for it and for its clients."""

    server: BuildGrid
    authority: CertificateAuthority
    issuer: TokenIssuer

    @classmethod
    def create(cls, folder: Path) -> "Site":
        authority = CertificateAuthority.create(folder / "authority", "authority of the site")
        issuer = TokenIssuer.create(folder / "issuer")
        programs = buildgrid.install(folder / "programs")
        certificate = authority.issue("localhost")
        server = BuildGrid(programs, folder / "server", certificate, issuer.public_key)
        return cls(server, authority, issuer)

    def machine(
        self,
        workspace: Workspace,
        folder: Path,
        *,
        token: str,
        authority: CertificateAuthority | None = None,
        own_caches: bool = False,
    ) -> Machine:
        """A machine with an empty store that is told of the server as docs/remote.md says."""
        folder.mkdir(parents=True)
        token_file = folder / "token"
        token_file.write_text(token + "\n")
        options: Mapping[str, str] = {
            "PANTS_REMOTE_CA_CERTS_PATH": str((authority or self.authority).certificate),
            "PANTS_REMOTE_OAUTH_BEARER_TOKEN_PATH": str(token_file),
        }
        machine = Machine.create(workspace, folder, self.server.address, own_caches=own_caches)
        return replace(machine, options=options)

    def stored(self) -> list[Path]:
        """Files of the server's storage."""
        return sorted(path for path in self.server.storage.rglob("*") if path.is_file())


@dataclass(frozen=True)
class Builds:
    expired_token: Run
    unknown_certificate: Run
    stored_by_these: list[Path]
    first: Run
    second: Run
    wrong_token: Run


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    site = Site.create(tmp_path_factory.mktemp("site"))
    site.server.start()
    yield site
    site.server.remove()


@pytest.fixture(scope="module")
def builds(site: Site, tmp_path_factory: pytest.TempPathFactory) -> Builds:
    folder = tmp_path_factory.mktemp("machines")
    here = Workspace.create(folder / "a")
    elsewhere = here.copy_to(folder / "another place" / "b")
    stranger = CertificateAuthority.create(folder / "stranger", "another authority")
    forger = TokenIssuer.create(folder / "forger")
    token, old, forged = site.issuer.issue(HOUR), site.issuer.issue(-60), forger.issue(HOUR)

    def build(machine: Machine) -> Run:
        run = machine.run("package", ENGINE)
        assert run.exit_code == 0, run.output[-3000:]
        return run

    return Builds(
        expired_token=build(site.machine(here, folder / "expired", token=old)),
        unknown_certificate=build(
            site.machine(here, folder / "unknown", token=token, authority=stranger)
        ),
        stored_by_these=site.stored(),
        first=build(site.machine(here, folder / "first", token=token)),
        second=build(site.machine(elsewhere, folder / "second", token=token, own_caches=True)),
        wrong_token=build(site.machine(here, folder / "wrong", token=forged)),
    )


def test_with_a_token_the_second_machine_runs_no_step(builds: Builds) -> None:
    assert len(builds.first.ran) == len(builds.first.steps) == STEPS
    assert builds.second.sources == tuple((step, "remote cache") for step in builds.first.steps)
    assert "Failed to" not in builds.first.output + builds.second.output


def test_the_second_machine_has_the_same_plan(builds: Builds) -> None:
    assert "engines/tiny_cached/engine.plan" in builds.second.packages
    assert builds.second.packages == builds.first.packages


def refused(run: Run, reason: str, builds: Builds) -> None:
    """All steps ran there, the package is the same, and Pants says why."""
    assert run.ran == builds.first.steps
    assert run.packages == builds.first.packages
    assert NOT_READ + reason in run.output
    assert NOT_WRITTEN + reason in run.output


def test_an_expired_token(builds: Builds) -> None:
    refused(builds.expired_token, BAD_TOKEN, builds)


def test_a_token_of_another_issuer(builds: Builds) -> None:
    refused(builds.wrong_token, BAD_TOKEN, builds)


def test_a_certificate_of_another_authority(builds: Builds) -> None:
    refused(builds.unknown_certificate, BAD_CERTIFICATE, builds)


def test_who_is_refused_adds_nothing(site: Site, builds: Builds) -> None:
    assert builds.stored_by_these == []
    assert site.stored() != []  # Of those who were not refused.
    assert builds.first.reused == set()
