"""``python -m tagfill``."""

from tagfill.cli.main import run

if __name__ == "__main__":
    run()
