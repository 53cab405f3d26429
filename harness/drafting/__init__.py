"""Questions drafted from documents by a chat model: drafts until a person has accepted them."""

from __future__ import annotations

import json
import tempfile
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness import config, corpus, importing, numbers, runtime, testset
from harness.cache import Cache
from harness.chat import ChatModel
from harness.chunkers import chunkers
from harness.config import RunConfig
from harness.corpus import Corpus
from harness.drafting import deck
from harness.drafting.categories import Category, chosen
from harness.drafting.deck import Deck
from harness.drafting.drafter import TRIES, Drafter
from harness.drafting.drafts import REASONS, Draft, Drafts
from harness.embedders import embedders
from harness.errors import ConfigError, HarnessError, RunError
from harness.generators import generators
from harness.newfiles import check_new, put
from harness.plan import Plan
from harness.records import Chunk
from harness.rerankers import rerankers
from harness.retrievers import retrievers
from harness.stages import Progress, Stages
from harness.sweep import Cell


@dataclass(frozen=True)
class Prepared:
    """All that drafting needs, read and checked: nothing is spent yet."""

    config: RunConfig
    corpus: Corpus
    chat: ChatModel
    questions: tuple[str, ...]
    seed: int
    notes: tuple[str, ...]


@dataclass(frozen=True)
class Written:
    """What drafting came to, and the file it is in."""

    path: Path
    drafts: Drafts
    by: str

    def account(self) -> str:
        """Return what was made, what was dropped and why, and what is left to do."""
        made = self.drafts.in_order()
        counts = Counter(each.question.category for each in made)
        drafted = f"{len(made)} of {numbers.count(self.drafts.wanted, 'question')}"
        dropped = sum(self.drafts.dropped.values())
        lines = [f"{drafted} drafted by {self.by}: {self.path}"]
        lines += [f"  {', '.join(f'{name} {count}' for name, count in counts.items())}"]
        lines += [f"  {numbers.count(self.drafts.tried, 'draft')} asked for, {dropped} dropped:"]
        lines += [
            f"  {self.drafts.dropped[reason]:>5}  {said}"
            for reason, said in REASONS.items()
            if self.drafts.dropped[reason]
        ]
        if len(made) < self.drafts.wanted:
            lines.append(f"  at most {TRIES} passages are tried for a question, and none twice")
        lines += ["Read them, change or delete what is wrong, then accept them:"]
        lines += [f"  python -m harness draft accept {self.path} --all"]
        return "\n".join(line for line in lines if line.strip())


def prepare(
    path: Path,
    overrides: Sequence[str] = (),
    seed: int | None = None,
    allow_outside: bool = False,
) -> Prepared:
    """Read a configuration and its corpus; a test set that is not there is no fault.

    `seed` draws the passages, in the place of the configuration's; `allow_outside` is that of
    `config.load`.

    Raises:
        InputError: with everything that is wrong with one of the files.
        HarnessError: the configuration names no chat model.
    """
    settings, note = _config(path, overrides, allow_outside)
    chat = settings.chat
    if chat is None:
        raise HarnessError(
            f"{path} has no chat model to draft with\n  name one: chat: {{model: provider:name}}, "
            "or --set chat=provider:name"
        )
    documents = corpus.load(settings.corpus, settings.cache)
    known = () if note else testset.load(settings.testset, documents).questions
    seed = settings.settings.seed if seed is None else seed
    return Prepared(
        settings,
        documents,
        chat,
        tuple(each.text for each in known),
        seed,
        (*((note,) if note else ()), *documents.remarks),
    )


def _config(path: Path, overrides: Sequence[str], allow_outside: bool) -> tuple[RunConfig, str]:
    """Return the configuration, and what is to be said where only its test set is missing."""
    try:
        return config.load(path, overrides, allow_outside=allow_outside), ""
    except ConfigError as error:
        with tempfile.NamedTemporaryFile(suffix=".jsonl") as none, suppress(ConfigError):
            options = [*overrides, f"testset={json.dumps(none.name)}"]
            found = config.load(path, options, allow_outside=allow_outside)
            return found, f"no test set to compare with: {error.problems[0].what}"
        raise


def run(
    prepared: Prepared,
    n: int,
    path: Path,
    names: Sequence[str] = (),
    force: bool = False,
    progress: Progress = lambda work, done, total: None,
) -> Written:
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
    runtime.keep_in(prepared.config.cache / "models")
    questions = prepared.questions
    if questions and path.exists() and path.samefile(prepared.config.testset.path):
        questions = ()  # it is about to be replaced
    with Cache(prepared.config.cache) as cache:
        stages = Stages(prepared.corpus, cache, _plan(prepared.config), (), progress)
        drafter, categories = _drafter(prepared, stages, names, questions)
        part = part_of(path)
        try:
            drafter.draft(n, categories, lambda done, total: progress("drafting", done, total))
        except (KeyboardInterrupt, HarnessError):
            if drafter.drafts.made:
                _write(part, drafter.drafts, prepared.chat)
            raise
    if not drafter.drafts.made:
        dropped = [f"  {times} x {REASONS[each]}" for each, times in drafter.drafts.dropped.items()]
        raise RunError("\n".join([f"no draft is left of {drafter.drafts.tried}:", *dropped]))
    _write(path, drafter.drafts, prepared.chat)
    part.unlink(missing_ok=True)
    return Written(path, drafter.drafts, prepared.chat.shown)


def part_of(path: Path) -> Path:
    """Return the file that holds the drafts of a command that was broken off."""
    return path.with_name(f"{path.stem}.part{path.suffix}")


def _plan(settings: RunConfig) -> Plan:
    return Plan(settings.settings, (), "evidence")


def _drafter(
    prepared: Prepared, stages: Stages, names: Sequence[str], questions: Sequence[str]
) -> tuple[Drafter, list[Category]]:
    used = [cell.embedder for cell in prepared.config.cells if cell.embedder is not None]
    hybrid = retrievers.build("hybrid")
    cell = Cell(
        chunkers.build({"sentence": {"size": deck.SIZE}}),
        used[0] if used else embedders.build("hashing"),
        hybrid,
        rerankers.build("none"),
        generators.build("none"),
    )
    searched = stages.searchable(cell)
    cards = Deck(searched, prepared.seed)
    if not cards.documents:
        what = f"has no passage of {deck.LEAST} to {deck.SIZE} characters to ask about"
        raise HarnessError(f"{prepared.config.corpus.path!r} {what}")
    documents = prepared.corpus.documents
    made = Drafter(prepared.chat, stages, cards, searched, hybrid, documents, questions)
    return made, chosen(names, cards.documents)


def _write(path: Path, drafts: Drafts, chat: ChatModel) -> None:
    rows = [_row(each, chat) for each in drafts.in_order()]
    put(path, "".join(f"{json.dumps(each, ensure_ascii=False)}\n" for each in rows))


def _row(draft: Draft, chat: ChatModel) -> dict[str, Any]:
    made_of = {"by": chat.shown, "passages": [_place(each) for each in draft.passages]}
    return {**importing.row(draft.question), "draft": True, "drafted": made_of}


def _place(chunk: Chunk) -> dict[str, Any]:
    return {"doc": chunk.span.doc, "start": chunk.span.start, "end": chunk.span.end}
