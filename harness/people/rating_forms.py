"""Rating forms: which answers people rate, by whom, and the key that maps items to cells.

The choice is pure: the same run, wishes and seed give the same key on every machine.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np

from harness.errors import HarnessError, suggest
from harness.files import checksums
from harness.files.new_files import write_file
from harness.fingerprint import fingerprint
from harness.people.ratings import ASPECT_OF_METRIC
from harness.records import ContextCut, Outcome, Span, SpanKey, Whole
from harness.registry import parse
from harness.stats.corrected_mean import labels_saved
from harness.store.cell_labels import find_cell, parts_of
from harness.store.reader import StoredRun
from harness.store.record_format import RecordFormat
from harness.text import numbers

FORMS = "forms"
"""The folder of a run that holds the keys of its forms."""
_MIN_ITEMS_PER_CELL = 10
"""Items of a cell under which the form says that they are few."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FormItem:
    """One item of a form, and what stands behind it; the form itself says nothing of cells."""

    item: str
    cells: tuple[str, ...]
    """All that gave this answer from these chunks."""
    question: str
    chunks: tuple[Span, ...]
    """In the order shown, which is not their rank."""
    raters: tuple[Whole, ...]
    """The numbers of those who are to rate it, from 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FormFile:
    """`forms/<id>.json`: the key to a rating form that was written from a run."""

    schema: Literal[1] = 1
    id: str
    run: str
    seed: int
    raters: Whole
    items: tuple[FormItem, ...]
    metric: str = ""
    """The judge metric that the form is for; empty: none."""
    drawn: str = "random"
    """How the items were chosen: `random`, or `rate:SEED` by the judge's grades."""
    sum: str | None = None
    """The SHA-256 of all the rest."""


FORM_KEYS = RecordFormat(FormFile)


@dataclass(frozen=True)
class Chosen:
    """The key to a form, and what a reader of it should know."""

    key: FormFile
    cells: Mapping[str, int]
    """How many items each cell has; those that gave the same share an item."""
    notes: Sequence[str]

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


def choose_items(
    stored: StoredRun,
    n: int = 50,
    raters: int = 1,
    shared: float = 0.2,
    cells: Sequence[str] = (),
    seed: int | None = None,
    metric: str | None = None,
) -> Chosen:
    """Return `n` items of a form about a run, dealt out to `raters`, a share of them to two each.

    No `cells`: all. No `seed`: the run's. Whole questions are drawn, so that cells are compared
    over the same ones: first those that all cells answered. Of the last, as many items as there is
    room for. A question's items go to the same rater, and what is shared to one more.

    With a `metric` that asks a judge `n` counts questions, each with the answer of every cell: they
    are drawn evenly over the judge's grades, each with the same chance, so that their labels
    correct the metric's mean.

    Raises:
        HarnessError: no such cell or metric, nothing to rate, or too little for so many raters.
    """
    parts = {cell.name: parts_of(cell) for cell in stored.run.cells}
    named = [find_cell(name, parts, str(stored.folder)) for name in cells]
    names = [name for name in parts if not named or name in named]
    seed = stored.run.provenance.seed if seed is None else seed
    columns = stored.frame
    cell_numbers = [number for number, cell in enumerate(stored.run.cells) if cell.name in names]
    indexes = np.flatnonzero(np.isin(columns.cell, cell_numbers))
    answered = indexes[~columns.failed[indexes] & columns.answered[indexes]]
    if not len(answered):
        raise HarnessError(
            f"run {stored.run.id!r} has no answer to rate\n"
            "  a run with a generator has them: add generators to its configuration"
        )
    by_question: dict[str, list[int]] = defaultdict(list)
    ids = list(stored.questions)
    for index in answered.tolist():
        by_question[ids[columns.question[index]]].append(index)
    name, order, drawn = "", _random_order(by_question, len(names), seed), "random"
    saved: list[str] = []
    if metric is not None:
        name = _find_metric(stored, metric)
        grades = _judge_grades(stored, name, by_question, len(names))
        order, drawn = systematic_sample(grades, n, seed), f"rate:{seed}"
        saved = [_describe_saving(stored, name, n, len(grades))]
    limit = n if metric is None else len(order) * len(names)
    items = _draw_items(stored, by_question, order, limit, seed)
    assigned = _assign_raters(items, raters, shared, seed)
    ordered = sorted(items, key=lambda item: fingerprint("shown", seed, item.item))
    lines = tuple(replace(item, raters=tuple(assigned[item.item])) for item in ordered)
    key = FormFile(
        id=fingerprint("form", stored.run.id, [asdict(line) for line in lines], raters)[:10],
        run=stored.run.id,
        seed=seed,
        raters=raters,
        items=lines,
        metric=name,
        drawn=drawn,
    )
    per_cell = {name: sum(name in line.cells for line in lines) for name in names}
    failed = int(columns.failed[indexes].sum())
    unanswered = len(indexes) - len(answered) - failed
    wished = n if metric is None else len(lines)
    return Chosen(key, per_cell, [*_notes(key, per_cell, wished, failed, unanswered), *saved])


