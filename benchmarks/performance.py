"""All measurements of speed in one page: `make bench` writes docs/results/performance.md.

    python benchmarks/performance.py [--only csv,map] [--minutes 40] [--fresh] [--out FILE]

Every section is the output of one script of this folder, which measures its ways in turns within
one run; numbers of different sections, or of different machines, are not for comparison. A section
that is done is kept in build/bench, so that the next call goes on where one stopped; once all are
done, or with --fresh, the next call begins anew. After the given minutes no section is started any
more and the last one is stopped; all of them take 15 to 30 on two idle cores. What was not measured
stays on the page as it was, with its date. The table on top has a row for every target.
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent
KEPT = Path("build/bench")
HEAD = """# Performance

Written by `make bench`; each section says what it was measured on. Targets in seconds are held
against processor seconds, which other work on the machine disturbs less than the clock. What was
tried, and what it brought: [performance.md](../performance.md).
"""


@dataclass(frozen=True)
class Goal:
    """A number in the output of a script, and how large it may or must be.

    Args:
        name: of the number, with its unit.
        pattern: finds it: the first group; where it is there several times, the worst counts.
        limit: the target.
        at_least: whether more is better.
    """

    name: str
    pattern: str
    limit: float
    at_least: bool = False

    def row(self, title: str, output: str) -> str:
        """A row of the table: target, number, how many times the target it is, met or missed."""
        goal = f"{'at least' if self.at_least else 'at most'} {self.limit:g}"
        numbers = [float(number) for number in re.findall(self.pattern, output)]
        if not numbers:
            return f"| {title} | {self.name} | {goal} | | | not measured |"
        number = min(numbers) if self.at_least else max(numbers)
        met = number >= self.limit if self.at_least else number <= self.limit
        distance, end = f"{number / self.limit:.2f}", "met" if met else "missed"
        return f"| {title} | {self.name} | {goal} | {number:.4g} | {distance} | {end} |"


def processor(seconds: float, cores: int = 1) -> Goal:
    """Seconds as processor seconds, which other work disturbs less; work on two cores may take
    twice as many of them.
    """
    name = "processor seconds" if cores == 1 else f"processor seconds of {cores} cores"
    return Goal(name, r'"cpu_seconds": ([\d.]+)', cores * seconds)


def memory(megabytes: float) -> Goal:
    """The peak, libraries and mapped files included."""
    return Goal("MB", r'"peak_mb": ([\d.]+)', megabytes)


def own_memory(megabytes: float) -> Goal:
    """The peak, libraries included, without mapped files, which the system may drop."""
    return Goal("MB without mapped files", r'"own_mb": ([\d.]+)', megabytes)


@dataclass(frozen=True)
class Section:
    """One script.

    Args:
        title: of the section.
        target: what it is held against.
        words: the script and its options.
        goals: numbers that the target names.
    """

    title: str
    target: str
    words: tuple[str, ...]
    goals: tuple[Goal, ...] = ()


SECTIONS = {
    "extraction": Section(
        "Features from files",
        "at least twice torch with a DataLoader; 90 % of the bare engine as it is usually called,"
        " both cores on one batch; of the engine in parts, which leaves no core idle, decoding and"
        " resizing take their share: 90 % of what is possible beside them, as measured here",
        ("extraction.py",),
        (
            Goal("% of torch with a DataLoader", r"and PIL: .*by work ([\d.]+)%", 200, True),
            Goal("% of the engine on a batch", r"on one batch: .*by work ([\d.]+)%", 90, True),
            Goal("% of the engine in parts", r"calls it: .*by work ([\d.]+)%", 77, True),
            Goal("% of what is possible beside it", r"tagfill ([\d.]+)% of it", 90, True),
        ),
    ),
    "large": Section(
        "Features of large photos (2,000 px)",
        "decoding dominates; JPEGs are decoded at a fraction of their size",
        ("extraction.py", "--side", "2000", "--images", "64"),
    ),
    "waiting": Section(
        "Beside a busy neighbor",
        "threads that wait do not spin: faster than torch whose threads sleep (23.8 images/s)",
        ("waiting.py",),
        (Goal("images/s of the engine", r"tagfill's engine \| ([\d.]+)", 23.8, True),),
    ),
    "map": Section(
        "Exact mAP, 40,137 x 80",
        "at least 8 times scikit-learn",
        ("average_precision.py", "--images", "40137"),
        (Goal("times scikit-learn", r'"times_faster": ([\d.]+)', 8, True),),
    ),
    "csv": Section(
        "A wide CSV",
        "1,000,000 x 100 within 10 s",
        ("targets.py", "csv", "--images", "1000000"),
        (processor(10),),
    ),
    "linear": Section(
        "The learner, 200,000 x 1,280, K = 100",
        "60 s of two cores, both of which it uses; 1.5 GB",
        ("targets.py", "linear"),
        (processor(60, cores=2), memory(1536)),
    ),
    "epoch": Section(
        "An epoch of the papers' losses, VOC",
        "25 times the published structure; where torch itself takes longer, 90 % of a bare"
        " loop of its layer, loss and optimizer",
        ("linear_speed.py", "--clock", "cpu"),
        (
            Goal("times the plain loop", r'"times_faster_than_plain": ([\d.]+)', 25, True),
            Goal("% of a bare torch loop", r'"percent_of_bare": ([\d.]+)', 90, True),
        ),
    ),
    "gram": Section(
        "Gram matrices of 1,000,000 x 1,280 in one pass, K = 1,000",
        "bounded memory",
        ("targets.py", "gram", "--images", "1000000", "--classes", "1000"),
        (own_memory(2000),),
    ),
    "recover": Section(
        "recover, 200,000 x 1,280, K = 100",
        "60 s of two cores, both of which it uses; twice the features (1 GB)",
        ("targets.py", "recover"),
        (processor(60, cores=2), memory(1000)),
    ),
    "streamed": Section(
        "Exact mAP by class, 1,000,000 x 1,000",
        "bounded memory",
        ("targets.py", "map", "--images", "1000000", "--classes", "1000"),
        (own_memory(1000),),
    ),
    "steps": Section(
        "A step of ROLE's label state with 1e4, 1e5 and 1e6 images, K = 100",
        "independent of the number of images",
        ("targets.py", "steps", "--images", "1000000"),
        (Goal("slowest by fastest", r'"slowest_of_fastest": ([\d.]+)', 1.5),),
    ),
    "role": Section(
        "ROLE's label state, 1,000,000 x 1,000",
        "2 GB resident",
        ("targets.py", "role", "--images", "1000000", "--classes", "1000"),
        (memory(2000),),
    ),
    "bad_csv": Section(
        "A wide CSV with one bad entry",
        "1,000,000 x 100 within 10 s",
        ("targets.py", "bad_csv", "--images", "1000000"),
        (processor(10),),
    ),
    "short_csv": Section(
        "A wide CSV with a row that is too short",
        "1,000,000 x 100 within 10 s",
        ("targets.py", "short_csv", "--images", "1000000"),
        (processor(10),),
    ),
    "help": Section("`tagfill --help`", "0.3 s", ("story.py", "help"), (processor(0.3),)),
    "after": Section(
        "train, recover and report of 600 photos whose features are there",
        "20 s together",
        ("story.py", "after"),
        (Goal("seconds on the clock", r'"part".*?"seconds": ([\d.]+)', 20),),
    ),
    "demo": Section(
        "`tagfill demo`, empty cache", "2 min", ("story.py", "demo"), (processor(120, cores=2),)
    ),
    "stream": Section(
        "Predicting 100,000 image files",
        "memory stays the same",
        ("targets.py", "stream", "--images", "100000"),
        (Goal("MB more at the end", r'"grown_mb": (-?[\d.]+)', 10),),
    ),
    "interrupt": Section(
        "Ctrl-C during extraction",
        "answered within 2 s",
        ("story.py", "interrupt"),
        (Goal("seconds", r'"seconds": ([\d.]+)', 2),),
    ),
    "growth": Section(
        "Growth",
        "nothing worse than n log n, whose slope falls with n: 1.18 from 100 to 1,000, 1.08 from"
        " 100,000 to 1,000,000",
        ("growth.py", "--points", str(KEPT / "growth.jsonl")),
        (Goal("largest slope by that of n log n", r"(?m)\| (-?[\d.]+) \|$", 1),),
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


def measured(name: str, seconds: float) -> str:
    """The section as Markdown; empty if the seconds are over before it ends."""
    section, kept = SECTIONS[name], KEPT / f"{name}.md"
    if kept.is_file():
        return kept.read_text()
    started = time.monotonic()
    KEPT.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, str(FOLDER / section.words[0]), *section.words[1:]]
    done = run(command, seconds)
    if done is None:
        return ""
    output = done.stdout.strip() if done.returncode == 0 else f"failed: {done.stderr[-500:]}"
    body = output if "|---" in output else f"```\n{output}\n```"
    words = " ".join(("python", f"benchmarks/{section.words[0]}", *section.words[1:]))
    text = (
        f"## {section.title}\n\nTarget: {section.target}. `{words}`, {time.strftime('%Y-%m-%d')},"
        f" {time.monotonic() - started:.0f} s. {machine()}.\n\n{body}\n"
    )
    if done.returncode == 0:
        kept.write_text(text)
    return text


def run(command: list[str], seconds: float) -> subprocess.CompletedProcess[str] | None:
    """What a command printed; None if the seconds are over, when all its processes are ended."""
    if seconds <= 0:
        return None
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        output, errors = process.communicate(timeout=seconds)
    except BaseException as error:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        if isinstance(error, subprocess.TimeoutExpired):
            return None
        raise
    return subprocess.CompletedProcess(command, process.returncode, output, errors)


def on_page(page: Path) -> dict[str, str]:
    """The sections that a page has, by their titles."""
    if not page.is_file():
        return {}
    texts = [f"## {text}" for text in page.read_text().split("\n## ")[1:]]
    return {text.splitlines()[0].removeprefix("## "): text for text in texts}


def written(texts: dict[str, str]) -> str:
    """The page of all sections that there are."""
    rows = ["| what | number | goal | seen | seen / goal | |", "|---|---|---|---:|---:|---|"]
    for name, section in SECTIONS.items():
        rows += [goal.row(section.title, texts.get(name, "")) for goal in section.goals]
    parts = [texts[name].rstrip("\n") + "\n" for name in SECTIONS if texts.get(name)]
    return "\n".join([HEAD, "\n".join(rows) + "\n", *parts])


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", help="names of sections, with commas")
    parser.add_argument("--minutes", type=float, default=40.0, help="after which nothing is begun")
    parser.add_argument("--fresh", action="store_true", help="measure again what is kept")
    parser.add_argument("--out", type=Path, default=Path("docs/results/performance.md"))
    options = parser.parse_args()
    names = options.only.split(",") if options.only else list(SECTIONS)
    end = time.monotonic() + 60 * options.minutes
    if options.fresh:
        shutil.rmtree(KEPT, ignore_errors=True)
    before = on_page(options.out)
    texts = {name: before.get(section.title, "") for name, section in SECTIONS.items()}
    options.out.parent.mkdir(parents=True, exist_ok=True)
    for name in names:
        text = measured(name, end - time.monotonic())
        print(text or f"{name}: not measured, the time is over; call again to go on\n", flush=True)
        texts[name] = text or texts[name]
        options.out.write_text(written(texts))  # as far as it is, in case it is interrupted
    print(written(texts).split("\n## ")[0])
    if all((KEPT / f"{name}.md").is_file() for name in SECTIONS):
        shutil.rmtree(KEPT)


if __name__ == "__main__":
    main()
