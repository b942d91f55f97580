"""tagfill from Python: ``fit``, ``open_run`` and the ``Run`` they give."""