def _find_metric(stored: StoredRun, wanted: str) -> str:
    """Return the metric of a run that asks a judge and that forms can label."""
    specs = {name: parse(line.spec)[0] for name, line in stored.run.provenance.metrics.items()}
    suitable = [name for name, spec in specs.items() if spec in ASPECT_OF_METRIC]
    for name in suitable:
        if wanted in (name, specs[name]):
            return name
    if wanted in specs.values() or wanted in specs:
        raise HarnessError(
            f"a form asks nothing that would label {wanted!r}\n  it labels "
            f"{', '.join(ASPECT_OF_METRIC)}; others by a file: `people: {{labels: FILE}}`"
        )
    raise HarnessError(f"the run has no metric {wanted!r}\n  {suggest(wanted, suitable)}")


def _judge_grades(
    stored: StoredRun, metric: str, by_question: Mapping[str, Sequence[int]], cells: int
) -> dict[str, float]:
    """Return the judge's mean grade of each question that it scored in every cell."""
    values = stored.frame.value[metric]
    grades = {id_: values[places] for id_, places in by_question.items() if len(places) == cells}
    return {id_: float(own.mean()) for id_, own in grades.items() if not np.isnan(own).any()}


def systematic_sample(grades: Mapping[str, float], n: int, seed: int) -> list[str]:
    """Return `n` names, evenly over their grades: every (M / n)-th from a random start.

    They are ordered by grade, at random within one, so each has the same chance.

    Raises:
        HarnessError: there are fewer.
    """
    if n > len(grades):
        raise HarnessError(
            f"--n {n} is more than there is: the judge scored {len(grades)} questions in "
            f"every cell\n  ask for at most {len(grades)}"
        )
    generator = np.random.default_rng([seed, len(grades)])
    names = list(grades)
    shuffled = [names[index] for index in generator.permutation(len(names)).tolist()]
    ordered = sorted(shuffled, key=grades.__getitem__)
    step = len(ordered) / n
    start = generator.uniform(0, step)
    return [ordered[int(start + index * step)] for index in range(n)]


def _describe_saving(stored: StoredRun, metric: str, n: int, total: int) -> str:
    """Return what labels will save by what is known of the judge."""
    known = stored.run.judges.get(metric)
    rho = None if known is None or known.stale else known.card.card.pearson.value
    if rho is None:
        return "what these labels will be worth is not known: the judge has no card (judge check)"
    saved = labels_saved(rho, n, total - n)
    return (
        f"the judge's correlation with people is {numbers.score(rho, 2)}: beside it these labels "
        f"save about {numbers.percentage(saved)} of others, at most {numbers.percentage(rho**2)}"
    )


def _notes(
    key: FormFile, per_cell: Mapping[str, int], wished: int, failed: int, unanswered: int
) -> Iterator[str]:
    """Yield what a reader should know about the items."""
    if failed or unanswered:
        reasons = [(failed, "failed"), (unanswered, "have no answer")]
        text = ", ".join(f"{count} {why}" for count, why in reasons if count)
        yield f"left out of what could be drawn: {text}"
    if len(key.items) < wished:
        yield f"there is no more to rate than {numbers.count(len(key.items), 'item')}"
    fewest = min(per_cell.values())
    if fewest < _MIN_ITEMS_PER_CELL:
        yield (
            f"the cell with the fewest has {numbers.count(fewest, 'item')}, too few to tell "
            f"{numbers.count(len(per_cell), 'cell')} apart: raise --n"
            + (", or name fewer cells: --cell" if len(per_cell) > 2 else "")
        )


def form_path(stored: StoredRun, chosen: Chosen) -> Path:
    """Return where a form lies unless the user says otherwise."""
    return stored.folder / f"rate-{chosen.key.id}.html"


