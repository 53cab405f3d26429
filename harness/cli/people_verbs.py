"""Commands `rate`, `pool` and `draft`: files for people to judge."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from harness.cli.options import (
    PEOPLE,
    CommandGroup,
    Config,
    Force,
    Override,
    RunFolder,
    print_notes,
)
from harness.errors import HarnessError
from harness.text import numbers

commands = typer.Typer()


class _WithDefault(CommandGroup):
    """A group whose first command, `config`, need not be named."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if args and args[0] not in (*self.commands, "-h", "--help"):
            args = ["config", *args]
        return super().parse_args(ctx, args)


draft_commands = typer.Typer(
    cls=_WithDefault,
    help="Draft questions from documents: draft CONFIG, then draft accept FILE.",
    no_args_is_help=True,
)


@commands.command(rich_help_panel=PEOPLE)
def rate(
    run: RunFolder,
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
    from harness.report import terminal
    from harness.report.document import Paragraph
    from harness.report.rating_page import render
    from harness.store import reader

    stored = reader.load(run)
    chosen = forms.choose_items(stored, n, raters, shared, cells or (), seed, metric)
    path = out or forms.form_path(stored, chosen)
    if out is not None:
        new_files.check_new([out], force)
    key = forms.write(stored, chosen, render(stored, chosen.key), path)
    print_notes(chosen.notes)
    what = f"{key}: what is behind each item; keep it with the run, and from those who rate"
    then = f"then: python -m harness import ratings FILE... --run {run}"
    lines = (f"{path}: {chosen.summary()}", what, then)
    terminal.show([Paragraph(line, "path") for line in lines])


@commands.command(rich_help_panel=PEOPLE)
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
    from harness.report import terminal
    from harness.report.document import Paragraph
    from harness.store import reader

    pools.check_path(out)
    items = pools.collect([reader.load(run) for run in dict.fromkeys(runs)], k, seed)
    lines = [f"every document in the top {k} is judged: nothing to write"]
    if items:
        pools.write(items, out, force)
        questions = numbers.count(len({item.id for item in items}), "question")
        lines = [
            f"{out}: {numbers.count(len(items), 'document')} to judge, for {questions}",
            f"fill in `grade`, then: python -m harness import labels {out} --testset TESTSET",
        ]
    terminal.show([Paragraph(line, "path") for line in lines])


@draft_commands.command("config")
def draft_config(
    config: Config,
    overrides: Override = None,
    n: Annotated[int, typer.Option("--n", min=1, help="how many questions")] = 50,
    out: Annotated[Path, typer.Option("--out", "-o", help="the .jsonl file to write")] = Path(
        "drafts.jsonl"
    ),
    categories: Annotated[
        str | None,
        typer.Option(metavar="NAMES", help="with commas between them; else all are drafted"),
    ] = None,
    seed: Annotated[
        int | None, typer.Option(min=0, help="draws the passages; else the configuration's")
    ] = None,
    force: Force = False,
) -> None:
    """Draft questions by the configuration's chat model (the default: `draft CONFIG`).

    Drafting that was broken off is continued by the same command.
    """
    from harness import draft
    from harness.report import draft_blocks, terminal

    names = [name.strip() for name in (categories or "").split(",") if name.strip()]
    prepared = draft.prepare(config, overrides or (), seed)
    print_notes(prepared.notes)
    with terminal.progress() as progress:
        try:
            written = draft.run(prepared, n, out, names, force, progress)
        except KeyboardInterrupt:
            progress.stop()
            part = draft.part_path(out)
            outcome = f"the drafts made are in {part}" if part.exists() else "no draft was finished"
            print(f"interrupted; {outcome}, and the same command continues", file=sys.stderr)
            raise typer.Exit(130) from None
    terminal.show(list(draft_blocks.written(written)))


@draft_commands.command("accept")
def draft_accept(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="a test set, a .jsonl file")],
    ids: Annotated[
        list[str] | None, typer.Option("--id", help="a draft's id; may be given several times")
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="accept all drafts")] = False,
) -> None:
    """Take the mark off drafts that a person has read and found good."""
    from harness.draft.acceptance import accept
    from harness.report import terminal
    from harness.report.document import Paragraph

    if every == bool(ids):
        raise HarnessError("nothing says what to accept\n  name drafts: --id ID, or all: --all")
    accepted, left = accept(file, None if every else ids)
    terminal.show([Paragraph(f"{accepted} accepted, {left} still drafts: {file}", "path")])
