"""What is installed is pinned, with hashes that pip checks; torch aside."""

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "requirements"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
EXTRAS = PROJECT["project"]["optional-dependencies"]
LOCKED = ("build", "development", "tools", "torture", "use")
PIN = re.compile(r"[\w.-]+==\S+( ; [^\\]+)?( \\\n    --hash=sha256:[0-9a-f]{64})+")
HERE = {"sys_platform": "linux", "platform_system": "Linux", "os_name": "posix"}


def text(name):
    """Return a file's text without its comments."""
    lines = (FOLDER / f"{name}.txt").read_text("utf-8").splitlines()
    return "\n".join(line for line in lines if not line.startswith("#"))


def pins(name, python="3.11"):
    """Return the versions that one file installs on Linux, by their packages."""
    place = {**HERE, "python_version": python, "python_full_version": f"{python}.9"}
    found = [Requirement(each.group().split("\\")[0]) for each in PIN.finditer(text(name))]
    there = [each for each in found if each.marker is None or each.marker.evaluate(place)]
    versions = {each.name: str(each.specifier).removeprefix("==") for each in there}
    assert len(versions) == len(there)
    return versions


@pytest.mark.parametrize("name", LOCKED)
def test_every_line_is_a_pin_with_hashes(name):
    assert PIN.sub("", text(name)).strip() == ""


@pytest.mark.parametrize("python", ["3.11", "3.12", "3.13", "3.14"])
@pytest.mark.parametrize(
    ("name", "extras"), [("use", ("offline", "fast", "static")), ("development", tuple(EXTRAS))]
)
def test_all_that_the_project_asks_for_is_locked_at_an_allowed_version(name, extras, python):
    locked = pins(name, python)
    asked = [*PROJECT["project"]["dependencies"], *(each for key in extras for each in EXTRAS[key])]
    for requirement in map(Requirement, asked):
        wanted = canonicalize_name(requirement.name)
        here = requirement.marker is None or requirement.marker.evaluate({"python_version": python})
        if wanted not in ("torch", "rag-assay") and here:
            assert requirement.specifier.contains(locked[wanted]), requirement


def test_what_builds_it_is_locked_too():
    locked = pins("build")
    for requirement in map(Requirement, PROJECT["build-system"]["requires"]):
        assert requirement.specifier.contains(locked[requirement.name])
    assert {"editables", "setuptools"} <= locked.keys()


def test_no_file_locks_another_version_than_the_one_that_is_tested():
    tested = pins("development")
    for name in ("build", "use"):
        assert pins(name).items() <= tested.items()


def test_no_build_of_torch_is_locked_and_one_version_of_it_is_named():
    forbidden = re.compile(r"^(torch|nvidia|triton|cuda)\b", re.MULTILINE)
    assert [name for name in LOCKED if forbidden.search(text(name))] == []
    torch = Requirement(text("torch").strip())
    (asked,) = [each for each in PROJECT["project"]["dependencies"] if each.startswith("torch")]
    assert Requirement(asked).specifier.contains(str(torch.specifier).removeprefix("=="))


def test_no_file_names_a_registry():
    files = [*FOLDER.iterdir(), ROOT / "Makefile", ROOT / "pyproject.toml"]
    assert [
        file.name for file in files if re.search(r"https?:|--(extra-)?index", without(file))
    ] == []


def without(file):
    """Return a file's text without the option that keeps addresses out of what is locked."""
    return file.read_text("utf-8").replace("--no-emit-index-url", "")


def test_pip_is_told_to_check_the_hashes_and_to_resolve_nothing():
    makefile = (ROOT / "Makefile").read_text("utf-8")
    assert "LOCKED := $(PIP) --require-hashes --no-deps --no-build-isolation" in makefile
    installed = re.findall(r"\$\((?:LOCKED|PIP)\) (?:--requirement )?requirements/(\w+)", makefile)
    assert sorted(installed) == ["build", "development", "tools", "torch", "torture", "use"]


def test_the_audit_reads_all_that_is_locked_and_what_it_cannot_look_up_fails_it():
    command = (ROOT / "Makefile").read_text("utf-8").partition("audit: ")[2].partition("clean:")[0]
    assert set(re.findall(r"(\w+)\.txt", command)) == {"development", "tools", "torture", "torch"}
    assert "AUDIT := $(TOOLS)/pip-audit --strict " in (ROOT / "Makefile").read_text("utf-8")
