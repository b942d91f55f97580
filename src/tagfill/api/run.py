"""The hub: a run, and everything that can be done with it."""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tagfill.api.given import as_dataset, is_path
from tagfill.api.table import Table
from tagfill.arrays import Floats, Numbers
from tagfill.errors import TagfillError, speaks_python
from tagfill.evaluate import Metrics, apply_calibration, summary
from tagfill.labels import Dataset, Labels, LabelTable
from tagfill.labels.display import SHOWN, bars_svg
from tagfill.labels.io import load_labels
from tagfill.models.tagging import UNFITTED, Pictures, Prediction
from tagfill.train.data import TrainingData
from tagfill.train.score import score_images
from tagfill.train.trained import TrainedRun

if TYPE_CHECKING:
    from PIL.Image import Image

    from tagfill.export.run import Exported, Target
    from tagfill.recover.recovery import Recovery


class Run(TrainedRun):
    """A run, as returned by ``fit`` and ``open_run``.

    ``data``, ``model``, ``metrics``, ``events`` and ``scores(split)`` are read or computed when
    first asked for, and once.
    """

    @cached_property
    @speaks_python
    def metrics(self) -> Mapping[str, Any]:
        """Metrics at the end of training, by split."""
        return super().metrics

    @cached_property
    @speaks_python
    def data(self) -> TrainingData:
        """The data the run was trained and evaluated on, unchanged since."""
        return super().data

    @speaks_python
    def scores(self, split: str) -> Numbers:
        """[N, K] logits of train, val or test images: computed once, then stored with the run."""
        return super().scores(split)

    @speaks_python
    def evaluate(
        self,
        labels: str | Path | Dataset | LabelTable | None = None,
        *,
        split: str | None = None,
        images: str | Path | None = None,
        threshold: float | None = None,
        bootstrap: int = 0,
    ) -> Metrics:
        """Every metric of the model's scores; unknown labels are left out.

        Args:
            labels: what to compare with; by default the run's own held-out images.
            split: test, val or train of the run, or a split of ``labels``. By default the test
                images, or else the validation images; of ``labels`` all images.
            images: folder of the images, where the labels do not imply it.
            threshold: a tag is given from this probability on; by default the run's thresholds.
            bootstrap: number of resamples for confidence intervals.
        """
        if labels is None:
            name = split or self.evaluated_split
            probabilities, truth = self.probabilities(name), self.split(name).eval_labels
        else:
            probabilities, truth = self._scored(labels, split, images)
        cut = (self.model.thresholds or UNFITTED) if threshold is None else threshold
        return summary(probabilities, truth, self.classes, threshold=cut, resamples=bootstrap)

    @speaks_python
    def predict(
        self,
        images: Pictures,
        *,
        top: int | None = None,
        threshold: float | None = None,
        batch_size: int = 32,
    ) -> list[Prediction]:
        """Tags of images: paths, PIL images or arrays [H, W, 3]; or features [N, D].

        Args:
            images: one or many.
            top: give this many tags, the most probable ones.
            threshold: use this instead of the model's own thresholds.
            batch_size: images at once.
        """
        return self.model.predict(images, top=top, threshold=threshold, batch_size=batch_size)

    @speaks_python
    def recover(
        self,
        *,
        precision: float | None = None,
        top: int | None = None,
        budget: int | None = None,
    ) -> Table:
        """Missing tags, the most useful to review first.

        Args:
            precision: as many tags as possible, of which this share is expected to be right; 0.9
                when nothing else is asked for.
            top: instead, this many of the most likely tags of every image.
            budget: instead, this many tags in all, the most useful to review.
        """
        from tagfill.recover.choose import Amount
        from tagfill.recover.files import suggestion_rows

        amount = Amount(precision, top, budget)
        recovery = self.recovery
        entries = recovery.suggest(amount)
        rows = suggestion_rows(entries, recovery.table, recovery.evidence.kind)
        for row in rows:
            del row["decision"]  # for files that people fill in
        paths = recovery.paths
        pictures = {} if paths is None else dict(zip(recovery.table.images, paths, strict=True))
        return Table(rows, title=f"missing tags of {self.name}", pictures=pictures)

    @cached_property
    def recovery(self) -> Recovery:
        """Probabilities of all unknown labels; computed once."""
        from tagfill.recover.recovery import recover

        return recover(self, sinks=self.sinks)

    @speaks_python
    def explain(
        self, image: str | Path | Image, *, tags: Iterable[str] | None = None, top: int = 4
    ) -> Image:
        """A picture of where in an image tags are seen: the image beside a heat map per tag.

        Args:
            image: a file or a PIL image.
            tags: tags to explain; by default the most probable ones.
            top: how many of these.
        """
        from tagfill.explain.draw import seen_tags, sheet, tag_columns
        from tagfill.explain.maps import explain_images
        from tagfill.images import open_image

        if isinstance(image, str | Path):
            name, picture = Path(image).name, open_image(image)
        else:
            name, picture = "image", image.convert("RGB")
        columns = None if tags is None else tag_columns(self.classes, tags)
        (explained,) = explain_images(self.model, [picture])
        return sheet([(name, picture, seen_tags(self.classes, explained, columns, top))])

    @speaks_python
    def report(self, out: str | Path | None = None) -> Path:
        """Write one HTML page about the run; ``report.html`` in its folder by default."""
        from tagfill.report.page import write_report

        return write_report(self, out, sinks=self.sinks).path

    @speaks_python
    def export(self, out: str | Path, *, to: Target = "onnx", int8: bool = False) -> Exported:
        """Write the model as one file that needs nothing of tagfill, checked against torch.

        Args:
            out: the file.
            to: onnx, or torch for a torch.export archive.
            int8: 8-bit weights; ONNX only.
        """
        from tagfill.export.run import export_model

        return export_model(self.model, Path(out), to=to, int8=int8)

    def _scored(
        self,
        labels: str | Path | Dataset | LabelTable,
        split: str | None,
        images: str | Path | None,
    ) -> tuple[Floats, Labels]:
        """Probabilities of other images, and their labels over the model's classes."""
        dataset = load_labels(str(labels)) if is_path(labels) else as_dataset(labels)
        table = dataset.truth or dataset.table
        if split is not None:
            table = table.select(dataset.split(split).images)
        folders = [None, self.image_folder] if images is None else [Path(images)]
        scored = score_images(self.model, dataset, table, images=folders)
        values = scored.split.table.with_classes(self.classes).values
        return apply_calibration(scored.logits, self.model.calibration), values

    def __repr__(self) -> str:
        known = [repr(str(self.path)), self.stage.method.name]
        if not self.folder.is_finished:
            known.append("not finished")
        for name, metrics in self._measured().items():
            estimated = (metrics.get("estimated") or {}).get("mAP")
            if metrics.get("mAP"):
                known.append(f"{name} mAP {metrics['mAP']:.1f}")
            elif estimated:
                known.append(f"{name} mAP {estimated:.1f} (estimated)")
        return f"Run({', '.join(known)})"

    def _repr_html_(self) -> str:
        title = f"<div><b>{html.escape(repr(self))}</b></div>"
        measured = self._measured()
        name = next((name for name in ("test", "val") if measured.get(name, {}).get("mAP")), None)
        if name is None:
            try:  # the training labels, where they are not gone
                return f"{title}<div>training labels</div>{self.data.train.table._repr_html_()}"
            except TagfillError:
                return title
        classes = [row for row in self.metrics[name]["per_class"] if row["average_precision"]]
        ranked = sorted(classes, key=lambda row: -row["positives"])[:SHOWN]
        bars = []
        for row in ranked:
            precision = row["average_precision"]
            text = f"AP {100 * precision:.0f}, {row['positives']:,} images"
            bars.append((row["name"], [(precision, "#33658a")], text))
        return f"{title}<div>{name} images, most frequent classes</div>{bars_svg(bars, 1.0)}"

    def _measured(self) -> dict[str, Mapping[str, Any]]:
        if not self.folder.is_finished:
            return {}
        return {name: self.metrics.get(name) or {} for name in ("val", "test")}
