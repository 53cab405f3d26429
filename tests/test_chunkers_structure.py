"""HTML, code and page: chunks that end where the author ended a section, a function or a page."""

from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.chunkers import chunkers
from harness.errors import SpecError
from harness.text.cuts import cut_pieces as cut
from harness.text.markup import find_tags

HARNESS = Path(__file__).parent.parent / "harness"


def pieces(name, text, **parameters):
    return [text[start:end] for start, end in chunkers.build({name: parameters}).split(text)]


class TestCuts:
    def test_the_coarsest_level_that_makes_the_pieces_fit_is_used_for_each_part(self):
        text = "aa bb|cc dd ee|ff"
        bars, spaces = [5, 14], [2, 8, 11]

        def found(size):
            return [text[a:b] for a, b in cut(text, 0, len(text), [bars, spaces], size)]

        assert found(17) == ["aa bb|cc dd ee|ff"]
        assert found(14) == ["aa bb|cc dd ee", "|ff"]
        assert found(9) == ["aa bb", "|cc dd ee", "|ff"]
        assert found(6) == ["aa bb", "|cc dd", "ee", "|ff"]
        assert found(1) == ["aa", "bb", "|cc", "dd", "ee", "|ff"]

    def test_what_no_level_can_cut_is_left_whole_and_blanks_are_dropped(self):
        assert list(cut("aaaaa  \n  b", 0, 11, [[5, 7, 8]], 3)) == [(0, 5), (10, 11)]
        assert list(cut("   ", 0, 3, [[1]], 1)) == []


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

    def test_text_before_the_first_heading_is_a_chunk_of_its_own(self):
        text = "<p>Preface.</p><h1>One</h1>text<h1>End</h1>"
        assert pieces("html", text) == ["<p>Preface.</p>", "<h1>One</h1>text", "<h1>End</h1>"]

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

    def test_a_block_over_the_size_is_cut_between_the_blocks_in_it(self):
        table = "<table><tr><td>a</td></tr><tr><td>b</td></tr></table>"
        assert pieces("html", table, size=30) == [
            "<table><tr><td>a</td></tr>",
            "<tr><td>b</td></tr></table>",
        ]

    def test_tags_without_text_join_the_chunk_beside_them_up_to_a_quarter_over_the_size(self):
        text = "<table><tr><td>Twelve chars</td></tr></table>"
        assert pieces("html", text, size=36) == [text]
        assert pieces("html", text, size=28) == [
            "<table><tr><td>Twelve chars</td>",
            "</tr></table>",
        ]
        assert pieces("html", "<p></p><div></div>", size=8) == ["<p></p>", "<div></div>"]

    def test_a_block_whose_end_tag_is_left_out_ends_with_the_next_one(self):
        assert pieces("html", "<ul><li>one<li>two<p>or<li>three</ul>", size=15) == [
            "<ul><li>one",
            "<li>two<p>or",
            "<li>three</ul>",
        ]
        assert pieces("html", "<p>one<p>two<br>three", size=9) == ["<p>one", "<p>two<br>", "three"]

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

    def test_text_without_a_tag_is_cut_at_blank_lines_then_between_sentences(self):
        text = "One is. It is < two.\n\nThree is > two.\n\nFour."
        assert pieces("html", text) == [text]
        assert pieces("html", text, size=25) == [
            "One is. It is < two.",
            "Three is > two.\n\nFour.",
        ]
        assert pieces("html", text, size=12)[:2] == ["One is.", "It is < two."]

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

    def test_each_language_is_cut_at_its_own_definitions(self):
        text = "package a\n\nfunc One() {}\n\n// Two.\nfunc Two() {}\n"
        assert pieces("code", text, language="go", size=30) == [
            "package a\n\nfunc One() {}",
            "// Two.\nfunc Two() {}",
        ]
        markdown = "# A\n\nOne.\n\n## B\n\nTwo."
        assert pieces("code", markdown, language="markdown", size=12) == [
            "# A\n\nOne.",
            "## B\n\nTwo.",
        ]

    def test_every_chunk_of_real_code_keeps_to_the_size_and_nothing_is_lost(self):
        for path in sorted(HARNESS.glob("*.py")):
            text = path.read_text(encoding="utf-8")
            spans = list(chunkers.build("code").split(text))
            assert max((end - start for start, end in spans), default=0) <= 1000
            edges = [(0, 0), *spans, (len(text), len(text))]
            assert not "".join(text[a[1] : b[0]] for a, b in pairwise(edges)).strip()

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
