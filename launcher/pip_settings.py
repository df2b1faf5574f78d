"""What the host's pip is configured to do, told to Pants.

`./pants` runs this file with the Python that Pants is installed in: `pip_settings.py FILE` writes
shell commands to `FILE` that set `PANTS_*` variables. One that the user has set keeps its value.
"""

import ast
import os
import shlex
import subprocess
import sys
from pathlib import Path

# The settings that say where distributions come from and how to get there. All others, `constraint`
# first among them, change what is installed, and that stands in the lock files.
_TRANSPORT = (
    "index-url",
    "extra-index-url",
    "no-index",
    "find-links",
    "cert",
    "client-cert",
    "proxy",
    "trusted-host",
    "timeout",
    "default-timeout",
    "retries",
    "keyring-provider",
    "cache-dir",
    "no-cache-dir",
)
_SECTIONS = ("global", "install", ":env:")  # in pip's own order: the later wins
_TRUE = ("1", "true", "t", "yes", "y", "on")


def default_index():
    """The index that pip takes where nobody names one."""
    from pip._internal.models.index import PyPI

    return PyPI.simple_url


def parse_pip_settings(listing):
    """The transport settings, by key, of `pip config list` output (`section.key='value'` lines)."""
    sections = {name: {} for name in _SECTIONS}
    for line in listing.splitlines():
        name, separator, value = line.partition("=")
        section, _, key = name.rpartition(".")
        key = key.replace("_", "-")
        if separator and section in sections and key in _TRANSPORT:
            sections[section][key] = str(ast.literal_eval(value))
    merged = {}
    for section in _SECTIONS:
        merged.update(sections[section])
    return merged


def read_pip_settings(python):
    """The transport settings that `python -m pip` has from its files and the environment."""
    command = [str(python), "-EsB", "-m", "pip", "--disable-pip-version-check", "config", "list"]
    listing = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True)
    return parse_pip_settings(listing.stdout)


def pip_environment(settings, environment):
    """`environment` with these settings for pip and no others: its files take no part."""
    kept = {name: value for name, value in environment.items() if not name.startswith("PIP_")}
    for key, value in settings.items():
        kept["PIP_" + key.upper().replace("-", "_")] = value
    return {**kept, "PIP_CONFIG_FILE": os.devnull, "PIP_DISABLE_PIP_VERSION_CHECK": "1"}


def pants_environment(settings, environment):
    """The Pants options, as environment variables, that say the same as pip's settings."""
    options = {}
    if settings.get("no-index", "").lower() in _TRUE:
        options["PANTS_PYTHON_REPOS_INDEXES"] = "[]"
    elif "index-url" in settings or "extra-index-url" in settings:
        extra = settings.get("extra-index-url", "").split()
        main = settings.get("index-url") or default_index()
        options["PANTS_PYTHON_REPOS_INDEXES"] = repr([main, *extra])
    links = [address(link) for link in settings.get("find-links", "").split()]
    if any(links):
        options["PANTS_PYTHON_REPOS_FIND_LINKS"] = repr([link for link in links if link])
    certificates = (
        settings.get("cert"),
        environment.get("REQUESTS_CA_BUNDLE"),
        environment.get("SSL_CERT_FILE"),
    )
    for bundle in certificates:
        if bundle and Path(bundle).is_file():
            options["PANTS_CA_CERTS_PATH"] = bundle
            break
    return options


def address(link):
    """A find-links entry as a URL; None for a relative path, which each process sees elsewhere."""
    if "://" in link:
        return link
    path = Path(link).expanduser()
    return path.as_uri() if path.is_absolute() else None


def shell_script(options):
    """Shell commands that set and export each option whose variable is not set yet."""
    return "".join(
        f'[ -n "${{{name}+set}}" ] || export {name}={shlex.quote(value)}\n'
        for name, value in sorted(options.items())
    )


def main():
    target = Path(sys.argv[1])
    try:
        settings = read_pip_settings(sys.executable)
    except subprocess.CalledProcessError:  # pip has said what is wrong with its configuration
        sys.exit("./pants: pip's settings could not be read (`pip config list` failed)")
    script = shell_script(pants_environment(settings, os.environ))
    os.umask(0o077)  # the address of an index may hold a password
    draft = target.with_name(f"{target.name}.{os.getpid()}")
    draft.write_text(script)
    draft.rename(target)


if __name__ == "__main__":
    main()
