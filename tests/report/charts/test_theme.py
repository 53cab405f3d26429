"""Colours and symbols of charts."""

import re
from dataclasses import replace

from harness.report import page
from harness.report.charts import theme
from harness.report.document import Mark
from harness.report.run_view import View


def test_the_stylesheet_recolours_each_colour_which_is_the_light_one_of_the_page():
    style = page.style()

    assert len(theme.TOKENS) == 6 + 8 + 7  # each has one meaning
    for hex_, token in theme.TOKENS.items():
        for part in ("fill", "stroke"):
            assert f'.plot [{part}="{hex_}"]{{{part}:var(--{token})}}' in style
        assert re.search(rf"--{token}:\s*light-dark\((#\w+)", style)[1] in (hex_, hex_[:4])


def test_a_mark_has_a_shape_and_a_line_that_tell_it_from_others():
    looks = [theme.symbol(Mark(1, shape)) for shape in range(4)]

    assert [look["shape"] for look in looks] == ["circle", "circle", "diamond", "square"]
    assert [look["fill"] == theme.BACKGROUND for look in looks] == [False, True, False, False]
    assert len({look["strokeDash"] for look in looks}) == 4


def test_of_many_cells_the_best_few_and_the_baseline_are_told_apart(many):
    first = many.run.cells[0]
    cells = []
    for at in range(20):
        scores = {name: replace(line, mean=1 - at / 100) for name, line in first.scores.items()}
        cells.append(replace(first, name=f"c{at:02}", floor=at == 0, scores=scores))
    run = replace(many.run, cells=cells, baseline="c19")

    highlighted = theme.highlighted_cells(View(replace(many, records=(), run=run)))

    assert highlighted == {"c01", "c02", "c03", "c04", "c05", "c06", "c19"}
