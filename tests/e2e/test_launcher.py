"""`./pants` from nothing to a warm run, in copies of its files outside of this repository.

One installation into an empty cache is shared by all tests. It is made the hard way: after a first
attempt was killed, by two runs at once, by an ordinary user where the tests run as root, with a
closed umask and with a space in every path.
"""

import ast
import dataclasses
import hashlib
import os
import pwd
import re
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

Completed = subprocess.CompletedProcess[str]

TREE = next(folder for folder in Path(__file__).parents if (folder / "launcher").is_dir())
LAUNCHER_FILES = (
    "pants",
    "launcher/check_python.py",
    "launcher/install.py",
    "launcher/missing_python.txt",
    "launcher/pip_settings.py",
    "lockfiles/pants.txt",
)
PEX_SHA256 = "02252fec0a0fc8475f4ebc09edd65d81ae502b609549e059d45c4bc48cae944f"
PATH = os.environ.get("PATH", "/usr/local/bin:/usr/bin:/bin")


@dataclass(frozen=True)
class FirstRuns:
    """How the first installation went."""

    left_by_the_killed_run: tuple[str, ...]
    exit_codes: tuple[int, ...]
    outputs: tuple[str, ...]
    errors: tuple[str, ...]


@dataclass(frozen=True)
class Workplace:
    """A repository with a copy of the launcher, and a cache with Pants installed in it."""

    repository: Path
    cache: Path
    variables: Mapping[str, str]
    user: str | None
    first_runs: FirstRuns

    @property
    def installed(self) -> Path:
        (link,) = (path for path in installations(self.cache).iterdir() if path.is_symlink())
        return link

    def run(
        self,
        *arguments: str,
        program: str = "./pants",
        folder: str = ".",
        user: str | None = None,
        **variables: str,
    ) -> Completed:
        return subprocess.run(
            [program, *arguments],
            cwd=self.repository / folder,
            env={**self.variables, **variables},
            capture_output=True,
            text=True,
            timeout=300,
            **become(user),
        )

    def with_programs(self, cache: Path, **programs: str) -> dict[str, str]:
        """Variables for `run` with shell commands in place of `client` or the Python client."""
        stand_in = installations(cache) / self.installed.name
        (stand_in / "bin").mkdir(parents=True)
        for name in ("bin/python", "client", "lib", "pex.sh", "pyvenv.cfg"):
            (stand_in / name).symlink_to(self.installed / name)
        for name, command in programs.items():
            path = stand_in / {"client": "client", "python_client": "bin/pants"}[name]
            path.unlink(missing_ok=True)
            path.write_text(f"#!/bin/sh\n{command}\n")
            path.chmod(0o755)
        return {"XDG_CACHE_HOME": str(cache)}


def become(user: str | None) -> dict[str, Any]:
    """Arguments of `subprocess` that start a program as that user."""
    if user is None:
        return {}
    return {"user": user, "group": pwd.getpwnam(user).pw_gid, "extra_groups": []}


def installations(cache: Path) -> Path:
    return cache / "enginewright/pants"


def environment(cache: Path) -> dict[str, str]:
    own = {name: value for name, value in os.environ.items() if not name.startswith("PANTS_")}
    return {**own, "PATH": PATH, "XDG_CACHE_HOME": str(cache)}


def make_repository(folder: Path) -> Path:
    for name in LAUNCHER_FILES:
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(TREE / name, target)
    (folder / "pants").chmod(0o755)
    (folder / "pants.toml").write_text(
        '[GLOBAL]\npants_version = "2.17.1"\n[anonymous-telemetry]\nenabled = false\n'
    )
    (folder / "sub folder").mkdir()
    return folder


def find_python() -> Path:
    """A Python that the launcher takes, found in the same places."""
    home = Path(os.environ.get("HOME", "/nonexistent"))
    pyenv = Path(os.environ.get("PYENV_ROOT", home / ".pyenv"))
    candidates = [
        Path(os.environ.get("ENGINEWRIGHT_PANTS_PYTHON", "/nonexistent/python")),
        *pyenv.glob("versions/3.9.*/bin/python3.9"),
        *home.glob(".local/share/uv/python/cpython-3.9*/bin/python3.9"),
        *(Path(folder) / "python3.9" for folder in PATH.split(":") if "shims" not in folder),
    ]
    for candidate in candidates:
        if candidate.is_file():
            return candidate.resolve()
    pytest.fail("these tests need a CPython 3.9; see launcher/missing_python.txt")


