"""The verbs: the only place that prints or exits."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from harness import __version__
from harness.errors import HarnessError

app = typer.Typer(
    help="Evaluate retrieval-augmented generation: which configuration to ship, and how sure.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

Config = Annotated[Path, typer.Argument(help="the configuration, a YAML file")]
Override = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="override a key; the value is read as YAML"),
]
Json = Annotated[bool, typer.Option("--json", help="print JSON, for machines")]


def main() -> None:
    """Run the command line; a user's mistake prints its message, and no traceback."""
    try:
        app()
    except HarnessError as error:
        print(error, file=sys.stderr)
        sys.exit(error.status)
    except BrokenPipeError:
        sys.exit(0)


@app.command()
def run(
    config: Config,
    overrides: Override = None,
    limit: Annotated[
        int | None, typer.Option(min=1, help="ask only the first so many questions")
    ] = None,
    json: Json = False,
) -> None:
    """Run a configuration: index, retrieve, answer, score, report."""
    from harness import runner, terminal
    from harness.config import load

    prepared = runner.prepare(load(config, overrides or ()), limit)
    with terminal.progress() as progress:
        try:
            finished = runner.run(prepared, progress)
        except KeyboardInterrupt:
            progress.stop()
            print("interrupted; the questions done are stored", file=sys.stderr)
            raise typer.Exit(130) from None
    print(terminal.as_json(finished) if json else terminal.summary(finished))


@app.command()
def validate(
    config: Config,
    overrides: Override = None,
    deep: Annotated[bool, typer.Option(help="also find the models, libraries and keys")] = False,
) -> None:
    """Check a configuration, its corpus and its test set: everything wrong, at once."""
    from harness import runner, terminal
    from harness.config import load

    prepared = runner.prepare(load(config, overrides or ()))
    if deep:
        runner.check_models(prepared)
    print(terminal.checked(prepared))


@app.command()
def report(folder: Annotated[Path, typer.Argument(metavar="RUN", help="a run's folder")]) -> None:
    """Render a stored run again."""
    from harness.report import write

    for path in write(folder):
        print(path)


@app.command("list")
def list_(
    family: Annotated[str | None, typer.Argument(help="one family, in full")] = None,
    markdown: Annotated[bool, typer.Option("--markdown", help="as the README's table")] = False,
) -> None:
    """List the components: names, parameters, and what they do."""
    from harness import catalogue

    if markdown:
        print(catalogue.table())
    else:
        print(catalogue.overview() if family is None else catalogue.details(family))


@app.command()
def schema(
    what: Annotated[str, typer.Argument(help="config, testset, run or records")] = "config",
) -> None:
    """Print the JSON schema of a file format."""
    from harness import catalogue

    print(catalogue.schema(what))


@app.command()
def init(folder: Annotated[Path, typer.Argument(metavar="DIR", help="a new folder")]) -> None:
    """Write a small project that `run` accepts as it is."""
    from harness import project

    for path in project.create(folder):
        print(path)
    print(f"\nNow run: python -m harness run {folder / 'config.yaml'}")


@app.callback(invoke_without_command=True)
def _options(
    version: Annotated[bool, typer.Option("--version", help="print the version")] = False,
) -> None:
    if version:
        print(__version__)
        raise typer.Exit
