"""The chunker `page`: one chunk a page."""

from harness.chunkers import chunkers


def pieces(name, text, **parameters):
    return [text[start:end] for start, end in chunkers.build({name: parameters}).split(text)]


class TestPage:
    def test_each_page_is_a_chunk_and_an_empty_one_is_none(self):
        assert pieces("page", "\fOne. Is.\n\f\n \f Two.\f") == ["One. Is.", "Two."]
        assert pieces("page", " One.\n\nTwo. ") == ["One.\n\nTwo."]

    def test_a_page_over_the_size_is_cut_between_sentences(self):
        text = "One is one. Two is two. Three is it.\fFour."
        assert pieces("page", text, size=36) == ["One is one. Two is two. Three is it.", "Four."]
        assert pieces("page", text, size=35) == ["One is one. Two is two.", "Three is it.", "Four."]
        assert pieces("page", text, size=5) == [
            "One is one.",
            "Two is two.",
            "Three is it.",
            "Four.",
        ]
