"""Query2Label against a linear head on cached feature maps of scenes, and where its labels look.

Both heads get the same frozen offline backbone, the same full labels and plain binary
cross-entropy; the linear head the best of three learning rates, chosen on the test scenes, in its
favor. Small objects are counted apart: a positive cell is small if the boxes of its class in the
image together cover less than 1 % of it; positives that are not small are left out of that AP.

    python benchmarks/q2l_maps.py [--voc FOLDER --voc-out FILE]

prints one JSON object and writes docs/images/attention.png: two minutes on two idle cores. With
``--voc`` it also trains on photos and draws one of them; such a picture is not to be published.
"""

from __future__ import annotations

import argparse
import itertools
import json
import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

import matplotlib as mpl
import numpy as np
import torch
import torch.nn.functional as F
from PIL import Image
from torch import Tensor

from tagfill import scenes
from tagfill.evaluate.precision import average_precision
from tagfill.models.backbones import Backbone
from tagfill.models.factory import build_backbone
from tagfill.models.heads import HeadConfig, build_head
from tagfill.models.plain_heads import Head, LinearConfig
from tagfill.models.preprocess import eval_transform
from tagfill.models.query_heads import Q2LConfig

mpl.use("Agg")
import matplotlib.pyplot as plt

ROOT = Path(__file__).resolve().parents[1]
SIZE, BATCH, SMALL = 256, 32, 0.01
TRAIN, TEST, VOC_TRAIN = 800, 400, 500
RATES = (1e-3, 3e-3, 1e-2)
Q2L = Q2LConfig(hidden=192, decoder_self_attention=False)


