"""Markdown and sentence: chunks that end where the author ended a section or a sentence."""

import pytest

from harness.chunkers import chunkers
from harness.errors import SpecError
from harness.text.sentences import find_sentences


def pieces(name, text, **parameters):
    return [text[start:end] for start, end in chunkers.build({name: parameters}).split(text)]


class TestMarkdown:
    def test_each_heading_down_to_the_depth_starts_a_chunk_that_holds_the_text_below_it(self):
        text = "# Moon\n\nNo air.\n\n## Size\n\nSmall.\n\n#### Detail\n\nVery.\n\n### Age\n\nOld.\n"
        assert pieces("markdown", text) == [
            "# Moon\n\nNo air.",
            "## Size\n\nSmall.\n\n#### Detail\n\nVery.",
            "### Age\n\nOld.",
        ]
        assert pieces("markdown", text, depth=1) == [text.strip()]
        assert pieces("markdown", text, depth=4)[2] == "#### Detail\n\nVery."

    def test_text_before_the_first_heading_is_a_chunk_of_its_own(self):
        assert pieces("markdown", "\n Preface.\n\n# One\n\nText.\n") == [
            "Preface.",
            "# One\n\nText.",
        ]

    def test_a_heading_with_nothing_but_a_heading_below_it_joins_the_next_section(self):
        text = "# Moon\n\n## Size\n\n### Diameter\n\n3,474 km.\n\n## Age\n\nOld."
        assert pieces("markdown", text) == [
            "# Moon\n\n## Size\n\n### Diameter\n\n3,474 km.",
            "## Age\n\nOld.",
        ]

    def test_a_heading_at_the_very_end_is_not_lost(self):
        assert pieces("markdown", "# One\n\nText.\n\n# Two\n") == ["# One\n\nText.", "# Two"]
        assert pieces("markdown", "# Only\n") == ["# Only"]

    @pytest.mark.parametrize("fence", ["```", "~~~", "````", "  ```"])
    def test_a_comment_in_fenced_code_is_not_a_heading(self, fence):
        text = f"# Install\n\n{fence}sh\n# first step\nmake\n{fence}\n\n# Use\n\nRun it."
        assert pieces("markdown", text) == [text[: text.index("# Use")].strip(), "# Use\n\nRun it."]

    def test_a_fence_is_closed_only_by_one_of_its_own_kind_and_at_least_its_length(self):
        code = "````\n```\n# not a heading\n~~~~\n# nor this\n`````"
        text = f"# A\n\n{code}\n\n# B\n\nText."
        assert pieces("markdown", text) == [f"# A\n\n{code}", "# B\n\nText."]

    def test_a_line_of_code_that_opens_a_fence_of_its_own_does_not_close_the_outer_one(self):
        code = "```\n```python\n# not a heading\n```"
        text = f"# A\n\n{code}\n\n# B\n\nText."
        assert pieces("markdown", text) == [f"# A\n\n{code}", "# B\n\nText."]

    def test_code_within_a_line_opens_no_fence(self):
        text = "# A\n\n```x``` is code.\n\n# B\n\nText."
        assert pieces("markdown", text) == ["# A\n\n```x``` is code.", "# B\n\nText."]

    def test_a_fence_that_is_never_closed_reaches_to_the_end(self):
        text = "# A\n\n```\n# not a heading\n\n# nor this"
        assert pieces("markdown", text) == [text]

    @pytest.mark.parametrize("line", ["#hashtag", "    # indented code", "####### seven", "a # b"])
    def test_a_hash_that_makes_no_heading_cuts_nothing(self, line):
        assert pieces("markdown", f"One.\n{line}\nTwo.", depth=6) == [f"One.\n{line}\nTwo."]

    def test_a_section_over_the_size_is_cut_between_sentences(self):
        text = "# Moon\n\nIt has no air. It has no weather. It is far away.\n\n# Mars\n\nRed."
        assert pieces("markdown", text, size=36) == [
            "# Moon\n\nIt has no air.",
            "It has no weather. It is far away.",
            "# Mars\n\nRed.",
        ]

    def test_a_section_of_exactly_the_size_is_whole(self):
        text = "# A\n\nOne. Two."
        assert pieces("markdown", text, size=len(text)) == [text]
        assert pieces("markdown", text, size=len(text) - 1) == ["# A\n\nOne.", "Two."]

    def test_a_long_table_is_cut_between_its_rows(self):
        rows = [f"| product {number} | {number}.00 |" for number in range(6)]
        text = "# Prices\n\n" + "\n".join(rows)
        found = pieces("markdown", text, size=60)
        assert found[0] == "# Prices\n\n" + "\n".join(rows[:2])
        assert found[1:] == ["\n".join(rows[2:4]), "\n".join(rows[4:])]


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

    def test_no_more_sentences_than_the_overlap_are_shared(self):
        text = "Aaaa. Bbbb. Cccc. Dddd. Eeee. Ffff."
        assert pieces("sentence", text, size=17, overlap=1) == [
            "Aaaa. Bbbb. Cccc.",
            "Cccc. Dddd. Eeee.",
            "Eeee. Ffff.",
        ]
        assert pieces("sentence", text, size=17, overlap=2)[1] == "Bbbb. Cccc. Dddd."

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

    def test_table_rows_and_list_items_are_packed_whole(self):
        text = "| a | 1 |\n| b | 2 |\n\n- first item\n- second item"
        assert pieces("sentence", text, size=25) == [
            "| a | 1 |\n| b | 2 |",
            "- first item",
            "- second item",
        ]

    def test_chunks_are_unions_of_the_sentences_in_order(self):
        text = self.TEXT * 9
        edges = list(find_sentences(text))
        for start, end in chunkers.build({"sentence": {"size": 40, "overlap": 1}}).split(text):
            assert start in {left for left, _ in edges}
            assert end in {right for _, right in edges}
            assert end - start <= 40


def test_many_headings_without_a_body_take_no_quadratic_time():
    text = "# a\n" * 50_000

    assert list(chunkers.build("markdown(size=1000000)").split(text)) == [(0, len(text) - 1)]


class TestSeparators:
    def test_a_text_is_cut_at_the_first_separator_that_it_has(self):
        text = "One is. Two is; three is. Four is."

        assert pieces("recursive", text, size=18, overlap=0, separators=[". ", "; ", ""]) == [
            "One is",
            ". Two is; three is",
            ". Four is.",
        ]

    def test_what_repeats_is_found_where_it_stands(self):
        text = "a|a|a|b|a"
        found = chunkers.build({"recursive": {"size": 3, "overlap": 0, "separators": ["|"]}})

        assert list(found.split(text)) == [(0, 3), (3, 5), (5, 7), (7, 9)]

    @pytest.mark.parametrize("separators", [[], ["\U0001f680"]])
    def test_none_and_those_of_upper_planes_are_refused(self, separators):
        with pytest.raises(SpecError, match="separators: at least one is needed"):
            chunkers.build({"recursive": {"separators": separators}})
