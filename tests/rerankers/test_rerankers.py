"""Rerankers: a cross-encoder, another embedder, LangChain's compressors."""

import os

import numpy as np
import pytest

from harness.embedders import embedders
from harness.errors import ModelError, SpecError, StageError
from harness.models.model_files import DEFAULT_MODEL
from harness.records import Hit
from harness.registry import label
from harness.rerankers import rerankers
from tests.support.cross_encoders import logit, tiny
from tests.support.listed import listed

TEXTS = [
    "The moon is far away and has no air.",
    "Mars has two moons.",
    "Air travel insurance covers a lost bag. " * 40,
    "",
    "月は遠い",
    "Mars has two moons.",
]


QUESTION = "Which planet has two moons?"


def hits(texts=TEXTS):
    return [Hit(chunk, 1 / (at + 1)) for at, chunk in enumerate(listed(texts))]


def numbers(found):
    return [hit.chunk.index for hit in found]


def build(name, **parameters):
    return rerankers.build({name: parameters})


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return tiny(tmp_path_factory.mktemp("cross"))


class TestCrossEncoder:
    def test_scores_are_those_of_transformers_for_each_pair_alone(self, model):
        found = build("cross_encoder", model=model).rerank(QUESTION, hits())
        expected = [logit(model, QUESTION, text) for text in TEXTS]
        assert [hit.score for hit in found] == pytest.approx(
            sorted(expected, reverse=True), abs=1e-6
        )
        assert numbers(found) == sorted(range(6), key=lambda at: (-expected[at], at))
        assert len({round(score, 3) for score in expected}) == 5  # two texts are the same

    def test_a_score_is_the_same_to_the_last_bit_in_any_company(self, model):
        reranker = build("cross_encoder", model=model)
        together = {hit.chunk.index: hit.score for hit in reranker.rerank(QUESTION, hits())}
        for hit in hits():
            (alone,) = reranker.rerank(QUESTION, [hit])
            assert alone.score == together[hit.chunk.index]

    def test_reads_no_more_of_a_pair_than_it_is_told(self, model):
        found = build("cross_encoder", model=model, max_length=20).rerank(QUESTION, hits())
        scores = {hit.chunk.index: hit.score for hit in found}
        assert scores[2] == pytest.approx(logit(model, QUESTION, TEXTS[2], 20), abs=1e-6)
        assert scores[2] != pytest.approx(logit(model, QUESTION, TEXTS[2]), abs=1e-3)

    def test_its_identity_changes_with_the_weights(self, model, tmp_path):
        one = build("cross_encoder", model=model).identity()
        other = build("cross_encoder", model=tiny(tmp_path, seed=4)).identity()
        assert one["weights"] != other["weights"]
        assert build("cross_encoder", model=model, max_length=20).identity() != one

    def test_what_is_no_cross_encoder_is_refused_and_gets_no_random_head(self, model, tmp_path):
        for name, parameters, message in [
            (DEFAULT_MODEL, {}, "is no cross-encoder"),
            (tiny(tmp_path, labels=3), {}, "gives 3 scores a pair; a reranker gives one"),
            (model, {"max_length": 500}, "reads 128 tokens of a pair, not 500"),
            ("nobody/nothing", {}, "was not found"),
        ]:
            with pytest.raises(ModelError, match=message):
                build("cross_encoder", model=name, **parameters).check()


class TestBiEncoder:
    def test_scores_are_the_cosines_of_the_embedder(self):
        found = build("bi_encoder", embedder="hashing(dimensions=64)").rerank(QUESTION, hits())
        embedder = embedders.build("hashing(dimensions=64)")
        cosines = embedder.embed(TEXTS, "document") @ embedder.embed([QUESTION], "query")[0]
        assert numbers(found) == sorted(
            range(6), key=lambda at: (-round(float(cosines[at]), 6), at)
        )
        assert [hit.score for hit in found] == pytest.approx(-np.sort(-cosines), abs=1e-6)

    def test_the_embedder_may_be_a_mapping_and_is_part_of_the_identity(self):
        one = build("bi_encoder", embedder={"hashing": {"dimensions": 64}})
        assert one.embedder == "hashing(dimensions=64)"
        assert rerankers.build(label(one)) == one
        assert one.identity()["embedder"] == embedders.build("hashing(dimensions=64)").identity()

    @pytest.mark.slow
    def test_mpnet_puts_the_answer_first(self):
        models = os.environ.get("HARNESS_TEST_MODELS")
        if not models:
            pytest.skip(
                "HARNESS_TEST_MODELS is not set: it names the folder with all-mpnet-base-v2"
            )
        spec = {"sentence_transformer": {"model": f"{models}/all-mpnet-base-v2"}}
        found = build("bi_encoder", embedder=spec).rerank(QUESTION, hits())
        assert numbers(found)[:2] == [1, 5]


def compressor(name, **parameters):
    return build("langchain", cls=f"tests.support.compressors:{name}", **parameters)


class TestLangChain:
    def test_the_order_is_the_compressor_s_and_what_it_drops_is_dropped(self):
        found = compressor("ByLength", arguments={"top_n": 3}).rerank(QUESTION, hits())
        assert numbers(found) == [3, 4, 1]
        assert [hit.score for hit in found] == [1, 1 / 2, 1 / 3]
        assert numbers(compressor("ByLength", keep=2).rerank(QUESTION, hits())) == [3, 4]

    def test_a_hit_keeps_its_own_text_where_the_compressor_cuts_it(self):
        found = compressor("ByLength", arguments={"letters": 2}).rerank(QUESTION, hits())
        assert {hit.chunk.text for hit in found} == set(TEXTS)

    def test_what_is_given_back_twice_is_a_hit_once_at_its_first_place(self):
        assert numbers(compressor("Twice").rerank(QUESTION, hits())) == [5, 4, 3, 2, 1, 0]

    @pytest.mark.parametrize(
        ("name", "message"),
        [
            (
                "Breaks",
                "tests.support.compressors:Breaks failed: RuntimeError: no answer to 'Which planet",
            ),
            ("Ends", "tests.support.compressors:Ends failed: SystemExit: 0"),
            ("Forgets", "gave back a document without the metadata it was given"),
        ],
    )
    def test_what_goes_wrong_is_the_question_s_failure(self, name, message):
        with pytest.raises(StageError) as caught:
            compressor(name).rerank(QUESTION, hits())
        assert message in str(caught.value)

    @pytest.mark.parametrize(
        ("cls", "kind", "message"),
        [
            (
                "tests.support.compressors:ByLenght",
                SpecError,
                "has no 'ByLenght'\n  did you mean 'ByLength'?",
            ),
            (
                "tests.support.compressors.NOT_A_CLASS",
                SpecError,
                "is not derived from langchain_core",
            ),
            ("pathlib:Path", SpecError, "is not derived from langchain_core"),
            ("nowhere.at.all:Thing", SpecError, "module 'nowhere.at.all' cannot be imported"),
            (
                "tests.support.compressors:NeedsAKey",
                ModelError,
                "cannot be made: ValueError: set NOBODY_API",
            ),
            ("langchain_core.documents:BaseDocumentCompressor", ModelError, "cannot be made"),
        ],
    )
    def test_what_cannot_be_made_is_found_before_the_run(self, cls, kind, message):
        with pytest.raises(kind) as caught:
            build("langchain", cls=cls).check()
        assert message in str(caught.value)
