"""Models on a card: the same code on the processor, where it gives what each text gives alone."""

import copy

import numpy as np
import pytest

from harness.errors import ModelError
from harness.models.model_files import DEFAULT_MODEL
from harness.models.runtime import encoders, pair_models, processor, sentence_models
from harness.models.runtime.encoders import Choice, choose
from harness.rerankers import rerankers
from tests.support.cross_encoders import logit, tiny

torch = pytest.importorskip("torch")

TEXTS = [
    "Is it?",
    "",
    "保険 🙂 ÉTÉ",
    *(f"Line {n} covers storm, hail and frost to the building. " * (n % 7 + 1) for n in range(9)),
    "Every word of this one is read, up to the limit. " * 60,
]


def cosines(one, other):
    return sentence_models.cosines(np.asarray(one), np.asarray(other))


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
class TestEncoder:
    @pytest.mark.parametrize(("numbers", "least"), [("float32", 0.999999), ("bfloat16", 0.999)])
    def test_vectors_are_those_of_the_library_for_each_text_alone(
        self, model, alone, numbers, least
    ):
        if numbers == "bfloat16":
            model = copy.deepcopy(model).to(torch.bfloat16)
        found = encoders.TorchEncoder(model, encoders.MAX_BATCH_TOKENS["cuda"])
        assert cosines(found.vectors(TEXTS, "document"), alone).min() > least
        assert found.truncated(TEXTS) == [False] * (len(TEXTS) - 1) + [True]
        assert found.truncated(TEXTS[:2], "b " * 300) == [True, True]

    def test_a_prompt_is_put_before_each_text(self, model):
        found = encoders.TorchEncoder(model, encoders.MAX_BATCH_TOKENS["cuda"])
        asked = sentence_models.encode_texts(model, TEXTS[:4], "query", "query: ")
        assert cosines(found.vectors(TEXTS[:4], "query", "query: "), asked).min() > 0.999999

    def test_texts_of_one_length_are_encoded_in_one_call_and_others_apart(self, model):
        calls = []

        class Counted:
            max_seq_length, tokenizer = model.max_seq_length, model.tokenizer

            def encode_document(self, texts, batch_size, **options):
                calls.append((sorted(texts), batch_size))
                return model.encode_document(texts, batch_size=batch_size, **options)

        texts = ["the moon is far", "mars", "the sun is hot", "venus"]
        found = encoders.TorchEncoder(Counted(), 12).vectors(texts, "document")
        assert calls == [(["the moon is far", "the sun is hot"], 2), (["mars", "venus"], 4)]
        assert cosines(found, sentence_models.encode_texts(model, texts, "document")).min() > 0.9999


@pytest.mark.slow
class TestOthers:
    def test_pairs_score_what_each_scores_alone(self, tmp_path):
        model = tiny(tmp_path)
        asked = [("Which planet has two moons?", text) for text in TEXTS]
        found = pair_models.scores(pair_models.load(model, None), asked)
        assert found == pytest.approx([logit(model, *pair) for pair in asked], abs=1e-5)


class TestWhereThereIsACard:
    """What is decided where torch finds a card; nothing is computed."""

    @pytest.fixture
    def card(self, monkeypatch):
        monkeypatch.setattr(processor, "device", lambda: "cuda")
        monkeypatch.setattr(processor, "default_precision", lambda: "bfloat16")
        monkeypatch.setattr(encoders, "default_runtime", lambda: "openvino")

    def test_it_comes_first_in_the_numbers_that_it_has(self, card, monkeypatch):
        assert choose(DEFAULT_MODEL, "auto", "auto") == Choice("torch", "bfloat16", "cuda")
        assert choose(DEFAULT_MODEL, "auto", "float32") == Choice("torch", "float32", "cuda")
        monkeypatch.setattr(processor, "default_precision", lambda: "float32")
        assert choose(DEFAULT_MODEL, "torch", "auto") == Choice("torch", "float32", "cuda")

    def test_what_it_shapes_says_so_in_its_identity(self, card, tmp_path):
        reranker = rerankers.build({"cross_encoder": {"model": tiny(tmp_path)}})
        on = {"device": "cuda", "precision": "bfloat16"}
        assert on.items() <= reranker.identity().items()

    def test_a_choice_of_a_card_where_there_is_none_is_refused(self, monkeypatch):
        monkeypatch.setattr(processor, "device", lambda: "cpu")
        with pytest.raises(ModelError, match="torch finds none here"):
            encoders.open_encoder(DEFAULT_MODEL, Choice("torch", "bfloat16", "cuda"))
