"""Charts as SVG: the same every time, in the palette's colours, and harmless whatever is drawn."""

import re
import subprocess
import sys
from xml.etree import ElementTree

import pytest

from harness.comparison.history import series as history
from harness.report import page
from harness.report.charts import (
    curves_chart,
    differences_chart,
    flow,
    histograms,
    history_chart,
    lettering,
    losses_chart,
    svg,
    theme,
    tradeoffs,
)
from harness.report.charts.differences_chart import PlottedDifference
from harness.report.charts.lettering import fit, one_line, text_width
from harness.report.document import Mark, TableBlock
from harness.report.run_view import View
from tests.history_made import night
from tests.small import stored

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
ALLOWED = {"svg", "g", "path", "line", "text", "a"}
COLOURS = {*theme.TOKENS, theme.ON_PALE, "none"}


def figure(names, **more):
    rows = [
        PlottedDifference(
            name, at / 50, at / 50 - 0.1, at / 50 + 0.1, Mark(at % 8, at % 4), at % 2 == 0
        )
        for at, name in enumerate(names)
    ]
    return differences_chart.figure("best", "ndcg@10", rows, **more)


def elements(text):
    return list(ElementTree.fromstring(text).iter())


def local(element):
    return element.tag.rpartition("}")[2]


def renamed(view):
    """Let the cells of a view have hostile names."""
    view.name = lambda cell: HOSTILE[view.cells.index(cell)]
    return view


