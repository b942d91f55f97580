"""Functions on files for Python users: errors name arguments, not command-line options."""

from __future__ import annotations

from tagfill.errors import speaks_python
from tagfill.labels import io
from tagfill.models import bundle
from tagfill.report import page

load = speaks_python(bundle.load)
load_labels = speaks_python(io.load_labels)
save_labels = speaks_python(io.save_labels)
write_report = speaks_python(page.write_report)
