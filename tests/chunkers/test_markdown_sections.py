"""The chunker `markdown`: sections as the author divided the text."""

import pytest

from harness.chunkers import chunkers


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

    def test_a_heading_with_nothing_but_a_heading_below_it_joins_the_next_section(self):
        text = "# Moon\n\n## Size\n\n### Diameter\n\n3,474 km.\n\n## Age\n\nOld."
        assert pieces("markdown", text) == [
            "# Moon\n\n## Size\n\n### Diameter\n\n3,474 km.",
            "## Age\n\nOld.",
        ]

    @pytest.mark.parametrize("fence", ["```", "~~~", "````", "  ```"])
    def test_a_comment_in_fenced_code_is_not_a_heading(self, fence):
        text = f"# Install\n\n{fence}sh\n# first step\nmake\n{fence}\n\n# Use\n\nRun it."
        assert pieces("markdown", text) == [text[: text.index("# Use")].strip(), "# Use\n\nRun it."]

    def test_a_section_over_the_size_is_cut_between_sentences(self):
        text = "# Moon\n\nIt has no air. It has no weather. It is far away.\n\n# Mars\n\nRed."
        assert pieces("markdown", text, size=36) == [
            "# Moon\n\nIt has no air.",
            "It has no weather. It is far away.",
            "# Mars\n\nRed.",
        ]

    def test_a_long_table_is_cut_between_its_rows(self):
        rows = [f"| product {number} | {number}.00 |" for number in range(6)]
        text = "# Prices\n\n" + "\n".join(rows)
        found = pieces("markdown", text, size=60)
        assert found[0] == "# Prices\n\n" + "\n".join(rows[:2])
        assert found[1:] == ["\n".join(rows[2:4]), "\n".join(rows[4:])]


def test_many_headings_without_a_body_take_no_quadratic_time():
    text = "# a\n" * 50_000

    assert list(chunkers.build("markdown(size=1000000)").split(text)) == [(0, len(text) - 1)]
