"""`report.md`: every kind of block, safe on GitHub, under 60 KB whatever the run; a golden file."""

import re

import pytest

from harness import api
from harness.config.run_config import load
from harness.report import markdown
from harness.report.document import (
    Advice,
    Browser,
    ChartFigure,
    Drawing,
    Fold,
    GlossaryEntry,
    Heading,
    Items,
    Mark,
    Measure,
    Paragraph,
    Part,
    Quotation,
    TableBlock,
    TwoColumns,
)
from harness.report.markdown import REST_NOTE
from harness.report.run_view import View
from harness.report.sections import parts
from harness.runs import runner
from harness.store import reader
from harness.text.escaping import escape, escape_html, fence, shorten
from tests.golden import GOLDEN, rendered
from tests.support.many import many
from tests.support.small import project

METRICS = [
    "passage_recall@2", "evidence_recall@1000t", "hit_rate@2", "mrr@10", "precision@2", "recall@2",
    "f1@2", "ap@10", "ndcg@10", "recall(labels=documents)@2", "ndcg(labels=documents)@10", "bleu",
    "rougeL", "token_f1", "exact_match", "length_ratio", "abstention",
]  # fmt: skip
SVG = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 560 300"><text>a</text></svg>'
TABLE = TableBlock(["Cell", "mrr"], [["a", Measure("0.50", 0.5, 0.4, 0.6)]])
HOSTILE = "| <script>alert(1)</script> `x` @someone #12 </details> $a$ \u202e" + "x" * 300


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    config = project(tmp_path_factory.mktemp("small"), metrics=METRICS, retrieve=10)
    finished = api.run(runner.prepare(load(config, [], {})), lambda *_: None)
    return reader.load(finished.folder)


@pytest.fixture(scope="module")
def view(stored):
    return View(stored)


def said(view, *blocks):
    """Return what blocks become, without the headings of the report and of the section."""
    text = markdown.render(view, [Part("one", "One", blocks, "One")])
    return text.partition("## One\n\n")[2].removesuffix("\n")


class TestEveryKindOfBlock:
    def test_texts_have_their_label_before_them(self, view):
        assert said(view, Heading("Ship it.", 1)) == "### Ship it."
        assert said(view, Paragraph("by 0.2", label="How sure.")) == "**How sure.** by 0.2"
        assert said(view, Paragraph("small", "note")) == "*small*"
        assert said(view, Paragraph("careful", "warning")) == "⚠ careful"

    def test_a_list_has_an_item_a_line(self, view):
        assert said(view, Items(["a", "b"])) == "- a\n- b"
        assert said(view, Items(["a"], "warning")) == "- ⚠ a"

    def test_a_measure_has_its_interval_superscript_and_outcome(self, view):
        measure = Measure(
            "0.520", 0.52, 0.45, 0.59, best=True, note="good", beats="+", outcome="met"
        )
        table = TableBlock(
            ["Cell", "mrr"], [["a", measure]], "Scores", ["", "n = 6"], remarks=["best"]
        )

        assert said(view, table).splitlines() == [
            "**Scores**, n = 6",
            "",
            "| Cell | mrr |",
            "|---|---:|",
            "| a<br>best | **0.520**<sup>+</sup><br>0.450–0.590, met, good |",
        ]

    def test_a_figure_shows_its_first_drawing_and_links_the_others(self, view):
        drawings = [
            Drawing("Recall", "It rises", "Read up", SVG, SVG, TABLE),
            Drawing("Precision", "It falls", "Read down", SVG, SVG, TABLE),
        ]
        text = said(view, ChartFigure("by-k", drawings))

        assert text.startswith("**It rises**\n\n![It rises](charts/by-k.svg)\n\nRead up\n\n")
        assert "Also drawn: [Precision](charts/by-k-2.svg)" in text
        assert text.count("<details>") == text.count("</details>") == 1
        assert "| a | 0.50<br>0.400–0.600 |" in text

    def test_advice_is_numbered_with_its_figure_and_setting(self, view):
        one = Advice(12, 160, "Overlap", "Cut in two.", "chunking", "chunkers: []", ["q1", "q2"])
        lines = said(view, one, one).splitlines()

        assert lines[:9] == [
            "1. **Overlap** (12 of 160 questions at most, lost at chunking)",
            "",
            "   Cut in two.",
            "",
            "   Questions: q1, q2",
            "",
            "   ```yaml",
            "   chunkers: []",
            "   ```",
        ]
        assert lines[10].startswith("2. **Overlap**")

    def test_the_glossary_has_a_line_an_entry(self, view):
        entries = [GlossaryEntry("mrr", "How early.", "1 / rank"), GlossaryEntry("n", "Questions.")]

        assert said(view, *entries) == "- **mrr**: How early. *1 / rank*\n- **n**: Questions."

    def test_a_fold_and_the_questions_to_read_are_closed_again(self, view):
        assert said(view, Fold("Over groups", [TABLE], aside=True)) == (
            "*Over groups: in [report.html](report.html).*"
        )
        fold = Fold("q1: <b>?", [Quotation("Answer", "6 dollars", True), TABLE])
        text = said(view, Browser([Paragraph("Worst", "note"), fold]))

        assert text.startswith("*Worst*\n\n<details><summary>q1: &lt;b&gt;?</summary>\n\nAnswer ✓")
        assert "```text\n6 dollars\n```" in text
        assert text.endswith("\n\n</details>")


