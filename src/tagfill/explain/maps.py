"""Heat maps of tags: cross-attention of query heads, class activation of linear and cam heads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

import torch
from PIL import Image

from tagfill.arrays import Floats
from tagfill.errors import TagfillError
from tagfill.evaluate import apply_calibration
from tagfill.explain.draw import Heat
from tagfill.models.bundle import Bundle
from tagfill.models.graphs import feature_engine
from tagfill.models.heads import HEADS, head_name

BATCH = 16


@dataclass(frozen=True, eq=False)
class Explanation:
    """Predictions for one image, with heat maps.

    Args:
        heat: [K, H, W] on the grid of the network's last feature map.
    """

    probabilities: Floats
    heat: Heat


def map_kind(bundle: Bundle) -> str:
    return HEADS[head_name(bundle.network.config)].shows


def explain_images(bundle: Bundle, images: Iterable[Image.Image]) -> Iterator[Explanation]:
    """Explanations of images, in order, a few at a time.

    Args:
        images: upright RGB pictures.

    Raises:
        TagfillError: the model was trained on given features and never sees an image.
    """
    if bundle.network.backbone.spec.library == "features":
        raise TagfillError(
            "this model reads features, not images, so it cannot show where a tag is",
            remedy="train on images, with --images",
        )
    inputs = map(bundle.transform, images)
    while batch := list(islice(inputs, BATCH)):
        yield from _explained(bundle, torch.stack(batch))


@torch.no_grad()
def _explained(bundle: Bundle, inputs: torch.Tensor) -> Iterator[Explanation]:
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    network = bundle.network.to(device).eval()
    features = feature_engine(network.backbone, "maps", device, images=len(inputs))
    cells = torch.from_numpy(features.run(inputs.numpy())).to(device)
    output = network.head(cells, maps=True)
    if output.maps is None:
        name = head_name(bundle.network.config)
        raise TagfillError(f"the head {name} cannot show where it sees a tag")
    chances = apply_calibration(output.logits.double().cpu().numpy(), bundle.calibration)
    heat = output.maps.float().cpu().numpy()
    yield from map(Explanation, chances, heat)
