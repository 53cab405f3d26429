"""A comparison as Markdown, for a pull request; under 60 KB."""

from __future__ import annotations

from collections.abc import Iterator

from harness import numbers
from harness.comparing import words as words
from harness.comparing.comparison import Compared, Comparison, Gap, Row
from harness.report.comparing import Questions, Shown
from harness.report.escaping import escaped, fenced, in_html

LIMIT = 60_000
"""Bytes of the whole; what is beyond is on the page alone."""
_NAME, _LONG = 80, 300
_QUESTIONS = 20
"""Questions lost, and won, that are shown in all."""
_CHANGES = 40


def render(found: Comparison, page: str) -> str:
    """Return the whole; every text from outside is escaped. `page` is the HTML file's name."""
    rest = f"*What is left out is in [{page}]({page}).*"
    room = LIMIT - len(rest.encode()) - 1
    kept: list[str] = []
    for text in _parts(found, Questions(found)):
        room -= len(text.encode()) + 2
        if room < 0:
            kept.append(rest)
            break
        kept.append(text)
    return "\n\n".join(kept) + "\n"


def _parts(found: Comparison, questions: Questions) -> Iterator[str]:
    yield f"# {escaped(words.headline(found), _LONG)}"
    run, baseline = escaped(found.run.id, _NAME), escaped(words.against(found), _NAME)
    asked = numbers.count(len(found.shared), "question")
    yield f"{run} against the {baseline}, on {asked} that both asked."
    for each in words.unshared(found):
        yield f"- {escaped(each, _LONG)}"
    for pair in found.pairs:
        yield f"## {escaped(words.title(pair), 2 * _NAME)}"
        yield " ".join(escaped(each, _LONG) for each in words.sentences(found, pair))
        yield from _tables(found, pair)
    if not found.within:
        yield "## What changed"
        yield _changes(found)
    most = max(1, _QUESTIONS // len(found.pairs))
    for pair in found.pairs:
        for what, gaps in (("lost", pair.lost), ("won", pair.won)):
            if gaps:
                yield from _questions(questions, pair, gaps, what, most)
    yield "## How it was compared"
    yield f"{escaped(words.method(found))} “Not shown” is not “equal”."


def _tables(found: Comparison, pair: Compared) -> Iterator[str]:
    if pair.rows:
        yield _table(pair.rows, "Metric")
    if pair.segments:
        yield _table(pair.segments, "Segment")
    for name, why in pair.untested.items():
        yield f"- {escaped(name, _NAME)} is not compared: {escaped(why, _LONG)}"
    failed = pair.finished
    if not failed.identical and failed.baseline is not None and failed.run is not None:
        shares = f"{100 * (1 - failed.baseline):.1f} % → {100 * (1 - failed.run):.1f} %"
        said = escaped(words.evidence(found, failed))
        yield f"**Failed** {shares} of the questions: {words.outcome(failed)} ({said})"


def _table(rows: tuple[Row, ...], first: str) -> str:
    lines = [
        f"| {first} | Before | After | Change, 95 % interval | p, corrected | Verdict |",
        "|---|---:|---:|---:|---:|---|",
    ]
    for row in rows:
        seen = row.difference
        name = f"{row.segment}: {row.metric}" if row.segment else row.metric
        digits, said = words.digits(row), words.outcome(row)
        said = f"**{said}**" if seen.better or seen.worse else said
        ends = seen.reason if seen.low is None else numbers.between(seen.low, seen.high, digits)
        lines.append(
            f"| {escaped(name, _NAME)} | {numbers.score(row.baseline, digits)} | "
            f"{numbers.score(row.run, digits)} | {numbers.difference(seen.difference, digits)}<br>"
            f"{escaped(ends)} | {escaped(numbers.probability(seen.corrected))} | {said} |"
        )
    return "\n".join(lines)


def _changes(found: Comparison) -> str:
    if not found.changes:
        return "Nothing: configuration, data, models, metrics, code and libraries are the same."
    lines = ["| What | Before | After |", "|---|---|---|"]
    for each in found.changes[:_CHANGES]:
        texts = (f"{each.about} {each.what}", each.before, each.after)
        lines.append(f"| {' | '.join(escaped(text, _NAME) for text in texts)} |")
    if len(found.changes) > _CHANGES:
        lines += ["", f"*{len(found.changes) - _CHANGES} more.*"]
    return "\n".join(lines)


def _questions(
    questions: Questions, pair: Compared, gaps: tuple[Gap, ...], what: str, most: int
) -> Iterator[str]:
    name = escaped(words.title(pair), 2 * _NAME)
    yield f"## {numbers.count(len(gaps), 'question')} {what}: {name}"
    if len(gaps) > most:
        yield f"*The {most} greatest changes; {len(gaps) - most:,} more.*"
    for each in questions.shown(pair, gaps, most):
        yield _fold(each)


def _fold(shown: Shown) -> str:
    before, after = (side.value for side in shown.sides)
    lines = [f"<details><summary>{before} → {after} · {in_html(shown.text, _LONG)}</summary>", ""]
    for side in shown.sides:
        lines += [f"**{side.value}** {escaped(side.side, 2 * _NAME)}", ""]
        if side.answer is not None:
            lines += [*fenced(side.answer or "(empty)", longest=_LONG), ""]
        for rank, hit in enumerate(side.hits or (), start=1):
            mark = " ✓" if hit.relevant else ""
            lines.append(f"{rank}. {escaped(hit.doc, _NAME)}{mark}: {escaped(hit.text, _NAME)}")
        lines.append("")
    return "\n".join([*lines, "</details>"])
