"""Published tables, reproduced: `make published PUBLISHED=FOLDER`.

FOLDER holds the data sets that you downloaded, each in a folder of its own: `scifact`, `nfcorpus`,
`xquad-en`, `xquad-de` and so on, `clapnq-dev`. Those that are there are run, and docs/published.md
gets their figures.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "published.md"
BLOCK = re.compile(r"(<!-- published -->\n).*?(<!-- /published -->)", re.DOTALL)
DENSE, BM25 = "sentence_transformer", "bm25"
_TOLERANCE = 0.005


@dataclass(frozen=True)
class Table:
    """A data set: folder, configuration, and published values by retriever and metric."""

    folder: str
    config: str
    published: Mapping[tuple[str, str], float] = field(default_factory=dict)
    explained: Mapping[tuple[str, str], str] = field(default_factory=dict)


def _xquad(language: str, dense: float | None = None, bm25: float | None = None) -> Table:
    known = {(DENSE, "ndcg@10"): dense, (BM25, "ndcg@10"): bm25}
    published = {key: value for key, value in known.items() if value is not None}
    if language == "en":
        published |= {(DENSE, "ap@10"): 0.92807, (DENSE, "recall@10"): 0.98987}
    return Table(f"xquad-{language}", "xquad", published, {(BM25, "ndcg@10"): _WORDS})


_WORDS = (
    "MTEB's bm25s stems words and cuts at white space; ours finds words of every script, unstemmed"
)
TABLES = [
    Table("scifact", "scifact", {(DENSE, "ndcg@10"): 0.64508}),
    Table("nfcorpus", "nfcorpus", {(DENSE, "ndcg@10"): 0.31594}),
    _xquad("en", 0.94357, 0.96494),
    _xquad("de", 0.70324, 0.92521),
    _xquad("zh", 0.24225, 0.12050),
    _xquad("hi", 0.04773, 0.75106),
    _xquad("ar", 0.03797, 0.88812),
    *(_xquad(language) for language in ("el", "es", "ro", "ru", "th", "tr", "vi")),
    Table("clapnq-dev", "clapnq"),
]


def rows(table: Table, data: Path) -> list[str]:
    """Run a data set; return a row of the page for each retriever and metric."""
    with tempfile.TemporaryDirectory() as folder:
        config = f"configs/published/{table.config}.yaml"
        places = ["--set", f"output={folder}/reports", "--set", f"cache={folder}/cache"]
        done = subprocess.run(
            [sys.executable, "-m", "harness", "run", config, "--json", *places],
            cwd=ROOT, check=True, capture_output=True, text=True,
            env={**os.environ, "PUBLISHED": str(data), "XQUAD": table.folder},
        )  # fmt: skip
        run = json.loads((ROOT / json.loads(done.stdout)["run"] / "run.json").read_text("utf-8"))
    lines = []
    for cell in run["cells"]:
        retriever = BM25 if cell["retriever"].startswith(BM25) else DENSE
        for metric in ("ndcg@10", "ap@10", "recall@10"):
            ours = cell["scores"][metric]["mean"]
            theirs = table.published.get((retriever, metric))
            if theirs is None and metric != "ndcg@10":
                continue
            difference = "" if theirs is None else f"{ours - theirs:+.4f}"
            far = theirs is not None and abs(ours - theirs) > _TOLERANCE
            why = table.explained.get((retriever, metric), "unexplained") if far else ""
            model = "all-MiniLM-L6-v2" if retriever == DENSE else BM25
            lines.append(
                f"| {table.folder} | {model} | {metric} | {ours:.4f} |"
                f" {'' if theirs is None else f'{theirs:.4f}'} | {difference} | {why} |"
            )
    return lines


def main() -> int:
    """Run the data sets that are there, and write the page; 1 where a difference is unexplained."""
    data = Path(os.environ.get("PUBLISHED", "")).resolve()
    there = [table for table in TABLES if (data / table.folder / "corpus.jsonl").exists()]
    if not there:
        names = ", ".join(table.folder for table in TABLES)
        print(f"PUBLISHED names no folder with one of {names}", file=sys.stderr)
        return 2
    lines = [
        "| Data set | Retriever | Metric | Ours | Published | Difference | Why |",
        "|---|---|---|---:|---:|---:|---|",
    ]
    for table in there:
        found = rows(table, data)
        print(*found, sep="\n", flush=True)
        lines += found
    text = PAGE.read_text("utf-8")
    PAGE.write_text(
        BLOCK.sub(lambda found: found[1] + "\n".join(lines) + "\n" + found[2], text), "utf-8"
    )
    return int(any("unexplained" in line for line in lines))


if __name__ == "__main__":
    sys.exit(main())
