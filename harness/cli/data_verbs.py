"""Commands `import`, `export` and `extract`: convert data of other tools."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, get_args

import typer

from harness.cli.options import DATA, Force, RunFolder, print_notes
from harness.errors import HarnessError, one_of
from harness.text.escaping import make_printable

commands = typer.Typer()
_OPTIONS_BY_FORM = {
    "labels": ("--testset", "--out", "--corpus", "--disagreements"),
    "ratings": ("--run", "--cell"),
}
"""Options of what is no test set."""
_LINE_BREAKS = "\n\t\f"
_LINE_BREAK_PATTERN = re.compile(f"([{_LINE_BREAKS}])")
"""What a document's text is shown with as it is: evidence is quoted from there."""


@commands.command("import", rich_help_panel=DATA)
def import_(
    form: Annotated[
        str,
        typer.Argument(
            metavar="FORMAT",
            help="squad, or with options: 'trec(qrels=qrels.txt)'; or labels, or ratings",
        ),
    ],
    paths: Annotated[
        list[str],
        typer.Argument(
            metavar="PATH...", help="the test set in that format; of labels and ratings every file"
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", help="the .jsonl file to write; of labels by default TESTSET-judged"
        ),
    ] = None,
    corpus: Annotated[
        str | None,
        typer.Option(help="the corpus of its labels, as in a configuration; else PATH holds it"),
    ] = None,
    write_corpus: Annotated[
        Path | None, typer.Option(help="write the corpus too: a .jsonl file, or a folder")
    ] = None,
    testset: Annotated[
        Path | None, typer.Option(help="labels: the .jsonl test set that they are for")
    ] = None,
    disagreements: Annotated[
        str,
        typer.Option(help="labels: of several grades for one document take the lowest or highest"),
    ] = "error",
    run: Annotated[
        Path | None, typer.Option(metavar="RUN", help="ratings: the run that was rated")
    ] = None,
    cell: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="ratings: the cell that thumbs are about that name none"),
    ] = None,
    force: Force = False,
) -> None:
    """Turn a test set of another tool into ours; say what was kept, and what has no place.

    `labels` adds the grades of filled-in files of `pool` to a test set, `ratings` what people
    said in forms of `rate`, or by thumbs, to a run.
    """
    from harness.report import terminal
    from harness.report.document import Paragraph

    unset = {"error": None}
    options = {
        "--out": out,
        "--corpus": corpus,
        "--write-corpus": write_corpus,
        "--testset": testset,
        "--disagreements": unset.get(disagreements, disagreements),
        "--run": run,
        "--cell": cell,
    }
    fits = _OPTIONS_BY_FORM.get(form, ("--out", "--corpus", "--write-corpus"))
    for option, value in options.items():
        if value is not None and option not in fits:
            subject = form if form in _OPTIONS_BY_FORM else "a test set"
            raise HarnessError(f"{option} does not belong to {subject}\n  leave it out")
    files = [*map(Path, paths)]
    if form == "labels":
        text = _import_labels(files, testset, out, corpus, disagreements, force)
    elif form == "ratings":
        text = _import_ratings(files, run, cell)
    else:
        _import_testset(form, paths, out, corpus, write_corpus, force)
        return
    terminal.show([Paragraph(line, "path") for line in text.splitlines()])


def _import_testset(
    form: str,
    paths: Sequence[str],
    out: Path | None,
    corpus: str | None,
    write_corpus: Path | None,
    force: bool,
) -> None:
    from harness.report import terminal
    from harness.report.document import Fold, Paragraph
    from harness.testset import importing

    if len(paths) > 1:
        raise HarnessError(f"a test set is one path, found {len(paths)}\n  import each by itself")
    if out is None:
        raise HarnessError("nothing says which file to write\n  name one: -o testset.jsonl")
    imported = importing.read(form, paths[0], corpus)
    written = importing.write(imported, out, write_corpus, force)
    first, *others = importing.describe_import(imported)
    terminal.show([Fold(first, list(map(Paragraph, others)))])
    terminal.show_paths(written)
    print_notes(imported.corpus.remarks)


def _import_labels(
    paths: Sequence[Path],
    testset: Path | None,
    out: Path | None,
    corpus: str | None,
    disagreements: str,
    force: bool,
) -> str:
    from harness import corpus as corpora
    from harness.people.pool_labels import Settled, import_labels
    from harness.testset import named_corpus_reader

    if testset is None:
        raise HarnessError("nothing says which test set the labels are for\n  name it: --testset T")
    settled = one_of(disagreements, "--disagreements", get_args(Settled))
    documents = None
    if corpus is not None:
        documents = corpora.load(named_corpus_reader(corpus))
    return import_labels(paths, testset, out, documents, settled, force)


def _import_ratings(paths: Sequence[Path], run: Path | None, cell: str | None) -> str:
    if run is None:
        raise HarnessError("nothing says which run was rated\n  name its folder: --run RUN")
    from harness import api

    return api.import_ratings(paths, run, cell)


@commands.command(rich_help_panel=DATA)
def export(
    form: Annotated[str, typer.Argument(metavar="FORMAT", help="trec, csv, parquet or triplets")],
    folder: RunFolder,
    out: Annotated[Path, typer.Option("--out", "-o", help="the file; for trec, a folder")],
    chunks: Annotated[
        bool, typer.Option("--chunks", help="trec: rank chunks, in place of their documents")
    ] = False,
    force: Force = False,
) -> None:
    """Write a stored run for other tools: TREC runs, a table of scores, or triplets to train with.

    A model trained on triplets has seen these questions: judge it by others.
    """
    from harness.report import terminal
    from harness.store import exports
    from harness.store import reader as store

    terminal.show_paths(exports.export(store.load(folder), form, out, chunks, force))


@commands.command(rich_help_panel=DATA)
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
    from harness.report import terminal
    from harness.testset import extraction

    reader = extraction.reader(corpus)
    documents = extraction.read(reader)
    if out is not None:
        terminal.show_paths(extraction.write(documents, reader.path, out, force))
    else:
        for document in documents.converted_documents():
            text = "".join(
                part if part in _LINE_BREAKS else make_printable(part)
                for part in _LINE_BREAK_PATTERN.split(document["text"])
            )
            print(f"==> {make_printable(document['id'])} <==\n{text}\n")
    print_notes(documents.remarks)
