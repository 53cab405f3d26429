"""Models on a card: the same code on the processor, where it gives what each text gives alone."""

import copy
import threading
import time
from contextlib import closing
from dataclasses import replace

import numpy as np
import pytest

from harness.errors import ModelError
from harness.models.model_files import DEFAULT_MODEL, hide_progress_bars, locate
from harness.models.runtime import (
    encoders,
    pair_models,
    processor,
    runtime_choice,
    sentence_models,
    token_batches,
)
from harness.models.runtime.encoders import GpuEmbedder
from harness.models.runtime.gpu_encoder import BatchWork, DeviceRunner, TokenizedText
from harness.models.runtime.prefetch import prefetch
from harness.models.runtime.runtime_choice import Choice
from harness.models.runtime.tokenizer_reader import BatchTokenizer
from harness.records import Hit
from harness.rerankers import rerankers
from tests.cross_encoders import logit, tiny
from tests.listed import listed

torch = pytest.importorskip("torch")

TEXTS = [
    "Is it?",
    "",
    "保険 🙂 ÉTÉ",
    *(f"Line {n} covers storm, hail and frost to the building. " * (n % 7 + 1) for n in range(9)),
    "Every word of this one is read, up to the limit. " * 60,
]


class TestAhead:
    def test_it_yields_in_order_and_makes_no_more_in_advance_than_its_room(self):
        made = []

        def source():
            for number in range(10):
                made.append(number)
                yield number

        found = prefetch(source(), 2)
        assert next(found) == 0
        assert len(made) <= 4
        assert list(found) == list(range(1, 10))

    def test_what_the_source_raises_is_raised_in_its_place(self):
        def source():
            yield 1
            raise ModelError("no more")

        found = prefetch(source(), 3)
        assert next(found) == 1
        with pytest.raises(ModelError, match="no more"):
            next(found)

    def test_no_thread_is_left_when_it_is_closed_half_way(self):
        before = threading.active_count()
        with closing(prefetch(iter(range(1_000)), 2)) as found:
            assert next(found) == 0
        assert threading.active_count() == before

    def test_closing_it_waits_for_what_is_just_being_made(self):
        going, made = threading.Event(), []

        def source():
            yield 0
            going.set()
            time.sleep(0.1)
            made.append(1)
            yield 1

        with closing(prefetch(source(), 2)) as found:
            assert next(found) == 0
            assert going.wait(10)
        assert made == [1]
        assert not [each for each in threading.enumerate() if each.name.startswith("ahead")]


def doubling(fits=10**9):
    """Return work that doubles numbers, for whose memory more than `fits` tokens are too many."""
    shapes = []

    def run(features):
        shapes.append(tuple(features["ids"].shape))
        if features["ids"].numel() > fits:
            raise torch.OutOfMemoryError("CUDA out of memory.")
        return features["ids"][:, :1] * 2

    def fill(some):
        return {"ids": np.array([[n] * max(some) for n in some])}

    return BatchWork(
        lambda n: n, lambda some: [TokenizedText(n, n) for n in some], fill, run
    ), shapes


class TestBatches:
    def test_rows_are_those_of_their_items_and_batches_keep_to_the_budget(self):
        numbers = [int(n) for n in np.random.default_rng(3).integers(1, 50, size=3_000)]
        work, shapes = doubling()
        found = DeviceRunner("cpu", budget=500).matrix(numbers, work)
        assert found[:, 0].tolist() == [2 * n for n in numbers]
        assert all(rows * columns <= 500 for rows, columns in shapes)
        assert sum(rows for rows, _ in shapes) == 3_000
        # Of like length, so that little of a batch is padding.
        assert sum(numbers) / sum(rows * columns for rows, columns in shapes) > 0.97

    def test_short_items_fill_a_batch_across_what_is_read_at_once(self):
        work, shapes = doubling()
        DeviceRunner("cpu", budget=2_000).matrix([1] * 5_000, work)
        assert shapes == [(2_000, 1), (2_000, 1), (1_000, 1)]

    def test_the_budget_is_halved_for_good_where_the_memory_runs_out(self):
        work, shapes = doubling(fits=130)
        card = DeviceRunner("cpu", budget=1_000)
        assert card.matrix([10] * 400, work)[:, 0].tolist() == [20] * 400
        assert card.budget == 120
        assert shapes[:4] == [(100, 10), (50, 10), (25, 10), (12, 10)]
        shapes.clear()
        card.matrix([10] * 24, work)
        assert shapes == [(12, 10), (12, 10)]

    def test_an_item_that_does_not_fit_alone_is_an_error_with_what_to_do(self):
        work, _ = doubling(fits=4)
        with pytest.raises(ModelError, match=r"does not hold one text\n.*CUDA_VISIBLE_DEVICES="):
            DeviceRunner("cpu").matrix([5], work)

    def test_ids_are_padded_on_the_right_to_a_multiple_of_eight(self):
        made = token_batches.pad_right([[7, 8], [1] * 9], 5)
        assert made["input_ids"].tolist() == [[7, 8] + [5] * 14, [1] * 9 + [5] * 7]
        assert made["attention_mask"].tolist() == [[1] * 2 + [0] * 14, [1] * 9 + [0] * 7]


def cosines(one, other):
    return sentence_models._cosines(np.asarray(one), np.asarray(other))


