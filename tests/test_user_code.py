"""Code of users by dotted names: what is found, and what is said where nothing is."""

from importlib import metadata

import pytest

from harness import user_code
from harness.errors import ModelError, SpecError

KEY = "sk-a-key-that-nobody-has"


@pytest.fixture
def module(tmp_path, monkeypatch):
    """Return a function that writes an importable module and gives its name."""
    monkeypatch.syspath_prepend(tmp_path)

    def write(name, text):
        (tmp_path / f"{name}.py").write_text(text)
        return name

    return write


def hint(name):
    with pytest.raises(SpecError) as caught:
        user_code.load(name)
    return caught.value.hint


def test_a_name_that_is_not_there_is_met_with_all_that_can_be_called(module):
    text = "import json\nLIMIT = 3\ndef ask(q): ...\nclass App: ...\ndef _own(): ...\n"
    name = module("dotted_app", text)

    assert hint(f"{name}:aks") == "did you mean 'ask'? choose from: App, ask"


def test_a_module_that_offers_nothing_says_so(module):
    name = module("dotted_empty", "LIMIT = 3\n")

    assert hint(f"{name}:ask") == "nothing in it can be called"


def test_what_a_module_imports_only_when_asked_is_listed_and_not_imported(module):
    text = "def __dir__(): return ['Lazy']\ndef __getattr__(name):\n"
    text += "    if name == 'Lazy': raise ImportError('asked')\n    raise AttributeError(name)\n"

    assert hint(f"{module('dotted_lazy', text)}:Lasy") == "did you mean 'Lazy'? choose from: Lazy"


def test_a_module_that_ends_the_process_is_an_error_with_a_way_out(module):
    name = module("ending_module_of_a_test", "raise SystemExit(0)")
    with pytest.raises(SpecError) as caught:
        user_code.load(f"{name}:Class")
    assert caught.value.what == f"'{name}:Class': its module ends the process (0)"
    assert 'if __name__ == "__main__"' in caught.value.hint


def test_a_class_that_ends_the_process_as_it_is_made_is_an_error(module):
    name = module("ending_class_of_a_test", "class A:\n    def __init__(self): raise SystemExit(3)")
    with pytest.raises(ModelError, match="cannot be made: SystemExit: 3"):
        user_code.make(f"{name}:A", (), object)


@pytest.mark.parametrize("kind", ["ValueError", "SystemExit"])
def test_what_is_said_of_a_failed_import_is_one_short_line_without_secrets(
    kind, module, monkeypatch
):
    monkeypatch.setenv("NOBODY_API_KEY", KEY)
    text = f"import os\nraise {kind}(os.environ['NOBODY_API_KEY'] + 'x' * 999 + '\\nmore')"
    name = module(f"leaking_{kind}_of_a_test", text)
    with pytest.raises(SpecError) as caught:
        user_code.load(f"{name}:Class")
    said = str(caught.value)
    assert "$NOBODY_API_KEYxxx" in said
    assert (KEY in said, "more" in said, len(said) < 600) == (False, False, True)


def test_the_library_of_a_name_has_the_version_of_each_of_its_distributions(module):
    assert (
        user_code.distributions_of("pydantic.fields:FieldInfo")
        == f"pydantic {metadata.version('pydantic')}"
    )
    assert user_code.distributions_of("yaml:YAMLError") == f"PyYAML {metadata.version('pyyaml')}"
    assert user_code.distributions_of(f"{module('alone_in_a_test', '')}:A") == ""
