"""Integrity of exported files: checksums in ONNX files, archives known by their hash.

An ONNX file is data; its last bytes are an entry of its metadata with a checksum of all bytes
before, so that damage is noticed. A torch.export archive holds pickles, which are code: it is
opened if it was written on this machine, or if the user trusts it.
"""

from __future__ import annotations

import hashlib
from contextlib import suppress
from pathlib import Path

from tagfill.compat import cache_root
from tagfill.errors import TagfillError
from tagfill.files import write_bytes
from tagfill.trust import require_trust

KEY = b"tagfill_checksum"
LARGEST = 2**31
"""Bytes an ONNX file can have: it is one protobuf message."""
_ENTRY, _NAME, _TEXT = b"\x72", b"\x0a", b"\x12"  # metadata_props, its key, its value


def seal(path: Path) -> None:
    """Add the checksum to an ONNX file."""
    content = path.read_bytes()
    write_bytes(path, content + _seal(content))


def sealed_bytes(path: Path) -> bytes:
    """The content of an ONNX file; a file without a checksum is accepted.

    Raises:
        TagfillError: the file was changed after the export, or is too large for an ONNX file.
    """
    if path.is_file() and path.stat().st_size >= LARGEST:
        raise TagfillError("is too large for an ONNX file, which has at most 2 GB", file=path)
    content = _content(path)
    length = len(_seal(b""))
    if KEY in content and content[-length:] != _seal(content[:-length]):
        raise TagfillError(
            "its checksum differs: it is damaged, or was changed after the export",
            file=path,
            remedy="export it again; a file changed on purpose needs its metadata entry"
            f" {KEY.decode()!r} removed",
        )
    return content


def remember(path: Path) -> None:
    """Record that an archive was written here; if that fails it needs ``--trust-code``."""
    with suppress(TagfillError):
        write_bytes(_note(path.read_bytes()), b"")


def known_bytes(path: Path) -> bytes:
    """The content of an archive that was written here or is trusted.

    Raises:
        TagfillError: it was not, so that opening it could run untrusted code.
    """
    content = _content(path)
    if not _note(content).is_file():
        require_trust(path, "was not exported on this machine; a .pt2 file can run foreign code")
    return content


def _note(content: bytes) -> Path:
    return cache_root() / "archives" / hashlib.sha256(content).hexdigest()


def _seal(content: bytes) -> bytes:
    """One more metadata entry in ONNX's encoding; protobuf messages can be appended to."""
    digest = hashlib.blake2b(content, digest_size=16).hexdigest().encode()
    entry = _NAME + bytes([len(KEY)]) + KEY + _TEXT + bytes([len(digest)]) + digest
    return _ENTRY + bytes([len(entry)]) + entry


def _content(path: Path) -> bytes:
    if not path.is_file():
        raise TagfillError("no such file", file=path)
    return path.read_bytes()
