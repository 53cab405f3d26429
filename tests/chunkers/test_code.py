"""The chunker `code`: whole definitions."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.chunkers import chunkers
from harness.errors import SpecError


def pieces(name, text, **parameters):
    return [text[start:end] for start, end in chunkers.build({name: parameters}).split(text)]


class TestCode:
    TEXT = (
        '"""Two."""\n\nimport os\n\n\n# The first.\n@cache\ndef one():\n    return 1\n\n\n'
        "class Two:\n    def a(self):\n        return os.name\n\n    def b(self):\n"
        "        return None\n"
    )

    def test_definitions_are_chunks_with_their_decorators_and_comments(self):
        assert pieces("code", self.TEXT, size=100) == [
            '"""Two."""\n\nimport os\n\n\n# The first.\n@cache\ndef one():\n    return 1',
            self.TEXT[self.TEXT.index("class") :].strip(),
        ]
        assert pieces("code", self.TEXT, size=80) == [
            '"""Two."""\n\nimport os\n\n\n# The first.\n@cache\ndef one():\n    return 1',
            "class Two:\n    def a(self):\n        return os.name",
            "def b(self):\n        return None",
        ]
        assert pieces("code", self.TEXT, size=50)[:2] == [
            '"""Two."""\n\nimport os',
            "# The first.\n@cache\ndef one():\n    return 1",
        ]

    def test_a_definition_over_the_size_is_cut_between_lines_then_words_then_anywhere(self):
        assert pieces("code", "def f():\n    a = 1\n    b = 2\n", size=18) == [
            "def f():\n    a = 1",
            "b = 2",
        ]
        assert pieces("code", "aaa bbb ccc", size=7) == ["aaa bbb", "ccc"]
        assert pieces("code", "abcdefgh", size=3) == ["abc", "def", "gh"]

    @pytest.mark.parametrize("language", ["python", "js", "java", "latex", "html", "cobol"])
    @settings(max_examples=40, deadline=None, derandomize=True, database=None)
    @given(text=st.text(alphabet="\n\n\n defclass@#{}$<pa", max_size=80), size=st.integers(1, 20))
    def test_no_chunk_of_any_language_is_over_the_size(self, language, text, size):
        spec = {"code": {"language": language, "size": size}}
        assert all(end - start <= size for start, end in chunkers.build(spec).split(text))

    @pytest.mark.parametrize("language", ["pyton", "perl", "auto", ""])
    def test_an_unknown_language_is_refused_with_all_known_ones(self, language):
        with pytest.raises(SpecError) as raised:
            chunkers.build({"code": {"language": language}})
        said = str(raised.value)
        assert said.startswith(f"chunker 'code': language: {language!r} is not known; ")
        assert "choose from: c, cobol, cpp" in said
        assert ("did you mean 'python'?" in said) == (language == "pyton")
