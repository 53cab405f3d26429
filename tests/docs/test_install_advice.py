"""What texts of the repository tell people to install: our requirements, or this checkout."""

import re
import subprocess
import tomllib
from pathlib import Path

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
OURS = {
    canonicalize_name(Requirement(text).name)
    for texts in (PROJECT["dependencies"], *PROJECT["optional-dependencies"].values())
    for text in texts
} - {"rag-assay"}
OF_OTHERS = {"s3fs", "gcsfs", "webdav4"}
"""Drivers of other libraries that the documentation names for an address of a certain kind."""
COMMAND = re.compile(r"pip install ([^`#\"\n;)]+)")
TEXTS = (".py", ".md", ".yaml", ".yml", ".toml", ".html", ".j2", ".js", ".txt", "")


def instructions():
    """Yield the place and the arguments of each `pip install` in a tracked text."""
    names = subprocess.check_output(["git", "ls-files"], cwd=ROOT, text=True).splitlines()
    for name in names:
        path = ROOT / name
        if path.suffix not in TEXTS or not path.is_file() or path == Path(__file__):
            continue
        for match in COMMAND.finditer(path.read_text("utf-8")):
            yield name, re.findall(r"'[^']*'|\"[^\"]*\"|\S+", match[1])


def is_ours(argument):
    """Return whether an argument installs a requirement of ours, or a checkout."""
    if "TORCH_INDEX" in argument:  # the option of an image, and not a package
        return True
    text = argument.strip("'\"").replace("\\", "")  # patterns of tests hold backslashes
    if text.startswith((".", "git+", "-", "{", "<")):  # a path, an address, an option, a place
        return True
    try:
        return canonicalize_name(Requirement(text).name) in OURS | OF_OTHERS
    except InvalidRequirement:
        return False


def test_nothing_tells_people_to_install_what_is_not_ours():
    foreign = [
        f"{name}: {argument}"
        for name, arguments in instructions()
        for argument in arguments
        if not is_ours(argument)
    ]

    assert foreign == []


def test_instructions_are_found():
    assert len(list(instructions())) > 3
    assert not is_ours("'harness'")
    assert not is_ours("rag-assay[ray]")
