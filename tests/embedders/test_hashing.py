"""The embedder `hashing`: word overlap, and no meaning at all."""

import hashlib
import os
import subprocess
import sys

import numpy as np
import pytest

from harness.embedders import embedders


class TestHashing:
    def test_vectors_do_not_depend_on_the_seed_of_pythons_own_hashes(self):
        code = (
            "import hashlib; from harness.embedders import embedders;"
            "v = embedders.build('hashing').embed(['The moon, the cat.', 'ä ö 保険'], 'query');"
            "print(hashlib.sha256(v.tobytes()).hexdigest())"
        )
        seen = [
            subprocess.run(
                [sys.executable, "-c", code],
                env={**os.environ, "PYTHONHASHSEED": seed},
                capture_output=True,
                text=True,
                check=True,
            ).stdout.strip()
            for seed in ("0", "4242")
        ]
        here = embedders.build("hashing").embed(["The moon, the cat.", "ä ö 保険"], "query")
        assert seen == [hashlib.sha256(here.tobytes()).hexdigest()] * 2

    def test_each_word_adds_the_root_of_its_count_at_the_place_its_hash_names(self):
        expected = np.zeros(50)
        for word, times in {"the": 2, "moon": 1, ".": 1}.items():
            code = int.from_bytes(hashlib.blake2b(word.encode(), digest_size=8).digest(), "big")
            expected[(code >> 1) % 50] += np.sqrt(times) * (1 if code % 2 else -1)
        expected /= np.linalg.norm(expected)
        hashing = embedders.build({"hashing": {"dimensions": 50}})
        assert hashing.embed(["The the MOON."], "query")[0] == pytest.approx(expected, abs=1e-6)

    @pytest.mark.parametrize("text", ["", " \n"])
    def test_a_text_without_words_is_the_first_axis(self, text):
        (vector,) = embedders.build({"hashing": {"dimensions": 3}}).embed([text], "query")
        assert vector.tolist() == [1.0, 0.0, 0.0]
