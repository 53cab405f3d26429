"""Verbs that turn data of other tools into ours, and back."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from harness.cli.options import Force

if TYPE_CHECKING:
    from harness.corpus import Corpus

commands = typer.Typer()


@commands.command("import")
def import_(
    form: Annotated[
        str,
        typer.Argument(metavar="FORMAT", help="squad, or with options: 'trec(qrels=qrels.txt)'"),
    ],
    path: Annotated[str, typer.Argument(metavar="PATH", help="the test set in that format")],
    out: Annotated[Path, typer.Option("--out", "-o", help="the .jsonl file to write")],
    corpus: Annotated[
        str | None,
        typer.Option(help="the corpus of its labels, as in a configuration; else PATH holds it"),
    ] = None,
    write_corpus: Annotated[
        Path | None, typer.Option(help="write the corpus too: a .jsonl file, or a folder")
    ] = None,
    force: Force = False,
) -> None:
    """Turn a test set of another tool into ours; say what was kept, and what has no place."""
    from harness import importing

    found = importing.read(form, path, corpus)
    written = importing.write(found, out, write_corpus, force)
    print(importing.account(found))
    for each in written:
        print(each)
    _note(found.corpus)


@commands.command()
def export(
    form: Annotated[str, typer.Argument(metavar="FORMAT", help="trec, csv, parquet or triplets")],
    folder: Annotated[Path, typer.Argument(metavar="RUN", help="a run's folder")],
    out: Annotated[Path, typer.Option("--out", "-o", help="the file; for trec, a folder")],
    chunks: Annotated[
        bool, typer.Option("--chunks", help="trec: rank chunks, in place of their documents")
    ] = False,
    force: Force = False,
) -> None:
    """Write a stored run for other tools: TREC runs, a table of scores, or triplets to train with.

    A model trained on triplets has seen these questions: judge it by others.
    """
    from harness import exporting, store

    for each in exporting.export(store.load(folder), form, out, chunks, force):
        print(each)


@commands.command()
def extract(
    corpus: Annotated[
        str, typer.Argument(metavar="CORPUS", help="a folder or a file, or as in a configuration")
    ],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="FOLDER", help="write files there")
    ] = None,
    force: Force = False,
) -> None:
    """Show the text that PDF, Word, HTML and the like are read as: what evidence quotes."""
    from harness import extraction

    reader = extraction.reader(corpus)
    found = extraction.read(reader)
    if out is not None:
        for path in extraction.write(found, reader.path, out, force):
            print(path)
    else:
        for each in found.converted():
            print(f"==> {each['id']} <==\n{each['text']}\n")
    _note(found)


def _note(documents: Corpus) -> None:
    for remark in documents.remarks:
        print(f"note: {remark}", file=sys.stderr)
