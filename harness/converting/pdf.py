"""PDF: the text of each page, by PDFium, with a form feed between two pages."""

from __future__ import annotations

import re
from contextlib import closing

from harness.converting import Converted, tidied
from harness.errors import Problem
from harness.records import Scalar

_MAGIC = b"%PDF-"
_MOST_PAGES = 20_000
_LONGEST = 1 << 27
"""Characters, as a small file can say the same page over and over."""
_HYPHEN = re.compile(r"\x02(.?)")
"""PDFium's mark for a hyphen between letters at the end of a line, which it joins to the next."""
PAGE_BREAK = "\n\f\n"


def convert(raw: bytes, suffix: str, where: str) -> Converted | Problem:
    """Return the pages' text in reading order; page n is what follows form feed n - 1."""
    import pypdfium2  # type: ignore[import-untyped]

    if _MAGIC not in raw[:1024]:
        return Problem(where, "is no PDF inside", "save it as PDF, or give it its own suffix")
    try:
        with closing(pypdfium2.PdfDocument(raw)) as pdf:
            about = pdf.get_metadata_dict()
            if len(pdf) > _MOST_PAGES:
                what = f"has {len(pdf)} pages, and {_MOST_PAGES} is the most that is converted"
                return Problem(where, what, "divide it, or leave it out: on_error: skip")
            pages: list[str] = []
            length = 0
            for page in pdf:
                with closing(page), closing(page.get_textpage()) as shown:
                    pages.append(tidied(_HYPHEN.sub(_joined, shown.get_text_bounded())))
                length += len(pages[-1])
                if length > _LONGEST:
                    what = f"holds more than {_LONGEST >> 20} million characters"
                    return Problem(where, what, "divide it, or leave it out: on_error: skip")
    except pypdfium2.PdfiumError as error:
        if error.err_code == pypdfium2.raw.FPDF_ERR_PASSWORD:
            return Problem(where, "is encrypted", "save it without a password")
        raise
    facts: dict[str, Scalar] = {"pages": len(pages)}
    if author := tidied(about.get("Author", "")):
        facts["author"] = author
    title = " ".join(tidied(about.get("Title", "")).split())
    return Converted(PAGE_BREAK.join(pages) if any(pages) else "", title, facts)


def _joined(hyphen: re.Match[str]) -> str:
    """Return what follows a hyphen, with it where no word is divided so: COVID-19, non-English.

    Before a small letter it mostly divides a word; that it belongs to one, nothing says.
    """
    return hyphen[1] if hyphen[1].islower() else f"-{hyphen[1]}"
