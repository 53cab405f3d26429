"""Ties: chunks that score the same go by document id, descending, as trec_eval orders them.

Eighty documents have the same words, and as many others have words of their own. So most rankings
are cut among equals; which of them are there, and in which order, the rule alone decides.
"""

import json
import random
from pathlib import Path

import chromadb
import pytest
import pytrec_eval

from harness.embedders.hashing import Hashing
from tests.behaviour.golden import run_folder
from tests.behaviour.servers import rows
from tests.support.chroma_server import chroma_running
from tests.support.cross_encoders import tiny

COPIES = [f"copy{number:02}" for number in range(80)]
COPY = "Every ferry of the old harbour sails at noon. It needs no ticket.\n"
HARBOURS = {
    f"harbour{number:02}": f"Ferry {number} of harbour {number} sails at {number} past noon. "
    f"Its pier has {number * 7} lamps.\n"
    for number in range(80)
}
QUESTIONS = ["When sails every ferry of the old harbour?", "Which ferry needs no ticket at noon?"]
CUTS = (3, 5, 10, 20, 35)
METRICS = {
    f"{ours}@{k}": f"{theirs}_{k}"
    for ours, theirs in (("ndcg", "ndcg_cut"), ("precision", "P"), ("recall", "recall"))
    for k in CUTS
} | {"ap": "map", "mrr": "recip_rank", **{f"ap@{k}": f"map_cut_{k}" for k in CUTS}}
LEFT_OUT = "copy77"
CUT = ",".join(map(str, CUTS))
MEASURES = {f"{name}.{CUT}" for name in ("ndcg_cut", "P", "recall", "map_cut")} | {
    "map",
    "recip_rank",
}
RETRIEVERS = [
    "dense",
    "bm25",
    "hybrid",
    {"hybrid": {"fuse": "scores", "depth": 35}},
    {"filtered": {"where": {"id": {"$nin": [LEFT_OUT, "harbour03"]}}, "of": "hybrid"}},
]


@pytest.fixture
def copies(project):
    """Return a project of 160 documents in no order, judged by a seed."""
    texts = dict.fromkeys(COPIES, COPY) | HARBOURS
    chance = random.Random(5)
    ids = chance.sample(sorted(texts), len(texts))
    (project.folder / "docs.jsonl").write_text(
        "".join(f"{json.dumps({'id': id_, 'text': texts[id_]})}\n" for id_ in ids), "utf-8"
    )
    project.testset(
        *(
            {"id": f"q{number}", "question": text, "documents": grades}
            for number, text in enumerate(QUESTIONS)
            if (grades := {id_: chance.randrange(3) for id_ in chance.sample(ids, 60)})
        )
    )
    project.config(
        corpus="docs.jsonl",
        labels="documents",
        chunkers=["whole"],
        generators=["none"],
        retrieve=35,
        metrics=list(METRICS),
        index={"exact": True},
        context={"chunks": 1},
    )
    return project


@pytest.fixture
def run(copies, cli):
    """Return a function that runs the project with changes, and gives the folder of the run."""

    def call(**changes):
        copies.config(**changes)
        said = cli("run", "config.yaml")
        assert said.status == 0, said.err
        return run_folder(copies.folder)

    return call


def hits(folder):
    """Return document and score of each hit, by cell and question."""
    return {
        (record["cell"], record["question"]): [(hit["doc"], hit["score"]) for hit in record["hits"]]
        for record in rows(folder / "records.jsonl")
    }


def check_order(rankings):
    """Hold each ranking to the rule: of the copies it has the last ids, whatever else it has."""
    for (cell, _), ranking in rankings.items():
        assert ranking == sorted(sorted(ranking, reverse=True), key=lambda hit: -hit[1])
        there = [doc for doc, _ in ranking if doc in COPIES]
        may_be = [doc for doc in reversed(COPIES) if "filtered" not in cell or doc != LEFT_OUT]
        assert there == may_be[: len(there)]


