"""Charts as SVG: the same every time, in the palette's colours, and harmless whatever is drawn."""

import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from harness.report import page
from harness.report.blocks import Mark
from harness.report.charts import colours, differences, lettering, places, svg
from harness.report.charts.cells import Drawn
from harness.report.charts.differences import Difference
from harness.report.charts.frame import Margins, boxes, framed, words
from harness.report.charts.lettering import fitted, line, measured
from harness.report.charts.scatter import Point, chart

HOSTILE = [
    "<script>alert(1)</script>",
    "</svg></text><!-- ",
    "]]>&amp;&#x3c;script&#x3e; \" ' `",
    "x" * 50_000,
    "\u202eright to left עברית\u202c 🚲",
    "null\x00byte\x1b[0m\ud800 \uffff",
    "line\nbreak\r\ttab\u2028end",
    "javascript:alert(1)",
    "{{ 7 * 7 }} ${7*7} datum.x",
    "",
]
ALLOWED = {"svg", "g", "path", "line", "rect", "text", "a", "defs", "clipPath"}


def figure(names, **more):
    rows = [
        Difference(name, Mark(at % 8, at % 4), at / 50, at / 50 - 0.1, at / 50 + 0.1, at % 2 == 0)
        for at, name in enumerate(names)
    ]
    return differences.figure("best", "ndcg@10", rows, **more)


def elements(text):
    return list(ElementTree.fromstring(text).iter())


def local(element):
    return element.tag.rpartition("}")[2]


class TestHostileTexts:
    @pytest.mark.parametrize("side", ["wide", "narrow"])
    def test_are_drawn_as_text_and_nothing_else(self, side):
        text = getattr(figure(HOSTILE).drawings[0], side)

        assert len(text) < 20_000
        for element in elements(text):
            assert local(element) in ALLOWED
            for name, value in element.attrib.items():
                assert not name.startswith("on")
                assert name not in ("style", "class") or element.tag.endswith("svg")
                assert "script" not in value
                assert "http" not in value.replace("http://www.w3.org/2000/svg", "")
        said = [element.text or "" for element in elements(text) if local(element) == "text"]
        assert any(each.startswith("<script>") for each in said)
        assert any(each.startswith("</sv") for each in said)
        assert any("�" in each for each in said)
        assert all(measured(each) < 400 for each in said)

    def test_in_a_title_are_an_attribute_of_bounded_length(self):
        drawing = differences.figure(
            HOSTILE[0] + HOSTILE[3], "m", [Difference("c", Mark(0, 0), 0.1, None, None, True)]
        ).drawings[0]

        label = ElementTree.fromstring(drawing.wide).get("aria-label")
        assert label == drawing.title
        assert label.startswith("<script>alert(1)</script>xxx")
        assert len(label) < 120

    @pytest.mark.parametrize(
        ("link", "kept"),
        [
            ("#questions?lost=retrieval&amp;cell=3", "#questions?lost=retrieval&cell=3"),
            ("https://vega.github.io/data/#questions?lost=none", "#questions?lost=none"),
            ("javascript:alert(1)", None),
            ("javascript:alert(1)#questions?a=&quot;onclick", None),
            ("https://example.org/#questions", None),
            ("#top", None),
        ],
    )
    def test_links_lead_to_questions_of_the_page_alone(self, link, kept):
        made = (
            '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" '
            f'width="9" height="7"><a xlink:href="{link}"><path aria-label="a&lt;b" d="M0,0h1" '
            'fill="#ffffff"/></a></svg>'
        )

        found = elements(svg.cleaned(made, "i", "t", "wide"))
        links = [each for each in found if local(each) == "a"]
        assert [each.get("href") for each in links] == ([] if kept is None else [kept])
        assert [each.get("aria-label") for each in links] == ([] if kept is None else ["a<b"])
        assert local(found[-1]) == "path"

    def test_what_is_not_allowed_is_left_out(self):
        made = (
            '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" '
            'width="9" height="7" onload="x()"><style>p{}</style><script>x()</script>'
            '<rect width="9" height="7" fill="white"/><g transform="translate(1.23456,0)">'
            '<image href="http://a/b.png"/><foreignObject><p>x</p></foreignObject>'
            '<text style="fill:red" onclick="x()" fill="#14181d">a&lt;b</text>'
            '<a xlink:href="https://a/"><path d="M0,0h1" fill="#ffffff"/></a></g></svg>'
        )

        assert svg.cleaned(made, "i", "what", "wide").partition(">")[2] == (
            '<g transform="translate(1.23,0)"><text fill="#14181d">a&lt;b</text>'
            '<path d="M0,0h1" fill="#ffffff"/></g></svg>'
        )


