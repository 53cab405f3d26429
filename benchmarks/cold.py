"""A whole run from a cold cache against the loop that a user would write by hand.

python benchmarks/table.py cold            # precision: auto
python benchmarks/table.py cold-float32
"""

from __future__ import annotations

import json
import tempfile
from functools import lru_cache
from pathlib import Path
from statistics import fmean
from typing import Any

from benchmarks import corpora, sides
from benchmarks.figures import Figure

MODEL = "sentence-transformers/all-MiniLM-L6-v2"
BOUNDS = {"auto": 0.3, "float32": 0.45}
RUNS = 5
DOCUMENTS, CHARACTERS = 180, 7_700
_LAYER = 6
_RETRIEVED, _READ = 20, 5


def cold(precision: str = "auto") -> list[Figure]:
    """Return the ratio of a cold run to the loop."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        projects(folder, precision)
        what = f"cold run, precision {precision}"
        bound, shown = BOUNDS[precision], "harness / by hand"
        return [sides.compared(__name__, what, folder, bound, RUNS, shown)]


def cold_float32() -> list[Figure]:
    """Return the same without the faster, coarser arithmetic."""
    return cold("float32")


def projects(folder: Path, precision: str) -> Path:
    """Write a small project and the real one, of 3,000 chunks or more; return the latter."""
    corpora.wide(folder / sides.WARM, documents=20, questions=5)
    config = {"corpus": "corpus.jsonl", "testset": "testset.jsonl"}
    _configure(folder / sides.WARM, precision, **config)
    project = folder / sides.TIMED
    project.mkdir()
    corpora.folder(project / "corpus", DOCUMENTS, CHARACTERS)
    testset = corpora.ROOT / "testsets" / "insurellm.jsonl"
    _configure(project, precision, corpus="corpus", testset=str(testset))
    return project


def _configure(project: Path, precision: str, **keys: str) -> None:
    config = {
        **keys,
        "chunkers": [{"recursive": {"size": 800, "overlap": 100}}],
        "embedders": [{"sentence_transformer": {"model": MODEL, "precision": precision}}],
        "retrievers": ["dense"],
        "generators": ["extractive"],
        "retrieve": _RETRIEVED,
        "context": {"chunks": _READ, "tokens": 1500},
        "metrics": ["hit_rate@5", "mrr@10", "bleu", "rougeL", "bertscore_f1"],
    }
    # YAML holds JSON.
    (project / "config.yaml").write_text(json.dumps(config), encoding="utf-8")


def by_hand(project: Path, empty: Path) -> dict[str, float]:
    """Chunk, embed, index, retrieve, answer and score, straight from the libraries' manuals."""
    import chromadb
    from langchain_text_splitters import RecursiveCharacterTextSplitter
    from nltk.translate.bleu_score import SmoothingFunction, sentence_bleu
    from rouge_score.rouge_scorer import RougeScorer

    from harness.generators.extractive import Extractive

    config = json.loads((project / "config.yaml").read_text(encoding="utf-8"))
    splitter = RecursiveCharacterTextSplitter(chunk_size=800, chunk_overlap=100)
    texts, owners = [], []
    for id_, text in _documents(project / config["corpus"]):
        pieces = splitter.split_text(text)
        texts += pieces
        owners += [id_] * len(pieces)
    model, scorer = _models()
    vectors = model.encode(texts)
    client = chromadb.PersistentClient(str(empty))
    collection = client.create_collection(
        "chunks", configuration={"hnsw": {"space": "cosine"}}, embedding_function=None
    )
    for start in range(0, len(texts), 5_000):
        some = slice(start, start + 5_000)
        ids = [str(start + at) for at in range(len(texts[some]))]
        collection.add(ids=ids, documents=texts[some], embeddings=vectors[some])

    rows = [json.loads(line) for line in (project / config["testset"]).open(encoding="utf-8")]
    asked = model.encode([row["question"] for row in rows])
    found = collection.query(query_embeddings=asked, n_results=_RETRIEVED)
    rouge, smooth = RougeScorer(["rougeL"]), SmoothingFunction().method1
    hits, said, wanted, bleu, rouge_l = [], [], [], [], []
    for row, ids, read in zip(rows, found["ids"], found["documents"], strict=True):
        answer = Extractive().answer(row["question"], "\n\n".join(read[:_READ])).text
        if not row.get("answerable", True):
            continue
        places = row["evidence"]
        quotes = [place.get("quote") or "" for place in places]
        hits.append(
            any(
                owners[int(id_)] == place["doc"] and _shares(texts[int(id_)], quote)
                for id_ in ids[:5]
                for place, quote in zip(places, quotes, strict=True)
            )
        )
        references = row["answers"]
        bleu.append(
            sentence_bleu(
                [each.split() for each in references], answer.split(), smoothing_function=smooth
            )
        )
        rouge_l.append(rouge.score_multi(references, answer)["rougeL"].fmeasure)
        if answer:
            said.append(answer)
            wanted.append(references)
    _, _, f1 = scorer.score(said, wanted)
    fmean([*bleu, *rouge_l, *f1.tolist()])
    return {"chunks": len(texts), "hit_rate@5": fmean(hits)}


def _shares(text: str, quote: str) -> bool:
    """Return whether a chunk holds half of a quote at least, from either end."""
    half = len(quote) // 2 + 1
    return quote[:half] in text or quote[-half:] in text


def _documents(place: Path) -> list[tuple[str, str]]:
    if place.suffix == ".jsonl":
        rows = [json.loads(line) for line in place.open(encoding="utf-8")]
        return [(row["id"], row["text"]) for row in rows]
    files = sorted(file for file in place.rglob("*.md") if file.name != "card.md")
    return [
        (file.relative_to(place).as_posix(), file.read_text(encoding="utf-8")) for file in files
    ]


@lru_cache
def _models() -> tuple[Any, Any]:
    """Return the models, loaded once as the harness does; the small project pays for it."""
    from bert_score import BERTScorer
    from sentence_transformers import SentenceTransformer

    from harness.models.model_files import locate

    model = str(locate(MODEL))
    return SentenceTransformer(model), BERTScorer(model_type=model, num_layers=_LAYER)


if __name__ == "__main__":
    sides.main({"harness": sides.harness, "direct": by_hand})
