"""The embedder `sentence_transformer`: vectors of the library, prompts, and what is refused."""

from dataclasses import replace

import numpy as np
import pytest

from harness.embedders import embedders
from harness.errors import ModelError, SpecError

TEXTS = [
    "Insurellm was founded in 2015.",
    "Short",
    "A claim is paid within thirty days of the day on which all documents are there. " * 12,
    "Is the cat insured?",
    "保険",
    "",
]


@pytest.fixture(scope="module")
def minilm():
    return embedders.build("sentence_transformer")


@pytest.mark.slow
class TestMiniLM:
    def test_a_text_has_the_same_vector_whatever_its_batch_company(self, minilm):
        together = minilm.embed(TEXTS, "document")
        for at, text in enumerate(TEXTS):
            alone = minilm.embed([text], "document")[0]
            assert alone.tobytes() == together[at].tobytes()
        backwards = minilm.embed(TEXTS[::-1], "document")[::-1]
        assert backwards.tobytes() == together.tobytes()

    def test_vectors_are_those_of_the_library_used_by_itself(self, minilm):
        import torch
        from sentence_transformers import SentenceTransformer

        from harness.models.model_files import locate

        minilm = replace(minilm, precision="float32")
        model = SentenceTransformer(str(locate(minilm.model)), local_files_only=True)
        inputs = model.tokenize(TEXTS[:2])
        with torch.no_grad():
            states = (
                model[0]
                .auto_model(input_ids=inputs["input_ids"], attention_mask=inputs["attention_mask"])
                .last_hidden_state
            )
        mask = inputs["attention_mask"][..., None]
        means = ((states * mask).sum(1) / mask.sum(1)).numpy()
        expected = means / np.linalg.norm(means, axis=1, keepdims=True)
        assert minilm.embed(TEXTS[:2], "query") == pytest.approx(expected, abs=1e-5)

    def test_truncated_flags_the_texts_with_more_tokens_than_the_model_reads(self, minilm):
        # The model reads 256 tokens, two of which are its own marks.
        fits, over = "cat " * 254, "cat " * 255
        assert minilm.truncated([fits, over, over, ""]) == [False, True, True, False]
        read, unread = minilm.embed([fits, over], "document")
        assert unread == pytest.approx(read, abs=1e-6)

    def test_bfloat16_changes_the_vectors_a_little_and_its_identity(self, minilm):
        # Torch, as OpenVINO calculates in float32 where the processor has no bfloat16.
        spec = {"runtime": "torch", "precision": "bfloat16"}
        rough = embedders.build({"sentence_transformer": spec})
        vectors = rough.embed(TEXTS[:4], "document")
        cosines = (vectors * minilm.embed(TEXTS[:4], "document")).sum(axis=1)
        assert (vectors.dtype, bool((cosines > 0.999).all())) == (np.float32, True)
        assert np.linalg.norm(vectors, axis=1) == pytest.approx(1, abs=1e-5)
        assert (cosines < 1 - 1e-7).any()
        assert rough.identity() != minilm.identity()


def test_a_folder_that_is_no_model_is_refused_by_name(tmp_path):
    (tmp_path / "config.json").write_text("{}")
    broken = embedders.build({"sentence_transformer": {"model": str(tmp_path)}})
    with pytest.raises(ModelError, match="cannot be loaded"):
        broken.embed(["a"], "document")


def test_an_unknown_runtime_is_refused_with_the_choices():
    with pytest.raises(SpecError, match="'auto', 'torch' or 'openvino', not 'onnx'"):
        embedders.build({"sentence_transformer": {"runtime": "onnx"}})


def test_an_unknown_precision_is_refused_with_the_choices():
    with pytest.raises(SpecError, match="'auto', 'float32' or 'bfloat16', not 'int8'"):
        embedders.build({"sentence_transformer": {"precision": "int8"}})
