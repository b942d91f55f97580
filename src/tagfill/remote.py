"""Files behind URLs (s3://, gs://, hf://, https://): downloaded with retries, cached locally.

A label file, a configuration or a run may come from anyone, so a URL in one of them is not
followed. Only places that the user named are: a URL on the command line, in a call from Python, or
in ``$TAGFILL_REMOTE``. What was fetched before is read from the cache without asking.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from tagfill import patience
from tagfill.compat import cache_root, from_clone
from tagfill.errors import TagfillError
from tagfill.files import atomic_path, write_json

ATTEMPTS = 4
WORKERS = 16
"""Files downloaded at once; most of the time is waiting."""
PAUSE = 0.5
"""Seconds before the second attempt; twice as long before every further one."""
_URL = re.compile(r"([a-z][a-z0-9+.-]+):/{1,2}([^/].*)", re.DOTALL)
SHARDS = (".tar",)
"""Files with labels and images that a remote folder may consist of."""
UNPACKED, WHOLE = "unpacked", ".whole.json"
"""The cache's folder of images that were inside of shards, and the mark of one that is complete."""
_ORIGIN = "origin.json"
_named: set[str] = set()


def url_of(path: str | Path | None) -> str | None:
    """The URL that a text or a path states; a path has lost one of its slashes."""
    match = _URL.fullmatch(str(path))
    if match is None or "::" in match[2] or os.path.lexists(str(path)):
        return None
    return f"{match[1]}://{match[2]}"


def allow(*places: object) -> None:
    """Allow the hosts and buckets of URLs that the user named."""
    for place in places:
        if isinstance(place, str | Path) and (url := url_of(place)):
            _named.add(_place(url))


def local_file(path: str | Path) -> Path:
    """The path itself, or the local copy of a URL, downloaded again if it has changed.

    Raises:
        TagfillError: it is not there, cannot be fetched, or was named by a file and not by the
            user.
    """
    url = url_of(path)
    if url is None:
        return Path(path)
    folder = _folder(url)
    copy = folder / (PurePosixPath(url).name or "file")
    if not _allowed(url):
        return copy if copy.is_file() else _refuse(url)
    store = _Store.of(url)
    version = hashlib.blake2b(store.info(url).encode(), digest_size=16).hexdigest()
    if not copy.is_file() or _origin(folder).get("version") != version:
        store.fetch(url, copy)
        write_json(folder / _ORIGIN, {"url": url, "version": version})
    return copy


def local_source(path: str | Path) -> Path:
    """As ``local_file``; a URL without suffix is a folder, of which the shards are fetched."""
    url = url_of(path)
    if url is None or PurePosixPath(url).suffix:
        return local_file(path)
    url = url.rstrip("/")
    folder = _folder(url)
    if not _allowed(url):
        return folder if folder.is_dir() else _refuse(url)
    shards = [file.url for file in remote_files(url, SHARDS) if file.url.rpartition("/")[0] == url]
    if not shards:
        raise TagfillError(
            f"it has no file that ends in {' or '.join(SHARDS)}",
            file=url,
            remedy="name a label file",
        )
    store, known = _Store.of(url), _origin(folder)
    versions = {"url": f"{url}/"}

    def fetch(shard: str) -> None:
        name, version = PurePosixPath(shard).name, store.info(shard)
        if known.get(name) != version or not (folder / name).is_file():
            store.fetch(shard, folder / name)
        versions[name] = version

    with ThreadPoolExecutor(WORKERS) as pool:
        list(pool.map(fetch, shards))
    write_json(folder / _ORIGIN, versions)
    return folder


