"""The report: what stands on the page, in which order, and what a real browser makes of it."""

import re
import shutil
import subprocess
from dataclasses import replace

import pytest
from PIL import Image

from analysis.errors import DataError
from analysis.formats import NOTHING
from analysis.report import figures, plot_svg, throughput_page
from analysis.results import Finding
from analysis.throughput import pipeline
from tests.support import run_directories as rd
from tests.support import study_runs
from tests.support.pages import Page
from tests.support.requirements import extra_missing
from workloads.status import CellStatus, ClaimVerdict

#: Figures 3 and 4 of one experiment, 5 to 8, cells against the model, what it leaves over, levels, slices, latency.
PICTURES = 11

CHROMIUM = shutil.which("chromium")

MANIFEST = replace(
    rd.study_manifest(brokers={"activemq": rd.broker_facts(flags=["-Xmx1024m"])}),
    host=replace(rd.HOST, cpu_model="AMD EPYC"),
)


def html(*results):
    broker = MANIFEST.brokers["activemq"]
    manifests = [replace(MANIFEST, brokers=dict.fromkeys(result.manifest.brokers, broker)) for result in results]
    return throughput_page.html(
        [replace(result, manifest=manifest) for result, manifest in zip(results, manifests, strict=True)]
    )


@pytest.fixture(scope="module")
def whole():
    """The page of a whole study on one broker."""
    return html(study_runs.study())


def test_the_file_needs_nothing_else(whole):
    """No script, no address of anything outside, no style sheet or font from elsewhere; every link leads somewhere."""
    parsed = Page(whole)

    assert not {"script", "link", "img", "iframe", "object", "embed"} & {tag for tag, _ in parsed.tags}
    assert not re.search(r"https?:|//[a-z]|@import|@font-face|javascript:| on[a-z]+=", whole)
    assert {target[1:] for target in re.findall(r"url\(([^)]*)\)", whole)} <= set(parsed.ids)
    assert parsed.links
    assert {link[0] for link in parsed.links} == {"#"}
    assert {link[1:] for link in parsed.links} <= set(parsed.ids)
    assert len(parsed.ids) == len(set(parsed.ids))


def test_verdict_first(whole):
    """Brokers and host, then the verdict and the result at a glance, then findings and all that is in tables."""
    text = whole[whole.index("<body>") :]
    places = [
        text.index(part)
        for part in (
            "ActiveMQ Classic 5.18.3",
            "AMD EPYC",
            '<section class="verdict unverified"',
            "a check is missing or an interval too wide",
            'aria-label="the result at a glance"',
            "one message received",
            "<code>pytest microbench",
            "<nav",
            "<h3>Findings</h3>",
            "<h3>Fitted models</h3>",
            "<h3>Claims of the paper</h3>",
            "<h3>Rounds</h3>",
            "<h3>Measurements</h3>",
            "<h3>Delivery audit</h3>",
            "<h3>Latency</h3>",
            "<h3>Host under load</h3>",
            "<h3>System under test</h3>",
        )
    ]

    assert places == sorted(places)
    assert text.index("<caption>Cells of") > text.index("<h3>Findings</h3>")


def test_it_says_what_the_numbers_do_not_mean(whole):
    """Derived from a paper, no SPEC result, no comparison of absolute values."""
    text = Page(whole).text

    assert "derived from a published paper" in text
    assert "Nothing here is a SPEC result" in text
    assert "Rates and times of two runs are not comparable; ratios within a run are" in text


def test_every_figure_of_the_paper(whole):
    """Figures 3 to 8, the model's two, rounds, slices and latency are drawn where there is something, with words."""
    parsed = Page(whole)
    numbers = {int(number) for number in re.findall(r"as figure (\d) of Henjes", parsed.text)}
    drawn = [attributes for tag, attributes in parsed.tags if tag == "svg"]

    assert numbers == {3, 4, 5, 6, 7, 8}
    assert len(drawn) == PICTURES
    assert all(attributes["aria-label"] and attributes["role"] == "img" for attributes in drawn)


def test_an_unknown_experiment_has_its_cells():
    """No picture, no refusal: a table."""
    other = study_runs.cell("own_experiment", "x1", {"x": 1}, 1, 1, 1e-4, windows=())
    result = replace(study_runs.study(), cells=(other,), fits=(), claims=(), latency=(), rounds=())

    parsed = Page(html(result))

    assert "svg" not in {tag for tag, _ in parsed.tags}
    assert "own_experiment on activemq" in parsed.text
    assert "No model was fitted" in parsed.text


