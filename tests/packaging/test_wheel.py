"""The wheel, in an environment that holds it and its libraries and nothing of the checkout."""

import ast
import itertools
import json
import os
import subprocess
import sys
import sysconfig
import tomllib
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def scripts(tmp_path_factory):
    """Build the wheel and install it; returns the environment's folder of commands."""
    folder = tmp_path_factory.mktemp("wheel")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
    offline = ["--quiet", "--no-deps", "--no-index"]
    build = [*pip, "wheel", *offline, "--no-build-isolation", "--wheel-dir", folder / "dist", ROOT]
    subprocess.run(build, check=True, capture_output=True)
    own = folder / "environment"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", own], check=True)
    libraries = sysconfig.get_path("purelib")
    packages = sysconfig.get_path("purelib", vars={"base": str(own), "platbase": str(own)})
    # That folder is searched, but its own .pth files, the checkout's among them, are not read.
    (Path(packages) / "libraries.pth").write_text(libraries, "utf-8")
    (wheel,) = (folder / "dist").glob("*.whl")
    python = own / "bin" / "python"
    subprocess.run([*pip, "--python", python, "install", *offline, wheel], check=True)
    return own / "bin"


def called(folder, *command):
    """Run a command in `folder`; returns what it printed."""
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_the_wheel_makes_a_project_runs_it_and_renders_its_report(scripts, tmp_path):
    place = called(tmp_path, scripts / "python", "-c", "import harness; print(harness.__file__)")
    assert Path(place.strip()).is_relative_to(scripts.parent)

    called(tmp_path, scripts / "rag-assay", "init", "project")
    ran = called(tmp_path, scripts / "rag-assay", "run", "project/config.yaml", "--json")
    run = tmp_path / json.loads(ran)["run"]
    (run / "report.html").unlink()
    called(tmp_path, scripts / "rag-assay", "report", run)

    page = (run / "report.html").read_text("utf-8")
    assert "<svg" in page
    assert "</html>" in page


def test_every_imported_library_is_declared():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = itertools.chain.from_iterable(project["optional-dependencies"].values())
    names = {Requirement(line).name for line in [*project["dependencies"], *extras]}
    names = {canonicalize_name(name) for name in names}
    homes = metadata.packages_distributions()
    imported = set()
    for path in (ROOT / "harness").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            modules = [node.module] if isinstance(node, ast.ImportFrom) else []
            modules += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            imported |= {module.partition(".")[0] for module in modules if module}
    imported -= {"harness", *sys.stdlib_module_names}

    missing = {
        module
        for module in imported
        if not any(canonicalize_name(home) in names for home in homes.get(module, [module]))
    }
    assert missing == set()
