"""Drafts questions from documents with a chat model; a person accepts them."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from harness import corpus, testset
from harness.cache.folders import Cache
from harness.chunkers import chunkers
from harness.config import run_config
from harness.config.grid import Cell, RunPlan
from harness.config.resolved import RunConfig
from harness.corpus import Corpus
from harness.draft import passage_order
from harness.draft.draft_prompts import choose_categories
from harness.draft.drafter import REASONS, Drafter, Drafts
from harness.draft.passage_order import Deck
from harness.embedders import embedders
from harness.errors import ConfigError, HarnessError, RunError
from harness.files.new_files import check_new, write_file
from harness.generators import generators
from harness.models import runtime
from harness.models.chat import ChatModel
from harness.rerankers import rerankers
from harness.retrievers import retrievers
from harness.runs.artefacts import Artefacts, Progress
from harness.testset import importing


@dataclass(frozen=True)
class DraftInputs:
    """All that drafting needs, read and checked: nothing is spent yet."""

    config: RunConfig
    corpus: Corpus
    chat: ChatModel
    questions: tuple[str, ...]
    seed: int
    notes: tuple[str, ...]


@dataclass(frozen=True)
class WrittenDrafts:
    """What drafting came to, and the file it is in."""

    path: Path
    drafts: Drafts
    by: str


def prepare(
    path: Path,
    overrides: Sequence[str] = (),
    seed: int | None = None,
) -> DraftInputs:
    """Read a configuration and its corpus; a test set that is not there is no fault.

    `seed` draws the passages, in the place of the configuration's.

    Raises:
        InputError: with everything that is wrong with one of the files.
        HarnessError: the configuration names no chat model.
    """
    settings, note = _load_config(path, overrides)
    chat = settings.chat
    if chat is None:
        raise HarnessError(
            f"{path} has no chat model to draft with\n  name one: chat: {{model: provider:name}}, "
            "or --set chat=provider:name"
        )
    documents = corpus.load(settings.corpus, settings.cache)
    existing = () if note else testset.load(settings.testset, documents).questions
    seed = settings.settings.seed if seed is None else seed
    return DraftInputs(
        settings,
        documents,
        chat,
        tuple(question.text for question in existing),
        seed,
        (*((note,) if note else ()), *documents.remarks),
    )


def _load_config(path: Path, overrides: Sequence[str]) -> tuple[RunConfig, str]:
    """Return the configuration, and what is to be said where only its test set is missing."""
    try:
        return run_config.load(path, overrides), ""
    except ConfigError as error:
        with tempfile.NamedTemporaryFile(suffix=".jsonl") as none, suppress(ConfigError):
            options = [*overrides, f"testset={json.dumps(none.name)}"]
            config = run_config.load(path, options)
            return config, f"no test set to compare with: {error.problems[0].what}"
        raise


def run(
    prepared: DraftInputs,
    n: int,
    path: Path,
    names: Sequence[str] = (),
    force: bool = False,
    progress: Progress = lambda work, done, total: None,
) -> WrittenDrafts:
    """Draft `n` questions of the categories `names`, all if there are none, and write them.

    Replies are kept in the cache, so that the same command goes on where it was broken off; what
    there is by then is written beside `path`, with `part` in its name.

    Raises:
        HarnessError: the file is there already, or a model is not.
        RunError: the chat model replies no more, or nothing is left; the part is written.
        KeyboardInterrupt: on Ctrl-C; the part is written.
    """
    check_new([path], force)
    if path.suffix.lower() != ".jsonl":
        raise HarnessError(f"{str(path)!r} is no .jsonl file\n  name one: -o drafts.jsonl")
    prepared.chat.check()
    runtime.keep_in(prepared.config.cache)
    questions = prepared.questions
    if questions and path.exists() and path.samefile(prepared.config.testset.path):
        questions = ()  # it is about to be replaced
    with Cache(prepared.config.cache) as cache:
        plan = RunPlan(prepared.config.settings, (), "evidence")
        artefacts = Artefacts(prepared.corpus, cache, plan, (), progress)
        used = [cell.embedder for cell in prepared.config.cells if cell.embedder is not None]
        hybrid = retrievers.build("hybrid")
        cell = Cell(
            chunkers.build({"sentence": {"size": passage_order.MAX_WINDOW_CHARS}}),
            used[0] if used else embedders.build("hashing"),
            hybrid,
            rerankers.build("none"),
            generators.build("none"),
        )
        searched = artefacts.searchable(cell)
        deck = Deck(searched, prepared.seed)
        if not deck.documents:
            least, most = passage_order.MIN_WINDOW_CHARS, passage_order.MAX_WINDOW_CHARS
            raise HarnessError(
                f"{prepared.config.corpus.path!r} has no passage of {least} to {most} characters "
                "to ask about"
            )
        documents = prepared.corpus.documents
        chat = prepared.chat
        drafter = Drafter(chat, artefacts, deck, searched, hybrid, documents, questions)
        categories = choose_categories(names, deck.documents)
        part = part_path(path)
        try:
            drafter.draft(n, categories, lambda done, total: progress("drafting", done, total))
        except (KeyboardInterrupt, HarnessError):
            if drafter.drafts.by_number:
                _write(part, drafter.drafts, chat)
            raise
    if not drafter.drafts.by_number:
        dropped = [
            f"  {times} x {REASONS[reason]}" for reason, times in drafter.drafts.dropped.items()
        ]
        raise RunError("\n".join([f"no draft is left of {drafter.drafts.tried}:", *dropped]))
    _write(path, drafter.drafts, chat)
    part.unlink(missing_ok=True)
    return WrittenDrafts(path, drafter.drafts, chat.shown)


def part_path(path: Path) -> Path:
    """Return the file that holds the drafts of a command that was broken off."""
    return path.with_name(f"{path.stem}.part{path.suffix}")


def _write(path: Path, drafts: Drafts, chat: ChatModel) -> None:
    lines = []
    for draft in drafts.in_order():
        origin = {"by": chat.shown, "passages": [asdict(chunk.span) for chunk in draft.passages]}
        row = {**importing.format_row(draft.question), "draft": True, "drafted": origin}
        lines.append(f"{json.dumps(row, ensure_ascii=False)}\n")
    write_file(path, "".join(lines))
