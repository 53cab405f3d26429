"""The tables of one machine in docs/scale.md: a row a size, written as soon as it is measured."""

from __future__ import annotations

from typing import Any

from benchmarks.commands import ROOT

PAGE = ROOT / "docs" / "scale.md"
_STAGES = ("chunking", "embedding", "indexing", "opening", "retrieval", "index recall")
_STAGES += ("generation", "scoring", "attribution", "summing up")
_TABLES: dict[str, str] = {
    "Seconds by stage": "reading | " + " | ".join(_STAGES) + " | report | whole | again",
    "Beside the bare loops": "embedding | bare | ratio | indexing | bare | ratio "
    "| retrieval | bare | ratio",
    "Memory and disk, MB": "documents | peak memory | bare Chroma's | corpus | cache | report "
    "| index recall | hit_rate@5",
}
_BEGIN, _END = "<!-- million: begin -->", "<!-- million: end -->"


def lines(found: dict[str, Any]) -> dict[str, list[str]]:
    """Return the cells of a row of each table, out of what `measure` returns."""
    stages, bare = found["stages"], found["bare"]
    times = [found["reading"], *(stages.get(each, 0.0) for each in _STAGES)]
    times += [found["rest"], found["whole"], found["again"]]
    pairs = [(stages[each], bare[each]) for each in ("embedding", "indexing", "retrieval")]
    sizes = [found[each] for each in ("megabytes", "bare megabytes", "corpus", "cache", "reports")]
    return {
        "Seconds by stage": [f"{each:,.1f}" for each in times],
        "Beside the bare loops": [
            cell for a, b in pairs for cell in (f"{a:,.1f}", f"{b:,.1f}", f"**{a / b:.2f}**")
        ],
        "Memory and disk, MB": [
            f"{found['documents']:,}",
            *(f"{each:,.0f}" for each in sizes),
            f"{found['recall']:.3f}",
            f"{found['found']:.3f}",
        ],
    }


def write(chunks: int, embedder: str, rows: dict[str, list[str]]) -> None:
    """Put rows into the tables of the page, in the place of those of the same size and model."""
    before, _, rest = PAGE.read_text("utf-8").partition(_BEGIN)
    inside, _, after = rest.partition(_END)
    kept: dict[str, dict[tuple[str, int], str]] = {title: {} for title in _TABLES}
    title = ""
    for line in inside.splitlines():
        title = next((each for each in _TABLES if line.startswith(f"**{each}")), title)
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("| ") and cells[0].replace(",", "").isdigit():
            kept[title][cells[1], int(cells[0].replace(",", ""))] = line
    for title, cells in rows.items():
        kept[title][embedder, chunks] = f"| {chunks:,} | {embedder} | {' | '.join(cells)} |"
    parts = [_BEGIN]
    for title, head in _TABLES.items():
        columns = f"| chunks | embedder | {head} |"
        rule = "|---:|---|" + "---:|" * (columns.count("|") - 3)
        ordered = [kept[title][key] for key in sorted(kept[title])]
        parts.append("\n".join((f"**{title}**", "", columns, rule, *ordered)) + "\n")
    PAGE.write_text(before + "\n".join(parts) + _END + after, "utf-8")
