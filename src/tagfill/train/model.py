"""The network of a run, and the inputs each stage trains and is evaluated on."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from tagfill.arrays import Matrix
from tagfill.errors import TagfillError
from tagfill.evaluate.selection import choose_criterion
from tagfill.labels import Labels
from tagfill.linear.regions import Features, whole
from tagfill.methods.base import Needs
from tagfill.models.bundle import load as load_bundle
from tagfill.models.factory import given_features
from tagfill.models.heads import build_head, configure_head
from tagfill.models.network import Network, build_network
from tagfill.models.plain_heads import LinearConfig, LinearHead, pooled
from tagfill.models.preprocess import Preprocess, eval_transform
from tagfill.train.cache import FeatureRows, in_memory
from tagfill.train.config import RunConfig, StageConfig
from tagfill.train.data import Split, TrainingData, without_unreadable
from tagfill.train.events import Events, Pace
from tagfill.train.extract import Extractor, plain_extractor
from tagfill.train.forward import StageData, Validate
from tagfill.train.inputs import FeatureInputs, ImageInputs, Inputs, as_rows, derived_seed
from tagfill.train.limits import Interrupted, Limits
from tagfill.train.resolve import finds_head_at_once
from tagfill.train.views import VIEWS_VERSION, strong_view, training_view, weak_view


class Assembly:
    """The network of a run and its inputs, made from the configuration and the data.

    Args:
        device: where the backbone extracts features.
        network: a trained one; by default a new one is built.
        limits: a request to stop also ends the extraction of features.
    """

    def __init__(
        self,
        config: RunConfig,
        data: TrainingData,
        device: torch.device,
        events: Events,
        *,
        network: Network | None = None,
        limits: Limits | None = None,
    ) -> None:
        self.config, self.data, self.device, self.events = config, data, device, events
        self.limits, self._pace = limits or Limits(), Pace()
        torch.manual_seed(derived_seed(config.seed, 0))
        self.network = network or self._network()
        if network is None:
            self.network.head.learn_labels(torch.from_numpy(np.array(data.train.table.values)))
        self.network.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        if config.gradient_checkpointing:
            _recompute_activations(self.network)
        if network is None and config.model.init is not None:
            self._start_from(Path(config.model.init))

    def follow_head(self) -> None:
        """Update the description of the head if training chose its feature transform."""
        head, config = self.network.head, self.network.config
        if isinstance(head, LinearHead) and isinstance(config, LinearConfig):
            self.network.config = replace(config, power=head.power, unit=head.unit)

    def stage_data(self, stage: StageConfig, needs: Needs) -> StageData:
        """Inputs and labels of a stage, and how its epochs are evaluated."""
        train = self.data.train
        observed = torch.from_numpy(np.array(train.table.values))
        hidden, reviewed = (
            None if matrix is None else torch.from_numpy(np.array(matrix))
            for matrix in (train.truth, train.table.reviewed)
        )
        criterion, validate = self._criterion()
        return StageData(
            inputs=self._training_inputs(stage, needs),
            observed=observed,
            truth=hidden if needs.truth else None,
            val_inputs=None if self.data.val is None else self.inputs(self.data.val, stage),
            validate=validate,
            criterion=criterion,
            hidden=hidden,
            reviewed=reviewed,
        )

    def inputs(self, split: Split, stage: StageConfig) -> Inputs:
        """A split's images as evaluation sees them."""
        if stage.inputs == "features":
            return FeatureInputs(self._features(split, epochs=self._has_epochs(stage)))
        return self._images(split, stage, Needs())

    def without_unreadable(self) -> TrainingData:
        """Leave out the images that cannot be decoded.

        Features of all splits are computed first; images that have them are not decoded again.
        """
        paths = [path for split in self.data.splits.values() for path in split.paths or ()]
        if paths and any(stage.inputs == "features" for stage in self.config.stages):
            self._extractor().fill(paths, partial(self._features_done, "plain"))
        reported = len(self.data.notes)
        self.data = without_unreadable(self.data)
        for note in self.data.notes[reported:]:
            self.events.note(note)
        return self.data

    def head_features(self, split: Split | None = None) -> Features:
        """Features of a split as a linear head sees them: [N, D], or [N, D, 3, 3] by regions."""
        if self.network.head.reads != "grid":
            return self.pooled_features(split)
        return as_rows(self._features(self.data.train if split is None else split, epochs=False))

    def pooled_features(self, split: Split | None = None) -> Matrix:
        """[N, D] features of a split, by default the training images; maps are averaged."""
        features = self._features(self.data.train if split is None else split, epochs=False)
        if len(features.shape) == 2:
            return whole(as_rows(features))
        batches = FeatureInputs(features).plain(range(len(features)))
        return torch.cat([pooled(batch) for batch in batches]).numpy()

    def _network(self) -> Network:
        model, classes = self.config.model, len(self.data.classes)
        head = configure_head(model.head, model.head_settings, model.head_preset)
        given = self.data.train.features
        if given is not None:
            channels = given.shape[1]
            return Network(
                given_features(channels), build_head(head, channels, classes), head, classes
            )
        return build_network(
            model.backbone,
            head,
            classes=classes,
            size=model.input_size,
            pretrained=model.pretrained,
            weights=model.weights,
            lgconv=model.lgconv,
            freeze=model.freeze_stages,
            frozen_batch_norm=model.freeze_batchnorm,
            frozen_statistics=model.freeze_statistics,
            solved=all(finds_head_at_once(stage, model) for stage in self.config.stages),
        )

    def _start_from(self, run: Path) -> None:
        """Take the weights of an earlier run; the head only where the classes are the same."""
        bundle = load_bundle(run)
        theirs, ours = bundle.network, self.network
        if theirs.backbone.spec.architecture != ours.backbone.spec.architecture:
            raise TagfillError(
                f"was trained with the backbone {theirs.backbone.spec.name}",
                file=run,
                remedy=f"use --backbone {theirs.backbone.spec.name}",
            )
        ours.backbone.load_state_dict(theirs.backbone.state_dict())
        if bundle.classes == self.data.classes and theirs.config == ours.config:
            ours.head.load_state_dict(theirs.head.state_dict())
        else:
            self.events.note(
                "classes or head differ from the earlier run: the head starts from scratch"
            )

    def _criterion(self) -> tuple[str, Validate | None]:
        """How epochs are evaluated; reports the choice and its reason."""
        select, val = self.config.select, self.data.val
        if select in ("loss", "last") or val is None:
            name = "loss" if select == "loss" else "last"
            reason = "as requested" if select == name else "there are no validation images"
            self.events.note(f"selection: {name} epoch, {reason}")
            return name, None
        labels: Labels = val.eval_labels
        criterion = choose_criterion(labels, name=None if select == "auto" else select)
        self.events.note(f"selection: {criterion.name} on {len(val)} images: {criterion.why}")
        return criterion.name, lambda logits: criterion.score(logits.numpy(), labels)

    def _training_inputs(self, stage: StageConfig, needs: Needs) -> Inputs:
        if stage.inputs == "images":
            return self._images(self.data.train, stage, needs)
        plain = self._features(self.data.train, epochs=self._has_epochs(stage))
        if needs.mixup:
            self.events.note(
                "deviation: mixup mixes the features of two images instead of their pixels"
            )
        if not needs.two_views:
            return FeatureInputs(plain)
        if self.data.train.features is not None:
            raise TagfillError(
                f"{stage.method.name} needs augmented views, but the source has features only",
                remedy="train on images, or use a method that needs one view",
            )
        distortion = "their maps distorted at every visit" if stage.fresh_views else "as they are"
        self.events.note(
            f"deviation: {stage.strong_views} strong views per image are computed once and drawn"
            f" from, {distortion}; the weak view is the unflipped image"
        )
        kind = "jittered" if stage.strong_jitter else "strong"
        strong = [
            self._extracted(self.data.train, f"{kind}-{VIEWS_VERSION}-{number}", epochs=True)
            for number in range(stage.strong_views)
        ]
        return FeatureInputs(plain, strong, seed=self.config.seed, fresh=stage.fresh_views)

    def _has_epochs(self, stage: StageConfig) -> bool:
        return not finds_head_at_once(stage, self.config.model)

    def _features(self, split: Split, *, epochs: bool) -> Tensor | FeatureRows:
        given = split.features
        if isinstance(given, FeatureRows) and not in_memory(given, epochs=epochs):
            return given
        if split.features is not None:
            return torch.from_numpy(np.ascontiguousarray(split.features, dtype=np.float32))
        return self._extracted(split, "plain", epochs=epochs)

    def _extracted(self, split: Split, view: str, *, epochs: bool) -> Tensor | FeatureRows:
        assert split.paths is not None
        rows = self._extractor(view).extract(split.paths, partial(self._features_done, view))
        return torch.from_numpy(rows[:]).float() if in_memory(rows, epochs=epochs) else rows

    def _extractor(self, view: str = "plain") -> Extractor:
        plain = plain_extractor(self.network, self.device, self.config.workers)
        plain = replace(plain, on_damage=self.events.note)
        if view == "plain":
            return plain
        strong = strong_view(self._plain_view, jitter=view.startswith("jittered"))
        return replace(plain, view=strong, view_name=view)

    @property
    def _plain_view(self) -> Preprocess:
        return eval_transform(self.network.backbone.spec)

    def _features_done(self, view: str, done: int, total: int) -> None:
        rate = self._pace.at(done, total).per_second
        self.events.progress(done, total, f"features ({view}), {rate:.0f} images/s")
        if self.limits.stop_requested:
            raise Interrupted

    def _images(self, split: Split, stage: StageConfig, needs: Needs) -> ImageInputs:
        assert split.paths is not None
        plain = self._plain_view
        weak = weak_view(plain) if needs.two_views else training_view(stage.augment, plain)
        return ImageInputs(
            split.paths,
            size=plain.size,
            plain_view=plain,
            weak_view=weak,
            strong_view=strong_view(plain, stage.strong_jitter) if needs.two_views else None,
            seed=self.config.seed,
            workers=self.config.workers,
        )


def _recompute_activations(network: Network) -> None:
    """Trade time for memory in the backward pass, if the architecture supports it."""
    architecture = getattr(network.backbone.body, "net", None)
    for switch in ("set_grad_checkpointing", "gradient_checkpointing_enable"):
        if hasattr(architecture, switch):
            with suppress(ValueError):  # transformers: this model does not support it
                getattr(architecture, switch)()
                return
    raise TagfillError(
        f"{network.backbone.spec.name} cannot recompute activations",
        remedy="leave out --gradient-checkpointing; --accumulate saves memory with any backbone",
    )
