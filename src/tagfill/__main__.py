"""``python -m tagfill``."""

import sys

from tagfill.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
