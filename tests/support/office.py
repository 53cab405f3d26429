"""Small real PDF, Word and PowerPoint files, made from their parts."""

import io
import zipfile

import pptx

_WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_MAIN = "application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"
_DOCX = {
    "[Content_Types].xml": f'<Types xmlns="{_PACKAGE}/content-types">'
    '<Default Extension="rels" '
    'ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    f'<Override PartName="/word/document.xml" ContentType="{_MAIN}"/></Types>',
    "_rels/.rels": f'<Relationships xmlns="{_PACKAGE}/relationships">'
    f'<Relationship Id="r" Type="{_OFFICE}/officeDocument" Target="word/document.xml"/>'
    "</Relationships>",
    "word/styles.xml": f'<w:styles xmlns:w="{_WORD}"><w:style w:type="paragraph" '
    'w:styleId="Heading1"><w:name w:val="heading 1"/></w:style></w:styles>',
    "word/_rels/document.xml.rels": f'<Relationships xmlns="{_PACKAGE}/relationships">'
    f'<Relationship Id="s" Type="{_OFFICE}/styles" Target="styles.xml"/></Relationships>',
}


def pdf(*pages: str, title: str = "", author: str = "") -> bytes:
    """Return a PDF with a line of text for each line of each page."""
    font = "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"
    kids = " ".join(f"{5 + 2 * at} 0 R" for at in range(len(pages)))
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>",
        font,
        f"<< /Title ({title}) /Author ({author}) >>",
    ]
    for at, page in enumerate(pages):
        lines = "".join(f"({line}) Tj 0 -14 Td " for line in page.split("\n"))
        drawn = f"BT /F1 12 Tf 72 720 Td {lines}ET" if page else ""
        objects += [
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents {6 + 2 * at} 0 R "
            "/Resources << /Font << /F1 3 0 R >> >> >>",
            f"<< /Length {len(drawn)} >>\nstream\n{drawn}\nendstream",
        ]
    return assembled(objects)


def assembled(objects: list[str], trailer: str = "/Info 4 0 R") -> bytes:
    """Return the PDF that some objects make, numbered from 1; the first is its catalogue."""
    out, places = b"%PDF-1.4\n", []
    for number, content in enumerate(objects, start=1):
        places.append(len(out))
        out += f"{number} 0 obj\n{content}\nendobj\n".encode("latin-1")
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    size = len(objects) + 1
    end = f"trailer\n<< /Size {size} /Root 1 0 R {trailer} >>\nstartxref\n{len(out)}\n%%EOF\n"
    return out + f"xref\n0 {size}\n0000000000 65535 f \n{table}{end}".encode()


def docx(*blocks: str, **parts: str | bytes) -> bytes:
    """Return a Word file: `# X` is a heading, `a | b` a table of one row, else a paragraph.

    `parts` adds parts, or replaces some: `word__document_xml`, with `__` for / and `_` for a dot.
    """
    body = "".join(map(_block, blocks))
    main = f'<w:document xmlns:w="{_WORD}"><w:body>{body}</w:body></w:document>'
    named = {name.replace("__", "/").replace("_", "."): part for name, part in parts.items()}
    return zipped({**_DOCX, "word/document.xml": main, **named})


def _block(text: str) -> str:
    style = '<w:pPr><w:pStyle w:val="Heading1"/></w:pPr>' if text.startswith("# ") else ""
    if " | " in text:
        cells = "".join(f"<w:tc>{_block(cell)}</w:tc>" for cell in text.split(" | "))
        return f"<w:tbl><w:tr>{cells}</w:tr></w:tbl>"
    return f"<w:p>{style}<w:r><w:t>{text.removeprefix('# ')}</w:t></w:r></w:p>"


def properties(title: str, author: str) -> str:
    """Return the part `docProps/core.xml` of an Office file."""
    return (
        f'<c:coreProperties xmlns:c="{_PACKAGE}/metadata/core-properties" '
        'xmlns:dc="http://purl.org/dc/elements/1.1/">'
        f"<dc:title>{title}</dc:title><dc:creator>{author}</dc:creator></c:coreProperties>"
    )


def zipped(parts: dict[str, str | bytes]) -> bytes:
    """Return a ZIP archive of some files."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return out.getvalue()


def slides(*pages: tuple[str, str], notes: str = "") -> bytes:
    """Return a PowerPoint file with a slide for each title and text; the first has `notes`."""
    shown = pptx.Presentation()
    for title, text in pages:
        slide = shown.slides.add_slide(shown.slide_layouts[1])
        slide.shapes.title.text = title
        slide.placeholders[1].text = text
    if notes:
        shown.slides[0].notes_slide.notes_text_frame.text = notes
    out = io.BytesIO()
    shown.save(out)
    return out.getvalue()