def test_what_is_left_out_is_greyed_with_its_reason(whole):
    """A cell that missed a limit keeps its row and numbers, and is named below the figure."""
    for (further, r), (status, reason) in study_runs.DOUBTFUL.items():
        name = study_runs.name_of(further, r)
        row = re.search(
            rf'<tr class="greyed noted"><th scope="row">{name}</th>.*?</tr>\s*<tr.*?</tr>', whole, re.DOTALL
        )
        assert row
        assert reason.replace("'", "&#39;") in row[0]
        assert re.search(r"\d,\d{3} ± \d", row[0])
        assert f"{name} (start 1): {status}" in whole


def test_doubtful_points_are_hollow_and_none_is_lost():
    """Figure 8 shows every cell in every panel; those that are not ok, and only those, are hollow."""
    (group,) = [g for g in figures.groups(study_runs.study()) if g.experiment == "replication"]
    (picture,) = figures.of_group(group)

    assert len(picture.panels) == 4
    for panel in picture.panels:
        points = [point for series in panel.series for point in series.points]
        assert len(points) == len(study_runs.FURTHER) * len(study_runs.REPLICATION)
        assert sum(point.hollow for point in points) == len(study_runs.DOUBTFUL)


def test_the_line_is_the_model():
    """Each line passes its measured points as far off as the fit says the farthest cell is."""
    result = study_runs.study()
    (group,) = [g for g in figures.groups(result) if g.experiment == "replication"]
    (picture,) = figures.of_group(group)
    limit = 1.01 * group.fit.lack_of_fit.max_relative_deviation

    for panel in picture.panels:
        for series in panel.series:
            ends = {series.model[0][0]: series.model[0][1], series.model[-1][0]: series.model[-1][1]}
            for point in series.points:
                near = [y for x, y in ends.items() if x == pytest.approx(point.x)]
                assert point.hollow or not near or point.y.estimate / near[0] == pytest.approx(1, abs=limit)


def test_a_cap_bends_the_line():
    """Where the roofline describes the cells better, its line cannot rise above what the cap lets through."""
    result = study_runs.study()
    cap = replace(
        result.fits[0].roofline, preferred=True, t_sat_s=replace(result.fits[0].roofline.t_sat_s, estimate=5e-5)
    )
    result = replace(result, fits=(replace(result.fits[0], roofline=cap),))
    (group,) = [g for g in figures.groups(result) if g.experiment == "replication"]
    (picture,) = figures.of_group(group)

    received = picture.panels[2].series[0]
    assert received.model[-1] == pytest.approx((40, 1 / (40 * 5e-5)))
    assert "cap on transmission" in picture.caption


def test_a_grid_may_begin_at_nothing():
    """A user's grid with replication grade 0 or no filter at all is drawn like any other."""
    result = study_runs.study()
    (group,) = [g for g in figures.groups(result) if g.experiment == "replication"]
    none = study_runs.cell("replication", "f0000-r000", {"further": 0, "replication": 0}, 0, 0, 3e-5)

    (picture,) = figures.of_group(replace(group, cells=(none, *group.cells)))

    assert picture.panels[2].series[0].model[0] == pytest.approx((0, 1 / study_runs.TIMES[0]), rel=0.05)


def test_residuals_show_the_cells_left_out():
    """Used cells are filled, those left out hollow, in all three panels."""
    result = study_runs.study()
    (group,) = [g for g in figures.groups(result) if g.experiment == "replication"]

    panels = figures.residuals(result.fits[0], group.cells).panels
    assert [panel.title for panel in panels] == ["over B", "over filters", "over copies"]
    for panel in panels:
        hollow = [point.hollow for series in panel.series for point in series.points]
        assert (len(hollow), sum(hollow)) == (30, len(study_runs.DOUBTFUL))


def test_every_cell_stands_against_the_model():
    """Its deviation with its interval in %, in the bands of the grades, a row for each cell that was used."""
    (fit,) = study_runs.small().fits
    (panel,) = figures.against_plane(fit).panels
    (series,) = panel.series

    assert panel.bands == (5.0, 15.0)
    assert len(panel.rows) == 16
    for row, point in zip(panel.rows, series.points, strict=True):
        (of_cell,) = [one.deviation for one in fit.points if one.cell == row]
        assert (point.y.low, point.y.estimate, point.y.high) == pytest.approx(
            tuple(100 * end for end in (of_cell.low, of_cell.estimate, of_cell.high))
        )