def test_every_figure_is_trec_evals(run, cli):
    """As exported, and with the scores as they are: then trec_eval orders the equals by itself."""
    rerankers = [
        "none",
        {"bi_encoder": {"embedder": "hashing"}},
        {"cross_encoder": {"model": tiny("cross")}},
    ]
    folder = run(retrievers=RETRIEVERS, rerankers=rerankers)
    *files, qrels = map(Path, cli("export", "trec", folder, "-o", "out").out.splitlines())
    evaluator = pytrec_eval.RelevanceEvaluator(
        pytrec_eval.parse_qrel(qrels.read_text("utf-8").splitlines()), MEASURES
    )
    records = {(row["cell"], row["question"]): row for row in rows(folder / "records.jsonl")}
    cells = json.loads((folder / "run.json").read_text("utf-8"))["cells"]
    check_order(hits(folder))

    assert len(cells) == len(files) == 15
    for cell, file in zip(cells, files, strict=True):
        exported = pytrec_eval.parse_run(file.read_text("utf-8").splitlines())
        stored = {
            id_: dict(each) for (name, id_), each in hits(folder).items() if name == cell["name"]
        }
        for ranked in (exported, stored):
            theirs = evaluator.evaluate(ranked)
            for metric, measure in METRICS.items():
                values = [theirs[id_][measure] for id_ in ("q0", "q1")]
                ours = [
                    records[cell["name"], id_]["scores"][metric]["value"] for id_ in ("q0", "q1")
                ]
                assert ours == pytest.approx(values, abs=5e-6)
                mean = cell["scores"][metric]["mean"]
                assert mean == pytest.approx(sum(values) / 2, abs=5e-6)


@pytest.mark.parametrize("k", [4, 30, 90])
def test_a_tie_at_the_cut_is_decided_as_if_there_were_no_cut(run, k):
    every = hits(run(retrievers=RETRIEVERS[:3], metrics=["mrr"], retrieve=160))
    cut = hits(run(retrieve=k))

    # Both rankings that `hybrid` fuses are 100 deep at least, and 160 deep for all.
    assert cut == {
        key: ranking[:k] if "hybrid" not in key[0] else cut[key] for key, ranking in every.items()
    }
    check_order(cut)


def test_an_approximate_index_a_server_and_a_collection_order_ties_as_exact_search(
    run, copies, tmp_path_factory
):
    settings = {"retrievers": ["dense"], "retrieve": 30, "metrics": ["mrr"]}
    texts = {row["id"]: row["text"] for row in rows(copies.folder / "docs.jsonl")}
    with chroma_running(tmp_path_factory.mktemp("chroma") / "data") as server:
        by_index = [
            hits(run(**settings, index=index))
            for index in ({"exact": True}, {}, {"server": {"url": server.url}})
        ]
    client = chromadb.PersistentClient("db")
    collection = client.create_collection("kept", configuration={"hnsw": {"space": "cosine"}})
    collection.add(
        ids=list(texts),
        metadatas=[{"source": id_} for id_ in texts],
        documents=list(texts.values()),
        embeddings=Hashing(64).embed(list(texts.values()), "document"),
    )
    client.close()
    existing = {"existing": {"collection": "kept", "path": "db"}}
    own = hits(run(chunkers=None, index=existing))
    exactly = hits(run(index={**existing, "exact": True}))

    assert by_index[0] == by_index[1] == by_index[2]
    assert [*own.values()] == [*exactly.values()] == [*by_index[0].values()]
    check_order(own)


def test_chunks_of_one_document_that_tie_go_by_their_start_and_so_do_their_parents(run, copies):
    for name in ("a.md", "b.md"):
        copies.document(f"two/{name}", "The ferry sails at noon.\n\n" * 9)
    copies.testset({"id": "q", "question": "ferry", "documents": {"a.md": 1}})
    small = {"fixed": {"size": 26}}
    folder = run(
        corpus="corpus/two",
        chunkers=[small, {"fixed": {"size": 26, "parent": "fixed(size=78)"}}],
        retrievers=["dense", "bm25", "hybrid"],
        metrics=["mrr"],
        retrieve=14,
    )

    for record in rows(folder / "records.jsonl"):
        size, parts = (78, 3) if "parent" in record["cell"] else (26, 9)
        places = [(hit["doc"], hit["start"]) for hit in record["hits"]]
        expected = [(doc, number * size) for doc in ("b.md", "a.md") for number in range(parts)]
        assert places == expected[: len(places)]
        assert len(places) == min(14, 2 * parts) or parts == 3
