"""JSON files: loading with a clear error, and the head for detection."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tagfill.errors import TagfillError
from tagfill.labels.formats._text import encoding_error


def load_json(path: Path) -> Any:
    """The content of a UTF-8 JSON file.

    Raises:
        TagfillError: the file is not UTF-8 or not JSON; names the line.
    """
    try:
        return json.loads(path.read_text(encoding="utf-8-sig"))
    except UnicodeDecodeError:
        raise encoding_error(path) from None
    except json.JSONDecodeError as error:
        raise TagfillError(
            f"not readable as JSON ({error.msg})", file=path, row=error.lineno
        ) from None
