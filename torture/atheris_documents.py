"""Bytes that grow towards what has not run yet, over what reads documents byte by byte.

python -m torture.atheris_documents markup -max_total_time=60    # one reader, libFuzzer's options
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from torture import grown
from torture.ordeal import Ordeal

_SEEDS: Mapping[str, bytes] = {
    "text": b"# A\n\nOne. Two.\n\n- x\n1. y\n\n| a |\n|---|\n\n```\ncode\n```\n> q\n",
    "markup": b"<div><p class='x'>a<li>b<!-- c --><script>d</script></p></div>",
    "corpus csv": b'sep=;\nid;text\n1;"x\n""y"\n',
    "corpus jsonl": b'{"id": "1", "text": "x", "metadata": {"a": 1}}\n',
    "page": b"<meta charset=latin-1><title>a &amp; b</title><p>c",
}


def text() -> Ordeal:
    """Let every reader be fuzzed in a process of its own; nothing where atheris is lacking."""
    return grown.ordeal("documents of strangers", "torture.atheris_documents", _SEEDS)


def _read(reader: str, folder: Path) -> Callable[[bytes], str | None]:
    """Return what hands bytes to a reader, and says what it broke."""
    from harness.corpus.converting import html_files
    from tests.fuzzing import documents
    from tests.fuzzing.promise import broken

    if reader.startswith("corpus "):
        suffix = f".{reader.removeprefix('corpus ')}"
        return lambda raw: documents.wrong(suffix, raw, folder)
    if reader == "page":
        return lambda raw: broken(
            lambda: html_files.find_title(str(html_files.decode(raw, "page")))
        )
    return lambda raw: documents.unsound(raw.decode("utf-8", "replace"))


if __name__ == "__main__":
    grown.fuzz(_read, ["harness"])