def say(text: str) -> None:
    """Progress, on stderr."""
    print(f"{time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)


@torch.no_grad()
def extract(backbone: Backbone, pictures: Iterable[Image.Image]) -> Tensor:
    """Feature maps [N, D, H, W] in half precision."""
    transform = eval_transform(backbone.spec)
    maps: list[Tensor] = []
    remaining = iter(pictures)
    while batch := list(itertools.islice(remaining, BATCH)):
        pixels = torch.stack([transform(picture) for picture in batch])
        maps.append(backbone(pixels.contiguous(memory_format=torch.channels_last)).half())
        say(f"{len(maps) * BATCH} done")
    return torch.cat(maps).contiguous()


def train(
    config: HeadConfig, maps: Tensor, labels: Tensor, *, epochs: int, rate: float, seed: int = 0
) -> Head:
    """A head trained on cached maps with all labels, one-cycle learning rate."""
    torch.manual_seed(seed)
    head = build_head(config, maps.shape[1], labels.shape[1])
    optimizer = torch.optim.AdamW(head.parameters(), lr=rate, weight_decay=1e-2)
    steps = epochs * (len(maps) // BATCH)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, rate, total_steps=steps)
    for epoch in range(epochs):
        say(f"epoch {epoch}")
        order = torch.randperm(len(maps))
        for rows in order[: len(maps) // BATCH * BATCH].split(BATCH):
            logits = head(maps[rows].float()).logits
            loss = F.binary_cross_entropy_with_logits(logits, labels[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
    return head.eval()


@torch.no_grad()
def scores(head: Head, maps: Tensor) -> np.ndarray:
    """[N, K] logits."""
    return torch.cat([head(split.float()).logits for split in maps.split(BATCH)]).numpy()


def small_only(truth: np.ndarray, boxes: object, rows: range) -> np.ndarray:
    """Truth in which positives that are not small are unknown (-1)."""
    area = np.zeros(truth.shape)
    for row, label, (_, _, width, height) in zip(boxes.image, boxes.label, boxes.xywh, strict=True):
        if row in rows:
            area[row - rows.start, label] += width * height
    return np.where((truth == 1) & (area >= SMALL), -1, truth)


def measure(
    predicted: np.ndarray, truth: np.ndarray, small: np.ndarray, enough: np.ndarray
) -> dict[str, float]:
    """mAP over all classes, and over those with enough small positives on those alone."""
    whole = np.nanmean(average_precision(predicted, truth))
    little = np.mean(average_precision(predicted, small)[enough])
    return {"mAP": round(100 * float(whole), 2), "mAP_small": round(100 * float(little), 2)}


def compare(backbone: Backbone) -> tuple[dict[str, object], Head, scenes.Album, Tensor]:
    """Train both heads on scenes and measure them."""
    album = scenes.dataset(TRAIN + TEST, size=SIZE, seed=11)
    say(f"extracting maps of {TRAIN + TEST} scenes")
    maps = extract(backbone, album.images)
    values = np.asarray(album.table.values)
    labels = torch.from_numpy(values[:TRAIN].astype(np.float32))
    truth = values[TRAIN:]
    small = small_only(truth, album.boxes, range(TRAIN, TRAIN + TEST))
    enough = (small == 1).sum(axis=0) >= 5
    result: dict[str, object] = {
        "train": TRAIN,
        "test": TEST,
        "size": SIZE,
        "small_positives": int((small == 1).sum()),
        "classes_with_5_small": int(enough.sum()),
    }
    pooled = maps.float().mean(dim=(2, 3))[:TRAIN, :, None, None]
    linears = [train(LinearConfig(), pooled, labels, epochs=40, rate=rate) for rate in RATES]
    query = train(Q2L, maps[:TRAIN], labels, epochs=12, rate=6e-4)
    for name, heads in (("linear", linears), ("q2l", [query])):
        result[name] = max(
            (measure(scores(head, maps[TRAIN:]), truth, small, enough) for head in heads),
            key=lambda figures: figures["mAP"],
        )
        say(f"{name}: {result[name]}")
    return result, query, album, maps[TRAIN:]


def voc_photo(backbone: Backbone, data: Path) -> tuple[Image.Image, list[tuple[str, np.ndarray]]]:
    """Train q2l on VOC photos with all labels; one unseen photo and where its classes were seen."""
    names = np.load(data / "mlspl" / "formatted_train_images.npy")
    truth = np.load(data / "mlspl" / "formatted_train_labels.npy")
    crowded = np.flatnonzero(truth[VOC_TRAIN:].sum(axis=1) == 3) + VOC_TRAIN
    folder = data / "VOCdevkit" / "VOC2012" / "JPEGImages"
    say(f"extracting maps of {VOC_TRAIN} photos")
    maps = extract(backbone, (Image.open(folder / str(name)) for name in names[:VOC_TRAIN]))
    labels = torch.from_numpy(truth[:VOC_TRAIN].astype(np.float32))
    head = train(Q2L, maps, labels, epochs=12, rate=6e-4)
    candidates = crowded[:40]
    seen = extract(backbone, (Image.open(folder / str(names[row])) for row in candidates))
    sure = torch.from_numpy(np.where(truth[candidates] == 1, scores(head, seen), np.inf))
    best = int(sure.amin(dim=1).argmax())
    photo = Image.open(folder / str(names[candidates[best]])).convert("RGB")
    present = np.flatnonzero(truth[candidates[best]])
    return photo, looks(head, seen[best], [(VOC_CLASSES[label], int(label)) for label in present])


@torch.no_grad()
def looks(
    head: Head, features: Tensor, wanted: Sequence[tuple[str, int]]
) -> list[tuple[str, np.ndarray]]:
    """Attention of the wanted classes, titled with their probability."""
    output = head(features[None].float(), maps=True)
    assert output.maps is not None
    chance = output.logits.sigmoid()[0]
    return [
        (f"{name} {chance[label]:.2f}", output.maps[0, label].numpy()) for name, label in wanted
    ]


def scene_photos(
    head: Head, album: scenes.Album, maps: Tensor, count: int
) -> list[tuple[Image.Image, list[tuple[str, np.ndarray]]]]:
    """Unseen scenes with four classes at least that q2l is surest of, and their smallest things."""
    truth = np.asarray(album.table.values)[TRAIN:]
    sure = np.where(truth == 1, scores(head, maps), np.inf).min(axis=1)
    sure[truth.sum(axis=1) < 4] = -np.inf
    boxes, chosen = album.boxes, []
    for row in np.argsort(-sure)[:count]:
        mine = boxes.image == row + TRAIN
        area = {
            int(label): float(place[2] * place[3])
            for label, place in zip(boxes.label[mine], boxes.xywh[mine], strict=True)
        }
        smallest = sorted(area, key=lambda label: area[label])[:3]
        wanted = [(album.table.classes[column], column) for column in smallest]
        chosen.append((album.images[int(row) + TRAIN], looks(head, maps[row], wanted)))
    return chosen


def draw(rows: Sequence[tuple[Image.Image, list[tuple[str, np.ndarray]]]], file: Path) -> None:
    """Each picture, then the same with the attention of each of its classes laid over it."""
    columns = 1 + max(len(maps) for _, maps in rows)
    figure, axes = plt.subplots(
        len(rows), columns, figsize=(2.2 * columns, 2.45 * len(rows)), squeeze=False
    )
    for line, (picture, maps) in zip(axes, rows, strict=True):
        square = picture.convert("RGB").resize((SIZE, SIZE))
        for cell in line:
            cell.set_axis_off()
        line[0].imshow(square)
        for cell, (title, attention) in zip(line[1:], maps, strict=False):
            cell.imshow(square.convert("L"), cmap="gray", vmin=-120, vmax=255)
            cell.imshow(
                attention / attention.max(),
                cmap="magma",
                alpha=0.5,
                extent=(0, SIZE, SIZE, 0),
                interpolation="bicubic",
            )
            cell.set_title(title, fontsize=10)
    figure.tight_layout(pad=0.4, h_pad=1.2)
    file.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(file, dpi=80)
    plt.close(figure)


VOC_CLASSES = (
    *("aeroplane", "bicycle", "bird", "boat", "bottle", "bus", "car", "cat", "chair", "cow"),
    *("diningtable", "dog", "horse", "motorbike", "person", "pottedplant", "sheep", "sofa"),
    *("train", "tvmonitor"),
)


def main() -> None:
    """Measure, draw, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "images" / "attention.png")
    parser.add_argument("--voc", type=Path, help="folder with VOCdevkit/ and mlspl/")
    parser.add_argument("--voc-out", type=Path, default=Path("attention-voc.png"))
    arguments = parser.parse_args()
    start = time.monotonic()
    backbone = build_backbone("efficientnet_lite0", size=SIZE).eval()
    backbone.to(memory_format=torch.channels_last)
    result, head, album, maps = compare(backbone)
    draw(scene_photos(head, album, maps, count=2), arguments.out)
    if arguments.voc is not None:
        draw([voc_photo(backbone, arguments.voc)], arguments.voc_out)
    print(json.dumps({**result, "seconds": round(time.monotonic() - start)}, indent=2))


if __name__ == "__main__":
    main()