class TestTextsFromOutside:
    @pytest.mark.parametrize(
        ("text", "shown"),
        [
            ("a|b\n# *c* <d> `e`", r"a\|b \# \*c\* \<d\> \`e\`"),
            ("&amp; &lt;", "&amp;amp; &amp;lt;"),
            ("@someone and a@b", "@&#8203;someone and a@b"),
            ("recall(labels=documents)@5", "recall(labels=documents)@&#8203;5"),
            ("#12 is GH-12", r"\#&#8203;12 is GH-&#8203;12"),
            ("https://a.b www.a.b", "https:&#8203;//a.b www&#8203;.a.b"),
            (":tada: at 10:20:30", ":&#8203;tada: at 10:20:30"),
            ("$a$", "<span>$</span>a<span>$</span>"),
            ("1. one", r"1\. one"),
            ("- one", r"\- one"),
            ("---", r"\---"),
            ("0.5", "0.5"),
            ("null\x00byte", "null\ufffdbyte"),
            ("![a](b)", r"!\[a\](b)"),
        ],
    )
    def test_stay_text(self, text, shown):
        assert escape(text) == shown

    def test_stay_text_in_a_summary(self):
        assert escape_html("<b> & @me $") == "&lt;b&gt; &amp; @&#8203;me <span>$</span>"

    def test_do_not_end_the_block_that_quotes_them(self):
        assert fence("a\n````\nb\n") == ["`````text", "a", "````", "b", "`````"]

    def test_are_cut_before_they_are_escaped(self):
        assert escape("***", 2) == r"\*…"
        assert shorten("abc", 3) == "abc"

    def test_open_no_tag_anywhere(self, stored):
        worst = {"text": HOSTILE, "category": HOSTILE, "difficulty": HOSTILE}
        large = View(many(stored, 4, 10, lambda at: f"{at}{HOSTILE}", **worst))
        text = without_quotations(markdown.render(large, parts(large)))

        tags = set(re.findall(r"(?<!\\)<(/?\w+)", text))
        assert tags <= {
            "details", "/details", "summary", "/summary", "br", "sup", "/sup", "span", "/span"
        }  # fmt: skip
        assert not re.search(r"(?<!\w)@\w", text)
        assert text.count("<details>") == text.count("</details>")


def without_quotations(text):
    return re.sub(r"(?ms)^ *(`{3,})\w+$.*?^ *\1$", "", text)


class TestItsSize:
    def test_is_under_60_kb_at_12_cells_and_160_questions_with_all_sections(self, stored):
        large = View(many(stored, 12, 160))
        text = markdown.render(large, parts(large))

        assert len(text.encode()) < 60_000
        for part in parts(large):
            assert f"\n## {escape(part.title)}\n" in text
        questions = text.partition("\n## Questions\n")[2].partition("\n## ")[0]
        assert questions.count("<details><summary>") == 10
        assert REST_NOTE not in questions

    def test_is_under_60_kb_at_40_cells_and_300_questions_with_long_hostile_texts(self, stored):
        long = {"text": HOSTILE * 150, "category": HOSTILE, "difficulty": HOSTILE}
        large = View(many(stored, 40, 300, lambda at: f"{at}{HOSTILE}", **long))
        text = markdown.render(large, parts(large))

        assert 20_000 < len(text.encode()) < 60_000
        assert REST_NOTE in text
        assert text.count("<details>") == text.count("</details>")

    def test_a_table_of_many_cells_keeps_the_best_the_baseline_and_the_one_to_ship(self, stored):
        large = View(many(stored, 40, 10))
        names = [large.name(cell) for cell in large.cells]
        rows = [[name, "0.5"] for name in names]
        table = TableBlock(["Cell", "mrr"], rows, marks=[Mark(0, 0)] * 40)
        shown = re.findall(r"(?m)^\| (number .+?) \|", said(large, table))

        baseline = next(c for c in large.cells if c.name == large.run.baseline)
        assert len(shown) == 12
        assert large.name(baseline) in shown
        assert large.name(large.shipped) in shown
        assert shown[:10] == names[:10]
        assert said(large, table).endswith("\n\n*12 of 40 shown.*")


class TestPictures:
    def test_lie_beside_the_report_and_old_ones_are_taken_away(self, tmp_path):
        one = Drawing("", "T", "C", SVG, SVG, TABLE)
        both = [Part("p", "P", [TwoColumns([ChartFigure("a b/..", [one, one])], [])], "P")]

        written = markdown.write_charts(tmp_path, both)
        assert [path.relative_to(tmp_path).as_posix() for path in written] == [
            "charts/a-b.svg",
            "charts/a-b-2.svg",
        ]
        markdown.write_charts(tmp_path, [Part("p", "P", [ChartFigure("c", [one])], "P")])
        assert [path.name for path in (tmp_path / "charts").iterdir()] == ["c.svg"]

    def test_of_a_run_are_all_there_that_its_report_shows(self, stored):
        text = (stored.folder / "report.md").read_text(encoding="utf-8")
        named = re.findall(r"\]\((charts/[^)]+)\)", text)

        assert set(named) == {f"charts/{p.name}" for p in stored.folder.glob("charts/*.svg")}


def test_the_report_of_a_small_run_is_the_golden_one(tmp_path):
    # After a change that is meant: python -m tests.golden, and look at the difference.
    assert rendered(tmp_path) == GOLDEN.read_text(encoding="utf-8")
