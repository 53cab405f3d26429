"""Convert DOCX and PPTX to Markdown by markitdown, after checking the archive."""

from __future__ import annotations

import io
import re
import zipfile
from typing import Any
from xml.etree import ElementTree

from harness import limits
from harness.corpus.converting import ConvertedFile, first_heading, tidy
from harness.errors import Problem
from harness.records import Scalar

_OLE = bytes.fromhex("d0cf11e0a1b11ae1")
_DOCTYPE = [("<!" + "DOCTYPE").encode(name) for name in ("utf-8", "utf-16-le", "utf-16-be")]
_MAIN_FOLDER = {".docx": "word/", ".pptx": "ppt/"}
_SLIDE = re.compile(r"^<!-- Slide number: \d+ -->$", re.MULTILINE)
_PICTURE = re.compile(r"!\[([^\]]*)\]\(([^)]*)\)")
_PROPERTIES_PART = "docProps/core.xml"


def convert(raw: bytes, suffix: str, where: str) -> ConvertedFile | Problem:
    """Return headings, lists and tables as Markdown; between two slides stands a form feed."""
    from markitdown import StreamInfo
    from markitdown.converters import DocxConverter, PptxConverter

    if raw.startswith(_OLE):
        message = f"is no {suffix} inside: it is encrypted, or of Office before 2007"
        return Problem(where, message, f"save it as {suffix}, without a password")
    if not raw.startswith(b"PK"):
        hint = f"save it as {suffix}, or give it its own suffix"
        return Problem(where, f"is no {suffix} inside", hint)
    with zipfile.ZipFile(io.BytesIO(raw)) as archive:
        wrong = _find_problem(archive, suffix, where)
        if wrong is not None:
            return wrong
        facts = _read_facts(archive)
    title = str(facts.pop("title", ""))
    converter: Any = (DocxConverter if suffix == ".docx" else PptxConverter)()
    text = converter.convert(io.BytesIO(raw), StreamInfo(extension=suffix)).markdown
    # The pictures are not there to be linked to; what their authors say of them is.
    text = _PICTURE.sub(_describe_picture, text)
    if suffix == ".pptx":
        slides = [tidy(slide) for slide in _SLIDE.split(text)[1:]]
        text = "\n\f\n".join(slides) if any(slides) else ""
        facts["pages"] = len(slides)
    else:
        text = tidy(text.replace("\f", "\n"))
    return ConvertedFile(text, first_heading(text) or title, facts)


def _find_problem(archive: zipfile.ZipFile, suffix: str, where: str) -> Problem | None:
    """Return why an archive is not to be unpacked: another format, or meant to fill memory.

    Python unpacks no more of a part than the directory says it has.
    """
    parts = archive.infolist()
    if not any(part.filename.startswith(_MAIN_FOLDER[suffix]) for part in parts):
        hint = f"save it as {suffix}, or give it its own suffix"
        return Problem(where, f"is no {suffix} inside", hint)
    xml = [part for part in parts if part.filename.lower().endswith((".xml", ".rels"))]
    size, of_xml = (sum(part.file_size for part in group) for group in (parts, xml))
    max_megabytes, max_xml_megabytes = (
        limits.MAX_ARCHIVE_BYTES >> 20,
        limits.MAX_ARCHIVE_XML_BYTES >> 20,
    )
    if (
        len(parts) > limits.MAX_ARCHIVE_PARTS
        or size > limits.MAX_ARCHIVE_BYTES
        or of_xml > limits.MAX_ARCHIVE_XML_BYTES
    ):
        message = f"unpacks to {len(parts)} parts, {size >> 20} MB, {of_xml >> 20} MB of them XML"
        bounds = f"{limits.MAX_ARCHIVE_PARTS}, {max_megabytes} and {max_xml_megabytes}"
        return Problem(where, message, f"divide it: {bounds} is the most that is converted")
    for part in xml:
        content = archive.read(part)
        if any(mark in content for mark in _DOCTYPE):
            message = f"{part.filename} declares a document type, which Office never does"
            return Problem(where, message, "its XML may be meant to do harm: leave it out")
    return None


def _read_facts(archive: zipfile.ZipFile) -> dict[str, Scalar]:
    """Return title and author, where the file's properties name them."""
    if _PROPERTIES_PART not in archive.namelist():
        return {}
    root = ElementTree.fromstring(archive.read(_PROPERTIES_PART))
    facts = {
        key: " ".join(
            tidy(root.findtext(f"{{http://purl.org/dc/elements/1.1/}}{name}") or "").split()
        )
        for key, name in (("title", "title"), ("author", "creator"))
    }
    return {key: text for key, text in facts.items() if text}


def _describe_picture(picture: re.Match[str]) -> str:
    """Return a picture's description; "" for the name that a program gave it."""
    description, target = picture.groups()
    file_name = re.sub(r"\W", "", description) + ".jpg" == target
    return "" if file_name else description
