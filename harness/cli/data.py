"""Verbs that turn data of other tools into ours, and back."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, get_args

import typer

from harness.cli.noting import noted
from harness.cli.options import Force
from harness.errors import HarnessError, one_of
from harness.printable import printable

commands = typer.Typer()
_BREAKS = "\n\t\f"
_BROKEN = re.compile(f"([{_BREAKS}])")
"""What a document's text is shown with as it is: evidence is quoted from there."""


@commands.command("import")
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
    _refuse_options(
        form,
        {
            "--out": out,
            "--corpus": corpus,
            "--write-corpus": write_corpus,
            "--testset": testset,
            "--disagreements": None if disagreements == "error" else disagreements,
            "--run": run,
            "--cell": cell,
        },
    )
    if form == "labels":
        print(_labels([*map(Path, paths)], testset, out, corpus, disagreements, force))
    elif form == "ratings":
        print(_ratings([*map(Path, paths)], run, cell))
    else:
        _testset(form, paths, out, corpus, write_corpus, force)


_OPTIONS = {
    "labels": ("--testset", "--out", "--corpus", "--disagreements"),
    "ratings": ("--run", "--cell"),
}
"""Options that what is no test set takes; a test set takes those of neither but --out, --corpus."""


def _refuse_options(form: str, given: Mapping[str, object]) -> None:
    """Raise `HarnessError` for an option that says nothing about what is imported."""
    fits = _OPTIONS.get(form, ("--out", "--corpus", "--write-corpus"))
    for option, value in given.items():
        if value is not None and option not in fits:
            what = form if form in _OPTIONS else "a test set"
            raise HarnessError(f"{option} does not belong to {what}\n  leave it out")


def _testset(
    form: str,
    paths: Sequence[str],
    out: Path | None,
    corpus: str | None,
    write_corpus: Path | None,
    force: bool,
) -> None:
    from harness import importing

    if len(paths) > 1:
        raise HarnessError(f"a test set is one path, found {len(paths)}\n  import each by itself")
    if out is None:
        raise HarnessError("nothing says which file to write\n  name one: -o testset.jsonl")
    found = importing.read(form, paths[0], corpus)
    written = importing.write(found, out, write_corpus, force)
    print(importing.account(found))
    for each in written:
        print(each)
    noted(found.corpus.remarks)


def _labels(
    paths: Sequence[Path],
    testset: Path | None,
    out: Path | None,
    corpus: str | None,
    disagreements: str,
    force: bool,
) -> str:
    from harness import corpus as corpora
    from harness import named_corpus
    from harness.pools import reading
    from harness.pools.merging import import_labels
    from harness.sources import corpus_reader

    if testset is None:
        raise HarnessError("nothing says which test set the labels are for\n  name it: --testset T")
    settled = one_of(disagreements, "--disagreements", get_args(reading.Settled))
    documents = None
    if corpus is not None:
        spec = named_corpus.spec(corpus)
        documents = corpora.load(corpus_reader(spec, named_corpus.find))
    return import_labels(paths, testset, out, documents, settled, force)


def _ratings(paths: Sequence[Path], run: Path | None, cell: str | None) -> str:
    if run is None:
        raise HarnessError("nothing says which run was rated\n  name its folder: --run RUN")
    from harness.ratings.importing import import_files

    return import_files(paths, run, cell)


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
            text = "".join(
                part if part in _BREAKS else printable(part) for part in _BROKEN.split(each["text"])
            )
            print(f"==> {printable(each['id'])} <==\n{text}\n")
    noted(found.remarks)
