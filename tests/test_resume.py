"""A run that is killed is continued by the same command, and comes to the same in the end."""

import pytest

from tests.kills import kill_often


@pytest.mark.slow
def test_a_run_killed_at_25_random_instants_comes_to_what_an_undisturbed_one_does(tmp_path):
    found = kill_often(tmp_path, kills=25)

    assert found.kills == 25
    assert found.differences == []
