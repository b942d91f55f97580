"""All measurements of speed in one page: `make bench` writes docs/results/performance.md.

    python benchmarks/performance.py [--only extraction,waiting] [--out docs/results/performance.md]

Every section is the output of one script of this folder, which measures its ways in turns within
one run; numbers of different sections, or of different machines, are not for comparison.
"""

from __future__ import annotations

import argparse
import os
import platform
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class Section:
    """One script.

    Args:
        title: of the section.
        target: what it is held against.
        words: the script and its options.
    """

    title: str
    target: str
    words: tuple[str, ...]


SECTIONS = {
    "extraction": Section(
        "Features from files",
        "at least 90 % of the bare engine, at least twice torch with a DataLoader",
        ("extraction.py",),
    ),
    "large": Section(
        "Features of large photos (2,000 px)",
        "decoding dominates; JPEGs are decoded at a fraction of their size",
        ("extraction.py", "--side", "2000", "--images", "96"),
    ),
    "waiting": Section("Beside a busy neighbor", "threads that wait do not spin", ("waiting.py",)),
    "map": Section(
        "Exact mAP, 40,137 x 80",
        "at least 8 times scikit-learn",
        ("average_precision.py", "--images", "40137"),
    ),
    "csv": Section("A wide CSV", "1,000,000 x 100 within 10 s", ("csv_loading.py",)),
    "linear": Section(
        "The learner, 200,000 x 1,280, K = 100", "60 s, 1.5 GB", ("targets.py", "linear")
    ),
    "gram": Section(
        "Gram matrices of 1,000,000 x 1,280 in one pass, K = 1,000",
        "bounded memory",
        ("targets.py", "gram", "--images", "1000000", "--classes", "1000"),
    ),
    "recover": Section(
        "recover, 200,000 x 1,280, K = 100", "60 s, twice the features", ("targets.py", "recover")
    ),
    "streamed": Section(
        "Exact mAP by class, 1,000,000 x 1,000",
        "bounded memory",
        ("targets.py", "map", "--images", "1000000", "--classes", "1000"),
    ),
    **{
        f"role{images}": Section(
            f"A step of ROLE's label state in microseconds, {images:,} x 100",
            "independent of the number of images",
            ("targets.py", "role", "--images", str(images)),
        )
        for images in (10_000, 100_000, 1_000_000)
    },
    "bad_csv": Section(
        "A wide CSV with one bad entry",
        "1,000,000 x 100 within 10 s",
        ("targets.py", "bad_csv", "--images", "1000000"),
    ),
    "memory": Section("Freed memory kept", "no target", ("memory_reuse.py",)),
    "scenes": Section("Drawing scenes", "no target", ("scenes_speed.py",)),
}


def machine() -> str:
    """What it was measured on."""
    model = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.is_file():
        names = [line for line in info.read_text().splitlines() if line.startswith("model name")]
        model = names[0].partition(":")[2].strip() if names else model
    load = f"{os.getloadavg()[0]:.1f}"
    return f"{os.cpu_count()} cores ({model}), Python {platform.python_version()}, load {load}"


def measured(section: Section) -> str:
    """The section as Markdown."""
    started = time.monotonic()
    done = subprocess.run(
        [sys.executable, str(FOLDER / section.words[0]), *section.words[1:]],
        capture_output=True,
        text=True,
        check=False,
    )
    output = done.stdout.strip() if done.returncode == 0 else f"failed: {done.stderr[-500:]}"
    body = output if "|---" in output else f"```\n{output}\n```"
    command = " ".join(("python", f"benchmarks/{section.words[0]}", *section.words[1:]))
    seconds = time.monotonic() - started
    return (
        f"## {section.title}\n\nTarget: {section.target}. `{command}`, {seconds:.0f} s.\n\n{body}\n"
    )


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", help="names of sections, with commas")
    parser.add_argument("--out", type=Path, default=Path("docs/results/performance.md"))
    options = parser.parse_args()
    names = options.only.split(",") if options.only else list(SECTIONS)
    parts = [f"# Performance\n\nWritten by `make bench`. {machine()}, before the first section.\n"]
    for name in names:
        parts.append(measured(SECTIONS[name]))
        print(parts[-1], flush=True)
        options.out.parent.mkdir(parents=True, exist_ok=True)
        options.out.write_text("\n".join(parts))  # as far as it is, in case it is interrupted


if __name__ == "__main__":
    main()
