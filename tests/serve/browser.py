"""What tests of the pages share: a browser, and what a server has stored."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from typing import Any

import pytest

from tagfill.serve.service import Service

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
in_chromium = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed (make services)"),
]
QUIET = ("--no-sandbox", "--disable-gpu", "--disable-background-networking")
QUIET += ("--disable-component-update", "--disable-sync")
PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
Open = Callable[..., Any]


def busiest(service: Service) -> str:
    states = [service.queue.status(column) for column in range(len(service.queue._names))]
    return max(states, key=lambda state: state.open).tag


def decisions(service: Service) -> dict[tuple[str, str], int]:
    service.refresh()
    names = service.ledger.columns.names
    return {
        (entry.image, names[column]): entry.value for _, column, entry in service.ledger.current()
    }


def saved(page: Any, service: Service, count: int) -> dict[tuple[str, str], int]:
    """All decisions, once so many have been made."""
    for _ in range(300):
        stored = decisions(service)
        if len(stored) == count:
            return stored
        page.wait_for_timeout(50)
    raise AssertionError(f"{len(stored)} decisions instead of {count}")
