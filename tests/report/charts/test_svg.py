"""Charts as SVG: the same every time, in the palette's colours, and harmless whatever is drawn."""

import subprocess
import sys
from dataclasses import replace
from xml.etree import ElementTree

import pytest

from harness.comparison.history import series as history
from harness.report.charts import (
    curves_chart,
    differences_chart,
    flow,
    histograms,
    history_chart,
    losses_chart,
    svg,
    theme,
    tradeoffs,
)
from harness.report.document import Mark, TableBlock
from harness.report.run_view import View
from harness.stats.aggregate_scores import Aggregate
from tests.support.changed_runs import with_cells
from tests.support.history_made import night

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
ALLOWED = {"svg", "g", "path", "line", "text", "tspan", "a"}
COLOURS = {*theme.TOKENS, theme.ON_PALE, "none"}
OF_RUNS = (
    curves_chart.figure,
    tradeoffs.figure,
    histograms.scores,
    histograms.lengths,
    losses_chart.figure,
)


def differences(names, **more):
    rows = [
        differences_chart.PlottedDifference(
            name, at / 50, at / 50 - 0.1, at / 50 + 0.1, Mark(at % 8, at % 4), at % 2 == 0
        )
        for at, name in enumerate(names)
    ]
    return differences_chart.figure(names[0], "ndcg@10", rows, **more)


def elements(text):
    return list(ElementTree.fromstring(text).iter())


def local(element):
    return element.tag.rpartition("}")[2]


def history_figure(folder, name):
    """Return the chart of a cell over 12 nights, and of changes, both of this name."""
    for at in range(12):
        status = "failed" if at == 5 else "finished"
        night(folder, at, {name: {"mrr@10": 0.5 + at / 50}}, status, config={name: at // 3})
    return history_chart.figure(history.history(folder), "mrr@10")


@pytest.fixture(scope="module")
def every(many, tmp_path_factory):
    """Every drawing of a run, whose cells have hostile names, and of histories."""
    view = View(many)
    view.name = lambda cell: HOSTILE[view.cells.index(cell)]
    figures = [chart(view) for chart in OF_RUNS]
    figures += [flow.figure(view, view.cells[0]), differences(HOSTILE)]
    figures += [history_figure(tmp_path_factory.mktemp("h"), name) for name in HOSTILE[:3]]
    return [drawing for figure in figures for drawing in figure.drawings]


def test_only_allowed_elements_attributes_and_links_are_left(every):
    for drawing in every:
        for element in elements(f"<svg>{drawing.wide}{drawing.narrow}</svg>"):
            assert local(element) in ALLOWED
            for name, value in element.attrib.items():
                assert not name.startswith("on")
                assert name not in ("style", "class") or value.startswith("plot ")
                assert name == "aria-label" or "script" not in value
                assert "http" not in value.replace("http://www.w3.org/2000/svg", "")
                assert name != "href" or value.startswith("#questions?")


def test_hostile_names_are_shown_as_text_of_bounded_length(every):
    for side in ("wide", "narrow"):
        drawings = [getattr(drawing, side) for drawing in every]
        said = [element.text or "" for text in drawings for element in elements(text)]
        assert sum(text.startswith("<scr") for text in said) > 4
        assert any(text.startswith("</s") for text in said)
        assert any("�" in text for text in said)
        assert max(map(len, said)) < 100
        assert max(map(len, drawings)) < 40_000


def test_a_hostile_title_is_an_attribute_of_bounded_length():
    drawing = differences([HOSTILE[0] + HOSTILE[3]]).drawings[0]

    label = ElementTree.fromstring(drawing.wide).get("aria-label")
    assert label == drawing.title
    assert label.startswith("<script>alert(1)</script>xxx")
    assert len(label) < 120


def test_each_drawing_has_its_size_its_name_letters_of_12_pixels_and_colours_of_the_page(every):
    for drawing in every:
        for text, places in ((drawing.wide, (560, 960)), (drawing.narrow, (360,))):
            root = ElementTree.fromstring(text)
            assert root.get("role") == ("group" if "<a " in text else "img")
            assert root.get("aria-label")
            kind = "narrow" if places == (360,) else "wide"
            assert root.get("class") in (f"plot {kind}", "plot broad")
            width = int(root.get("width"))
            assert any(place <= width <= 1.05 * place for place in places), (drawing.title, width)
            for element in root.iter():
                assert local(element) != "text" or element.get("font-size") == "12px"
                assert element.get("fill", "none") in COLOURS
                assert element.get("stroke", "none") in COLOURS


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
def test_links_lead_to_questions_of_the_page_alone(link, kept):
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


def test_what_is_not_allowed_is_left_out():
    made = (
        '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" '
        'width="9" height="7" onload="x()"><style>p{}</style><script>x()</script>'
        '<rect width="9" height="7" fill="white"/><g transform="translate(1.23456,0)">'
        '<image href="http://a/b.png"/><foreignObject><p>x</p></foreignObject>'
        '<text style="fill:red" onclick="x()" fill="url(#a)">a&lt;b</text>'
        '<a xlink:href="https://a/"><path d="M0,0h1" fill="#ffffff"/></a></g></svg>'
    )

    assert svg.clean(made, 560, "what").partition(">")[2] == (
        '<g transform="translate(1.23,0)"><text>a&lt;b</text>'
        '<path d="M0,0h1" fill="#ffffff" /></g></svg>'
    )


class Kept(dict):
    """A cache that remembers."""

    def get(self, keys):
        return {key: self[key] for key in keys if key in self}

    def put(self, rows):
        self.update(rows)


def test_what_was_drawn_before_is_the_same_and_not_drawn_again():
    kept = Kept()
    drawn = differences(HOSTILE, cache=kept)

    def never(width, data):
        raise AssertionError

    def once(width, data):
        return theme.data([{"text": data}]).mark_text()

    def draw(spec, data="data", title="title"):
        return svg.Chart(title, "", TableBlock([], []), spec, (data,)).draw(kept)

    assert differences(HOSTILE, cache=kept) == drawn
    assert len(kept) == 1
    once.__module__ = never.__module__
    assert draw(once) == draw(never)
    for other in ({"data": "other data"}, {"title": "other title"}):
        with pytest.raises(AssertionError):
            draw(never, **other)


def test_a_report_whose_charts_are_kept_needs_no_library_of_charts():
    program = (
        "import sys; from harness.report.charts import curves_chart, losses_chart, tradeoffs;"
        "assert not {'altair', 'vl_convert'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def failed(stored):
    nothing = Aggregate(
        mean=0.0, mean_finished=None, low=None, high=None, n=5, failed=5, not_scored=0,
        metric_failed=0, method="none", note="n = 5 is under 6",
    )  # fmt: skip
    return with_cells(
        stored, lambda cell: replace(cell, failed=5, scores=dict.fromkeys(cell.scores, nothing))
    )


def unscored(stored):
    line = next(iter(stored.run.cells[0].scores.values()))
    none = replace(line, mean=None, low=None, high=None)
    return with_cells(stored, lambda cell: replace(cell, scores=dict.fromkeys(cell.scores, none)))


@pytest.mark.parametrize("chart", OF_RUNS)
def test_runs_that_came_to_nothing_have_charts_or_none(chart, many):
    empty = replace(many, run=replace(many.run, cells=[], status="failed"), records=())

    assert chart(View(empty)) is None
    for kind in (failed, unscored):
        figure = chart(View(kind(many)))
        assert figure is None or "<svg" in figure.drawings[0].wide
