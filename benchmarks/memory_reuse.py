"""What a network on the CPU costs when the C library gives freed memory back, and when it keeps it.

Forward passes and training steps of the offline backbone, 16 images of 224 px, one thread, first
as glibc does it by default, then after `tagfill.compat.keep_freed_memory`. CPU seconds, which other
processes on the machine disturb less than wall clock.

Run: python benchmarks/memory_reuse.py
"""

from __future__ import annotations

import resource
from collections.abc import Callable

import torch

from tagfill.compat import keep_freed_memory
from tagfill.models.heads import configure_head
from tagfill.models.network import build_network

STEPS = 8


def cpu_seconds(work: Callable[[], object]) -> tuple[float, float]:
    """Seconds a step spends in the program and in the system."""
    work()
    before = resource.getrusage(resource.RUSAGE_SELF)
    for _ in range(STEPS):
        work()
    after = resource.getrusage(resource.RUSAGE_SELF)
    return (
        (after.ru_utime - before.ru_utime) / STEPS,
        (after.ru_stime - before.ru_stime) / STEPS,
    )


def main() -> None:
    """Measure both ways and print the table."""
    torch.set_num_threads(1)
    head = configure_head("linear", {}, None)
    network = build_network("efficientnet_lite0", head, classes=20, size=224, pretrained=False)
    network.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    images = torch.randn(16, 3, 224, 224).to(memory_format=torch.channels_last)

    def forward() -> None:
        with torch.no_grad():
            network.eval()(images)

    def train() -> None:
        network.train()(images).logits.square().mean().backward()

    work = {"forward": forward, "forward and backward": train}
    default = {name: cpu_seconds(task) for name, task in work.items()}
    if not keep_freed_memory():
        raise SystemExit("this C library has no mallopt: nothing to compare")
    kept = {name: cpu_seconds(task) for name, task in work.items()}
    print("| 16 images of 224 px | default, user + system | kept, user + system | ratio |")
    print("|---|---|---|---|")
    for name in work:
        one, other = default[name], kept[name]
        print(
            f"| {name} | {one[0]:.2f} + {one[1]:.2f} s | {other[0]:.2f} + {other[1]:.2f} s"
            f" | {sum(one) / sum(other):.2f} |"
        )


if __name__ == "__main__":
    main()
