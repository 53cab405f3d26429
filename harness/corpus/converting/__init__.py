"""Convert HTML, PDF, Office and table files to text, each format by a converter of its own.

Nothing is fetched, no program is started, and what is inside a file never chooses the converter.
"""

from __future__ import annotations

import importlib
import importlib.util
import logging
import re
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from harness.errors import MissingExtra, Problem
from harness.fingerprint import versions
from harness.records import Scalar

_HEADING = re.compile(r"^#[ \t]+(?=[^ \t\n])(.+)$", re.MULTILINE)
_NOT_TEXT = re.compile(r"[\x00-\x08\x0b\x0e-\x1f\x7f-\x9f\ud800-\udfff]")


@dataclass(frozen=True)
class ConvertedFile:
    """The text of a file, the title it gives itself ("" for none), and what filters may ask."""

    text: str
    title: str = ""
    facts: Mapping[str, Scalar] = field(default_factory=dict)


@dataclass(frozen=True)
class Format:
    """How files of some suffixes are converted.

    The module `<converter>_files` does it. `libraries` maps what is imported to the packages whose
    versions shape the text; raise `version` where this harness's own part of it changes the text.
    """

    converter: str
    libraries: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    version: int = 1

    @property
    def name(self) -> str:
        """What converts it, with versions: `pdf 2 (pypdfium2 5.15.2)`."""
        packages = [name for names in self.libraries.values() for name in names]
        libraries = ", ".join(f"{name} {version}" for name, version in versions(*packages).items())
        return f"{self.converter} {self.version}" + (f" ({libraries})" if libraries else "")


# markitdown makes HTML of a table or a Word file, and Markdown of that.
_MARKDOWN = {
    "markitdown": ("markitdown",),
    "markdownify": ("markdownify",),
    "bs4": ("beautifulsoup4",),
    "lxml": ("lxml",),
}
_HTML = Format("html", _MARKDOWN)
_TABLE = Format("table")
FORMATS: Mapping[str, Format] = {
    ".csv": _TABLE,
    ".docx": Format("office", {**_MARKDOWN, "mammoth": ("mammoth",)}),
    ".htm": _HTML,
    ".html": _HTML,
    ".pdf": Format("pdf", {"pypdfium2": ("pypdfium2",)}, version=2),
    ".pptx": Format("office", {**_MARKDOWN, "pptx": ("python-pptx",)}),
    ".tsv": _TABLE,
}
"""By suffix."""


def check_libraries(suffix: str, where: str) -> None:
    """Raise `MissingExtra` where the library that converts a format is not installed."""
    for library in FORMATS[suffix].libraries:
        if importlib.util.find_spec(library) is None:
            raise MissingExtra(f"reading {where!r}", library, "documents")


def convert(raw: bytes, suffix: str, where: str) -> ConvertedFile | Problem:
    """Return the text of a file, or why there is none; `suffix` is one of `FORMATS`."""
    converter = importlib.import_module(f"{__name__}.{FORMATS[suffix].converter}_files")
    hint = "repair it, or leave it out: on_error: skip, or a narrower `glob`"
    try:
        with _silence_libraries():
            result: ConvertedFile | Problem = converter.convert(raw, suffix, where)
    except Exception as error:  # noqa: BLE001  a damaged file makes a library fail in any way
        return Problem(where, f"cannot be converted: {_describe_error(error)}", hint)
    if isinstance(result, ConvertedFile) and not result.text.strip():
        scan = "a scan wants OCR first; " if suffix == ".pdf" else ""
        return Problem(where, "holds no text", f"{scan}or leave it out: on_error: skip")
    return result


def first_heading(text: str) -> str:
    """Return the first heading of Markdown's top level; "" where there is none."""
    match = _HEADING.search(text)
    return (match[1].rstrip(" \t#") or "#") if match else ""


def tidy(text: str) -> str:
    """Return `text` without what is no character, spaces at line ends, and runs of empty lines."""
    lines = (_NOT_TEXT.sub("", line).rstrip() for line in re.split(r"\r\n?|\n|\v", text))
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()


def _describe_error(error: Exception) -> str:
    lines = tidy(str(error)).splitlines()
    return f"{type(error).__name__}: {lines[0][:200]}" if lines else type(error).__name__


@contextmanager
def _silence_libraries() -> Iterator[None]:
    """Keep what libraries warn and log away from the user, who sees what fails."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(before)
