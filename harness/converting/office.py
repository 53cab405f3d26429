"""DOCX and PPTX: Markdown, by markitdown, once the archive has been looked at."""

from __future__ import annotations

import io
import re
import zipfile
from typing import Any
from xml.etree import ElementTree

from harness.converting import Converted, heading, tidied
from harness.errors import Problem
from harness.records import Scalar

_MOST_PARTS = 10_000
_LARGEST_XML = 1 << 26
_LARGEST = 1 << 29
"""Bytes of all parts, unpacked."""
_OLE = bytes.fromhex("d0cf11e0a1b11ae1")
_DOCTYPE = [("<!" + "DOCTYPE").encode(name) for name in ("utf-8", "utf-16-le", "utf-16-be")]
_MAIN = {".docx": "word/", ".pptx": "ppt/"}
_SLIDE = re.compile(r"^<!-- Slide number: \d+ -->$", re.MULTILINE)
_PICTURE = re.compile(r"!\[([^\]]*)\]\(([^)]*)\)")
_ABOUT = "docProps/core.xml"


def convert(raw: bytes, suffix: str, where: str) -> Converted | Problem:
    """Return headings, lists and tables as Markdown; between two slides stands a form feed."""
    from markitdown import StreamInfo
    from markitdown.converters import DocxConverter, PptxConverter

    if raw.startswith(_OLE):
        what = f"is no {suffix} inside: it is encrypted, or of Office before 2007"
        return Problem(where, what, f"save it as {suffix}, without a password")
    if not raw.startswith(b"PK"):
        hint = f"save it as {suffix}, or give it its own suffix"
        return Problem(where, f"is no {suffix} inside", hint)
    with zipfile.ZipFile(io.BytesIO(raw)) as archive:
        wrong = _wrong(archive, suffix, where)
        if wrong is not None:
            return wrong
        facts = _about(archive)
    title = str(facts.pop("title", ""))
    converter: Any = (DocxConverter if suffix == ".docx" else PptxConverter)()
    text = converter.convert(io.BytesIO(raw), StreamInfo(extension=suffix)).markdown
    # The pictures are not there to be linked to; what their authors say of them is.
    text = _PICTURE.sub(_described, text)
    if suffix == ".pptx":
        slides = [tidied(slide) for slide in _SLIDE.split(text)[1:]]
        text = "\n\f\n".join(slides) if any(slides) else ""
        facts["pages"] = len(slides)
    else:
        text = tidied(text.replace("\f", "\n"))
    return Converted(text, heading(text) or title, facts)


def _wrong(archive: zipfile.ZipFile, suffix: str, where: str) -> Problem | None:
    """Return why an archive is not to be unpacked: another format, or meant to fill memory.

    Python unpacks no more of a part than the directory says it has.
    """
    parts = archive.infolist()
    if not any(part.filename.startswith(_MAIN[suffix]) for part in parts):
        hint = f"save it as {suffix}, or give it its own suffix"
        return Problem(where, f"is no {suffix} inside", hint)
    xml = [part for part in parts if part.filename.lower().endswith((".xml", ".rels"))]
    size, of_xml = (sum(part.file_size for part in some) for some in (parts, xml))
    if len(parts) > _MOST_PARTS or size > _LARGEST or of_xml > _LARGEST_XML:
        what = f"unpacks to {len(parts)} parts, {size >> 20} MB, {of_xml >> 20} MB of them XML"
        most = f"{_MOST_PARTS}, {_LARGEST >> 20} and {_LARGEST_XML >> 20}"
        return Problem(where, what, f"divide it: {most} is the most that is converted")
    for part in xml:
        content = archive.read(part)
        if any(mark in content for mark in _DOCTYPE):
            what = f"{part.filename} declares a document type, which Office never does"
            return Problem(where, what, "its XML may be meant to do harm: leave it out")
    return None


def _about(archive: zipfile.ZipFile) -> dict[str, Scalar]:
    """Return title and author, where the file's properties name them."""
    if _ABOUT not in archive.namelist():
        return {}
    root = ElementTree.fromstring(archive.read(_ABOUT))
    said = {
        key: " ".join(
            tidied(root.findtext(f"{{http://purl.org/dc/elements/1.1/}}{name}") or "").split()
        )
        for key, name in (("title", "title"), ("author", "creator"))
    }
    return {key: text for key, text in said.items() if text}


def _described(picture: re.Match[str]) -> str:
    """Return a picture's description; "" for the name that a program gave it."""
    description, target = picture.groups()
    named = re.sub(r"\W", "", description) + ".jpg" == target
    return "" if named else description
