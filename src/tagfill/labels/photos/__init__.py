"""Keywords that photos carry themselves: XMP, IPTC and EXIF in the file, XMP in sidecars."""

from tagfill.labels.photos.packet import Keywords, Mark, MarkState
from tagfill.labels.photos.read import Photo, Scheme, read_photo, sidecars_of

__all__ = ["Keywords", "Mark", "MarkState", "Photo", "Scheme", "read_photo", "sidecars_of"]