def python_for_all(folder: Path) -> dict[str, str]:
    """Variables that name a Python for any user: a copy in `folder` if that is what it takes."""
    python = find_python()
    if all(parent.stat().st_mode & stat.S_IXOTH for parent in python.parents):
        return {"ENGINEWRIGHT_PANTS_PYTHON": str(python)}
    prefix = python.parents[1]
    skipped = shutil.ignore_patterns(
        "test", "tests", "__pycache__", "site-packages", "*.a", "share"
    )
    shutil.copytree(
        prefix, folder / "python", ignore=skipped, symlinks=True, copy_function=link_or_copy
    )
    return {
        "ENGINEWRIGHT_PANTS_PYTHON": str(folder / "python" / "bin" / python.name),
        "LD_LIBRARY_PATH": str(folder / "python" / "lib"),
    }


def link_or_copy(source: str, target: str) -> None:
    try:
        Path(target).hardlink_to(source)
    except OSError:
        shutil.copy2(source, target)


@pytest.fixture(scope="module")
def workplace() -> Iterator[Workplace]:
    # Not pytest's own temporary folder, which is closed to other users.
    with tempfile.TemporaryDirectory(prefix="launcher ") as name:
        base = Path(name)
        base.chmod(0o755)
        repository = make_repository(base / "a repository")
        cache = base / "a cache"
        cache.mkdir()
        variables = environment(cache)
        user: str | None = None
        if os.geteuid() == 0:
            user = "nobody"
            home = base / "home"
            home.mkdir()
            for folder in (repository, cache, home):
                shutil.chown(folder, user)
            variables |= {"HOME": str(home), **python_for_all(base)}
        went = first_runs(repository, cache, variables, user)
        workplace = Workplace(repository, cache, variables, user, went)
        yield workplace
        stop_daemon(repository)
        for link in Path("/tmp").glob(f"enginewright-pex-*-{workplace.installed.name}"):
            link.unlink()


def stop_daemon(repository: Path) -> None:
    for file in repository.glob(".pids/*/pantsd/pid"):
        os.kill(int(file.read_text()), signal.SIGTERM)
        file.unlink()


def first_runs(
    repository: Path, cache: Path, variables: Mapping[str, str], user: str | None
) -> FirstRuns:
    def start() -> subprocess.Popen[str]:
        return subprocess.Popen(
            ["./pants", "--version"],
            cwd=repository,
            env=variables,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            umask=0o077,
            start_new_session=True,
            **become(user),
        )

    killed = start()
    deadline = time.monotonic() + 60
    while not list(installations(cache).glob("*.*/bin")) and killed.poll() is None:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert killed.poll() is None, killed.communicate()
    os.killpg(killed.pid, signal.SIGKILL)
    killed.communicate()
    left = tuple(
        "link" if path.is_symlink() else "folder" for path in installations(cache).iterdir()
    )
    runs = [start(), start()]
    results = [run.communicate(timeout=300) for run in runs]
    return FirstRuns(
        left_by_the_killed_run=left,
        exit_codes=tuple(run.returncode for run in runs),
        outputs=tuple(output for output, _ in results),
        errors=tuple(error for _, error in results),
    )


def test_two_first_runs_at_once_both_work(workplace: Workplace) -> None:
    runs = workplace.first_runs
    assert (runs.exit_codes, runs.outputs) == ((0, 0), ("2.17.1\n", "2.17.1\n")), runs.errors
    for error in runs.errors:
        assert error.splitlines()[:1] == [
            f"./pants: installing Pants into {workplace.installed} (once)"
        ]


def test_killed_installation_leaves_nothing_that_looks_finished(workplace: Workplace) -> None:
    assert workplace.first_runs.left_by_the_killed_run == ("folder",)


def test_second_of_two_installations_throws_its_work_away(workplace: Workplace) -> None:
    entries = list(installations(workplace.cache).iterdir())
    # The killed run's folder stays until it is a day old: it could belong to a run in progress.
    assert sorted(entry.is_symlink() for entry in entries) == [False, False, True]


def test_pex_tool_has_its_known_bytes(workplace: Workplace) -> None:
    assert hashlib.sha256((workplace.installed / "pex").read_bytes()).hexdigest() == PEX_SHA256


