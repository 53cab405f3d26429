"""Documents of strangers: sound files of every kind, mutated at the level their format has."""

from __future__ import annotations

import io
import random
import re
import warnings
import zipfile
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from harness.chunkers import chunkers
from harness.corpus import load, readers
from harness.corpus.converting import FORMATS, convert
from harness.text.headings import heading_trails
from harness.text.markup import find_tags
from harness.text.sentences import find_sentences
from tests.fuzzing.promise import broken
from tests.fuzzing.texts import NASTY
from tests.support.office import docx, pdf, slides

_PAGE = (
    b"<!DOCTYPE html><html><head><meta charset=utf-8><title>Moon &amp; sky</title></head><body>"
    b"<h1>Moon</h1><p>It has <b>no</b> air.<ul><li>a<li>b</ul><table><tr><th>x<td colspan=2>y"
    b"</table><script>1</script><!-- c --><img src=x alt=y></body></html>"
)
_TEXT = (
    "# Moon\n\nNo air. See 1.2:\n\n- a\n- b\n\n| x | y |\n|---|---|\n| 1 | 2 |\n\n```\ncode\n```\n"
)
SOUND: Mapping[str, bytes] = {
    ".pdf": pdf("One.\nTwo.", "Three.", title="T", author="A"),
    ".docx": docx("# Moon", "No air.", "a | b", "end"),
    ".pptx": slides(("Moon", "No air."), ("Mars", "Two moons."), notes="said"),
    ".html": _PAGE,
    ".csv": b'id,title,text\n1,a,"x ""y""\nz"\n2,b,c\n',
    ".tsv": b"sep=;\nid;text\n1;x\n",
    ".md": _TEXT.encode(),
    ".txt": _TEXT.encode(),
    ".jsonl": b'{"id": "1", "title": "t", "text": "x", "metadata": {"a": 1}}\n{"_id": 2}\n',
    ".json": b'{"data": [{"title": "t", "paragraphs": [{"context": "c", "qas": []}]}]}',
}  # fmt: skip
_READER = {".csv": "csv", ".tsv": "csv", ".jsonl": "jsonl", ".json": "squad"}
_PIECES = tuple(each.encode("utf-8", "surrogatepass") for each in NASTY)
_MARKS = (
    b"<", b">", b"</", b"<!--", b"-->", b"<![CDATA[", b"<script>", b"</title>", b"<div>" * 300,
    b"&#0;", b"&#xD800;", b"&#x110000;", b"<meta charset=utf-7>", b"```", b"# ", b"|", b"> " * 50,
    b"\xff\xfe", b"\r", b"\f", "\u0301\u0323".encode() * 200, b'"', b"%PDF-", b"endobj",
    b"stream\n", b"0 R", b"<<",
)  # fmt: skip
_NUMBER = re.compile(rb"\d+")
_CHUNKERS = ("fixed", "sentence", "markdown", "html", "recursive", "code", "token", "page", "whole")


def case(suffix: str, seed: int, number: int) -> bytes:
    """Return one mutated file; the same one for the same seed and number."""
    draw = random.Random(f"{suffix} {seed} {number}")
    found = SOUND[suffix]
    for _ in range(draw.choice([1, 1, 2, 4])):
        found = draw.choice(_WAYS.get(suffix, (_bytes,)))(found, draw)
    return found


def _bytes(raw: bytes, draw: random.Random) -> bytes:
    at = draw.randrange(len(raw) + 1)
    until = min(len(raw), at + draw.choice([0, 0, 1, 4, 30, 300]))
    put = (b"", draw.randbytes(3), draw.choice(_PIECES), draw.choice(_MARKS), raw[at : at + 60] * 3)
    return raw[:at] + draw.choice(put) + (b"" if draw.random() < 0.05 else raw[until:])


def _numbers(raw: bytes, draw: random.Random) -> bytes:
    """Change one of the numbers of a PDF: a reference, a length, a count, a place."""
    found = list(_NUMBER.finditer(raw))
    if not found:
        return raw
    at = draw.choice(found)
    new = draw.choice(
        [b"0", b"-1", b"1", b"3", b"2147483647", b"99999999999", draw.choice(found)[0]]
    )
    return raw[: at.start()] + new + raw[at.end() :]


