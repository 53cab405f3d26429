"""The retriever `filtered`: Chroma's filters on the metadata of documents."""

import chromadb
import numpy as np
import pytest

from harness.errors import SpecError
from harness.ranking import filters
from harness.registry import label
from harness.retrievers import retrievers
from tests.support.searching import documents, ids, pairs, searching

METADATA = [
    {"year": 2024, "kind": "a"},
    {"year": 2023.5, "kind": "b"},
    {"kind": "a", "flag": True},
    {"year": "2024"},
    {"year": 2025, "flag": False},
    {"year": 1, "kind": "A"},
    {"year": True},
    {"kind": "1"},
    {"year": 2024.0},
]


WHERE = [
    {"year": 2024},
    {"year": "2024"},
    {"year": True},
    {"year": 1},
    {"flag": {"$ne": True}},
    {"flag": False},
    *(
        {"year": {how: value}}
        for how in ("$eq", "$ne", "$gt", "$gte", "$lt", "$lte")
        for value in (1, 2023.5, 2024, 2024.0)
    ),
    {"kind": {"$ne": "a"}},
    {"kind": {"$in": ["a", "b"]}},
    {"kind": {"$nin": ["a", "b"]}},
    {"year": {"$in": [2024, 1]}},
    {"year": {"$in": [2024.0, 2023.5]}},
    {"year": {"$nin": [2024, 1]}},
    {"nobody": {"$ne": 1}},
    {"nobody": {"$nin": ["x"]}},
    {"nobody": 1},
    {"$and": [{"kind": "a"}, {"year": 2024}]},
    {"$or": [{"kind": "b"}, {"year": {"$ne": 2024}}]},
    {"$or": [{"$and": [{"kind": "a"}, {"flag": True}]}, {"year": {"$lt": 2}}]},
]


@pytest.fixture(scope="module")
def collection(tmp_path_factory):
    settings = chromadb.config.Settings(anonymized_telemetry=False)
    client = chromadb.PersistentClient(str(tmp_path_factory.mktemp("chroma")), settings=settings)
    made = client.create_collection("metadata", embedding_function=None)
    numbers = [str(number) for number in range(len(METADATA))]
    made.add(ids=numbers, embeddings=[[1.0, float(n)] for n in numbers], metadatas=METADATA)
    yield made
    client.close()


@pytest.mark.parametrize("where", WHERE, ids=str)
def test_a_filter_passes_what_chroma_passes(where, collection):
    filters.check_filter(where)
    passing = [str(at) for at, each in enumerate(METADATA) if filters.matches(where, each)]
    assert passing == sorted(collection.get(where=where)["ids"])


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ({"year": {"$gr": 1}}, "year: unknown operator '$gr': did you mean '$gt'? choose from"),
        ({"year": {"gt": 1}}, "year: unknown operator 'gt': did you mean '$gt'?"),
        ({"year": {"$gt": "2"}}, "year: $gt compares numbers, and '2' is none"),
        ({"year": {"$gt": True}}, "year: $gt compares numbers, and True is none"),
        ({"year": {"$in": 1}}, "year: $in takes a list of values, not 1"),
        ({"year": {"$in": []}}, "year: $in takes a list of values, not []"),
        ({"year": {"$in": [[1]]}}, "year: $in takes a list of values, not [[1]]"),
        ({"year": {"$gt": 1, "$lt": 3}}, "year: expected a value or one {operator: value}"),
        ({"year": None}, "year: expected a value or one {operator: value}, not None"),
        ({"year": {"$eq": [1]}}, "year: $eq takes a text, a number, true or false, not [1]"),
        ({"a": 1, "b": 2}, "join several by {$and: [{...}, {...}]}"),
        ({}, "a filter is a mapping with one key, not {}"),
        ([1], "a filter is a mapping with one key, not [1]"),
        ({"$and": {"a": 1}}, "$and takes a list of filters, not {'a': 1}"),
        ({"$or": []}, "$or takes a list of filters, not []"),
        ({"$an": []}, "or joins filters, not '$an': did you mean '$and'?"),
        ({3: "x"}, "a filter begins with a field's name"),
        ({"year": float("nan")}, "Out of range float values"),
        ("year > 3", "where: a filter is a mapping, {field: value}"),
    ],
    ids=str,
)
def test_what_is_no_filter_is_refused_with_its_place(where, message):
    with pytest.raises(SpecError) as caught:
        retrievers.build({"filtered": {"where": where}})
    assert message in str(caught.value)