class TestEverySvg:
    def test_has_its_size_its_name_and_no_ground(self):
        drawing = figure(["a", "b"]).drawings[0]
        for text, width, kind in ((drawing.wide, 560, "wide"), (drawing.narrow, 340, "narrow")):
            root = ElementTree.fromstring(text)
            assert root.get("role") == "img"
            assert root.get("aria-label") == drawing.title
            assert root.get("class") == f"plot {kind}"
            assert root.get("viewBox").split()[2] == root.get("width") == str(width)
            assert not [each for each in root if local(each) == "rect"]

    def test_with_links_is_no_image_or_they_would_be_hidden(self):
        row = {"x": 0, "x2": 5, "y": 0, "y2": 1, "fill": colours.INK, "stroke": "none",
               "href": "#questions?lost=none", "said": "x"}  # fmt: skip
        made = framed([boxes([row], linked=True)], 90, 60, Margins())
        wide, _ = svg.draw(lambda _: made, 0, "i", "t")

        assert ElementTree.fromstring(wide).get("role") == "group"

    def test_has_letters_of_12_pixels(self):
        drawing = figure(["a", "b"]).drawings[0]
        for text in (drawing.wide, drawing.narrow):
            sizes = {each.get("font-size") for each in elements(text) if local(each) == "text"}
            assert sizes == {"12px"}

    def test_is_the_same_every_time(self):
        assert figure(HOSTILE) == figure(HOSTILE)

    def test_has_ids_of_its_own(self):
        made = (
            '<svg xmlns="http://www.w3.org/2000/svg" width="1" height="1"><defs><clipPath id="c1">'
            '<rect width="1" height="1"/></clipPath></defs><g clip-path="url(#c1)">'
            '<path d="M0,0" fill="#ffffff"/></g></svg>'
        )

        one = svg.cleaned(made, "one", "t", "wide")
        assert 'id="one-c1"' in one
        assert 'clip-path="url(#one-c1)"' in one

    def test_names_stay_inside(self):
        """By a generous measure of how broad letters are, no text ends outside of its picture."""
        drawing = figure(
            [f"{name} × " * 3 for name in ("recursive", "MMMMMMM", "漢字漢字")]
        ).drawings[0]
        for text, width in ((drawing.wide, 560), (drawing.narrow, 340)):
            for element in elements(text):
                if local(element) == "text":
                    assert measured(element.text) < width


class TestColours:
    def test_the_stylesheet_recolours_each(self):
        style = (Path(page.__file__).parent / "20-charts.css").read_text("utf-8")
        for hex_, token in colours.TOKENS.items():
            assert f'.plot [fill="{hex_}"]{{fill:var(--{token})}}' in style
            assert f'.plot [stroke="{hex_}"]{{stroke:var(--{token})}}' in style

    def test_they_are_the_light_ones_of_the_page(self):
        style = (Path(page.__file__).parent / "10-page.css").read_text("utf-8")
        for hex_, token in colours.TOKENS.items():
            found = re.search(rf"--{token}:\s*light-dark\((#\w+)", style)
            assert found, token
            assert found[1] in (hex_, hex_[:4]), token

    def test_each_has_one_meaning(self):
        assert len(colours.TOKENS) == 6 + 8 + 7

    def test_nothing_is_drawn_in_another(self):
        drawing = figure([f"c{at}" for at in range(8)]).drawings[0]
        for text in (drawing.wide, drawing.narrow):
            for element in elements(text):
                for name in ("fill", "stroke"):
                    assert element.get(name, "none") in {*colours.TOKENS, "none"}

    def test_a_mark_has_a_shape_and_a_line_that_tell_it_from_others(self):
        marks = [Mark(1, shape) for shape in range(4)]

        assert [colours.shape(each) for each in marks] == ["circle", "circle", "diamond", "square"]
        assert [colours.inside(each) == colours.BACKGROUND for each in marks] == [
            False, True, False, False,
        ]  # fmt: skip
        assert len({tuple(colours.dash(each)) for each in marks}) == 4