def test_rounds_over_time():
    """One picture per start: level of each round, hollow where disturbed, and the shares of GC and compiler."""
    result = study_runs.study(starts=2)
    drawn = list(figures.levels(result.rounds))

    assert [picture.title for picture in drawn] == [f"Rounds on activemq, start {start}" for start in (1, 2)]
    levels, shares = drawn[0].panels
    points = levels.series[0].points
    assert len(points) == study_runs.LAYOUTS * study_runs.ROUNDS
    assert [point.y.estimate for point in points if point.hollow] == pytest.approx([24.0, 27.0])
    assert [name for _, name in levels.borders] == [str(layout) for layout in range(1, study_runs.LAYOUTS + 1)]
    assert [series.label for series in shares.series] == ["garbage collection", "compiler", "stolen"]
    bare = [replace(one, gc_share=None, compiler_share=None, stolen_share=None) for one in result.rounds]
    assert [len(picture.panels) for picture in figures.levels(bare)] == [1, 1]


def test_findings_are_grouped():
    """Those that differ in what was measured only stand under what they have in common."""
    alike = [Finding(f"cell {n}", f"{n}0%", "5%", "measure again") for n in range(4)]
    html_ = html(study_runs.small(findings=tuple(alike)))
    text = Page(html_[html_.index("<h3>Findings") :]).text

    assert "4 similar findings (limit: 5%) . Measure again." in text
    assert text.count("Measure again.") == 1
    assert "cell 3: 30%" in text


def test_a_cell_without_a_number_is_named():
    """What cannot be drawn is listed below the picture and has its row."""
    result = study_runs.study()
    name = study_runs.name_of(160, 5)
    nothing = dict.fromkeys(("received_per_s", "dispatched_per_s", "overall_per_s", "processing_s"))
    cells = tuple(
        replace(one, **nothing, status=CellStatus.AUDIT_FAILED, reason="3 copies lost") if one.key.cell == name else one
        for one in result.cells
    )

    text = Page(html(replace(result, cells=cells, latency=()))).text

    assert f"Without a number to draw: {name} (start 1): audit-failed" in text
    assert "3 copies lost" in text


def test_names_are_only_names():
    """A label from a manifest or a user is shown as it is, in text, attributes, anchors and drawings."""
    word = '<script>alert(1)</script> "><img src=x onerror=alert(1)> {{ 7 * 7 }} $x$ & _y'
    result = study_runs.study(brokers=(word,))

    text = html(replace(result, latency=()))

    assert not {"script", "img"} & {tag for tag, _ in Page(text).tags}
    assert " ".join(word.split()) in Page(text).text


def test_runs_stand_side_by_side():
    """Every run has its chapter and its verdict, every model its row and interval, under a warning."""
    first, second = study_runs.study(), study_runs.study(run="other", brokers=("activemq", "artemis"), starts=2, seed=2)
    second = replace(second, cells=tuple(cell for cell in second.cells if cell.key.experiment == "replication"))
    text = html(*(replace(one, latency=()) for one in (first, second)))
    picture = figures.coefficients([first, second])

    assert "Absolute values of two runs are not comparable; ratios within a run are." in text
    assert text.count('<section class="verdict') == 3
    assert [len(panel.series[0].points) for panel in picture.panels] == [3, 3, 3]
    assert picture.panels[0].rows == (
        "run 1: activemq, replication, today",
        "run 2: activemq, replication, today",
        "run 2: artemis, replication, today",
    )
    assert len(Page(text).ids) == len(set(Page(text).ids))
    assert figures.coefficients([first]) is None


def test_claims_have_their_verdicts(whole):
    """Published, measured and verdict of every claim, also of those that could not be decided."""
    text = Page(whole).text

    for claim in study_runs.CLAIMS:
        assert " ".join([claim.section, claim.claim, claim.published, claim.measured or NOTHING, claim.verdict]) in text
    assert {claim.verdict for claim in study_runs.CLAIMS} == set(ClaimVerdict)


def test_a_smoke_grid_is_not_drawn():
    """Its rates mean nothing: tables and audit only, and it says so."""
    text = html(replace(study_runs.study(), measures=False, fits=(), claims=(), latency=()))

    assert "<svg" not in text
    assert "its rates mean nothing" in text


