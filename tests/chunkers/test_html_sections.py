"""The chunker `html`: sections as the author divided the page."""

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.chunkers import chunkers
from harness.text.markup import find_tags


def pieces(name, text, **parameters):
    return [text[start:end] for start, end in chunkers.build({name: parameters}).split(text)]


class TestHtml:
    PAGE = (
        "<html><head><title>Space</title></head>\n<body>\n<h1>Moon</h1>\n<p>Far.</p>\n"
        "<div><h2>Air</h2>\n<p>None. <!-- h --></p></div>\n<h4>More</h4>\n<p>Dust.</p>\n"
        "<h2>Age</h2><h3>Rock</h3><p>Old.</p></body></html>\n"
    )

    def test_each_heading_down_to_the_depth_starts_a_chunk_with_the_tags_right_before_it(self):
        assert pieces("html", self.PAGE) == [
            "<html><head><title>Space</title></head>\n<body>\n<h1>Moon</h1>\n<p>Far.</p>",
            "<div><h2>Air</h2>\n<p>None. <!-- h --></p></div>\n<h4>More</h4>\n<p>Dust.</p>",
            "<h2>Age</h2><h3>Rock</h3><p>Old.</p></body></html>",
        ]
        assert pieces("html", self.PAGE, depth=1) == [self.PAGE.strip()]
        assert pieces("html", self.PAGE, depth=4)[2] == "<h4>More</h4>\n<p>Dust.</p>"

    def test_a_section_over_the_size_is_cut_between_its_outermost_blocks_first(self):
        table = "<table><tr><td>a</td></tr><tr><td>b</td></tr></table>"
        text = f"<h1>T</h1><p>One is one.</p>{table}<p>Two.</p>"
        assert len(table) == 53
        assert pieces("html", text, size=60) == [
            "<h1>T</h1><p>One is one.</p>",
            table,
            "<p>Two.</p>",
        ]
        assert pieces("html", text, size=65)[1] == f"{table}<p>Two.</p>"

    def test_tags_without_text_join_the_chunk_beside_them_up_to_a_quarter_over_the_size(self):
        text = "<table><tr><td>Twelve chars</td></tr></table>"
        assert pieces("html", text, size=36) == [text]
        assert pieces("html", text, size=28) == [
            "<table><tr><td>Twelve chars</td>",
            "</tr></table>",
        ]
        assert pieces("html", "<p></p><div></div>", size=8) == ["<p></p>", "<div></div>"]

    def test_a_paragraph_over_the_size_is_cut_between_sentences_never_in_a_tag(self):
        text = '<p title="One. Two. Three.">It is so. <b>It was. Then</b> it went. No.</p>'
        assert pieces("html", text, size=40) == [
            '<p title="One. Two. Three.">It is so.',
            "<b>It was. Then</b> it went. No.</p>",
        ]
        assert pieces("html", text, size=1) == [
            '<p title="One. Two. Three.">It is so.',
            "<b>It was.",
            "Then</b> it went.",
            "No.</p>",
        ]

    def test_scripts_and_comments_stay_in_their_section_and_hide_what_looks_like_markup(self):
        text = "<h1>A</h1>x<script>if (a<b) '<h1>'</script><!-- <h1> --><h1>B</h1>y"
        assert pieces("html", text) == [text[:-11], "<h1>B</h1>y"]

    def test_tags_are_found_as_browsers_do_and_what_is_unfinished_is_text(self):
        text = "<P class='a>b'>x</p ><!-- > <b> --><br/><!DOCTYPE x><a<b><i x='<u>"
        found = [(text[tag.start : tag.end], tag.name, tag.kind) for tag in find_tags(text)]
        assert found == [
            ("<P class='a>b'>", "p", "open"),
            ("</p >", "p", "close"),
            ("<!-- > <b> -->", "", "other"),
            ("<br/>", "br", "open"),
            ("<!DOCTYPE x>", "", "other"),
            ("<b>", "b", "open"),
            ("<u>", "u", "open"),
        ]

    @pytest.mark.parametrize(
        "part", ["<", "<a ", "<!--", "<![@]>", "<a b='", "<a '=' ", "<div>", "<h2>x", "</p>", "<!"]
    )
    def test_a_long_run_of_broken_markup_is_cut_in_linear_time(self, part):
        # The standard library's parser takes minutes for "<a " and raises for "<![@]>".
        text = part * (300_000 // len(part))
        spans = list(chunkers.build("html").split(text))
        assert spans[0][0] == 0
        assert spans[-1][1] == len(text.rstrip())
        assert all(not text[a[1] : b[0]].strip() for a, b in pairwise(spans))

    @settings(max_examples=150, deadline=None, derandomize=True, database=None)
    @given(
        st.lists(
            st.sampled_from(
                [
                    *("<p>", "</p>", "<h1>", "</h1>", "<b t='A. B'>", "<!-- A. B -->", "<li>"),
                    *("Aa is. ", "Bb", "\n\n", "<br>", "</div>", "<div>", "<script>", "</script>"),
                ]
            ),
            max_size=30,
        ).map("".join),
        st.integers(1, 40),
    )
    def test_no_chunk_starts_or_ends_inside_a_tag(self, text, size):
        inside = {at for tag in find_tags(text) for at in range(tag.start + 1, tag.end)}
        spans = list(chunkers.build({"html": {"size": size}}).split(text))
        assert not inside & {edge for span in spans for edge in span}