@pytest.fixture(scope="module")
def model():
    """Return the default model without all of its layers but the first."""
    made = copy.deepcopy(sentence_models.load(DEFAULT_MODEL))
    del made[0].auto_model.encoder.layer[1:]
    return made


@pytest.fixture(scope="module")
def alone(model):
    """Return the vectors that the library gives, each text by itself."""
    return sentence_models.encode_texts(model, TEXTS, "document")


@pytest.mark.slow
class TestEmbedder:
    @pytest.mark.parametrize(("numbers", "least"), [("float32", 0.999999), ("bfloat16", 0.999)])
    def test_vectors_are_those_of_the_library_for_each_text_alone(
        self, model, alone, numbers, least
    ):
        reader = BatchTokenizer(sentence_models.guess_settings(model))
        if numbers == "bfloat16":
            model = copy.deepcopy(model).to(torch.bfloat16)
        found = GpuEmbedder(model, reader, DeviceRunner("cpu", budget=2_000))
        assert cosines(found.vectors(TEXTS, "document"), alone).min() > least
        assert found.truncated(TEXTS) == [False] * (len(TEXTS) - 1) + [True]
        assert found.truncated(TEXTS[:2], "b " * 300) == [True, True]

    def test_a_model_that_its_library_alone_can_read_gives_the_same(self, model, alone):
        found = GpuEmbedder(model, None, DeviceRunner("cpu", budget=2_000))
        assert cosines(found.vectors(TEXTS, "document"), alone).min() > 0.999999
        asked = sentence_models.encode_texts(model, TEXTS[:4], "query", "query: ")
        assert cosines(found.vectors(TEXTS[:4], "query", "query: "), asked).min() > 0.999999
        assert found.truncated(TEXTS) == [False] * (len(TEXTS) - 1) + [True]


@pytest.mark.slow
class TestOthers:
    def test_pairs_score_what_each_scores_alone(self, tmp_path):
        model = tiny(tmp_path)
        asked = [("Which planet has two moons?", text) for text in TEXTS]
        found = pair_models.score_in_batches(
            pair_models.load(model, None), asked, DeviceRunner("cpu", budget=1_000)
        )
        assert found == pytest.approx([logit(model, *pair) for pair in asked], abs=1e-5)

    def test_what_is_prepared_together_is_ranked_the_same(self, tmp_path):
        from harness.rerankers import cross_encoder

        reranker = rerankers.build({"cross_encoder": {"model": tiny(tmp_path)}})
        hits = [Hit(chunk, 1.0) for chunk in listed(TEXTS[:5] + TEXTS[:1])]
        found = reranker.rerank("Is it?", hits)
        cross_encoder._memory(reranker.model, None).hold([("Is it?", text) for text in TEXTS[:3]])
        assert reranker.rerank("Is it?", hits) == found

    def test_bertscore_gives_what_it_gives_on_the_processor(self):
        from bert_score.utils import get_model, get_tokenizer

        from harness.metrics.token_match import TokenMatcher

        hide_progress_bars()
        folder = str(locate(DEFAULT_MODEL))
        model, tokenizer = get_model(folder, 1), get_tokenizer(folder, True)
        given = [(TEXTS[at], (TEXTS[at + 1], TEXTS[-2])) for at in range(3, 7)]
        plain = TokenMatcher(model, tokenizer).compare(given)
        card = TokenMatcher(model, tokenizer, DeviceRunner("cpu", budget=500)).compare(given)
        assert np.array(card) == pytest.approx(np.array(plain), abs=1e-4)


class TestWhereThereIsACard:
    """What is decided where torch finds a card; nothing is computed."""

    @pytest.fixture
    def card(self, monkeypatch):
        monkeypatch.setattr(processor, "device", lambda: "cuda")
        monkeypatch.setattr(processor, "default_precision", lambda: "bfloat16")
        monkeypatch.setattr(runtime_choice, "default_runtime", lambda: "openvino")
        monkeypatch.setattr(sentence_models, "looks_usual", lambda folder: True)

    def test_it_comes_first_in_bfloat16_and_is_chosen_without_a_folder(self, card):
        found = runtime_choice._candidates(DEFAULT_MODEL, "auto", "auto")
        assert found[0] == Choice("torch", "bfloat16", "cuda")
        assert Choice("openvino", "float32", "cpu") in found
        assert runtime_choice._candidates(DEFAULT_MODEL, "auto", "float32")[0] == replace(
            found[0], precision="float32"
        )

    def test_one_without_bfloat16_calculates_in_float32(self, card, monkeypatch):
        monkeypatch.setattr(processor, "default_precision", lambda: "float32")
        found = runtime_choice._candidates(DEFAULT_MODEL, "torch", "auto")
        assert found == [Choice("torch", "float32", "cuda")]

    def test_what_it_shapes_says_so_in_its_identity(self, card, tmp_path):
        reranker = rerankers.build({"cross_encoder": {"model": tiny(tmp_path)}})
        on = {"device": "cuda", "precision": "bfloat16"}
        assert on.items() <= reranker.identity().items()

    def test_a_choice_of_a_card_where_there_is_none_is_refused(self, monkeypatch):
        monkeypatch.setattr(processor, "device", lambda: "cpu")
        with pytest.raises(ModelError, match="torch finds none here"):
            encoders.open_encoder.__wrapped__(DEFAULT_MODEL, "torch", "bfloat16", "cuda")
