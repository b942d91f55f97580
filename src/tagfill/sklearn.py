"""A scikit-learn estimator for embeddings: feature matrices and incomplete labels.

>>> import numpy as np
>>> from tagfill.sklearn import IncompleteLabelClassifier
>>> X = np.array([[0.0, 1.0], [1.0, 0.0], [0.1, 0.9], [0.9, 0.1]] * 8)
>>> Y = np.array([[1, -1], [-1, 1], [1, 0], [0, 1]] * 8)  # 1 positive, 0 negative, -1 unknown
>>> model = IncompleteLabelClassifier().fit(X, Y)
>>> model.predict([[0.0, 1.0], [1.0, 0.0]])
array([[1, 0],
       [0, 1]])
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import accuracy_score
from sklearn.utils import check_random_state, column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from tagfill.arrays import Floats
from tagfill.errors import TagfillError, in_python
from tagfill.evaluate import sigmoid
from tagfill.evaluate.selection import choose_criterion
from tagfill.labels import NEGATIVE, POSITIVE, UNKNOWN, Labels, LabelTable, Rows
from tagfill.labels.split import stratified_split
from tagfill.linear.basis import Transform, rooted
from tagfill.linear.fit import fit_head, out_of_fold
from tagfill.priors import Written, how_written
from tagfill.train.config import MethodConfig, OptimizerName, StageConfig
from tagfill.train.linear import fit_linear
from tagfill.trust import trust


class IncompleteLabelClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Linear multi-label classifier that learns from incomplete labels.

    By default it is the learner of ``tagfill train``: the likelihood of the labels that are known,
    with writer, strength and transform of the features chosen by cross-validation; probabilities
    are calibrated on rows left out. Any other method trains in epochs.

    ``Y`` is a matrix [N, K] of 1 (positive), 0 (negative) and -1 (unknown); an indicator matrix of
    0 and 1 is the special case without unknowns. A vector of class names works too: then it is an
    ordinary classifier that gives every row one class.

    Args:
        method: "auto", the name of a method (``tagfill methods``), or path of a Python file with
            one. All that follows is for other methods than "auto", but for ``threshold`` and
            ``random_state``.
        method_settings: its hyper-parameters.
        method_preset: a preset of the method, under the settings.
        epochs: passes over the rows.
        learning_rate: of the optimizer.
        batch_size: rows per step.
        optimizer: adam, adamw or sgd.
        weight_decay: of the optimizer.
        validation_fraction: share of the rows held out to choose the best epoch on; 0 keeps the
            last epoch.
        patience: stop after this many epochs in a row without improvement on the held-out rows.
        threshold: probability from which ``predict`` calls a tag of a label matrix present.
        random_state: seed or generator; fixes everything random.

    Attributes:
        classes_: [K] class names: the columns of a data frame ``Y``, else column numbers; the
            distinct values of a vector ``y``.
        coef_: [K, D] weights.
        intercept_: [K] biases.
        transform_: what features are taken as: "plain", "standard" (scales are part of the
            weights) or "roots" (signed square roots, rows of one length).
        estimates_: [N, K] what is believed about every entry of ``Y``, observed entries as
            observed; for methods without beliefs, the classifier's own probabilities.
        best_epoch_: the epoch whose weights were kept; 0 where there are none.
        n_iter_: epochs trained, or steps of the solver.
    """

    def __init__(
        self,
        method: str = "auto",
        *,
        method_settings: Mapping[str, Any] | None = None,
        method_preset: str | None = None,
        epochs: int = 25,
        learning_rate: float = 1e-3,
        batch_size: int = 16,
        optimizer: OptimizerName = "adam",
        weight_decay: float = 0.0,
        validation_fraction: float = 0.0,
        patience: int | None = None,
        threshold: float = 0.5,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.method = method
        self.method_settings = method_settings
        self.method_preset = method_preset
        self.epochs = epochs
        self.learning_rate = learning_rate
        self.batch_size = batch_size
        self.optimizer = optimizer
        self.weight_decay = weight_decay
        self.validation_fraction = validation_fraction
        self.patience = patience
        self.threshold = threshold
        self.random_state = random_state

    coef_: Floats
    intercept_: Floats
    estimates_: Floats
    transform_: Transform
    _how: Written | None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags

    def fit(self, X: npt.ArrayLike, y: npt.ArrayLike) -> IncompleteLabelClassifier:
        """Learn from features [N, D] and labels [N, K], or a vector [N] of classes.

        Raises:
            ValueError: the labels or settings do not fit; the message says what would.
        """
        features, target = validate_data(self, X, y, dtype=np.float64, multi_output=True)
        labels = self._labels(target, getattr(y, "column_names", getattr(y, "columns", None)))
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        try:
            if self.method == "auto":
                self._fit_likelihood(features, labels, seed)
            else:
                self._fit_method(features, labels, seed)
        except TagfillError as error:
            raise ValueError(in_python(str(error))) from error
        return self

    def _fit_likelihood(self, features: Floats, labels: Labels, seed: int) -> None:
        """The learner of ``tagfill train``, calibrated on held-out rows."""
        head = fit_head(features, labels, seed=seed)
        self.coef_, self.intercept_ = head.weight.astype(np.float64), head.bias.astype(np.float64)
        self.transform_ = head.choice.transform
        self.best_epoch_, self.n_iter_ = 0, max(head.steps, 1)
        scores = out_of_fold(features, labels, head.choice, seed=seed)
        self._how = how_written(scores, labels)
        self.estimates_ = np.asarray(self._how.posterior(scores, labels), np.float64)

    def _fit_method(self, features: Floats, labels: Labels, seed: int) -> None:
        train, val = _held_out(labels, self.validation_fraction, seed)
        fitted = fit_linear(
            features[train],
            labels[train],
            self._stage(),
            seed=seed,
            val=(features[val], labels[val]) if len(val) else None,
        )
        self.coef_ = fitted.head.classifier.weight.detach().cpu().double().numpy()
        self.intercept_ = fitted.head.classifier.bias.detach().cpu().double().numpy()
        self.transform_, self._how = "plain", None
        self.best_epoch_, self.n_iter_ = fitted.best_epoch, len(fitted.history)
        self.estimates_ = np.where(labels < 0, sigmoid(self._logits(features)), labels)
        beliefs = fitted.method.estimates()
        if beliefs is not None:
            self.estimates_[train] = beliefs.cpu().numpy()

    def decision_function(self, X: npt.ArrayLike) -> Floats:
        """Logits [N, K]; [N] of the second class if ``y`` was a vector of two classes."""
        logits = self._logits(self._checked(X))
        return logits if self._multi_label or len(self.classes_) > 2 else logits[:, 0]

    def predict_proba(self, X: npt.ArrayLike) -> Floats:
        """Probability of every tag [N, K]; if ``y`` was a vector, of every class, summing to 1.

        Several classes are treated one against the rest, as ``OneVsRestClassifier`` does.
        """
        probability = np.asarray(sigmoid(self._logits(self._checked(X))), dtype=np.float64)
        if self._multi_label:
            return probability
        if len(self.classes_) == 2:
            return np.column_stack([1 - probability, probability])
        return np.asarray(probability / probability.sum(axis=1, keepdims=True))

    def predict(self, X: npt.ArrayLike) -> npt.NDArray[Any]:
        """Tags [N, K] of 1 and 0; if ``y`` was a vector, one class for every row."""
        probability = self.predict_proba(X)
        if self._multi_label:
            return (probability >= self.threshold).astype(np.int64)
        chosen: npt.NDArray[Any] = self.classes_[probability.argmax(axis=1)]
        return chosen

    def score(self, X: npt.ArrayLike, y: npt.ArrayLike) -> float:
        """Mean average precision over known entries, from 0 to 1; accuracy for a vector ``y``.

        Where hardly any negative is known, precision cannot be measured and unknown entries count
        as negative (``observed_mAP`` in docs/metrics.md).
        """
        if not self._multi_label:
            return float(accuracy_score(y, self.predict(X)))
        labels = _coded(np.asarray(y))
        return choose_criterion(labels).score(self.decision_function(X), labels) / 100

    def _stage(self) -> StageConfig:
        return StageConfig(
            MethodConfig(trust(self.method), self.method_preset, dict(self.method_settings or {})),
            epochs=self.epochs,
            batch_size=self.batch_size,
            learning_rate=self.learning_rate,
            optimizer=self.optimizer,
            weight_decay=self.weight_decay,
            patience=self.patience,
        )

    def _labels(self, target: Any, columns: Any) -> Labels:
        """The target as label codes; sets ``classes_``."""
        if issparse(target):
            target = target.toarray()
        if target.ndim == 2 and target.shape[1] == 1 and not _holds_codes(target):
            target = column_or_1d(target, warn=True)
        self._multi_label = target.ndim == 2
        if self._multi_label:
            self.classes_ = np.arange(target.shape[1]) if columns is None else np.asarray(columns)
            return _coded(target)
        check_classification_targets(target)
        self.classes_, codes = np.unique(target, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(f"there is only one class, {self.classes_[0]!r}")
        if len(self.classes_) == 2:
            return codes[:, None].astype(np.int8)
        return np.asarray(codes[:, None] == np.arange(len(self.classes_)), dtype=np.int8)

    def _checked(self, X: npt.ArrayLike) -> Floats:
        check_is_fitted(self)
        features: Floats = validate_data(self, X, dtype=np.float64, reset=False)
        return features

    def _logits(self, features: Floats) -> Floats:
        given = features
        if self.transform_ == "roots":
            given = rooted(torch.from_numpy(features)).numpy()
        scores = given @ self.coef_.T + self.intercept_
        return np.asarray(scores if self._how is None else self._how.logits(scores))


def _holds_codes(target: npt.NDArray[Any]) -> bool:
    return bool(np.isin(target, (POSITIVE, NEGATIVE, UNKNOWN)).all())


def _coded(target: npt.NDArray[Any]) -> Labels:
    if target.ndim != 2 or not _holds_codes(target):
        raise ValueError(
            "labels must be a matrix of 1 (positive), 0 (negative) and -1 (unknown), or a vector"
            " of classes"
        )
    return target.astype(np.int8)


def _held_out(labels: Labels, fraction: float, seed: int) -> tuple[Rows, Rows]:
    if fraction == 0:
        return np.arange(len(labels)), np.arange(0)
    names = [str(row) for row in range(len(labels))], [str(tag) for tag in range(labels.shape[1])]
    table = LabelTable(tuple(names[0]), tuple(names[1]), labels)
    parts = stratified_split(table, {"train": 1 - fraction, "val": fraction}, seed)
    return parts["train"], parts["val"]
