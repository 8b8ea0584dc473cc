"""What the analysis writes is there completely or not at all, and a refusal says what to do."""

import errno
import os
from pathlib import Path

import pytest

from analysis.errors import DataError
from analysis.report import page
from analysis.scenario import disclosure
from tests.support import scenario_results
from workloads.supply_chain.topology import vertical

#: By the words for it: what writes into a folder, and its advice.
WRITERS = {
    "disclosure": (
        lambda folder: disclosure.write([scenario_results.result(vertical(5).only(4), path=folder)]),
        "make room there, or make it writable",
    ),
    "report": (lambda folder: page.write_text(folder / "report.html", "<html>"), "name another file with .*--output"),
}


@pytest.mark.parametrize("name", WRITERS)
def test_whole_or_not_at_all(name, tmp_path, monkeypatch):
    """A disk that is full leaves no file and no pieces; nor does a folder that is not there."""
    write, advice = WRITERS[name]
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "manifest.json").write_text("{}")

    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", full)
        with pytest.raises(DataError, match=f"{name} cannot be written: No space left on device; {advice}"):
            write(folder)
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["manifest.json", "run"]
    with pytest.raises(DataError, match="No such file or directory"):
        write(tmp_path / "nowhere")