class Kept(dict):
    """A cache that remembers."""

    def get(self, keys):
        return {key: self[key] for key in keys if key in self}

    def put(self, rows):
        self.update(rows)


class TestWhatWasDrawnBefore:
    def test_is_not_drawn_again(self):
        kept = Kept()
        drawn = figure(HOSTILE, drawn=kept)

        def never(width):
            raise AssertionError

        assert figure(HOSTILE, drawn=kept) == drawn
        assert len(kept) == 1
        layers = [words([{"x": 1, "y": 1, "text": "a"}])]
        svg.draw(lambda w: framed(layers, w, 9, Margins()), "data", "id", "title", kept)
        assert "<svg" in svg.draw(never, "data", "id", "title", kept)[1]
        with pytest.raises(AssertionError):
            svg.draw(never, "other data", "id", "title", kept)
        with pytest.raises(AssertionError):
            svg.draw(never, "data", "id", "other title", kept)

    def test_needs_no_library_of_charts(self):
        program = (
            "import sys; from harness.report.charts import curves, losses, tradeoffs;"
            "assert not {'altair', 'vl_convert'} & set(sys.modules)"
        )
        subprocess.run([sys.executable, "-c", program], check=True)


class TestLettering:
    def test_a_text_that_fits_is_left_alone(self):
        assert fitted("markdown", 100) == "markdown"

    def test_of_a_long_name_the_longest_parts_lose_most(self):
        short = fitted("markdown × dense × chat(model=a-very-long-name)", 200)

        assert short == "mar…own × dense × cha…me)"
        assert measured(short) <= 200

    @pytest.mark.parametrize("text", HOSTILE)
    @pytest.mark.parametrize("width", [20, 90, 300])
    def test_whatever_it_is_it_fits(self, text, width):
        assert measured(fitted(text, width)) <= width

    def test_what_xml_cannot_hold_is_replaced(self):
        assert line("a\x00b\ud800c\uffffd\x7fe") == "a�b�c�d�e"
        assert line(" a\n b\t") == "a b"
        ElementTree.fromstring(f"<a>{lettering.line(chr(0x1F6B2))}</a>")

    def test_broad_letters_are_broad(self):
        assert measured("漢") > measured("m") > measured("i")
        assert measured("e\u0301") == measured("e")
        assert measured("a", bold=True) > measured("a")


class TestNamesOfPoints:
    def test_cover_neither_points_nor_one_another(self):
        spots = [(at % 5 * 30 + 100.0, at // 5 * 20 + 40.0) for at in range(20)]
        taken = [places.around(spot) for spot in spots]
        found = []
        for spot in spots:
            place = places.beside("markdown × dense", spot, [*taken, *found], 480, 290)
            if place is not None:
                found.append(place.box)

        assert len(found) >= 6
        everything = [*taken, *found]
        for at, one in enumerate(found):
            others = everything[: len(taken) + at] + everything[len(taken) + at + 1 :]
            assert not any(places._overlap(one, other) for other in others)

    def test_stand_off_the_line_of_the_best(self):
        assert places.step((0, 100), (50, 40)) == [(0, 98, 50, 102), (48, 40, 52, 100)]

    def test_are_drawn_for_those_on_the_front_and_those_told_apart(self):
        def point(name, cost, mean, front, told=True):
            return Point(Drawn(name, Mark(1, 0), False, told), cost, mean, front)

        points = [
            point("on", 1, 0.5, True, told=False),
            point("told", 2, 0.4, False),
            point("grey", 3, 0.3, False, told=False),
        ]
        wide, _ = svg.draw(lambda width: chart(width, points, "cost"), points, "i", "t")

        said = {each.text for each in elements(wide) if local(each) == "text"}
        assert {"on", "told"} <= said
        assert "grey" not in said
