"""What the host's pip is configured to do, told to Pants.

`./pants` runs this file with the Python that Pants is installed in: `pip_settings.py FILE` writes a shell script of
`PANTS_*` variables to `FILE`. A variable that the user has set keeps its value.
"""

import ast
import os
import shlex
import subprocess
import sys
from pathlib import Path

# The settings that say where distributions come from and how to get there. All others, `constraint` first among them,
# change what is installed: what is installed stands in the lock files.
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
# pip's own order: the later wins.
_SECTIONS = ("global", "install", ":env:")
_PYPI = "https://pypi.org/simple/"


def parse_pip_settings(listing):
    """The settings of `pip config list` output (one `section.key='value'` a line) that concern transport, by key."""
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
    """The transport settings that `python -m pip` has from its files and environment variables."""
    listing = subprocess.run(
        [str(python), "-EsB", "-m", "pip", "--disable-pip-version-check", "config", "list"],
        stdout=subprocess.PIPE,
        check=True,
        universal_newlines=True,
    )
    return parse_pip_settings(listing.stdout)


def pip_environment(settings, environment):
    """`environment` with exactly these settings for pip: neither its files nor other variables take part."""
    kept = {name: value for name, value in environment.items() if not name.startswith("PIP_")}
    for key, value in settings.items():
        kept["PIP_" + key.upper().replace("-", "_")] = value
    return {**kept, "PIP_CONFIG_FILE": os.devnull, "PIP_DISABLE_PIP_VERSION_CHECK": "1"}


def pants_environment(settings, environment):
    """The Pants options, as environment variables, that say the same as pip's settings."""
    options = {}
    if settings.get("no-index", "").lower() in ("1", "true", "yes", "on", "y", "t"):
        options["PANTS_PYTHON_REPOS_INDEXES"] = "[]"
    elif "index-url" in settings or "extra-index-url" in settings:
        indexes = [settings.get("index-url", _PYPI), *settings.get("extra-index-url", "").split()]
        options["PANTS_PYTHON_REPOS_INDEXES"] = repr(indexes)
    links = [_link(link) for link in settings.get("find-links", "").split()]
    if any(links):
        options["PANTS_PYTHON_REPOS_FIND_LINKS"] = repr([link for link in links if link])
    bundles = (
        settings.get("cert"),
        environment.get("REQUESTS_CA_BUNDLE"),
        environment.get("SSL_CERT_FILE"),
    )
    for bundle in bundles:
        if bundle and os.path.isfile(bundle):
            options["PANTS_CA_CERTS_PATH"] = bundle
            break
    return options


def _link(link):
    """A find-links entry as an address; None for a relative path, which would mean another folder to each process."""
    if "://" in link:
        return link
    path = os.path.expanduser(link)
    return Path(path).as_uri() if os.path.isabs(path) else None


def shell_script(options):
    """Shell commands that set and export each option whose variable is not set yet."""
    return "".join(
        '[ -n "${{{0}+set}}" ] || export {0}={1}\n'.format(name, shlex.quote(value))
        for name, value in sorted(options.items())
    )


def main():
    target = Path(sys.argv[1])
    settings = read_pip_settings(sys.executable)
    script = shell_script(pants_environment(settings, os.environ))
    os.umask(0o077)  # an index address may hold a password
    draft = target.with_name("{}.{}".format(target.name, os.getpid()))
    draft.write_text(script)
    draft.rename(target)


if __name__ == "__main__":
    main()
