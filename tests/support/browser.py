"""A real browser for tests, without a network, that keeps what goes wrong in its pages.

It is found by the environment variable CHROMIUM, or on the path. Where there is none the tests
skip, unless HARNESS_REQUIRE_BROWSER=1 says that they must not.
"""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

NAMES = ("chromium", "chromium-browser", "google-chrome")
REQUIRED = os.environ.get("HARNESS_REQUIRE_BROWSER") == "1"
ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)
OWN = ("data:", "blob:", "about:")
WAIT = 10_000  # ms

complaints: list[str] = []
"""Errors on the console, uncaught ones, and requests that a page must not make."""


def executable() -> str | None:
    """Return the browser's path; None where there is none."""
    named = os.environ.get("CHROMIUM")
    return named or next(filter(None, map(shutil.which, NAMES)), None)


@contextmanager
def launched(path: str | None, required: bool) -> Iterator[Browser]:
    """Run the browser at `path`; skips the test where there is none, or fails it if required."""
    if path is None:
        missing = f"no browser: none of {', '.join(NAMES)} is on the path, CHROMIUM is not set"
        if required:
            pytest.fail(missing)
        pytest.skip(missing)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=list(ARGUMENTS))
        yield browser
        browser.close()


@contextmanager
def opened(browser: Browser, file: Path | None = None, **options: object) -> Iterator[Page]:
    """Open a file, or nothing, in a window of its own; `options` are those of its context."""
    settled = {"offline": True, "reduced_motion": "reduce", **options}
    with browser.new_context(**settled) as context:
        context.set_default_timeout(WAIT)
        page = context.new_page()
        page.on("console", _heard)
        page.on("pageerror", lambda error: complaints.append(f"uncaught: {error}"))
        page.on("request", _asked)
        if file is not None:
            page.goto(file.as_uri())
        yield page


def _heard(message) -> None:
    if message.type in ("error", "warning", "assert"):
        complaints.append(f"console: {message.text}")


def _asked(request) -> None:
    opening = request.is_navigation_request() and request.url.startswith("file:")
    if not opening and not request.url.startswith(OWN):
        complaints.append(f"request: {request.url}")
