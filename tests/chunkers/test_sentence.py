"""The chunker `sentence`: whole sentences packed up to a size."""

from harness.chunkers import chunkers


def pieces(name, text, **parameters):
    return [text[start:end] for start, end in chunkers.build({name: parameters}).split(text)]


class TestSentence:
    TEXT = "One is one. Two is two. Three is it. Four."

    def test_as_many_whole_sentences_as_fit_are_packed(self):
        assert pieces("sentence", self.TEXT, size=23) == [
            "One is one. Two is two.",
            "Three is it. Four.",
        ]
        assert pieces("sentence", self.TEXT, size=22) == [
            "One is one.",
            "Two is two.",
            "Three is it. Four.",
        ]
        assert pieces("sentence", self.TEXT, size=len(self.TEXT)) == [self.TEXT]

    def test_overlap_counts_sentences_and_each_chunk_still_keeps_to_the_size(self):
        assert pieces("sentence", self.TEXT, size=24, overlap=1) == [
            "One is one. Two is two.",
            "Two is two. Three is it.",
            "Three is it. Four.",
        ]

    def test_an_overlap_that_leaves_no_room_for_a_new_sentence_is_given_up(self):
        text = "A short one. A sentence that is a good deal longer. End."
        assert pieces("sentence", text, size=45, overlap=1) == [
            "A short one.",
            "A sentence that is a good deal longer. End.",
        ]

    def test_a_sentence_over_the_size_is_a_chunk_of_its_own(self):
        text = "No. Here is a sentence that does not fit into it. Yes."
        assert pieces("sentence", "Hm! Here is one that does not fit into it. Yes.", size=10) == [
            "Hm!",
            "Here is one that does not fit into it.",
            "Yes.",
        ]
        assert pieces("sentence", text, size=10)[-1] == "Yes."
