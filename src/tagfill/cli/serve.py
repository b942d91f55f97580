"""`tagfill serve`: the web app on a run."""

from __future__ import annotations

import os
import secrets
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from tagfill.cli.options import Flag, require_serve
from tagfill.cli.output import log


def serve(
    run: Path,
    /,
    *,
    host: str = "127.0.0.1",
    port: int = 8731,
    database: str | None = None,
    token: str | None = None,
    read_only: Flag = False,
    name: Annotated[list[str] | None, Parameter(negative=())] = None,
    engine: Path | None = None,
) -> None:
    """Review missing tags, try the model and train again in a web app.

    The same server has an HTTP interface; see /docs/ of its address.

    Args:
        run: The folder of a finished run; its photos must not have moved.
        host: Address to listen on. Addresses open to other machines need a token.
        port: Port to listen on.
        database: Where decisions are stored: a file, sqlite:///FILE or postgresql://USER@HOST/NAME.
            By default review.db in the run folder.
        token: Token that clients need; auto creates and prints one. By default the environment
            variable TAGFILL_TOKEN.
        read_only: Refuse all changes.
        name: Another host name of the server.
        engine: Answer requests with this export of the model (.onnx or .pt2) instead of torch.
    """

    require_serve()
    from tagfill.serve.server import Options, check_free, make_server, open_service

    given = token or os.environ.get("TAGFILL_TOKEN") or None
    secret = secrets.token_urlsafe(24) if given == "auto" else given
    options = Options(host, port, database, secret, read_only, tuple(name or ()), engine)
    check_free(options)
    service = open_service(run, options)
    shown = f"[{host}]" if ":" in host else host
    log.print(f"tagfill serves {run} at http://{shown}:{port}/")
    if given == "auto":
        log.print(f"token: {secret}")
    make_server(service, options).run()
