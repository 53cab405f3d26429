"""How large a report is, and how long it takes: runs of many cells, made of one small real run.

python -m benchmarks.report_size          # 12 cells x 160 questions and 40 x 2,000
python -m benchmarks.report_size make FOLDER 40 2000    # only writes the stored run

Four chunkers and BM25 answer the shipped questions. Every further record is one of theirs with its
ranking stirred, another context and answer, and the scores of another: so no two cells are alike.
"""

from __future__ import annotations

import json
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks import commands
from benchmarks.figures import Figure
from harness import api
from harness.records import ContextCut
from harness.store.outcome_file import OUTCOME_FORMAT
from harness.store.reader import QUESTION_FORMAT
from harness.store.run_file import RUN_FORMAT

SEED = 7
RETRIEVE = 20
"""Hits of a record, half of those of the real run."""
_SIZES = (400, 600, 800, 1200)
_METRICS = [
    "passage_recall@5",
    "evidence_recall@1000t",
    "evidence_precision@1000t",
    "hit_rate@5",
    "mrr@10",
    "recall(labels=documents)@5",
    "ndcg(labels=documents)@10",
    "precision@5",
    "recall@5",
    "f1@5",
    "ap@10",
    "ndcg@10",
    "bleu",
    "rouge1",
    "rougeL",
    "token_f1",
    "exact_match",
    "length_ratio",
    "context_overlap",
    "abstention",
]
_RETRIEVAL = [
    "hit_rate@5",
    "mrr@10",
    "recall(labels=documents)@5",
    "ndcg(labels=documents)@10",
    "precision@5",
    "recall@5",
    "ap@10",
    "ndcg@10",
]
_SHAPES = ((12, 160, 2e6, 20.0), (40, 2000, 25e6, 40.0))
_MAX_MEGABYTES = 1_500.0
"""Cells, questions, and the bounds of bytes and of seconds, loading included."""


def report_size(shapes: Sequence[tuple[int, int, float, float]] = _SHAPES) -> list[Figure]:
    """Return size, seconds and peak memory of each report."""
    found: list[Figure] = []
    for cells, questions, size, seconds in shapes:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name) / "run"
            commands.python("-m", "benchmarks.report_size", "make", folder, cells, questions)
            done = commands.python("-m", "benchmarks.report_size", "render", folder)
            packed = commands.python("-m", "benchmarks.report_size", "pack", folder)
        made, parts = json.loads(done.printed), json.loads(packed.printed)
        what = f"{cells} x {questions:,}"
        print({"packed": parts}, file=sys.stderr)
        found += [
            Figure(f"{what}: report.html, MB", made["html"] / 1e6, size / 1e6),
            Figure(f"{what}: report.md, KB", made["markdown"] / 1e3, 60.0),
            Figure(f"{what}: seconds to render", done.seconds, seconds),
            Figure(f"{what}: peak memory, MB", done.megabytes, _MAX_MEGABYTES),
            Figure(f"{what}: of them packing", parts["seconds"], 60.0),
        ]
    return found