def local_images(root: Path, images: Sequence[str]) -> Path:
    """The folder itself, or a local one with the images of a remote one.

    An image that was fetched before is not fetched again. One that is not there, or whose name
    leads out of the folder, is left out: it counts as missing, as in a local folder.
    """
    url = url_of(root)
    if url is None:
        return root
    folder = _folder(url.rstrip("/"))
    wanted = [image for image in dict.fromkeys(images) if is_inside(image)]
    missing = [image for image in wanted if not (folder / image).is_file()]
    if not missing:
        return folder
    if not _allowed(url):
        return folder if len(missing) < len(wanted) else _refuse(url)
    store = _Store.of(url)
    with ThreadPoolExecutor(WORKERS) as pool:
        jobs = [
            pool.submit(store.fetch_image, f"{url.rstrip('/')}/{image}", folder / image)
            for image in missing
        ]
        try:
            for job in jobs:
                job.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def images_beside(labels: Path) -> Path | None:
    """The remote folder of the local copy of a label file: ``images`` beside it, or its own."""
    url = _origin(labels.parent).get("url")
    if url is None:
        return None
    beside = f"{url.rpartition('/')[0]}"
    folder = f"{beside}/images"
    if not _allowed(url):
        return Path(folder if _folder(folder).is_dir() else beside)
    return Path(folder if _Store.of(url).has_folder(folder) else beside)


@dataclass(frozen=True)
class RemoteFile:
    """One file behind a URL, read when it is needed and not kept."""

    url: str

    def __str__(self) -> str:
        return self.url

    def read(self) -> bytes:
        """Its bytes.

        Raises:
            TagfillError: it is not there or cannot be fetched.
        """
        return _Store.of(self.url).read(self.url)


def remote_files(url: str, suffixes: Iterable[str]) -> Iterator[RemoteFile]:
    """A file, or the files of a folder and its subfolders that have one of the suffixes, sorted."""
    if not _allowed(url):
        _refuse(url)
    suffixes = tuple(suffixes)
    if url.lower().endswith(suffixes):
        yield RemoteFile(url)
        return
    for name in _Store.of(url).files_below(url):
        if name.lower().endswith(suffixes) and not PurePosixPath(name).name.startswith("."):
            yield RemoteFile(name)


def prune(older_than_days: float) -> None:
    """Delete files downloaded that long ago; a time in the future counts as now."""
    now = time.time()

    def is_old(file: Path) -> bool:
        return min(file.stat().st_mtime, now) <= now - older_than_days * 86_400

    for file in (cache_root() / "remote").rglob("*"):
        with suppress(OSError):
            if file.is_file() and is_old(file):
                file.unlink()
    for mark in (cache_root() / UNPACKED).glob(f"*/{WHOLE}"):
        with suppress(OSError):
            if is_old(mark):
                shutil.rmtree(mark.parent)


def _place(url: str) -> str:
    """Scheme and host or bucket; on Hugging Face the repository."""
    scheme, _, rest = url.partition("://")
    parts = rest.split("/")
    return f"{scheme}://{'/'.join(parts[: 3 if scheme == 'hf' else 1])}"


def _allowed(url: str) -> bool:
    allow(*os.environ.get("TAGFILL_REMOTE", "").split())
    return _place(url) in _named


def _refuse(url: str) -> Any:
    if url.startswith(("file:", "local:")):
        raise TagfillError("is a file of this machine", file=url, remedy="write it as a plain path")
    raise TagfillError(
        "comes from a file, not from you, so it is not downloaded",
        file=url,
        remedy=f"name it on the command line, call tagfill.remote.allow({_place(url)!r}), or set"
        f" TAGFILL_REMOTE={_place(url)}",
    )


def _folder(url: str) -> Path:
    digest = hashlib.blake2b(url.encode(), digest_size=10).hexdigest()
    return cache_root() / "remote" / digest


def _origin(folder: Path) -> dict[str, str]:
    with suppress(OSError, ValueError):
        content = json.loads((folder / _ORIGIN).read_text(encoding="utf-8"))
        return content if isinstance(content, dict) else {}
    return {}


def is_inside(image: str) -> bool:
    """Whether an image id is a plain path below the folder it is relative to."""
    parts = PurePosixPath(image).parts
    plain = url_of(image) is None and not image.startswith("/") and "\\" not in image
    return plain and bool(parts) and ".." not in parts and "\0" not in image


