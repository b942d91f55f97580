"""How fast scenes are drawn and written: ``python benchmarks/scenes_speed.py [--count 1000]``.

Prints one JSON object: images per second of wall-clock time and of CPU time, JPEG writing and
process start included. On a machine busy with other work only the CPU figure means something.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import tempfile
import time

from tagfill.scenes import write_scenes


def cpu_seconds() -> float:
    """CPU time of this process and its finished children."""
    spent = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in spent)


def main() -> None:
    """Write scenes into a temporary folder and report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--size", type=int, default=256)
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        clock, busy = time.perf_counter(), cpu_seconds()
        write_scenes(folder, options.count, options.size, workers=options.workers)
        clock, busy = time.perf_counter() - clock, cpu_seconds() - busy
    report = {
        **vars(options),
        "load_average": os.getloadavg()[0],
        "images_per_second": options.count / clock,
        "images_per_cpu_second": options.count / busy,
    }
    print(json.dumps(report, indent=2))


if __name__ == "__main__":
    main()
