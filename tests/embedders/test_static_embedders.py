"""The embedders `wordllama` and `model2vec`: static vectors of tokens."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from harness.embedders import embedders
from harness.errors import ModelError, SpecError
from harness.models.model_files import token_counter

MODELS = os.environ.get("HARNESS_TEST_MODELS")


TEXTS = ["The moon is far away.", "moon", "", "保険 👩‍🚀", "the moon and mars " * 900]


def promises(part, dimensions):
    """Hold an embedder to what every one promises, to the bit."""
    together = part.embed(TEXTS, "document")
    assert (together.shape, together.dtype) == ((len(TEXTS), dimensions), np.float32)
    assert np.linalg.norm(together.astype(np.float64), axis=1) == pytest.approx(1, abs=1e-6)
    assert part.embed(TEXTS[::-1], "query")[::-1].tobytes() == together.tobytes()
    for at, text in enumerate(TEXTS):
        assert part.embed([text], "document")[0].tobytes() == together[at].tobytes()
    assert part.embed([], "query").shape == (0, dimensions)
    assert together[TEXTS.index("")].tolist() == [1.0] + [0.0] * (dimensions - 1)
    assert part.truncated(TEXTS) == [False] * len(TEXTS)
    assert (part.kept, part.floor, part.describe(), part.warnings()) == (True, False, {}, [])
    read, longer = part.embed([TEXTS[-1], TEXTS[-1] + "air " * 2000], "document")
    assert np.abs(read - longer).max() > 0.01


class TestWordLlama:
    @pytest.fixture(autouse=True)
    def _installed(self):
        pytest.importorskip("tokenizers")
        if not any((Path(each) / "wordllama").is_dir() for each in sys.path):
            pytest.skip("wordllama is not installed: the extra [static]")

    def test_fewer_dimensions_are_the_first_of_the_full_vector(self):
        full = embedders.build("wordllama").embed(TEXTS, "query")
        short = embedders.build("wordllama(dimensions=64)").embed(TEXTS, "query")
        expected = full[:, :64] / np.linalg.norm(full[:, :64], axis=1, keepdims=True)
        assert short == pytest.approx(expected, abs=1e-6)

    def test_vectors_are_those_of_the_library(self):
        import wordllama

        folder = Path(wordllama.__file__).parent
        library = wordllama.WordLlama.load(cache_dir=folder, disable_download=True)
        found = embedders.build("wordllama").embed(TEXTS[:2], "document")
        assert found == pytest.approx(library.embed(TEXTS[:2], norm=True), abs=1e-6)

    @pytest.mark.parametrize("dimensions", [0, 100, 512])
    def test_other_dimensions_than_it_was_trained_for_are_refused(self, dimensions):
        with pytest.raises(SpecError, match=r"trained to be cut to \(64, 128, 256\)"):
            embedders.build({"wordllama": {"dimensions": dimensions}})

    def test_other_libraries_are_as_quiet_as_before(self):
        code = (
            "import logging; from harness.embedders import embedders;"
            "embedders.build('wordllama').embed(['a'], 'query');"
            "logging.getLogger('httpx').info('noise'); print(logging.getLogger().handlers)"
        )
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        )
        assert (done.stdout.strip(), done.stderr) == ("[]", "")


WORDS = ["[PAD]", "[UNK]", "the", "moon", "mars"]


NUMBERS = np.array([[9, 9], [7, 7], [1, 0], [0, 1], [-3, 4]], dtype=np.float32)


@pytest.fixture
def static(tmp_path):
    """Return a function that saves a tiny model of model2vec, and gives its folder."""
    model2vec = pytest.importorskip("model2vec", reason="the extra [static] is not installed")
    from tokenizers import Tokenizer, normalizers, pre_tokenizers
    from tokenizers.models import WordLevel

    def call(numbers=NUMBERS, name="static", **options):
        tokenizer = Tokenizer(WordLevel({w: at for at, w in enumerate(WORDS)}, unk_token="[UNK]"))
        tokenizer.normalizer = normalizers.Lowercase()
        tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
        folder = tmp_path / name
        model2vec.StaticModel(numbers, tokenizer, **options).save_pretrained(folder)
        return str(folder)

    return call


class TestModel2Vec:
    def test_a_vector_is_the_mean_of_its_known_tokens_with_length_one(self, static):
        part = embedders.build({"model2vec": {"model": static()}})
        found = part.embed(["the moon", "Mars!", "the the moon", "mars moon"], "document")
        expected = [[0.5**0.5, 0.5**0.5], [-0.6, 0.8], [2 / 5**0.5, 1 / 5**0.5], [-3, 5]]
        expected[3] = [-3 / 34**0.5, 5 / 34**0.5]
        assert found == pytest.approx(np.array(expected), abs=1e-6)

    def test_it_promises_what_every_embedder_does(self, static):
        part = embedders.build({"model2vec": {"model": static()}})
        together = part.embed(["nothing known", "", "moon", "the " * 5000 + "mars"], "document")
        assert together[:3].tolist() == [[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]
        assert together[3] != pytest.approx(np.array([1.0, 0.0]), abs=1e-6)
        assert part.embed(["moon"], "query").tolist() == [[0.0, 1.0]]
        assert part.embed([], "query").shape == (0, 2)
        assert part.truncated(["the " * 5000]) == [False]
        assert token_counter(part.tokenizer)("the moon and") == 3

    def test_dimensions_are_the_first_numbers_and_no_more_than_there_are(self, static):
        folder = static()
        part = embedders.build({"model2vec": {"model": folder, "dimensions": 1}})
        assert part.embed(["mars", "moon"], "query").tolist() == [[-1.0], [1.0]]
        with pytest.raises(ModelError, match="gives vectors of 2 numbers, and `dimensions` asks f"):
            embedders.build({"model2vec": {"model": folder, "dimensions": 3}}).identity()

    def test_numbers_that_are_not_finite_are_an_error(self, static):
        broken = NUMBERS.copy()
        broken[3] = np.nan
        part = embedders.build({"model2vec": {"model": static(broken)}})
        with pytest.raises(ModelError, match="not finite"):
            part.embed(["the moon"], "document")

    @pytest.mark.parametrize(
        ("file", "content"),
        [
            ("model.safetensors", b"not weights"),
            ("tokenizer.json", b"{}"),
            ("tokenizer.json", b"\xff"),
            ("config.json", b"["),
            ("model.safetensors", None),
        ],
    )
    def test_a_damaged_folder_is_named_without_a_traceback(self, static, file, content):
        path = Path(static()) / file
        path.unlink() if content is None else path.write_bytes(content)
        with pytest.raises(ModelError, match="cannot be loaded: "):
            embedders.build({"model2vec": {"model": str(path.parent)}}).identity()

    def test_a_published_model_keeps_the_promises(self):
        if not MODELS:
            pytest.skip("HARNESS_TEST_MODELS is not set: it names the folder of potion-base-8M")
        pytest.importorskip("model2vec", reason="the extra [static] is not installed")
        folder = Path(MODELS) / "potion-base-8M"
        promises(embedders.build({"model2vec": {"model": str(folder)}}), 256)
