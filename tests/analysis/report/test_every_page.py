"""What holds for the pages of all kinds of results: one file that says what it shows, and is the same each time."""

import re
import shutil
import subprocess
from dataclasses import replace

import pytest
from PIL import Image

from analysis.gate.verdict import GateVerdict
from analysis.report import gate_page, plot_svg, scenario_page, throughput_page
from tests.support import run_directories as rd
from tests.support import scenario_results, study_runs
from tests.support.gates import family
from tests.support.gates import result as gate_result
from tests.support.pages import Page, screen, words
from tests.support.requirements import extra_missing
from workloads.specjms2007 import DISCLAIMER

CHROMIUM = shutil.which("chromium")

BROKER = rd.broker_facts(flags=["-Xmx1024m"])

#: A label or a reason that must stay a text wherever it is shown.
WORD = '<script>alert(1)</script> "><img src=x onerror=alert(1)> {{ 7 * 7 }} $x$ & _y'


def study(broker="activemq"):
    result = study_runs.study(brokers=(broker,))
    return throughput_page.html([replace(result, manifest=rd.study_manifest(brokers={broker: BROKER}))])


def workload(broker="activemq"):
    """With a lost message, and a deviation named as the broker."""
    failed = scenario_results.failed(broker)
    return scenario_page.html([replace(failed, deviations=(*failed.deviations, broker))])


def gate(broker="activemq"):
    judged = gate_result(GateVerdict.PASS, family("t_tx", GateVerdict.PASS, 1.01), broker=broker)
    past = {"families": {broker: {"ratio": 1.1, "ci95": [1.0, 1.2]}, "t_tx": {"ratio": None, "ci95": None}}}
    return gate_page.html(judged, rd.study_manifest(brokers={"candidate": BROKER}), [past])


#: By the kind of result: what writes its page, and the number of drawings on it.
PAGES = {"study": (study, 9), "workload": (workload, 5), "gate": (gate, 3)}


@pytest.fixture(scope="module", params=PAGES)
def kind(request):
    return request.param


@pytest.fixture(scope="module")
def page(kind):
    return PAGES[kind][0]()


def test_the_file_needs_nothing_else(page):
    """No script, nothing from elsewhere; every link leads somewhere, every identifier is there once."""
    parsed = Page(page)

    assert not {"script", "link", "img", "iframe", "object", "embed"} & {tag for tag, _ in parsed.tags}
    assert not re.search(r"https?:|//[a-z]|@import|@font-face|javascript:| on[a-z]+=", page.replace(DISCLAIMER, ""))
    assert {target[1:] for target in re.findall(r"url\(([^)]*)\)", page)} <= set(parsed.ids)
    assert {link[0] for link in parsed.links} == {"#"}
    assert {link[1:] for link in parsed.links} <= set(parsed.ids)
    assert len(parsed.ids) == len(set(parsed.ids))
    assert len(page.encode()) < 2_000_000


def test_a_page_in_full(kind, page):
    """Verdict and reason before everything but title and disclaimer; findings, every table with its notes, every figure
    with its caption and what could not be drawn; at the end what must not be concluded."""
    assert words(page) == screen(f"{kind}-page.txt")


def test_pictures_have_words(kind, page):
    """Each drawing says in words what it shows, has a title below it, and no letter smaller than 8 px."""
    drawings = [attributes for tag, attributes in Page(page).tags if tag == "svg"]

    assert len(drawings) == PAGES[kind][1]
    assert all(one["role"] == "img" and len(one["aria-label"]) > 20 for one in drawings)
    assert page.count("<figcaption><strong>") == len(drawings)
    sizes = [float(size) for size in re.findall(r"font(?:-size)?: (?:\w+ )?([\d.]+)px", page)]
    assert min(sizes) >= 8


def test_names_are_only_names(kind, monkeypatch):
    """A label from a manifest or a user is shown as it is, in text, attributes, anchors and drawings."""
    write, _ = PAGES[kind]
    parsed = Page(write(WORD))

    assert not {"script", "img"} & {tag for tag, _ in parsed.tags}
    assert " ".join(WORD.split()) in parsed.text


def test_the_same_bytes_and_no_secret(kind, page, drawn_once, monkeypatch):
    """Nothing depends on the hour or on the process, and nothing is of the environment. Drawings are all made in one
    way: those of the page with fewest are made anew."""
    if kind == "gate":
        monkeypatch.setattr(plot_svg, "svg", drawn_once)
    monkeypatch.setenv("BROKERBENCH_PASSCODE", "ge@h:eim")

    assert PAGES[kind][0]() == page
    assert "ge@h:eim" not in page


@pytest.fixture(scope="module")
def browser(page, tmp_path_factory):
    """Opens the page in a real browser without a screen: `browser(*switches)` returns standard output and errors."""
    if CHROMIUM is None:
        extra_missing("chromium is not installed: the report is not opened in a browser")
    folder = tmp_path_factory.mktemp("browser")
    (folder / "report.html").write_text(page, encoding="utf-8")

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


@pytest.mark.brokers
def test_the_browser_finds_nothing_to_complain_about(kind, browser):
    """The page is parsed as it was meant, and the console stays empty."""
    _, done = browser("--dump-dom")

    assert "CONSOLE" not in done.stderr
    assert sum(tag == "svg" for tag, _ in Page(done.stdout).tags) == PAGES[kind][1]


def shares(file):
    """Brightness of the page's corner, and how many of its pixels are neither that nor near it."""
    pixels = Image.open(file).convert("L")
    corner = pixels.getpixel((3, 3))
    return corner, sum(count for value, count in enumerate(pixels.histogram()) if abs(value - corner) > 60) / (
        pixels.width * pixels.height
    )


#: All kinds have the same style sheet; this page has most of what it knows.
ONE_PAGE = pytest.mark.parametrize("kind", ["study"], indirect=True)


@pytest.mark.brokers
@ONE_PAGE
@pytest.mark.parametrize(("scheme", "bright"), [(1, True), (0, False)])
def test_daylight_and_darkness(browser, scheme, bright):
    """The page follows the reader's scheme; in both there is something to be read on the ground."""
    folder, _ = browser(f"--blink-settings=preferredColorScheme={scheme}", "--screenshot={folder}/shot.png")

    corner, written = shares(folder / "shot.png")
    assert (corner > 230) if bright else (corner < 40)
    assert written > 0.01


@pytest.mark.brokers
@ONE_PAGE
def test_it_can_be_printed(browser):
    """Printing gives a document of several pages."""
    folder, _ = browser("--print-to-pdf={folder}/report.pdf", "--no-pdf-header-footer")

    document = (folder / "report.pdf").read_bytes()
    assert document.startswith(b"%PDF-")
    assert len(re.findall(rb"/Type\s*/Page\b", document)) >= 3
