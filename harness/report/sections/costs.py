"""Time, tokens, money and spread: what answers took, and how far samples differ."""

from __future__ import annotations

from collections.abc import Sequence

from harness.report.document import Block, Items, Paragraph, TableBlock, TwoColumns
from harness.report.run_view import View
from harness.report.sections import section
from harness.text import numbers

EXCLUDED_COSTS = (
    "Money is that of answers, by the prices of the run: what judges, rewording retrievers, hosted "
    "embedding models and machines cost is not in it."
)


def format_money(view: View, value: float | None) -> str:
    """Return money in the currency of the run's prices."""
    prices = view.run.prices
    return numbers.MISSING if prices is None else numbers.money(value, prices.currency)


def has_money(view: View) -> bool:
    """Return whether money is known of any cell whose answers a model gave."""
    return view.run.prices is not None and any(cell.spent for cell in view.run.cells)


@section("timings", 70, "Time and tokens", "Time")
def timings(view: View) -> Sequence[Block]:
    """Return two tables: the run's stages, and the cells."""
    run = view.run
    stages = [[stage, numbers.seconds(spent)] for stage, spent in run.seconds.items()]
    whole = [TableBlock(["Stage", "Time"], stages, "The whole run")]
    kinds = [
        [kind, numbers.whole(counts["made"]), numbers.whole(counts["reused"])]
        for kind, counts in run.cache.items()
    ]
    if kinds:
        whole.append(TableBlock(["In the cache", "Made", "Reused"], kinds, "Shared work"))
    rows = []
    for cell in view.cells:
        frame, recall = view.frame(cell), cell.index_recall
        tokens = [
            column[column == column] for column in (frame.answer_tokens_in, frame.answer_tokens_out)
        ]
        rows.append(
            [
                view.name(cell),
                numbers.whole(cell.chunks or None),  # a system of the user's own has none
                f"{numbers.score(recall.mean)} @{recall.k}" if recall else numbers.MISSING,
                *(numbers.seconds(cell.seconds.get(s)) for s in ("retrieval", "generation")),
                *(f"{column.mean():.0f}" if len(column) else numbers.MISSING for column in tokens),
            ]
        )
    if not rows:
        return whole
    head = ["Configuration", "Chunks", "Index recall", "Retrieval", "Generation"]
    head += ["Tokens in", "Tokens out"]
    return [
        TableBlock(head, rows, "Mean of a question, without embedding it"),
        *_spending(view),
        TwoColumns(whole[:1], whole[1:]),
    ]


def _spending(view: View) -> list[Block]:
    """Return what the answers of each cell took in all, and by what prices; empty without any."""
    rows = [
        [
            view.name(cell),
            *map(numbers.whole, (cell.spent.calls, cell.spent.tokens_in, cell.spent.tokens_out)),
            format_money(view, cell.spent.money),
            format_money(view, view.money(cell)),
            numbers.whole(int((~view.stored.frame.failed[view.places(cell)]).sum())),
        ]
        for cell in view.cells
        if cell.spent is not None
    ]
    if not rows:
        return []
    head = ["Configuration", "Answers", "Tokens in", "Tokens out", "Money", "Money a question", "n"]
    prices = view.run.prices
    if prices is None:
        return [TableBlock(head[:4], [row[:4] for row in rows], "What answers took in all")]
    price_texts = [
        f"{model} {price.input:,.10g} in, {price.output:,.10g} out"
        for model, price in prices.models.items()
    ]
    day = "" if prices.as_of is None else f", as of {prices.as_of}"
    note = f"Prices in {prices.currency} for a million tokens{day}: "
    note += f"{'; '.join(price_texts) or 'none'}."
    caption = "What answers took in all; money a question is the mean of the n finished"
    return [TableBlock(head, rows, caption), Items([note, EXCLUDED_COSTS], "note")]


@section("samples", 65, "Spread across samples", "Samples")
def samples(view: View) -> Sequence[Block]:
    """Return a table for the cells that answered each question several times."""
    cells = [cell for cell in view.cells if cell.spread]
    names = dict.fromkeys(name for cell in cells for name in cell.spread)
    rows = [
        [
            name,
            *(
                f"{numbers.score(spread.deviation)} (n = {spread.n})" if spread else numbers.MISSING
                for spread in (cell.spread.get(name) for cell in cells)
            ),
        ]
        for name in names
    ]
    note = (
        "Each question was asked several times. Scores are means over its samples; the table "
        "has the standard deviation between the samples of one question, averaged over the n "
        "questions with two scored samples or more."
    )
    head = ["Metric", *(view.name(cell) for cell in cells)]
    table = TableBlock(head, rows, "Standard deviation between samples")
    return [Paragraph(note, "note"), table] if rows else []


@section("contexts", 62, "Where contexts are in the corpus", "Contexts")
def contexts(view: View) -> Sequence[Block]:
    """Return a row for each cell whose texts were looked up; nothing where none was."""
    rows = []
    for cell in view.cells:
        if (found := cell.matched) is None:
            continue
        share = numbers.MISSING
        if found.contexts:
            share = numbers.percent((found.contexts - found.unmatched) / found.contexts)
        counts = (found.exact, found.spacing, found.fuzzy, found.unmatched, found.contexts)
        rows.append([view.name(cell), share, *map(numbers.whole, counts)])
    text = (
        "What a system, or a collection that was there already, does not tell of its texts was "
        "looked up in the corpus: to the letter, then with letter case and white space "
        "ignored, then nearly. In a text that is nowhere no evidence is seen."
    )
    head = ["Configuration", "Found", "To the letter", "But for spacing", "Nearly", "Nowhere"]
    table = TableBlock([*head, "Texts"], rows, "Share of texts found")
    return [Paragraph(text, "note"), table] if rows else []