@dataclass(frozen=True)
class _Store:
    """The file system behind a URL; failures are retried."""

    system: Any

    @classmethod
    def of(cls, url: str) -> _Store:
        import fsspec

        try:
            web = patience.web_options() if _is_web(url) else {}
            options = {"use_listings_cache": False, **web}
            return cls(fsspec.core.url_to_fs(url, **options)[0])
        except ImportError as error:
            raise TagfillError(
                f"needs a package that is not installed ({error})",
                file=url,
                remedy=f"{from_clone('remote')}; for gs:// and others the package named",
            ) from error
        except Exception as error:  # file systems raise anything for an address they cannot use
            raise TagfillError(
                f"is not an address that can be opened ({error})",
                file=url,
                remedy="write it as s3://bucket/path, gs://, hf://datasets/ or https://",
            ) from error

    def info(self, url: str) -> str:
        """Metadata that changes when the file does."""
        details = self._tried(url, lambda: self.system.info(url))
        return json.dumps({str(key): str(value) for key, value in details.items()}, sort_keys=True)

    def fetch(self, url: str, copy: Path, largest: int | None = None) -> None:
        """Copy a file in pieces; the local file is complete or absent."""
        from fsspec.callbacks import Callback

        def get(draft: Path) -> None:
            watched = Callback(hooks={"limits": patience.Transfer(url, largest)})
            self.system.get_file(url, str(draft), callback=watched)

        with atomic_path(copy, sync=False) as draft:
            self._tried(url, lambda: get(draft))

    def fetch_image(self, url: str, copy: Path) -> None:
        """As ``fetch``; one that is not there is left out."""
        with suppress(_NotThereError):
            self.fetch(url, copy, patience.LARGEST_IMAGE)

    def read(self, url: str) -> bytes:
        content: bytes = self._tried(url, lambda: self.system.cat_file(url))
        return content

    def files_below(self, url: str) -> list[str]:
        if _is_web(url):
            return sorted(set(self._linked(url)))
        names = sorted(self._tried(url, lambda: self.system.find(url)))
        return [self.system.unstrip_protocol(name) for name in names]

    def _linked(self, url: str) -> Iterator[str]:
        """The files that a page and the pages of its folders link to."""
        folders, seen = [url], {url}
        while folders:
            folder = folders.pop()
            for entry in self._listed(folder):
                name = str(entry["name"])
                if entry["type"] != "directory":
                    yield name
                elif name not in seen:
                    seen.add(name)
                    folders.append(name)
            if len(seen) > patience.MOST_FOLDERS or folder.count("/") > patience.DEEPEST:
                raise TagfillError("links to too many folders", file=url, remedy="name a file")

    def has_folder(self, url: str) -> bool:
        with suppress(TagfillError):
            return bool(self._listed(url))
        return False

    def _listed(self, url: str) -> Any:
        return self._tried(url, lambda: self.system.ls(url))

    def _tried(self, url: str, ask: Callable[[], Any]) -> Any:
        for attempt in range(ATTEMPTS):
            try:
                return ask()
            except TagfillError:
                raise
            except Exception as failed:  # networks fail in many ways
                error = _reason(failed)
                if isinstance(error, FileNotFoundError):
                    raise _NotThereError(
                        "no such file", file=url, remedy="check the address"
                    ) from failed
                if isinstance(error, PermissionError):
                    raise TagfillError(
                        f"may not be read ({error})", file=url, remedy="check your credentials"
                    ) from failed
                if attempt + 1 == ATTEMPTS:
                    raise TagfillError(
                        f"cannot be downloaded after {ATTEMPTS} attempts"
                        f" ({str(error) or type(error).__name__})",
                        file=url,
                        remedy="check address, credentials and network; finished files are kept",
                    ) from failed
                time.sleep(PAUSE * 2**attempt)
        raise AssertionError  # the last attempt returns or raises


def _is_web(url: str) -> bool:
    return url.startswith(("http:", "https:"))


def _reason(error: Exception) -> Exception:
    """What went wrong: of a web server every failure is called a missing file."""
    if isinstance(error, TimeoutError):
        return TimeoutError("it does not answer")
    cause = error.__cause__
    if not isinstance(error, FileNotFoundError) or not isinstance(cause, Exception):
        return error
    status = getattr(cause, "status", None)
    if status in (404, 410):
        return error
    return PermissionError(str(cause)) if status in (401, 403) else cause


class _NotThereError(TagfillError):
    """The server responds that there is no such file."""