def make(folder: Path, cells: int, questions: int, answers: bool = True) -> None:
    """Write a stored run of so many cells and questions into `folder`.

    Without `answers` it retrieves alone: 10 hits and 8 metrics a record, in place of 20 of each.
    """
    from harness.store import reader

    retrieve, metrics = (RETRIEVE, _METRICS) if answers else (RETRIEVE // 2, _RETRIEVAL)
    with tempfile.TemporaryDirectory() as name:
        real = reader.load(_real(Path(name), 2 * retrieve, metrics, answers))
    folder.mkdir(parents=True)
    gold = list(real.questions.values())
    asked = [
        replace(line, id=f"{line.id}.{number}")
        for number, line in zip(range(questions), _again(gold), strict=False)
    ]
    (folder / reader.QUESTIONS).write_text(
        "".join(map(QUESTION_FORMAT.line, asked)), encoding="utf-8"
    )
    with (folder / reader.TEXTS).open("w", encoding="utf-8") as file:
        for (doc, start, end), text in real.texts.items():
            line = {"doc": doc, "start": start, "end": end, "text": text}
            file.write(json.dumps(line, ensure_ascii=False) + "\n")
    by_cell = {
        cell.name: [record for record in real.records if record.cell == cell.name]
        for cell in real.run.cells
    }
    lines = []
    with (folder / reader.RECORDS).open("w", encoding="utf-8") as file:
        for number, base in zip(range(cells), _again(real.run.cells), strict=False):
            retriever = f"bm25(k1={1 + number / 10:g})"
            name = f"{base.chunker} × {retriever} × {base.generator}"
            scores: dict[str, list[float | None]] = {metric: [] for metric in metrics}
            for record in _records(real.texts, by_cell[base.name], name, questions, number):
                file.write(OUTCOME_FORMAT.line(record))
                for metric, score in record.scores.items():
                    scores[metric].append(score.value)
            means = {metric: _aggregate(values) for metric, values in scores.items()}
            said = {"name": name, "retriever": retriever, "asked": questions, "scores": means}
            lines.append(replace(base, **said))
    run = replace(real.run, id=folder.name, cells=lines, baseline=lines[0].name)
    (folder / reader.RUN).write_text(RUN_FORMAT.text(run), encoding="utf-8")


def _real(folder: Path, retrieve: int, metrics: Sequence[str], answers: bool) -> Path:
    """Run the four chunkers on the shipped questions; returns the folder of the run."""
    from harness.config.run_config import load
    from harness.runs import runner

    config = folder / "config.yaml"
    settings = {
        "corpus": str(commands.ROOT / "corpora" / "insurellm"),
        "testset": str(commands.ROOT / "testsets" / "insurellm.jsonl"),
        "seed": SEED,
        "chunkers": [{"recursive": {"size": size, "overlap": size // 8}} for size in _SIZES],
        "retrievers": ["bm25"],
        "generators": ["extractive" if answers else "none"],
        "retrieve": retrieve,
        "context": {"chunks": 5, "tokens": 1500},
        "metrics": list(metrics),
        "output": str(folder / "reports"),
        "cache": str(folder / "cache"),
    }
    config.write_text(json.dumps(settings), encoding="utf-8")
    return api.run(runner.prepare(load(config, [], {})), lambda *_: None).folder


def _again(items: Sequence[Any]) -> Iterator[Any]:
    while True:
        yield from items


def _records(
    texts: Any, real: Sequence[Any], cell: str, questions: int, number: int
) -> Iterator[Any]:
    draw = random.Random(SEED * 1_000 + number)
    for at, base in zip(range(questions), _again(real), strict=False):
        hits = _stirred(base.hits, draw)
        said = {
            "cell": cell,
            "question": f"{base.question}.{at}",
            "hits": hits,
            "judged": _judged(base, hits),
            "seconds": {stage: draw.expovariate(500) for stage in base.seconds},
            "scores": draw.choice(real).scores,
        }
        if base.context is not None:
            said["context"] = ContextCut(len(hits[:5]), len(_text(texts, hits[:5][-1])))
        if base.answer is not None:
            read = "\n".join(_text(texts, hit) for hit in hits[:5])
            said["answer"] = "" if base.declined else _sentence(read, draw)
        yield replace(base, **said)


def _stirred(hits: Sequence[Any], draw: random.Random) -> list[Any]:
    """Return half of the hits, in about the order they had, with scores that fall."""
    ranks = sorted(range(len(hits)), key=lambda rank: rank + draw.gauss(0, 6))[: len(hits) // 2]
    scores = sorted((hits[rank].score * draw.uniform(0.9, 1.1) for rank in ranks), reverse=True)
    return [replace(hits[rank], score=score) for rank, score in zip(ranks, scores, strict=True)]


def _judged(base: Any, hits: Sequence[Any]) -> dict[str, Any]:
    grades: dict[str, list[int | None]] = {"evidence": [hit.grade for hit in hits]}
    known = dict(
        zip(
            dict.fromkeys(hit.doc for hit in base.hits),
            base.judged["documents"].grades if "documents" in base.judged else [],
            strict=False,
        )
    )
    grades["documents"] = [known.get(doc) for doc in dict.fromkeys(hit.doc for hit in hits)]
    return {kind: replace(line, grades=grades[kind]) for kind, line in base.judged.items()}


def _text(texts: Any, hit: Any) -> str:
    text: str = texts[(hit.doc, hit.start, hit.end)]
    return text


def _sentence(context: str, draw: random.Random) -> str:
    return draw.choice([line for line in context.split("\n") if line.strip()])


def _aggregate(values: Sequence[float | None]) -> Any:
    """Return a mean with a normal interval, which is quicker than the harness's own."""
    from harness.stats.intervals import Aggregate

    scored = [value for value in values if value is not None]
    mean = statistics.fmean(scored) if scored else None
    around = 1.96 * statistics.stdev(scored) / len(scored) ** 0.5 if len(scored) > 1 else None
    return Aggregate(
        mean=mean,
        mean_finished=mean,
        low=None if mean is None or around is None else max(0.0, mean - around),
        high=None if mean is None or around is None else min(1.0, mean + around),
        n=len(scored),
        failed=0,
        not_scored=len(values) - len(scored),
        metric_failed=0,
        method="normal",
    )


def _render(folder: Path) -> dict[str, float]:
    """Render a stored run; returns the bytes of the report."""
    from harness import report

    page, text = report.write(folder)[:2]
    return {"html": page.stat().st_size, "markdown": text.stat().st_size}


def _pack(folder: Path) -> dict[str, float]:
    """Pack what the page of a stored run embeds; returns seconds, and bytes by kind of part."""
    from harness.report.browser_data import pack_page
    from harness.report.run_view import View
    from harness.store.reader import load

    view = View(load(folder))
    assert view.shipped is not None  # the decision is the view's, and no part of packing
    start = time.perf_counter()
    data = pack_page(view)
    made: dict[str, float] = {"seconds": time.perf_counter() - start}
    for name, packed in data.parts.items():
        kind = name.partition("-")[0]
        made[kind] = made.get(kind, 0) + len(packed)
    return made


if __name__ == "__main__":
    if sys.argv[1:2] == ["make"]:
        make(Path(sys.argv[2]), *map(int, sys.argv[3:5]), sys.argv[5:] != ["rankings"])
    elif sys.argv[1:2] in (["render"], ["pack"]):
        work = _render if sys.argv[1] == "render" else _pack
        print(json.dumps(work(Path(sys.argv[2]))))
    else:
        from benchmarks import table

        sys.exit(table.show(report_size()))
