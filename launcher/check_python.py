"""Prints why the Python that runs this file cannot run Pants 2.17; prints nothing if it can."""

import importlib.util
import sys

version = "{}.{}".format(*sys.version_info)
missing = [name for name in ("venv", "ensurepip") if importlib.util.find_spec(name) is None]
if version not in ("3.7", "3.8", "3.9"):
    print("is Python " + version)
elif missing:
    print(f"has no module `{missing[-1]}` (Debian, Ubuntu: apt install python{version}-venv)")