def _entries(raw: bytes, draw: random.Random) -> bytes:
    """Change one part of an archive, its name, its presence or how it is packed."""
    try:
        with zipfile.ZipFile(io.BytesIO(raw)) as archive:
            parts = [(each.filename, archive.read(each)) for each in archive.infolist()]
    except (zipfile.BadZipFile, zlib.error, OSError, RuntimeError, ValueError, NotImplementedError):
        return _bytes(raw, draw)
    at = draw.randrange(len(parts))
    name, content = parts[at]
    ways: tuple[Callable[[], Any], ...] = (
        lambda: parts.__setitem__(at, (name, _bytes(content, draw))),
        lambda: parts.__setitem__(at, (name, _nested(content, draw))),
        lambda: parts.__setitem__(at, (name, draw.choice(parts)[1])),
        lambda: parts.__setitem__(at, (draw.choice(["../x", "/x", "a\nb", name.upper()]), content)),
        lambda: parts.append((name, _bytes(content, draw))),
        lambda: parts.pop(at),
    )
    draw.choice(ways)()
    out = io.BytesIO()
    how = draw.choice([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # two parts of one name are what is wanted
        with zipfile.ZipFile(out, "w", how) as archive:
            for each, part in parts:
                archive.writestr(each, part)
    return out.getvalue()


def _nested(xml: bytes, draw: random.Random) -> bytes:
    """Put an element of a part into itself, or a number in the place of another."""
    found = list(re.finditer(rb"<([\w:]+)[^<>]*>", xml))
    if not found or draw.random() < 0.4:
        return _numbers(xml, draw)
    at = draw.choice(found)
    many = draw.choice([1, 2, 300])
    return xml[: at.start()] + at[0] * many + xml[at.start() :] + b"</" + at[1] + b">" * many


_WAYS: Mapping[str, tuple[Callable[[bytes, random.Random], bytes], ...]] = {
    ".pdf": (_bytes, _numbers),
    ".docx": (_bytes, _entries, _entries),
    ".pptx": (_bytes, _entries, _entries),
}


def wrong(suffix: str, raw: bytes, folder: Path, worker: Any = None) -> str | None:
    """Return what reading a file broke of the promise, or None.

    A document that comes out is text of characters, and every chunker cuts it in order and leaves
    out no visible character.
    """
    path = folder / f"file{suffix}"
    path.write_bytes(raw)
    convertible = convert if worker is None else worker.convert

    def read() -> Any:
        if suffix in FORMATS and suffix not in _READER:
            found = convertible(raw, suffix, "file")
            return [getattr(found, "text", ""), getattr(found, "title", "")]
        reader = readers.build({_READER.get(suffix, "folder"): str(path)})
        return [
            part for each in load(reader).documents.values() for part in (each.text, each.title)
        ]

    said = broken(read)
    if said is not None:
        return said
    texts: list[str] = []
    broken(lambda: texts.extend(read()))
    return next(filter(None, map(unsound, texts)), None)


def unsound(text: str) -> str | None:
    """Return what our own readers of text make of it that they must not."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return "half of a surrogate pair came out"
    ways: dict[str, Callable[[], Any]] = {
        "sentences": lambda: list(find_sentences(text)),
        "headings": lambda: heading_trails(text),
        "tags": lambda: [each.name for each in find_tags(text)],
    }
    for name in _CHUNKERS:
        ways[name] = lambda name=name: _cut(name, text)
    for name, way in ways.items():
        if (said := broken(way)) is not None:
            return f"{name}: {said} of {text[:200]!a}"
    return None


def _cut(name: str, text: str) -> None:
    found = list(chunkers.build(name).split(text))
    assert all(0 <= start < end <= len(text) for start, end in found), "a chunk lies outside"
    assert found == sorted(found), "chunks are out of order"
    done = 0
    for start, end in found:
        assert not text[done:start].strip(), "a visible character is left out"
        done = max(done, end)
    assert not text[done:].strip(), "the end is left out"