def test_the_same_run_gives_the_same_bytes_and_not_too_many(whole, drawn_once, monkeypatch):
    """Nothing depends on the hour or on the process; a study of 98 cells stays below 2 MB."""
    monkeypatch.setattr(plot_svg, "svg", drawn_once)  # anew

    assert html(study_runs.study()) == whole
    assert len(study_runs.study().cells) >= 90
    assert len(whole.encode()) < 2_000_000


def test_written_whole_or_not_at_all(tmp_path, monkeypatch):
    """It stands in the first run directory; a refusal names the way out and leaves neither pieces nor damage."""
    monkeypatch.setattr(throughput_page, "html", lambda results: f"<html>{results[0].run}</html>\n")
    folder = rd.measured_run().write(tmp_path / "run")
    result = study_runs.study(path=str(folder))

    assert throughput_page.write([result]) == folder / "report.html"
    assert (folder / "report.html").read_text(encoding="utf-8").endswith("</html>\n")
    (tmp_path / "taken").mkdir()
    with pytest.raises(DataError, match=r"taken: the report cannot be written: .*--output FILE"):
        throughput_page.write([result], tmp_path / "taken")
    with pytest.raises(DataError, match="No such file or directory"):
        throughput_page.write([result], tmp_path / "nowhere" / "report.html")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["run", "taken"]


@pytest.mark.slow
@pytest.mark.usefixtures("spark")
def test_real_run_directories(runs, tmp_path):
    """From files through Spark to the page: a valid run and one that lost a message, each with its own verdict."""
    results = pipeline.analysed([runs / "valid", runs / "invalid"], master="local[2]")

    text = throughput_page.write(results, tmp_path / "both.html").read_text(encoding="utf-8")

    assert re.findall(r'<section class="verdict (\w+)"', text) == ["invalid", "valid", "invalid"]
    assert "grid quick" in Page(text).text


@pytest.fixture(scope="module")
def browser(whole, tmp_path_factory):
    """Opens the page in a real browser without a screen: `browser(*switches)` returns standard output and errors."""
    if CHROMIUM is None:
        extra_missing("chromium is not installed: the report is not opened in a browser")
    folder = tmp_path_factory.mktemp("browser")
    (folder / "report.html").write_text(whole, encoding="utf-8")

    def run(*switches):
        done = subprocess.run(
            [
                CHROMIUM,
                *("--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--enable-logging=stderr"),
                *(f"--user-data-dir={folder / 'profile'}", "--no-first-run", "--window-size=1280,1600"),
                *(switch.format(folder=folder) for switch in switches),
                (folder / "report.html").as_uri(),
            ],
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return folder, done

    return run


def test_the_browser_finds_nothing_to_complain_about(browser):
    """The page is parsed as it was meant, and the console stays empty."""
    _, done = browser("--dump-dom")

    assert "CONSOLE" not in done.stderr
    parsed = Page(done.stdout)
    assert "✕" not in parsed.text
    assert "? unverified" in parsed.text
    assert sum(tag == "svg" for tag, _ in parsed.tags) == PICTURES


def shares(file):
    """Brightness of the page's corner, and how many of its pixels are neither that nor near it."""
    pixels = Image.open(file).convert("L")
    corner = pixels.getpixel((3, 3))
    return corner, sum(count for value, count in enumerate(pixels.histogram()) if abs(value - corner) > 60) / (
        pixels.width * pixels.height
    )


@pytest.mark.parametrize(("scheme", "bright"), [(1, True), (0, False)])
def test_daylight_and_darkness(browser, scheme, bright):
    """The page follows the reader's scheme; in both there is something to be read on the ground."""
    folder, _ = browser(f"--blink-settings=preferredColorScheme={scheme}", "--screenshot={folder}/shot.png")

    corner, written = shares(folder / "shot.png")
    assert (corner > 230) if bright else (corner < 40)
    assert written > 0.01


def test_it_can_be_printed(browser):
    """Printing gives a document of several pages."""
    folder, _ = browser("--print-to-pdf={folder}/report.pdf", "--no-pdf-header-footer")

    document = (folder / "report.pdf").read_bytes()
    assert document.startswith(b"%PDF-")
    assert len(re.findall(rb"/Type\s*/Page\b", document)) >= 5
