"""Cutting a text at the coarsest places that make its pieces fit."""

from harness.text.cuts import cut_pieces as cut


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
