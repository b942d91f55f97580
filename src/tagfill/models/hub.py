"""Weights from the model hub, or a quick and clear error if it cannot be reached."""

from __future__ import annotations

import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path

from tagfill.errors import TagfillError
from tagfill.models.presets import DEFAULT

ANSWER_WITHIN = 4.0
_WEIGHT_FILES = ("model.safetensors", "pytorch_model.bin", "open_clip_model.safetensors")


@dataclass
class _Offline:
    """Open contexts of all threads, which share one setting, and that setting before them."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    contexts: int = 0
    before: bool = False


_OFFLINE = _Offline()


def is_cached(repository: str, file: str | None = None) -> bool:
    """Whether a repository's file (its weights unless named) is on this machine."""
    from huggingface_hub import try_to_load_from_cache

    if Path(repository).is_dir():
        return True
    files = _WEIGHT_FILES if file is None else (file,)
    return any(isinstance(try_to_load_from_cache(repository, name), str) for name in files)


def is_reachable() -> bool:
    """Whether the hub responds; uses the proxy of the environment and obeys ``HF_HUB_OFFLINE``."""
    from huggingface_hub import constants

    if constants.HF_HUB_OFFLINE:
        return False
    request = urllib.request.Request(constants.ENDPOINT, method="HEAD")  # noqa: S310 (hub address)
    try:
        # the hub's own address
        urllib.request.urlopen(request, timeout=ANSWER_WITHIN).close()  # noqa: S310  # nosec B310
    except urllib.error.HTTPError:
        return True
    except OSError:
        return False
    return True


@contextmanager
def offline() -> Iterator[None]:
    """Do not contact the hub inside this context, which several threads may enter."""
    from huggingface_hub import constants

    with _OFFLINE.lock:
        if not _OFFLINE.contexts:
            _OFFLINE.before = constants.HF_HUB_OFFLINE
        _OFFLINE.contexts += 1
        constants.HF_HUB_OFFLINE = True
    try:
        yield
    finally:
        with _OFFLINE.lock:
            _OFFLINE.contexts -= 1
            if not _OFFLINE.contexts:
                constants.HF_HUB_OFFLINE = _OFFLINE.before


@contextmanager
def fetching(repository: str, name: str, file: str | None = None) -> Iterator[None]:
    """Context of a download: fails quickly if the hub cannot be reached, uses the cache if it can.

    The hub's own client would retry for a minute first.

    Args:
        file: the file to fetch; None means the weights.

    Raises:
        TagfillError: it cannot be downloaded; the message names the remedies.
    """
    reachable = is_reachable()
    if not reachable and not is_cached(repository, file):
        raise _unreachable(repository, name, file)
    try:
        with nullcontext() if reachable else offline():
            yield
    except OSError as error:
        raise _unreachable(repository, name, file) from error
    except ValueError as error:
        reason = str(error).partition("\n")[0]
        raise TagfillError(f"{repository} has no usable model ({reason})") from error


def _unreachable(repository: str, name: str, file: str | None) -> TagfillError:
    if file is not None:
        return TagfillError(
            f"{file} of {name!r} cannot be reached and is not in the cache",
            remedy=f"use hf:FOLDER with a downloaded model, or the offline backbone {DEFAULT}",
        )
    return TagfillError(
        f"the weights of {name!r} ({repository}) cannot be reached and are not in the cache",
        remedy=f"use --weights FILE, --no-pretrained, or the offline backbone {DEFAULT}",
    )
