"""Commands `rate` and `pool`: files for people to judge."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from harness.cli.notes import print_notes
from harness.cli.options import Force

commands = typer.Typer()


@commands.command()
def rate(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="a run's folder")],
    n: Annotated[int, typer.Option("--n", min=1, help="how many items the form has")] = 50,
    raters: Annotated[int, typer.Option(min=1, max=99, help="how many people share them")] = 1,
    shared: Annotated[
        float, typer.Option(min=0, max=1, help="the share of items that two people rate")
    ] = 0.2,
    cells: Annotated[
        list[str] | None,
        typer.Option("--cell", metavar="NAME", help="only this cell; may be given several times"),
    ] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="draws the items; else the run's")] = None,
    metric: Annotated[
        str | None,
        typer.Option("--for", metavar="METRIC", help="label a judge's metric: --n questions"),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="the .html file; else in the run's folder")
    ] = None,
    force: Force = False,
) -> None:
    """Write a form in which people rate answers and chunks without seeing whose they are."""
    from harness.files import new_files
    from harness.people import rating_forms as forms
    from harness.report.rating_page import render
    from harness.store import reader

    stored = reader.load(run)
    chosen = forms.choose_items(stored, n, raters, shared, cells or (), seed, metric)
    path = out or forms.form_path(stored, chosen)
    if out is not None:
        new_files.check_new([out], force)
    key = forms.write(stored, chosen, render(stored, chosen.key), path)
    print_notes(chosen.notes)
    print(f"{path}: {chosen.summary()}")
    print(f"{key}: what is behind each item; keep it with the run, and from those who rate")
    print(f"then: python -m harness import ratings FILE... --run {run}")


@commands.command()
def pool(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="folders of runs")],
    out: Annotated[Path, typer.Option("--out", "-o", help="the .jsonl or .csv file to write")],
    k: Annotated[int, typer.Option("--k", min=1, help="how many documents of each ranking")] = 10,
    seed: Annotated[int, typer.Option(help="draws the order")] = 0,
    force: Force = False,
) -> None:
    """Write what nobody judged in the top k of several runs, for people to judge.

    In random order, and without scores, ranks, runs or cells.
    """
    from harness.people import pool as pools
    from harness.store import reader
    from harness.text import numbers

    pools.check_path(out)
    items = pools.collect([reader.load(run) for run in dict.fromkeys(runs)], k, seed)
    if not items:
        print(f"every document in the top {k} is judged: nothing to write")
        return
    pools.write(items, out, force)
    questions = numbers.count(len({item.id for item in items}), "question")
    print(f"{out}: {numbers.count(len(items), 'document')} to judge, for {questions}")
    print(f"fill in `grade`, then: python -m harness import labels {out} --testset TESTSET")
