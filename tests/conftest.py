"""What all tests share: one thread a process, a cache of their own, the same examples each time.

`make torture` draws new examples; `make test` gives the same answer on the same code.
"""

from __future__ import annotations

import os
import tempfile

from hypothesis import settings

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ["TAGFILL_CACHE"] = tempfile.mkdtemp(prefix="tagfill-test-cache-")

settings.register_profile("tagfill", deadline=None, derandomize="TAGFILL_TORTURE" not in os.environ)
settings.load_profile("tagfill")
