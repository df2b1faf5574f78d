"""`python -m enginewright`."""

import sys

from enginewright.cli import main

if __name__ == "__main__":
    sys.exit(main())