NUMBERS = [str(number) for number in range(300)]


WORDS = ["moon", "air", "mars", "phobos", "deimos", "far", "away", "thin", "hot", "comet"]


@pytest.fixture(scope="module")
def many():
    draw = np.random.default_rng(3)
    texts = {name: " ".join(draw.choice(WORDS, 12)) for name in NUMBERS}
    known = {name: {"group": int(name) % 10, "half": int(name) < 150} for name in NUMBERS}
    return documents(texts, **known)


@pytest.mark.parametrize("settings", [{}, {"index": {"exact": True}}], ids=["chroma", "exact"])
@pytest.mark.parametrize("of", ["dense", "bm25", "hybrid(depth=300)"])
def test_the_ranking_is_that_of_the_documents_that_pass_and_none_is_lost(
    of, settings, many, tmp_path
):
    where = {"$and": [{"group": {"$in": [3, 7]}}, {"half": True}]}
    questions = ["hot comet", "thin air far away", "moon", "zzz"]
    few = {
        name: each for name, each in many.items() if int(name) % 10 in (3, 7) and int(name) < 150
    }
    with searching(tmp_path / "all", many, **settings) as ask:
        found = ask({"filtered": {"of": of, "where": where}}, questions, 12)
        whole = ask(of, questions, 300)
    for hits, every in zip(found, whole, strict=True):
        kept = [hit for hit in every if hit.chunk.span.doc in few]
        if of.startswith("hybrid"):  # ranks among few are other ranks
            assert set(ids(hits)) <= set(few)
        else:
            assert pairs(hits) == pairs(kept)[:12]
    if of == "dense":
        assert [len(hits) for hits in found] == [12] * 4


def test_chunks_of_a_document_pass_with_it_and_filters_in_filters_all_hold(tmp_path):
    known = {"a": {"year": 1, "kind": "x"}, "b": {"year": 1}, "c": {"year": 2, "kind": "x"}}
    found = documents(dict.fromkeys("abc", "moon far air one moon two"), **known)
    inner = {"filtered": {"where": {"year": 1}}}
    with searching(tmp_path, found, chunker="fixed(size=9, overlap=0)") as ask:
        (one,) = ask(inner, ["moon"], 50)
        (both,) = ask({"filtered": {"where": {"kind": "x"}, "of": inner}}, ["moon"], 50)
        (by_id,) = ask({"filtered": {"where": {"id": "c"}, "of": "mmr"}}, ["moon"], 50)
        (none,) = ask({"filtered": {"where": {"year": 3}}}, ["moon"], 50)
    assert sorted(ids(one)) == ["a"] * 3 + ["b"] * 3
    assert ids(both) == ["a"] * 3
    assert ids(by_id) == ["c"] * 3
    assert none == []


@pytest.mark.parametrize("wrap", ["{}", "hybrid(of=({}, bm25))", "mmr(of={})"])
def test_a_field_that_no_document_has_is_an_error_that_names_those_there_are(wrap, tmp_path):
    found = documents({"a": "moon", "b": "air"}, a={"year": 1})
    spec = wrap.format(label(retrievers.build({"filtered": {"where": {"yaer": {"$ne": 1}}}})))
    message = "retriever 'filtered': where: no document has the field 'yaer'"
    hint = "did you mean 'year'? choose from: id, year"
    with searching(tmp_path, found) as ask, pytest.raises(SpecError) as caught:
        ask(spec, ["moon"])
    assert (caught.value.what, caught.value.hint) == (message, hint)
    with pytest.raises(SpecError, match="yaer"):
        retrievers.build(spec).check(found)