def history_drawing(folder, name):
    """Return the chart of a cell over 12 nights, and of changes, both of this name."""
    for at in range(12):
        status = "failed" if at == 5 else "finished"
        night(folder, at, {name: {"mrr@10": 0.5 + at / 50}}, status, config={name: at // 3})
    past = history.history(folder)
    return history_chart.figure(past, "mrr@10").drawings[0]


@pytest.fixture(scope="module")
def every(tmp_path_factory):
    """Every SVG of a run whose cells have hostile names, by its width."""
    view = renamed(View(stored(tmp_path_factory.mktemp("run"))))
    figures = [
        curves_chart.figure(view),
        tradeoffs.figure(view),
        histograms.scores(view),
        histograms.lengths(view),
        losses_chart.figure(view),
        flow.figure(view, view.cells[0]),
        figure(HOSTILE),
    ]
    drawings = [each for chart in figures for each in chart.drawings]
    drawings += [history_drawing(tmp_path_factory.mktemp("h"), name) for name in HOSTILE[:3]]
    return [(each.wide, each.narrow) for each in drawings]


class TestEveryChart:
    def test_holds_allowed_elements_and_attributes_alone(self, every):
        for pair in every:
            for element in elements("".join(["<svg>", *pair, "</svg>"])):
                assert local(element) in ALLOWED
                for name, value in element.attrib.items():
                    assert not name.startswith("on")
                    assert name not in ("style", "class") or value.startswith("plot ")
                    assert name == "aria-label" or "script" not in value
                    assert name != "href" or value.startswith("#questions?")

    def test_shows_hostile_names_as_text(self, every):
        for side in (0, 1):
            said = [
                element.text or ""
                for pair in every
                for element in elements(pair[side])
                if local(element) == "text"
            ]
            assert sum(text.startswith("<scr") for text in said) > 4
            assert any(text.startswith("</s") for text in said)
            assert any("�" in text for text in said)

    def test_is_as_broad_as_its_place_with_letters_of_12_pixels(self, every):
        """The library measures what it draws: a text that stuck out would make it broader."""
        for pair in every:
            wide, narrow = map(ElementTree.fromstring, pair)
            place = svg.WIDE if wide.get("class") == "plot wide" else svg.FULL_WIDTH
            assert place <= int(wide.get("width")) <= 1.02 * place  # as fonts have it
            assert svg.NARROW <= int(narrow.get("width")) <= 1.02 * svg.NARROW
            for element in (*wide.iter(), *narrow.iter()):
                assert local(element) != "text" or element.get("font-size") == "12px"

    def test_is_drawn_in_colours_that_the_stylesheet_knows(self, every):
        for pair in every:
            for text in pair:
                for element in elements(text):
                    assert element.get("fill", "none") in COLOURS
                    assert element.get("stroke", "none") in COLOURS


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
        assert all(text_width(each) < 400 for each in said)

    def test_in_a_title_are_an_attribute_of_bounded_length(self):
        drawing = differences_chart.figure(
            HOSTILE[0] + HOSTILE[3],
            "m",
            [PlottedDifference("c", 0.1, None, None, Mark(0, 0), True)],
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

        found = elements(svg.clean(made, 560, "t"))
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

        assert svg.clean(made, 560, "what").partition(">")[2] == (
            '<g transform="translate(1.23,0)"><text fill="#14181d">a&lt;b</text>'
            '<path d="M0,0h1" fill="#ffffff" /></g></svg>'
        )


class TestEverySvg:
    def test_has_its_size_and_its_name(self):
        drawing = figure(["a", "b"]).drawings[0]
        for text, width, kind in ((drawing.wide, 560, "wide"), (drawing.narrow, 360, "narrow")):
            root = ElementTree.fromstring(text)
            assert root.get("role") == "img"
            assert root.get("aria-label") == drawing.title
            assert root.get("class") == f"plot {kind}"
            assert root.get("viewBox").split()[2] == root.get("width") == str(width)

    def test_is_the_same_every_time(self):
        assert figure(HOSTILE) == figure(HOSTILE)


class TestColours:
    def test_the_stylesheet_recolours_each(self):
        style = page.style()
        for hex_, token in theme.TOKENS.items():
            assert f'.plot [fill="{hex_}"]{{fill:var(--{token})}}' in style
            assert f'.plot [stroke="{hex_}"]{{stroke:var(--{token})}}' in style

    def test_they_are_the_light_ones_of_the_page(self):
        style = page.style()
        for hex_, token in theme.TOKENS.items():
            found = re.search(rf"--{token}:\s*light-dark\((#\w+)", style)
            assert found, token
            assert found[1] in (hex_, hex_[:4]), token

    def test_each_has_one_meaning(self):
        assert len(theme.TOKENS) == 6 + 8 + 7

    def test_a_mark_has_a_shape_and_a_line_that_tell_it_from_others(self):
        looks = [theme.symbol(Mark(1, shape)) for shape in range(4)]

        assert [look["shape"] for look in looks] == ["circle", "circle", "diamond", "square"]
        assert [look["fill"] == theme.BACKGROUND for look in looks] == [False, True, False, False]
        assert len({look["strokeDash"] for look in looks}) == 4


class Kept(dict):
    """A cache that remembers."""

    def get(self, keys):
        return {key: self[key] for key in keys if key in self}

    def put(self, rows):
        self.update(rows)


class TestWhatWasDrawnBefore:
    def test_is_not_drawn_again(self):
        kept = Kept()
        drawn = figure(HOSTILE, cache=kept)

        def never(width, data):
            raise AssertionError

        assert figure(HOSTILE, cache=kept) == drawn
        assert len(kept) == 1

        def one(width, data):
            return theme.data([{"text": data}]).mark_text()

        def draw(chart, data="data", title="title"):
            return svg.draw("", title, "", TableBlock([], []), chart, (data,), kept)

        one.__module__ = never.__module__
        assert draw(one) == draw(never)
        with pytest.raises(AssertionError):
            draw(never, data="other data")
        with pytest.raises(AssertionError):
            draw(never, title="other title")
        assert "<svg" in draw(never).narrow

    def test_needs_no_library_of_charts(self):
        program = (
            "import sys; from harness.report.charts import curves_chart, losses_chart, tradeoffs;"
            "assert not {'altair', 'vl_convert'} & set(sys.modules)"
        )
        subprocess.run([sys.executable, "-c", program], check=True)


class TestLettering:
    def test_a_text_that_fits_is_left_alone(self):
        assert fit("markdown", 100) == "markdown"

    def test_of_a_long_name_the_longest_parts_lose_most(self):
        short = fit("markdown × dense × chat(model=a-very-long-name)", 200)

        assert short.startswith("mar")
        assert " × dense × cha…" in short
        assert text_width(short) <= 200

    @pytest.mark.parametrize("text", HOSTILE)
    @pytest.mark.parametrize("width", [20, 90, 300])
    def test_whatever_it_is_it_fits(self, text, width):
        assert text_width(fit(text, width)) <= width

    def test_what_xml_cannot_hold_is_replaced(self):
        assert one_line("a\x00b\ud800c\uffffd\x7fe") == "a�b�c�d�e"
        assert one_line(" a\n b\t") == "a b"
        ElementTree.fromstring(f"<a>{lettering.one_line(chr(0x1F6B2))}</a>")

    def test_broad_letters_are_broad(self):
        assert text_width("漢") > text_width("a")


class TestNamesOfPoints:
    def point(self, name, cost, mean, front=False, highlighted=True):
        about = {"name": name, "best": False, "front": front, "highlighted": highlighted}
        return {**about, **theme.symbol(Mark(1, 0)), "cost": cost, "mean": mean}

    def names(self, points):
        table = TableBlock([], [])
        wide = svg.draw("", "t", "", table, tradeoffs._chart, (points, "cost")).wide
        return [each for each in elements(wide) if local(each) == "text"]

    def test_are_drawn_for_those_on_the_front_and_those_told_apart(self):
        points = [
            self.point("on", 1, 0.5, front=True, highlighted=False),
            self.point("told", 2, 0.4),
            self.point("grey", 3, 0.3, highlighted=False),
        ]

        said = {each.text for each in self.names(points)}
        assert {"on", "told"} <= said
        assert "grey" not in said

    def test_are_left_out_where_they_would_touch(self):
        apart = [self.point(f"markdown × dense {at}", 100 + at, at % 3) for at in range(5)]
        crowded = [self.point(f"markdown × dense {at}", 1 + at / 10**6, 0.5) for at in range(20)]

        drawn = {each.text for each in self.names([*crowded, self.point("x", 2, 0.6)])}
        assert 1 <= len([text for text in drawn if text.startswith("markdown")]) < 6
        drawn = {each.text for each in self.names(apart)}
        assert {point["name"] for point in apart} <= drawn
