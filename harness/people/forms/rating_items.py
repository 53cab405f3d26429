"""Samples the answers that a rating form shows, and assigns them to raters: the form's key.

Pure: the same run, wishes and seed give the same key on every machine.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace

import numpy as np

from harness.errors import HarnessError
from harness.fingerprint import fingerprint
from harness.people.rating_records import FormFile, FormItem
from harness.records import ContextCut, Outcome, Span, SpanKey
from harness.store.cell_labels import find_cell, parts_of
from harness.store.frame import Codes
from harness.store.reader import StoredRun
from harness.text import numbers

_MIN_ITEMS_PER_CELL = 10
"""Items of a cell under which the form says that they are few."""


@dataclass(frozen=True)
class FormRequest:
    """What a form is to have: `n` items, dealt out to `raters`, a share of them to two each.

    No `cells`: all. No `seed`: the run's.
    """

    n: int = 50
    raters: int = 1
    shared: float = 0.2
    cells: Sequence[str] = ()
    seed: int | None = None


@dataclass(frozen=True)
class Chosen:
    """The key to a form, and what a reader of it should know."""

    key: FormFile
    cells: Mapping[str, int]
    """How many items each cell has; those that gave the same share an item."""
    wished: int
    failed: int
    """Records that were left out because they failed."""
    unanswered: int
    """Records that were left out because they have no answer."""

    def summary(self) -> str:
        """Return what the form has, in a line."""
        items, raters = self.key.items, range(1, self.key.raters + 1)
        n_questions = len({line.question for line in items})
        text = f"{numbers.count(len(items), 'item')}, {numbers.count(n_questions, 'question')} in "
        text += numbers.count(sum(map(bool, self.cells.values())), "cell")
        if len(raters) == 1:
            return text
        counts = ", ".join(str(sum(rater in line.raters for line in items)) for rater in raters)
        twice = sum(len(line.raters) > 1 for line in items)
        return f"{text}; raters 1 to {len(raters)} have {counts}, two people rate {twice} of them"

    def notes(self) -> Iterator[str]:
        """Yield what a reader should know about the items."""
        if self.failed or self.unanswered:
            reasons = [(self.failed, "failed"), (self.unanswered, "have no answer")]
            text = ", ".join(f"{count} {why}" for count, why in reasons if count)
            yield f"left out of what could be drawn: {text}"
        if len(self.key.items) < self.wished:
            yield f"there is no more to rate than {numbers.count(len(self.key.items), 'item')}"
        fewest = min(self.cells.values())
        if fewest < _MIN_ITEMS_PER_CELL:
            cells = len(self.cells)
            yield (
                f"the cell with the fewest has {numbers.count(fewest, 'item')}, too few to tell "
                f"{numbers.count(cells, 'cell')} apart: raise --n"
                + (", or name fewer cells: --cell" if cells > 2 else "")
            )


@dataclass(frozen=True)
class _DrawnAnswer:
    """One answer to a question from the same chunks, and the cells that gave it."""

    question: str
    answer: str
    chunks: frozenset[SpanKey]
    cells: tuple[str, ...]


def choose_items(stored: StoredRun, wishes: FormRequest) -> Chosen:
    """Return the items of a form about a run.

    Whole questions are drawn, so that cells are compared over the same ones: first those that all
    cells answered. Of the last, as many items as there is room for. A question's items go to the
    same rater, and what is shared to one more.

    Raises:
        HarnessError: no such cell, nothing to rate, or too little for so many raters.
    """
    names = _cell_names(stored, wishes.cells)
    seed = stored.run.provenance.seed if wishes.seed is None else wishes.seed
    columns = stored.frame
    cell_numbers = [number for number, cell in enumerate(stored.run.cells) if cell.name in names]
    indexes = np.flatnonzero(np.isin(columns.cell, cell_numbers))
    answered = indexes[~columns.failed[indexes] & columns.answered[indexes]]
    if not len(answered):
        raise HarnessError(
            f"run {stored.run.id!r} has no answer to rate\n"
            "  a run with a generator has them: add generators to its configuration"
        )
    drawn = _draw_answers(stored, answered, len(names), wishes.n, seed)
    items = _build_items(stored.run.id, drawn, seed)
    raters = _assign_raters(items, wishes, seed)
    ordered = sorted(items, key=lambda item: fingerprint("shown", seed, item.item))
    lines = [replace(item, raters=tuple(raters[item.item])) for item in ordered]
    dumped = [asdict(line) for line in lines]
    key = FormFile(
        id=fingerprint("form", stored.run.id, dumped, wishes.raters)[:10],
        run=stored.run.id,
        seed=seed,
        raters=wishes.raters,
        items=tuple(lines),
    )
    failed = int(columns.failed[indexes].sum())
    return Chosen(
        key,
        {name: sum(name in line.cells for line in lines) for name in names},
        wishes.n,
        failed,
        len(indexes) - len(answered) - failed,
    )


def context_spans(stored: StoredRun, record: Outcome) -> tuple[SpanKey, ...]:
    """Return the chunks that the context has, each once, best rank first.

    Where its text cannot be told by the chunks, as a system's, those are taken that would fit.
    """
    cut = record.context
    if isinstance(cut, ContextCut):
        count = 0 if cut == ContextCut(1, 0) else cut.hits
    else:
        count = stored.run.config.get("resolved", {}).get("context", {}).get("chunks")
    return tuple(dict.fromkeys((hit.doc, hit.start, hit.end) for hit in record.hits[:count]))


def _cell_names(stored: StoredRun, requested: Sequence[str]) -> list[str]:
    cells = {cell.name: parts_of(cell) for cell in stored.run.cells}
    names = [find_cell(name, cells, str(stored.folder)) for name in requested]
    return [name for name in cells if not names or name in names]


def _draw_answers(
    stored: StoredRun, answered: Codes, cells: int, n: int, seed: int
) -> list[_DrawnAnswer]:
    ids = list(stored.questions)
    by_question: dict[str, list[int]] = defaultdict(list)
    for index, number in zip(
        answered.tolist(), stored.frame.question[answered].tolist(), strict=True
    ):
        by_question[ids[number]].append(index)
    order = sorted(
        by_question,
        key=lambda id_: (len(by_question[id_]) < cells, fingerprint("rate", seed, id_)),
    )
    drawn: list[_DrawnAnswer] = []
    per_cell: Counter[str] = Counter()
    for id_ in order:
        if (room := n - len(drawn)) <= 0:
            break
        answers = _distinct_answers(stored, stored.records_at(np.array(by_question[id_])))
        fewest = {answer: min(per_cell[cell] for cell in answer.cells) for answer in answers}
        answers.sort(
            key=lambda answer: (fewest[answer], fingerprint("of", seed, id_, answer.cells))
        )
        for answer in answers[:room]:
            drawn.append(answer)
            per_cell.update(answer.cells)
    return drawn


def _distinct_answers(stored: StoredRun, records: Iterable[Outcome]) -> list[_DrawnAnswer]:
    cells: dict[tuple[str, str, frozenset[SpanKey]], list[str]] = defaultdict(list)
    for record in records:
        chunks = frozenset(context_spans(stored, record))
        cells[record.question, record.answer or "", chunks].append(record.cell)
    return [_DrawnAnswer(*key, tuple(cell_names)) for key, cell_names in cells.items()]


def _build_items(run: str, drawn: Iterable[_DrawnAnswer], seed: int) -> list[FormItem]:
    items = []
    for answer in drawn:
        id_ = fingerprint("item", run, seed, answer.question, answer.cells)[:10]
        spans = sorted(answer.chunks, key=lambda span: fingerprint("chunk", seed, id_, span))
        items.append(
            FormItem(
                item=id_,
                cells=answer.cells,
                question=answer.question,
                chunks=tuple(Span(*span) for span in spans),
                raters=(),
            )
        )
    return items


def _assign_raters(
    items: Sequence[FormItem], wishes: FormRequest, seed: int
) -> dict[str, list[int]]:
    """Return who rates each item: by whole questions, so that a rater compares its cells."""
    by_question: dict[str, list[str]] = defaultdict(list)
    for item in items:
        by_question[item.question].append(item.item)
    if len(by_question) < wishes.raters:
        raise HarnessError(
            f"{numbers.count(len(items), 'item')} of {numbers.count(len(by_question), 'question')} "
            f"are too few for {wishes.raters} raters\n  ask for more items: --n"
        )
    load = dict.fromkeys(range(1, wishes.raters + 1), 0)
    assigned: dict[str, list[int]] = {}
    for ids in by_question.values():
        rater = min(load, key=load.__getitem__)
        load[rater] += len(ids)
        assigned |= {id_: [rater] for id_ in ids}
    if wishes.raters > 1:
        for id_ in _draw_shared(assigned, wishes.shared, seed):
            others = [rater for rater in load if rater not in assigned[id_]]
            second = min(others, key=load.__getitem__)
            load[second] += 1
            assigned[id_] = sorted([*assigned[id_], second])
    return assigned


def _draw_shared(ids: Iterable[str], share: float, seed: int) -> list[str]:
    permuted = sorted(ids, key=lambda id_: fingerprint("shared", seed, id_))
    return permuted[: int(share * len(permuted) + 0.5)]
