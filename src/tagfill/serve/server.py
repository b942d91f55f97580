"""From a run folder to a listening server."""

from __future__ import annotations

import ipaddress
import secrets
import socket
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tagfill.errors import TagfillError
from tagfill.serve.database import Database, database_url
from tagfill.serve.security import LOOPBACK, Policy

if TYPE_CHECKING:
    import uvicorn

    from tagfill.serve.library import Library
    from tagfill.serve.model import ServedModel
    from tagfill.serve.service import Service

DATABASE = "review.db"
EVERYWHERE = ("0.0.0.0", "::")  # noqa: S104  # nosec B104


@dataclass(frozen=True)
class Options:
    host: str = "127.0.0.1"
    port: int = 8731
    database: str | None = None
    token: str | None = None
    read_only: bool = False
    names: tuple[str, ...] = ()
    engine: Path | None = None

    def __post_init__(self) -> None:
        if not 0 <= self.port <= 65535:
            raise TagfillError(f"{self.port} is not a port: use 1 to 65535")
        if not is_loopback(self.host) and not self.token:
            raise TagfillError(
                f"{self.host} is open to other machines and needs a token",
                remedy="add --token auto, or --token with your own text",
            )
        if self.token is not None and len(self.token) < 8:
            raise TagfillError("the token is too short: use 8 characters or more")

    @property
    def hosts(self) -> frozenset[str]:
        """Host names of the server; "*" for any address."""
        own = LOOPBACK | {self.host, *(name.lower() for name in self.names)}
        return own | {"*"} if self.host in EVERYWHERE else own


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach an address."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def check_free(options: Options) -> None:
    """Raise ``TagfillError`` if nobody can listen there; asked before a model is loaded."""
    try:
        addresses = socket.getaddrinfo(options.host, options.port, type=socket.SOCK_STREAM)
        with socket.socket(addresses[0][0]) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(addresses[0][4])
    except OSError as error:
        raise TagfillError(
            f"cannot listen on {options.host}, port {options.port} ({error.strerror or error})",
            remedy="stop the other server, or choose another --port",
        ) from error


def open_service(run: Path, options: Options) -> Service:
    """Open the photos, the model and the database of a run."""
    from tagfill.serve.model import open_run

    library, model = open_run(run, options.engine)
    _ = model.engine.metadata  # loads it, or says why not
    service = build_service(library, model, options)
    service.restore()
    service.warm()
    return service


def build_service(library: Library, model: ServedModel, options: Options) -> Service:
    """The state of a server for open photos and an open model."""
    from tagfill.serve.service import Service

    database = Database(database_url(options.database, model.path / DATABASE))
    policy = Policy(
        secret=database.setting("secret", secrets.token_hex(32)),
        token=options.token,
        hosts=options.hosts,
        read_only=options.read_only,
    )
    return Service(database, library, model, policy)


def make_server(service: Service, options: Options) -> uvicorn.Server:
    import logging

    import uvicorn

    from tagfill.serve.app import create_app
    from tagfill.serve.protocol import KEEP_SECONDS, TimeoutProtocol

    logging.getLogger("python_multipart").setLevel(logging.ERROR)  # a line for every broken form
    config = uvicorn.Config(
        create_app(service),
        host=options.host,
        port=options.port,
        http=TimeoutProtocol,
        ws="none",
        log_level="warning",
        server_header=False,
        timeout_keep_alive=KEEP_SECONDS,
        timeout_graceful_shutdown=5,
    )
    return uvicorn.Server(config)
