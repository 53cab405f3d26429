"""Commands `draft ...`: drafts of questions."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer
import typer.core

from harness.cli.notes import print_notes
from harness.cli.options import Config, Force, Override
from harness.errors import HarnessError


class _WithDefault(typer.core.TyperGroup):
    """A group whose first command, `config`, need not be named."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if args and args[0] not in (*self.commands, "--help"):
            args = ["config", *args]
        return super().parse_args(ctx, args)


commands = typer.Typer(
    cls=_WithDefault,
    help="Draft questions from documents: draft CONFIG, then draft accept FILE.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@commands.command("config")
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


@commands.command("accept")
def draft_accept(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="a test set, a .jsonl file")],
    ids: Annotated[
        list[str] | None, typer.Option("--id", help="a draft's id; may be given several times")
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="accept all drafts")] = False,
) -> None:
    """Take the mark off drafts that a person has read and found good."""
    from harness.draft.acceptance import accept

    if every == bool(ids):
        raise HarnessError("nothing says what to accept\n  name drafts: --id ID, or all: --all")
    accepted, left = accept(file, None if every else ids)
    print(f"{accepted} accepted, {left} still drafts: {file}")
