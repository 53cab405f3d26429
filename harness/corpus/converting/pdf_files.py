"""Convert PDF to text by PDFium, with a form feed between two pages."""

from __future__ import annotations

import re
from contextlib import closing

from harness import limits
from harness.corpus.converting import ConvertedFile, tidy
from harness.errors import Problem
from harness.records import Scalar

_MAGIC = b"%PDF-"
_HYPHEN = re.compile(r"\x02(.?)")
"""PDFium's mark for a hyphen between letters at the end of a line, which it joins to the next."""
PAGE_BREAK = "\n\f\n"


def convert(raw: bytes, suffix: str, where: str) -> ConvertedFile | Problem:
    """Return the pages' text in reading order; page n is what follows form feed n - 1."""
    import pypdfium2  # type: ignore[import-untyped]

    if _MAGIC not in raw[:1024]:
        return Problem(where, "is no PDF inside", "save it as PDF, or give it its own suffix")
    try:
        with closing(pypdfium2.PdfDocument(raw)) as pdf:
            about = pdf.get_metadata_dict()
            if len(pdf) > limits.MAX_PDF_PAGES:
                bound = f"{limits.MAX_PDF_PAGES} is the most that is converted"
                message = f"has {len(pdf)} pages, and {bound}"
                return Problem(where, message, "divide it, or leave it out: on_error: skip")
            pages: list[str] = []
            length = 0
            for page in pdf:
                with closing(page), closing(page.get_textpage()) as text_page:
                    pages.append(tidy(_HYPHEN.sub(_join_hyphen, text_page.get_text_bounded())))
                length += len(pages[-1])
                if length > limits.MAX_PDF_CHARS:
                    message = f"holds more than {limits.MAX_PDF_CHARS >> 20} million characters"
                    return Problem(where, message, "divide it, or leave it out: on_error: skip")
    except pypdfium2.PdfiumError as error:
        if error.err_code == pypdfium2.raw.FPDF_ERR_PASSWORD:
            return Problem(where, "is encrypted", "save it without a password")
        raise
    facts: dict[str, Scalar] = {"pages": len(pages)}
    if author := tidy(about.get("Author", "")):
        facts["author"] = author
    title = " ".join(tidy(about.get("Title", "")).split())
    return ConvertedFile(PAGE_BREAK.join(pages) if any(pages) else "", title, facts)


def _join_hyphen(hyphen: re.Match[str]) -> str:
    """Return what follows a hyphen, with it where no word is divided so: COVID-19, non-English.

    Before a small letter it mostly divides a word; that it belongs to one, nothing says.
    """
    return hyphen[1] if hyphen[1].islower() else f"-{hyphen[1]}"
