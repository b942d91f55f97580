"""Label files for Python users: errors name arguments, not command-line options."""

from __future__ import annotations

from tagfill.api.words import speaks_python
from tagfill.labels import io

load_labels = speaks_python(io.load_labels)
save_labels = speaks_python(io.save_labels)