def write(stored: StoredRun, chosen: Chosen, page: str, path: Path) -> Path:
    """Write the key into the run's folder and the form, `page`, to `path`; return the key's path.

    Raises:
        HarnessError: one of them cannot be written.
    """
    key = stored.folder / FORMS / f"{chosen.key.id}.json"
    data = checksums.add_checksum(FORM_KEYS.data(chosen.key))
    write_file(key, json.dumps(data, indent=1, ensure_ascii=False) + "\n")
    write_file(path, page)
    return key


def _context_spans(stored: StoredRun, record: Outcome) -> tuple[SpanKey, ...]:
    """Return the chunks that the context has, each once, best rank first.

    Where its text cannot be known by the chunks, as a system's, those are taken that would fit.
    """
    cut = record.context
    if isinstance(cut, ContextCut):
        count = 0 if cut == ContextCut(1, 0) else cut.hits
    else:
        count = stored.run.config.get("resolved", {}).get("context", {}).get("chunks")
    return tuple(dict.fromkeys((hit.doc, hit.start, hit.end) for hit in record.hits[:count]))


def _random_order(by_question: Mapping[str, Sequence[int]], cells: int, seed: int) -> list[str]:
    """Return the questions in an order of chance, those that every cell answered first."""
    return sorted(
        by_question,
        key=lambda id_: (len(by_question[id_]) < cells, fingerprint("rate", seed, id_)),
    )


def _draw_items(
    stored: StoredRun,
    by_question: Mapping[str, Sequence[int]],
    order: Sequence[str],
    n: int,
    seed: int,
) -> list[FormItem]:
    """Return `n` items without raters, or as many as there are; `by_question` has their records."""
    drawn: list[FormItem] = []
    per_cell: Counter[str] = Counter()
    for id_ in order:
        if len(drawn) >= n:
            break
        # Cells that gave one answer from the same chunks share an item.
        names: dict[tuple[str, frozenset[SpanKey]], list[str]] = defaultdict(list)
        for record in stored.records_at(np.array(by_question[id_])):
            names[record.answer or "", frozenset(_context_spans(stored, record))].append(
                record.cell
            )
        found = [(tuple(cell_names), chunks) for (_, chunks), cell_names in names.items()]
        fewest = {cell_names: min(per_cell[name] for name in cell_names) for cell_names, _ in found}
        found.sort(key=lambda item: (fewest[item[0]], fingerprint("of", seed, id_, item[0])))
        for cell_names, chunks in found[: n - len(drawn)]:
            drawn.append(_build_item(stored.run.id, seed, id_, cell_names, chunks))
            per_cell.update(cell_names)
    return drawn


def _build_item(
    run: str, seed: int, question: str, cells: tuple[str, ...], chunks: Iterable[SpanKey]
) -> FormItem:
    id_ = fingerprint("item", run, seed, question, cells)[:10]
    spans = sorted(chunks, key=lambda span: fingerprint("chunk", seed, id_, span))
    return FormItem(
        item=id_,
        cells=cells,
        question=question,
        chunks=tuple(Span(*span) for span in spans),
        raters=(),
    )


def _assign_raters(
    items: Sequence[FormItem], raters: int, shared: float, seed: int
) -> dict[str, list[int]]:
    """Return who rates each item: by whole questions, so that a rater compares its cells."""
    by_question: dict[str, list[str]] = defaultdict(list)
    for item in items:
        by_question[item.question].append(item.item)
    if len(by_question) < raters:
        raise HarnessError(
            f"{numbers.count(len(items), 'item')} of {numbers.count(len(by_question), 'question')} "
            f"are too few for {raters} raters\n  ask for more items: --n"
        )
    load = dict.fromkeys(range(1, raters + 1), 0)
    assigned: dict[str, list[int]] = {}
    for ids in by_question.values():
        rater = min(load, key=load.__getitem__)
        load[rater] += len(ids)
        assigned |= {id_: [rater] for id_ in ids}
    if raters > 1:
        permuted = sorted(assigned, key=lambda id_: fingerprint("shared", seed, id_))
        for id_ in permuted[: int(shared * len(permuted) + 0.5)]:
            others = [rater for rater in load if rater not in assigned[id_]]
            second = min(others, key=load.__getitem__)
            load[second] += 1
            assigned[id_] = sorted([*assigned[id_], second])
    return assigned