def test_works_from_a_subfolder_and_through_a_link(workplace: Workplace, tmp_path: Path) -> None:
    variables = workplace.with_programs(tmp_path, client="pwd")
    below = workplace.run(program="../pants", folder="sub folder", **variables)
    assert below.stdout == f"{workplace.repository}/sub folder\n", below.stderr
    (workplace.repository / "sub folder/first").symlink_to("second")
    (workplace.repository / "sub folder/second").symlink_to(workplace.repository / "pants")
    linked = workplace.run(program="sub folder/first", **variables)
    assert linked.stdout == f"{workplace.repository}\n", linked.stderr
    by_shell = workplace.run("pants", program="sh", **variables)
    assert by_shell.stdout == f"{workplace.repository}\n", by_shell.stderr


def test_warm_run_needs_no_python(workplace: Workplace) -> None:
    """With the daemon up, the native client does it alone: the Python client here only fails."""
    assert list(workplace.repository.glob(".pids/*/pantsd/pid"))
    cache = workplace.cache.parent / "no python"
    variables = workplace.with_programs(cache, python_client="echo no >&2; exit 70")
    if workplace.user:
        for folder in (cache, *cache.rglob("*")):
            if not folder.is_symlink():
                shutil.chown(folder, workplace.user)

    def run(*arguments: str, **more: str) -> tuple[int, str, str]:
        finished = workplace.run(*arguments, user=workplace.user, **variables, **more)
        return finished.returncode, finished.stdout, finished.stderr

    # The address of the `pex` tool is an option: as before, so that the daemon stays.
    assert run("--version") == (0, "2.17.1\n", "")
    assert run("--no-pantsd", "--version") == (70, "", "no\n")
    assert run("--version", PANTS_NO_NATIVE_CLIENT="1") == (70, "", "no\n")


def test_exit_code_of_pants_is_the_launchers(workplace: Workplace) -> None:
    wrong = workplace.run("no-such-goal", user=workplace.user)
    assert wrong.returncode == 1
    assert "no-such-goal" in wrong.stdout + wrong.stderr


def test_arguments_arrive_as_they_are(workplace: Workplace, tmp_path: Path) -> None:
    variables = workplace.with_programs(tmp_path, client='for word; do echo "[$word]"; done')
    told = workplace.run("run", "a b", "", "$HOME", "--", "*", **variables)
    assert told.stdout.splitlines() == ["[run]", "[a b]", "[]", "[$HOME]", "[--]", "[*]"]


@pytest.fixture
def told(workplace: Workplace, tmp_path: Path) -> Callable[..., dict[str, str]]:
    """Runs the launcher with some variables in a host without pip settings of its own.

    Returns the PANTS_* variables that Pants then gets.
    """
    programs = workplace.with_programs(tmp_path / "cache", client="env")
    quiet = {
        name: value
        for name, value in workplace.variables.items()
        if not name.startswith("PIP_") and name not in ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE")
    }
    host = dataclasses.replace(workplace, variables=quiet)

    def run(**variables: str) -> dict[str, str]:
        default = {
            "HOME": str(tmp_path),
            "XDG_CONFIG_DIRS": str(tmp_path / "xdg"),
            "PIP_CONFIG_FILE": os.devnull,  # for pip: read no file, of those in /etc neither
        }
        finished = host.run(**{**programs, **default, **variables})
        assert finished.returncode == 0, finished.stderr
        pairs = (line.split("=", 1) for line in finished.stdout.splitlines() if "=" in line)
        return {name: value for name, value in pairs if name.startswith("PANTS_")}

    return run


def test_host_without_pip_settings_leaves_pants_at_its_defaults(
    told: Callable[..., dict[str, str]],
) -> None:
    variables = told()
    assert set(variables) == {
        "PANTS_BIN_NAME",
        "PANTS_PEX_CLI_KNOWN_VERSIONS",
        "PANTS_PEX_CLI_URL_TEMPLATE",
    }
    assert (
        f"'v2.1.137|linux_x86_64|{PEX_SHA256}|3563515'"
        in (variables["PANTS_PEX_CLI_KNOWN_VERSIONS"])
    )
    # Pants opens the path as it stands, without decoding `%20`: the cache here has spaces.
    path = variables["PANTS_PEX_CLI_URL_TEMPLATE"].removeprefix("file://")
    assert hashlib.sha256(Path(path).read_bytes()).hexdigest() == PEX_SHA256


