"""A sweep of twelve cells against the sum of its distinct stages, each called once.

python benchmarks/table.py grid
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import Any

from benchmarks import corpora, sides
from benchmarks.figures import Figure

BOUND = 1.15
RUNS = 5
CELLS = 12
_CONFIG: dict[str, Any] = {
    "chunkers": [{"recursive": {"size": 800, "overlap": 100}}, "markdown", "sentence"],
    # Left to itself the harness may choose bfloat16, which the stages by themselves do not.
    "embedders": [{"sentence_transformer": {"precision": "float32"}}, "hashing"],
    "retrievers": ["dense", "hybrid"],
    "generators": ["extractive"],
    "retrieve": 20,
    "metrics": ["hit_rate@5", "mrr@10", "ndcg@10", "bleu", "rougeL", "bertscore_f1", "token_f1"],
}


def grid() -> list[Figure]:
    """Return the ratio of the sweep to its stages."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        projects(folder)
        what = f"sweep of {CELLS} cells"
        return [sides.compared(__name__, what, folder, BOUND, RUNS, "harness / its stages")]


def projects(folder: Path) -> None:
    """Write a small project, and the shipped corpus and test set as the real one."""
    corpora.wide(folder / sides.WARM, documents=5, questions=5)
    (folder / sides.TIMED).mkdir()
    testset = corpora.ROOT / "testsets" / "insurellm.jsonl"
    places = {
        sides.WARM: {"corpus": "corpus.jsonl", "testset": "testset.jsonl"},
        sides.TIMED: {"corpus": str(corpora.SHIPPED), "testset": str(testset)},
    }
    for name, keys in places.items():
        text = json.dumps({**keys, **_CONFIG})  # YAML holds JSON
        (folder / name / "config.yaml").write_text(text, encoding="utf-8")


@dataclass
class Once:
    """What scores were given before, so that each is made once."""

    known: dict[Hashable, Any] = field(default_factory=dict)

    def get_or_score(
        self,
        metric: Any,
        cases: Sequence[Any],
        keys: Sequence[str],
        score: Callable[[Sequence[Any]], Sequence[Any]],
    ) -> list[Any]:
        """Return the score of each case by its key, as the harness keeps them."""
        new = {key: case for key, case in zip(keys, cases, strict=True)}
        new = {key: case for key, case in new.items() if (metric, key) not in self.known}
        for key, made in zip(new, score(list(new.values())) if new else (), strict=True):
            self.known[metric, key] = made
        return [self.known[metric, key] for key in keys]


@dataclass
class Index:
    """Chunks and their vectors in Chroma, as a retriever sees them."""

    chunks: Any
    collection: Any
    asked: Any
    made: dict[Hashable, Any]
    allowed: None = None

    def embed_questions(self, questions: Sequence[str], kind: str = "query") -> Any:
        """Return the vectors of all questions, which were made before."""
        return self.asked

    def nearest(self, vectors: Any, k: int) -> list[list[Any]]:
        """Return what Chroma finds."""
        from harness.ranking.exact_search import Neighbour

        found = self.collection.query(
            query_embeddings=vectors, n_results=min(k, len(self.chunks)), include=["distances"]
        )
        return [
            [Neighbour(int(id_), 1.0 - distance) for id_, distance in zip(ids, row, strict=True)]
            for ids, row in zip(found["ids"], found["distances"], strict=True)
        ]

    def once(self, key: Hashable, make: Callable[[], Any]) -> Any:
        """Return what is made once for these chunks."""
        if key not in self.made:
            self.made[key] = make()
        return self.made[key]


def stages(project: Path, empty: Path) -> dict[str, float]:
    """Call every distinct stage of the sweep once, without the harness's cache and records."""
    import chromadb

    from harness.config.run_config import load
    from harness.corpus import chunk_set
    from harness.ranking.relevance import Relevance
    from harness.runs import runner

    prepared = runner.prepare(load(project / "config.yaml", environment={}))
    questions, settings = prepared.testset.questions, prepared.plan.settings
    asked = [question.text for question in questions]
    client = chromadb.PersistentClient(str(empty))
    embedded: dict[Any, Any] = {}
    answers: dict[tuple[str, str], Any] = {}
    keeper, total, rates = Once(), 0, []
    groups: dict[Any, dict[Any, list[Any]]] = {}
    for cell in prepared.config.cells:
        groups.setdefault(cell.chunker, {}).setdefault(cell.embedder, []).append(cell)
    for number, (chunker, of_chunker) in enumerate(groups.items()):
        folder = empty / f"chunks{number}"
        folder.mkdir(parents=True)
        chunk_set.save(folder, prepared.corpus, chunker)
        chunks = chunk_set.load(folder, str(number), prepared.corpus, chunker)
        relevance = Relevance(chunks, settings.min_overlap, set())
        made: dict[Hashable, Any] = {}
        for embedder, cells in of_chunker.items():
            vectors = embedder.embed([chunk.indexed_text for chunk in chunks], "document")
            hnsw = {"space": "cosine", "max_neighbors": 16, "ef_construction": 100}
            collection = client.create_collection(
                f"chunks-{number}-{embedder.name}",
                configuration={"hnsw": {**hnsw, "ef_search": 100}},
                embedding_function=None,
            )
            collection.add(ids=[str(at) for at in range(len(chunks))], embeddings=vectors)
            if embedder not in embedded:
                embedded[embedder] = embedder.embed(asked, "query")
            index = Index(chunks, collection, embedded[embedder], made)
            for cell in cells:
                rankings = cell.retriever.retrieve(asked, index, settings.retrieve)
                rates.append(
                    _scored(prepared.plan, cell, relevance, rankings, answers, keeper, questions)
                )
                total += len(chunks)
    return {"chunks": total, "hit_rate@5": fmean(rates)}


def _scored(
    plan: Any,
    cell: Any,
    relevance: Any,
    rankings: Sequence[Sequence[Any]],
    answers: dict[tuple[str, str], Any],
    keeper: Once,
    questions: Sequence[Any],
) -> float:
    """Answer and score the questions of one cell; return its hit rate."""
    from harness.ranking import context
    from harness.records import Case
    from harness.runs import scoring

    cases = []
    for question, ranking in zip(questions, rankings, strict=True):
        text = context.assemble_context(
            ranking, plan.settings.context.chunks, plan.settings.context.tokens
        )
        key = (question.text, text)
        if key not in answers:
            answers[key] = cell.generator.answer(*key)
        hits = tuple(ranking)
        judged = relevance.judge(question, hits, plan.kinds)
        touching = relevance.spans_near_gold(question)
        cases.append(Case(question, hits, judged, text, answers[key], None, (), touching))
    level = plan.settings.relevance_level
    rows = scoring.score_all(plan.metrics, cases, plan.labels, level, keeper)
    values = [row["hit_rate@5"].value for row in rows]
    return fmean(value for value in values if value is not None)


if __name__ == "__main__":
    sides.main({"harness": sides.harness, "direct": stages})
