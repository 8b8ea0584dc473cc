"""The archive: everything that a run has left behind, nothing else, and the same bytes each time."""

import json
import tarfile

import pytest

from analysis import archive, run_directory
from analysis.__main__ import main
from analysis.errors import DataError
from analysis.scenario import pipeline
from tests.support import scenario_results
from workloads.schema import RunKind
from workloads.supply_chain.topology import vertical

SECRET = "hunter2-of-the-archive"

FILES = (
    "brokers/activemq-01/broker.log",
    "brokers/activemq-01/configuration.txt",
    "console.txt",
    "disclosure.json",
    "manifest.json",
    "periods/activemq-01-specjms2007-vertical-b0005.parquet",
    "plan.json",
    "report.html",
    "sent/activemq-01-specjms2007-vertical-b0005-w0.parquet",
)


@pytest.fixture
def run(tmp_path):
    """A finished run's directory, with what must not be packed beside what must."""
    folder = tmp_path / "results" / "20260101T000000000Z-specjms2007"
    for name in reversed(FILES):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"content of {name}")
    (folder / "plan.partial").write_text("half")
    (folder / ".report.html.x1").write_text("half")
    (folder / "link").symlink_to("/etc/hostname")
    (folder.parent / "users.properties").write_text(SECRET)
    (folder / "brokers" / "site").symlink_to(folder.parent)
    (folder.parent / "latest").symlink_to(folder.name)
    return folder


def test_all_files_and_nothing_else(run):
    """All files in the order of their names, below the run's own name, without what is of this machine: no absolute
    path, no owner, no link, nothing behind one, and no half file."""
    path = archive.pack(run)

    assert path == run.with_name(f"{run.name}.tar.gz")
    with tarfile.open(path) as packed:
        entries = packed.getmembers()
        assert tuple(entry.name for entry in entries) == tuple(f"{run.name}/{name}" for name in FILES)
        contents = [packed.extractfile(entry).read().decode() for entry in entries]
    assert contents == [f"content of {name}" for name in FILES]
    assert {(entry.uid, entry.gid, entry.uname, entry.gname, entry.linkname) for entry in entries} == {
        (0, 0, "", "", "")
    }


def test_the_same_bytes_again(run):
    """Packing twice gives the same file, also by another name of the directory; the second takes the first's place."""
    first = archive.pack(run).read_bytes()

    assert archive.pack(run.parent / "latest").read_bytes() == first
    assert sorted(path.name for path in run.parent.iterdir()) == [
        run.name,
        f"{run.name}.tar.gz",
        "latest",
        "users.properties",
    ]


def test_no_run_directory(tmp_path):
    """A directory without a manifest is refused, with what was expected."""
    with pytest.raises(DataError, match=r"no manifest\.json; expected a run directory"):
        archive.pack(tmp_path)


def test_packed_behind_its_report(tmp_path, monkeypatch, capsys):
    """`report RUN --archive` writes report and disclosure, then packs them with the rest, and says where."""
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "manifest.json").write_text("{}")
    result = scenario_results.result(vertical(5).only(4), path=folder)
    monkeypatch.setattr(run_directory, "kind_of", lambda _paths: RunKind.WORKLOAD)
    monkeypatch.setattr(run_directory, "manifests", lambda _paths: ((scenario_results.result().manifest, folder),))
    monkeypatch.setattr(pipeline, "analysed", lambda _paths, **_reading: (result,))

    assert main(["report", str(folder), "--archive", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["archives"] == [str(tmp_path / "run.tar.gz")]
    with tarfile.open(tmp_path / "run.tar.gz") as packed:
        assert packed.getnames() == ["run/disclosure.json", "run/manifest.json", "run/report.html"]
