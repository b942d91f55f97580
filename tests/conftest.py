"""What all tests share: one thread a process, a cache of their own, no timing in hypothesis."""

from __future__ import annotations

import os
import tempfile

from hypothesis import settings

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ["TAGFILL_CACHE"] = tempfile.mkdtemp(prefix="tagfill-test-cache-")

settings.register_profile("tagfill", deadline=None)
settings.load_profile("tagfill")