def test_pip_variables_become_pants_options(
    told: Callable[..., dict[str, str]], tmp_path: Path
) -> None:
    certificates = tmp_path / "ca.pem"
    certificates.touch()
    variables = told(
        PIP_INDEX_URL="https://first.invalid/simple",
        PIP_EXTRA_INDEX_URL="https://second.invalid/simple file:///srv/simple",
        PIP_FIND_LINKS="/srv/wheels https://third.invalid/wheels.html not/absolute",
        PIP_CONSTRAINT="/srv/constraints.txt",
        PIP_CERT=str(certificates),
    )
    assert variables["PANTS_PYTHON_REPOS_INDEXES"] == (
        "['https://first.invalid/simple', 'https://second.invalid/simple', 'file:///srv/simple']"
    )
    assert variables["PANTS_PYTHON_REPOS_FIND_LINKS"] == (
        "['file:///srv/wheels', 'https://third.invalid/wheels.html']"
    )
    assert variables["PANTS_CA_CERTS_PATH"] == str(certificates)


def test_extra_index_keeps_the_default_one(told: Callable[..., dict[str, str]]) -> None:
    variables = told(PIP_EXTRA_INDEX_URL="https://second.invalid/simple")
    default, extra = ast.literal_eval(variables["PANTS_PYTHON_REPOS_INDEXES"])
    assert re.fullmatch(r"https://[a-z.]+/simple", default)
    assert extra == "https://second.invalid/simple"


def test_no_index_means_none(told: Callable[..., dict[str, str]]) -> None:
    variables = told(PIP_NO_INDEX="1", PIP_INDEX_URL="https://first.invalid/simple")
    assert variables["PANTS_PYTHON_REPOS_INDEXES"] == "[]"


def test_certificates_of_other_programs_serve_too(
    told: Callable[..., dict[str, str]], tmp_path: Path
) -> None:
    first, second = tmp_path / "first.pem", tmp_path / "second.pem"
    first.touch()
    second.touch()
    assert told(SSL_CERT_FILE=str(second))["PANTS_CA_CERTS_PATH"] == str(second)
    variables = told(SSL_CERT_FILE=str(second), REQUESTS_CA_BUNDLE=str(first))
    assert variables["PANTS_CA_CERTS_PATH"] == str(first)
    assert "PANTS_CA_CERTS_PATH" not in told(SSL_CERT_FILE=str(tmp_path / "missing.pem"))


@pytest.mark.parametrize(
    "name", [".config/pip/pip.conf", ".pip/pip.conf", "xdg/pip/pip.conf", "named.conf"]
)
def test_edited_pip_configuration_counts_at_once(
    told: Callable[..., dict[str, str]], tmp_path: Path, name: str
) -> None:
    configuration = tmp_path / name
    configuration.parent.mkdir(parents=True, exist_ok=True)
    for index in ("https://first.invalid/simple", "https://other.invalid/simple"):
        configuration.write_text(f"[global]\nindex-url = {index}\nconstraint = /srv/none.txt\n")
        variables = told(PIP_CONFIG_FILE=str(configuration) if name == "named.conf" else "")
        assert variables["PANTS_PYTHON_REPOS_INDEXES"] == f"['{index}']"


def test_variables_of_the_user_win(told: Callable[..., dict[str, str]]) -> None:
    own = {
        "PANTS_PYTHON_REPOS_INDEXES": "[]",
        "PANTS_CA_CERTS_PATH": "",
        "PANTS_PEX_CLI_URL_TEMPLATE": "https://first.invalid/pex",
        "PANTS_BIN_NAME": "pants",
    }
    variables = told(PIP_INDEX_URL="https://first.invalid/simple", **own)
    assert {name: variables[name] for name in own} == own


def test_settings_are_readable_by_their_user_only(
    told: Callable[..., dict[str, str]], tmp_path: Path
) -> None:
    told(PIP_INDEX_URL="https://user:password@first.invalid/simple")
    (settings,) = tmp_path.glob("cache/enginewright/pants/*/settings.*")
    assert stat.S_IMODE(settings.stat().st_mode) == 0o600


