"""The wheel, as a user installs it, and the recipe of an image."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import sysconfig
import venv
from zipfile import ZipFile

import pytest

from tests.conftest import ROOT
from tests.support.sessions import environment


def done(*words, folder, **changes):
    ended = subprocess.run(words, cwd=folder, env=environment(**changes), capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


@pytest.mark.brokers
def test_installed_from_its_wheel(tmp_path):
    """It measures from a folder whose settings, conftest.py and modules are no matter, and answers questions after it.

    The dependencies are not installed once more, but taken from the environment of these tests; what the wheel itself
    declares is not shown here.
    """
    home, folder, wheels = (tmp_path / name for name in ("in stalled", "fol der", "dist"))
    done(sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", wheels, folder=ROOT)
    (wheel,) = wheels.glob("*.whl")
    assert not [name for name in ZipFile(wheel).namelist() if "/tests/" in f"/{name}"]
    venv.create(home, with_pip=False)
    paths = {name: str(home) for name in ("base", "platbase")}
    packages = sysconfig.get_path("purelib", scheme="venv", vars=paths)
    with open(os.path.join(packages, "dependencies.pth"), "w", encoding="utf-8") as file:  # noqa: PTH118, PTH123
        file.write(f"import site; site.addsitedir({sysconfig.get_path('purelib')!r})\n")
    python = home / "bin" / "python"
    done(python, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", wheel, folder=tmp_path)
    folder.mkdir()
    (folder / "pytest.ini").write_text("[pytest]\naddopts = --nonsense\nfilterwarnings = error\n", encoding="utf-8")
    for name in ("conftest", "numpy", "analysis"):
        (folder / f"{name}.py").write_text("raise RuntimeError('of the user')\n", encoding="utf-8")
    (folder / "brokerbench.toml").write_text('broker = ["reference", "activemq"]\n', encoding="utf-8")
    before = set(home.rglob("*"))

    command = home / "bin" / "brokerbench"
    said = done(
        command, "microbench", "-k", "replication", "--grid", "smoke", folder=folder, PYTEST_ADDOPTS="--nonsense"
    )
    run = folder / "results" / "latest"
    manifest = json.loads((run / "manifest.json").read_text(encoding="utf-8"))
    summary = json.loads(done(command, "summary", "--json", folder=folder))

    assert set(manifest["brokers"]) == {"reference", "activemq"}
    assert manifest["outcome"] == "complete"
    assert "  brokerbench microbench " in said
    assert "</html>" in (run / "report.html").read_text(encoding="utf-8")
    assert "replication" in json.dumps(summary)
    assert [
        path for path in set(home.rglob("*")) - before if path.suffix != ".pyc" and path.name != "__pycache__"
    ] == []


def test_what_builds_the_wheel_is_pinned_as_for_the_tests():
    """With the same hashes, so that both build the same bytes."""
    built, tested = (
        set(re.split(r"\n(?=\S)", re.sub(r" *#.*", "", (ROOT / name).read_text(encoding="utf-8")).strip()))
        for name in ("requirements-build.txt", "requirements.txt")
    )
    pins = {pin.split("==")[0]: re.findall(r"==\S+|sha256:\w+", pin) for pin in tested}

    assert "hatchling" in {pin.split("==")[0] for pin in built}
    for pin in built:
        assert re.findall(r"==\S+|sha256:\w+", pin) == pins[pin.split("==")[0]]


def test_recipe_of_an_image():
    """No image is built here: the steps are in order, and what is copied is what `make wheel` builds."""
    text = (ROOT / "Containerfile").read_text(encoding="utf-8").replace("\\\n", " ")
    steps = [line.split(" ", 1) for line in text.splitlines() if line and not line.startswith("#")]
    of = {word: [rest for step, rest in steps if step == word] for word, _ in steps}
    order = [next(place for place, (_, rest) in enumerate(steps) if said in rest) for said in (
        "debian:", "jre", "dist/*.whl", "pip install", "XDG_CACHE_HOME", "brokerbench microbench", '["brokerbench"]',
    )]  # fmt: skip

    assert steps[0][0] == "FROM"
    assert set(of) <= {"FROM", "RUN", "COPY", "ENV", "WORKDIR", "ENTRYPOINT", "CMD"}
    assert order == sorted(order)
    assert of["COPY"] == ["dist/*.whl /tmp/"]
    assert re.search(r"--directory dist$", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    assert "!dist/*.whl" in (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
