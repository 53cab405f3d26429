"""Models bring weights and settings; code that one brings is not run."""

import json
import pickle

import pytest

from harness.embedders import embedders
from harness.errors import ModelError
from harness.models import model_files
from harness.rerankers import rerankers
from tests.support.cross_encoders import tiny

KINDS = ("modules.json", "config.json", "tokenizer_config.json")


@pytest.fixture
def planted(tmp_path):
    """Return a small model's folder with code in it, and the file that the code writes."""
    folder, mark = tmp_path / "model", tmp_path / "ran"
    tiny(folder)
    code = f"from pathlib import Path\nPath({str(mark)!r}).write_text('ran')\nclass Own: pass\n"
    (folder / "own.py").write_text(code)
    return folder, mark


@pytest.mark.parametrize("kind", KINDS)
def test_code_in_a_models_folder_is_refused_in_that_word_and_not_run(planted, kind):
    folder, mark = planted
    path = folder / kind
    settings = json.loads(path.read_text()) if path.exists() else {}
    if kind == "modules.json":
        settings = [{"idx": 0, "name": "0", "path": "", "type": "own.Own"}]
    else:
        settings |= {"auto_map": {"AutoModel": "own.Own"}, "model_type": "own"}
    path.write_text(json.dumps(settings))
    model_files.locate.cache_clear()
    built = (
        embedders.build({"sentence_transformer": {"model": str(folder)}}),
        rerankers.build({"cross_encoder": {"model": str(folder)}}),
    )
    for component in built:
        with pytest.raises(ModelError, match=r"own\.Own.*which is not run\n.*trust_remote_code"):
            component.identity()
    assert not mark.exists()


def test_code_of_a_kind_that_transformers_has_itself_does_not_stop_a_model(planted):
    folder, mark = planted
    settings = json.loads((folder / "config.json").read_text())
    settings |= {"auto_map": {"AutoModel": "own.Own"}}
    (folder / "config.json").write_text(json.dumps(settings))
    model_files.locate.cache_clear()
    rerankers.build({"cross_encoder": {"model": str(folder)}}).check()
    assert not mark.exists()


class Planted:
    def __init__(self, mark):
        self.mark = mark

    def __reduce__(self):
        return (open, (str(self.mark), "w"))


def test_pickled_weights_are_not_unpickled(planted):
    folder, mark = planted
    (folder / "own.py").unlink()
    (folder / "model.safetensors").unlink()
    (folder / "pytorch_model.bin").write_bytes(pickle.dumps({"weight": Planted(mark)}, protocol=2))
    model_files.locate.cache_clear()
    with pytest.raises(ModelError, match="cannot be loaded"):
        rerankers.build({"cross_encoder": {"model": str(folder)}}).check()
    assert not mark.exists()