@pytest.fixture
def bare_path(tmp_path: Path) -> str:
    """A PATH with what the launcher uses itself and no Python."""
    tools = tmp_path / "tools"
    tools.mkdir()
    for name in (
        "sh",
        "cat",
        "cut",
        "dirname",
        "env",
        "grep",
        "readlink",
        "sha256sum",
        "sort",
        "uname",
    ):
        program = shutil.which(name, path=PATH)
        assert program, name
        (tools / name).symlink_to(program)
    return str(tools)


def run_bare(workplace: Workplace, path: str, home: Path, **variables: str) -> Completed:
    return subprocess.run(
        ["./pants", "--version"],
        cwd=workplace.repository,
        env={"PATH": path, "HOME": str(home), **variables},
        capture_output=True,
        text=True,
    )


def test_missing_python_is_told_with_what_to_install(
    workplace: Workplace, bare_path: str, tmp_path: Path
) -> None:
    for folder in ("/usr/local/bin", "/usr/bin", "/opt/homebrew/bin"):
        for version in ("3.7", "3.8", "3.9"):
            if Path(folder, f"python{version}").exists():
                pytest.skip(f"{folder}/python{version}, which the launcher takes, is on this host")
    finished = run_bare(workplace, bare_path, tmp_path)
    assert finished.returncode == 1
    assert finished.stdout == ""
    assert finished.stderr.startswith("./pants: no Python that Pants 2.17 runs on was found.")
    assert "uv python install 3.9" in finished.stderr
    assert "apt install python3.9 python3.9-venv" in finished.stderr


def test_unusable_python_is_named_with_the_reason(
    workplace: Workplace, bare_path: str, tmp_path: Path
) -> None:
    finished = run_bare(workplace, bare_path, tmp_path, ENGINEWRIGHT_PANTS_PYTHON=sys.executable)
    assert finished.returncode == 1
    version = "{}.{}".format(*sys.version_info)
    assert finished.stderr.endswith(
        f"\nFound and not taken:\n  {sys.executable}: is Python {version}\n"
    )


@pytest.mark.parametrize("module", ["venv", "ensurepip"])
def test_python_without_its_venv_package_is_told(workplace: Workplace, module: str) -> None:
    program = (
        "import runpy, sys; sys.modules[sys.argv[1]] = None;"
        "runpy.run_path('launcher/check_python.py')"
    )
    finished = subprocess.run(
        [workplace.installed / "bin/python", "-c", program, module],
        cwd=workplace.repository,
        env=dict(workplace.variables),
        capture_output=True,
        text=True,
        check=True,
    )
    assert finished.stdout == (
        f"has no module `{module}` (Debian, Ubuntu: apt install python3.9-venv)\n"
    )


def test_artifact_with_another_hash_is_refused(workplace: Workplace, tmp_path: Path) -> None:
    repository = make_repository(tmp_path / "repository")
    lock = repository / "lockfiles/pants.txt"
    pinned = lock.read_text()
    right = "--hash=sha256:00d2dde5a675579325902536738dd27e4fac1fd68f773fe36c21044eb559e187"
    other = "--hash=sha256:99f94f5e3348a0bcd43c82e5fc4414013ccc19d70bd939ad71e0133ce9c372e0"
    assert pinned.count(right) == pinned.count(other) == 1
    lock.write_text(pinned.replace(right, right[:-1] + "8").replace(other, other[:-1] + "1"))
    changed = dataclasses.replace(workplace, repository=repository)
    finished = changed.run("--version", XDG_CACHE_HOME=str(tmp_path / "cache"))
    assert finished.returncode == 1
    assert "./pants: Pants was not installed: fetching what" in finished.stderr
    assert "ansicolors" in finished.stderr
    assert "THESE PACKAGES DO NOT MATCH THE HASHES" in finished.stderr
    assert list(installations(tmp_path / "cache").iterdir()) == []


def test_nothing_is_written_into_the_tree(workplace: Workplace) -> None:
    """Last, so that all runs above are covered. What Pants itself writes begins with `.pants.`"""
    top = {path.name for path in workplace.repository.iterdir() if not path.name.startswith(".p")}
    assert top == {"launcher", "lockfiles", "pants", "pants.toml", "sub folder"}
    assert {path.name for path in (workplace.repository / "launcher").iterdir()} == {
        Path(name).name for name in LAUNCHER_FILES if name.startswith("launcher/")
    }
