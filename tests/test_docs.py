"""README and docs say what there is, and every command line in them is accepted."""

from __future__ import annotations

import ast
import importlib.util
import re
import shlex
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from analysis import __main__ as analysis_command
from brokerbench.command import DESCRIBE, MEASURED, VERSIONS
from fixtures.brokers import __main__ as brokers_command
from fixtures.brokers.product import PROVIDER_OPTIONS, Product, Program, Site
from fixtures.brokers.registry import PRODUCTS
from fixtures.brokers.spec import BrokerSpec, Endpoint, Provider
from fixtures.errors import BrokerError
from fixtures.session.options import OPTIONS
from fixtures.wire import protocols
from tests.conftest import ROOT
from tests.fixtures.wire import test_protocol_contract
from tests.support.experiments import EXPERIMENTS
from tests.support.records import made_again
from tests.support.sessions import environment, within
from workloads import __main__ as description_command
from workloads.jms2009ps import __main__ as configuration_command
from workloads.logistics import __main__ as logistics_command
from workloads.registry import WORKLOADS
from workloads.scenario.workload import CaseRequest, Model
from workloads.specjms2007 import __main__ as workload_command
from workloads.throughput.presets import PRESETS

#: Of the README: lines, and characters of a line.
MOST_LINES, MOST_COLUMNS = 150, 120

DOCS = (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
TEXTS = {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in DOCS}
README, BROKERS, ALL_OPTIONS = (TEXTS[name] for name in ("README.md", "docs/brokers.md", "docs/options.md"))

#: Those that the documents name, and some between them.
RELEASES = ("5.17.0", "5.17.1", "5.17.2", "5.17.3", "5.17.4", "5.17.6", "5.18.3", "6.1.8")

FENCED = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
INDENTED = re.compile(r"(?:^ {4}.*\n)+", re.MULTILINE)
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")

#: By the first words of a command line, which part of the suite it is for.
PARSERS = {
    "fixtures.brokers": brokers_command._parser,
    "analysis": analysis_command._parser,
    "workloads": description_command._parser,
    "workloads.specjms2007": workload_command._parser,
    "workloads.jms2009ps": configuration_command._parser,
    "workloads.logistics": logistics_command._parser,
}


#: The same by the first word of the command of an installation.
OF_COMMAND = dict.fromkeys(DESCRIBE, "workloads") | dict.fromkeys(VERSIONS, "fixtures.brokers")


def commands_of(text: str) -> list[tuple[str, ...]]:
    """The command lines of all code blocks, as words, without their comments."""
    blocks = [block for _, block in FENCED.findall(text)] + INDENTED.findall(FENCED.sub("", text))
    lines = [part.strip() for block in blocks for line in block.splitlines() for part in line.split(" && ")]
    return [
        tuple(shlex.split(line, comments=True))
        for line in lines
        if re.match(r"\.venv/bin/|make\b|pytest\b|python -m\b|brokerbench\b", line)
    ]


def measures(words: tuple[str, ...]) -> bool:
    """Whether a command line of the installation is one of pytest."""
    return words[0] == "brokerbench" and words[1].partition("/")[0] in MEASURED


COMMANDS = list(dict.fromkeys(words for text in TEXTS.values() for words in commands_of(text)))
OF_PYTEST = [words for words in COMMANDS if Path(words[0]).name == "pytest" or measures(words)]


def block_of(name: str, language: str, *, having: str = "") -> str:
    """The only code block of a language in a document that has these words."""
    (block,) = [text for kind, text in FENCED.findall(TEXTS[name]) if kind == language and having in text]
    return block


#: The complete examples of how to extend the suite: by file, its text.
EXAMPLES = {
    first.removeprefix("# "): rest
    for kind, block in FENCED.findall(TEXTS["docs/extending.md"])
    if kind == "python" and (first := block.partition("\n")[0]).endswith(".py")
    for rest in [block.partition("\n")[2]]
}


def test_the_readme_is_short():
    lines = README.splitlines()
    count = len(lines)
    wide = [number for number, line in enumerate(lines, 1) if len(line) > MOST_COLUMNS]

    assert count <= MOST_LINES, f"README.md has {count} lines, at most {MOST_LINES}: merge a row or shorten"
    assert not wide, f"README.md: lines {wide} have more than {MOST_COLUMNS} columns"


OF_BROKERS = [(product.name, name, option) for product in PRODUCTS for name, option in product.options.items()]
OF_PROVIDERS = [("all of these", name, option) for name, option in PROVIDER_OPTIONS.items()]


@pytest.mark.parametrize(("owner", "name", "option"), OF_BROKERS + OF_PROVIDERS, ids=lambda one: str(one)[:20])
def test_options_of_brokers(owner, name, option):
    """Each option of a broker or a provider has a row, with its default and its meaning."""
    shown = f"`{option.default}`" if option.default else "none"
    rows = [line for line in BROKERS.splitlines() if line.startswith(f"| {quoted(owner)} | `{name}` |")]

    assert len(rows) == 1, f"docs/brokers.md has {len(rows)} rows for the option {name} of {owner}"
    assert rows[0].startswith(f"| {quoted(owner)} | `{name}` | {shown} | {option.meaning}")


def quoted(owner: str) -> str:
    return owner if " " in owner else f"`{owner}`"


@pytest.mark.parametrize("name", OPTIONS)
def test_options_of_the_session(name):
    """Each option of a measurement has a row, with its default, its meaning and its choices."""
    option = OPTIONS[name]
    default = " ".join(option.default) if option.repeated and option.default else option.default
    shown = "-" if default is None or isinstance(default, bool) else f"`{default}`"
    (row,) = [line for line in ALL_OPTIONS.splitlines() if re.match(rf"\| `--{name}`[ :]", line)]
    named, default_shown, meaning = row.strip("| ").split(" | ")

    assert default_shown == shown
    assert meaning == option.meaning.replace("%%", "%")
    assert not isinstance(option.kind, tuple) or all(f"`{choice}`" in named for choice in option.kind)


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_experiments(name):
    """Each experiment stands in the README's table with its question."""
    found = any(f"`{name}`" in line.split(" | ")[0] for line in README.splitlines() if line.startswith("|"))

    assert found, f"the table of experiments in README.md has no row for {name}"


@pytest.mark.parametrize("product", PRODUCTS, ids=lambda product: product.name)
def test_brokers(product):
    """Each broker stands in the README with the providers that can run it, its default first, and in its own page."""
    default = f"`{product.providers[0]}` (default)"
    named = [line for line in README.splitlines() if f"`{product.name}`" in line.split(" | ")[0]]
    rows = [line for line in named if line.startswith("|") and default in line]
    assert rows, f"README: no row for {product.name} with {default}"
    assert len(rows) == 1, f"README: {len(rows)} rows for {product.name}"
    _, _, providers, _, _ = rows[0].split("|")

    assert all(f"`{provider}`" in providers for provider in product.providers)
    assert f"| `{product.name}` | " in BROKERS


@pytest.mark.parametrize("name", TEXTS)
def test_links(name):
    """Each link leads to a file that is there, and to a heading in it."""
    text = FENCED.sub("", TEXTS[name])
    for target in LINK.findall(text):
        if target.startswith(("http://", "https://")):
            continue
        path, _, heading = target.partition("#")
        found = (ROOT / name).parent / path if path else ROOT / name

        assert found.exists(), target
        assert not heading or heading in headings(found.read_text(encoding="utf-8")), target


def headings(text: str) -> set[str]:
    """The anchors of a text, as they are made of its headings."""
    titles = re.findall(r"^#+ (.*)$", FENCED.sub("", text), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", title).lower().replace(" ", "-") for title in titles}


def test_every_document_is_linked():
    linked = {target.partition("#")[0] for target in LINK.findall(README)}

    assert {name for name in TEXTS if name != "README.md"} <= linked


def test_there_are_commands():
    """Nothing is shown below by there being nothing."""
    assert {Path(words[0]).name for words in COMMANDS} == {"brokerbench", "make", "pytest", "python"}
    assert set(EXAMPLES) > {"fixtures/brokers/toy.py"}


@pytest.mark.parametrize("words", [words for words in COMMANDS if words not in OF_PYTEST], ids=" ".join)
def test_commands(words):
    """What is to be made has a rule, and what is to be run as a module takes these arguments."""
    if words[0] == "make":
        rules = set(re.findall(r"^([\w.-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
        assert set(words[1:]) <= rules
    elif words[0] == "brokerbench":
        PARSERS[OF_COMMAND.get(words[1], "analysis")]().parse_args(words[1:])
    else:
        assert words[1] == "-m"
        PARSERS[words[2]]().parse_args(words[3:])


@pytest.fixture(scope="module")
def collected(tmp_path_factory):
    """By command line: exit code and output of pytest where it only collects."""
    folder = tmp_path_factory.mktemp("docs")
    files = written_files(folder)
    wanted: dict[tuple[str, ...], list[str]] = {words: [] for words in OF_PYTEST}
    for words in OF_PYTEST:
        previous = ""
        for word in words[1:]:
            wanted[words].append(files.get((previous, word), word))
            previous = word
    for name, text in EXAMPLES.items():
        if "/test_" in name:
            path = folder / name
            path.parent.mkdir(parents=True)
            path.write_text(text, encoding="utf-8")
            # The directory of the suite's own is named as well, so that its conftest.py is read.
            options = ["-c", "pyproject.toml", "--rootdir", ".", "-k", path.stem.removeprefix("test_")]
            wanted[name,] = [Path(name).parts[0], str(path), *options]
    with pytest.MonkeyPatch.context() as patch:  # what the repository has is asked for in a test of its own
        patch.setattr("fixtures.session.release_gates.releases", lambda _product: RELEASES)
        ended = {key: within(*line, "--co", "-q") for key, line in wanted.items()}
    return {key: (each.code, each.output) for key, each in ended.items()}


def written_files(folder: Path) -> dict[tuple[str, str], str]:
    """The files that the documents name, with the texts that these have for them: by option and name, the path."""
    import trustme

    grid, topology, configuration, sensors, login, authorities = (
        folder / name for name in ("grid.toml", "mine.toml", "own.toml", "sensors.toml", "login.txt", "ca.pem")
    )
    grid.write_text(block_of("docs/options.md", "toml"), encoding="utf-8")
    topology.write_text(block_of("docs/workloads.md", "toml", having="[locations]"), encoding="utf-8")
    configuration.write_text(block_of("docs/workloads.md", "toml", having="scenario = "), encoding="utf-8")
    sensors.write_text(block_of("docs/mqtt.md", "toml"), encoding="utf-8")
    login.touch(mode=0o600)
    login.write_text("user:secret\n", encoding="utf-8")
    trustme.CA().cert_pem.write_to_path(authorities)
    return {
        ("--grid", "mine.toml"): str(grid),
        ("--workload", "shop.toml"): "workloads/own/shop.toml",
        ("--workload", "sensors.toml"): str(sensors),
        ("--freeform", "mine.toml"): str(topology),
        ("--configuration", "own.toml"): str(configuration),
        ("--credentials", "login.txt"): str(login),
        ("--ca-file", "authorities.pem"): str(authorities),
        # pytest writes this one also where it only collects.
        ("--junitxml", "gate.xml"): str(folder / "gate.xml"),
    }


@pytest.mark.parametrize("words", OF_PYTEST, ids=" ".join)
def test_commands_of_pytest(words, collected):
    """Each is accepted, and selects something."""
    code, output = collected[words]

    assert code == 0, output


@pytest.mark.parametrize("name", [name for name in EXAMPLES if "/test_" in name])
def test_examples_that_measure(name, collected):
    """Each complete example is collected beside the suite's own."""
    code, output = collected[name,]

    assert code == 0, output
    assert f"::{Path(name).stem}[" in output


def imported(name: str, folder: Path) -> ModuleType:
    """The module of an example."""
    path = folder / "example.py"
    path.write_text(EXAMPLES[name], encoding="utf-8")
    found = importlib.util.spec_from_file_location("example", path)
    module = importlib.util.module_from_spec(found)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "example", module)  # dataclasses ask for it
        found.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_import_what_their_modules_define(name):
    """Each name from the module that defines it, or that lists it: else a type checker refuses the example."""
    for node in ast.walk(ast.parse(EXAMPLES[name])):
        if not isinstance(node, ast.ImportFrom) or not (node.module or "").startswith(("workloads", "fixtures")):
            continue
        module = importlib.import_module(node.module)
        for alias in node.names:
            known = alias.name in getattr(module, "__all__", ())
            assert known or getattr(getattr(module, alias.name), "__module__", node.module) == node.module, alias.name


def test_example_of_an_experiment(tmp_path):
    """Each of its cells, of any grid, can be selected alone, and so can those of the others beside it."""
    example = imported("microbench/test_properties.py", tmp_path).EXPERIMENT
    own, others = (
        {cell.id for each in experiments for grid in PRESETS for cell in each.cells(grid)}
        for experiments in ([example], EXPERIMENTS.values())
    )

    assert not [(one, other) for one in own for other in others if one in other or other in one]


def test_example_of_a_workload(tmp_path):
    """A case whose model is made again of its request: each of three shops orders ten times a second."""
    module = imported("workloads/shop/test_shop.py", tmp_path)
    (mark,) = module.test_shop.pytestmark
    (case,) = mark.args
    request = CaseRequest(3, case.text)
    model = case.model(request)

    assert [name for name in vars(Model) if not name.startswith("_") and not hasattr(model, name)] == []
    assert made_again(WORKLOADS[case.workload], case, request) == model
    assert model.sent_per_s == 60
    assert case.cell(request) == "ordering-b0003"


@pytest.mark.parametrize("name", ["shop", "prices", "pipeline"])
def test_examples_of_workloads_are_the_files_that_run(name):
    """What the document shows is what the tests run on brokers."""
    path = f"workloads/own/{name}.toml"
    text = (ROOT / path).read_text(encoding="utf-8")

    assert f"```toml\n# {path}\n{text}```" in TEXTS["docs/own-workload.md"]


def test_the_example_of_a_broker_is_added_to_those_that_there_are():
    """Whoever copies the line loses none."""
    added = block_of("docs/extending.md", "python", having="PRODUCTS: tuple")
    names = re.search(r"in \((.*)\)", added)[1].split(", ")

    assert names == [*(product.name for product in PRODUCTS), "toy"]


def test_example_of_a_broker(tmp_path):
    """It is a product, with a launch that needs nothing but what it is given."""
    product = imported("fixtures/brokers/toy.py", tmp_path).PRODUCT
    options = {name: option.default for name, option in product.options.items()}
    launch = product.launch(
        BrokerSpec("toy", "toy", provider=Provider.HOME, options=options),
        Site(Program(("python",)), tmp_path, tmp_path),
        Endpoint("127.0.0.1", 0, "user", "secret"),
    )

    with pytest.raises(BrokerError, match="is not a directory"):
        product.home(tmp_path / "nowhere")
    assert isinstance(product, Product)
    assert product.providers == (Provider.HOME,)
    assert launch.listening.search("listening on 127.0.0.1:61613\n")[1] == "61613"
    assert list(launch.command)[:2] == ["python", "-u"]


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_pass_what_checks_the_sources(name):
    """But that the folder of a package, whose file is empty, is not there."""
    ruff = [sys.executable, "-m", "ruff", "check", "--quiet", "--ignore", "INP001", "--stdin-filename", name]
    done = subprocess.run(ruff, input=EXAMPLES[name], cwd=ROOT, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stdout + done.stderr


def test_the_broker_side_of_an_example_loads_no_more_than_a_broker_needs(tmp_path):
    (tmp_path / "lines.py").write_text(EXAMPLES["fixtures/wire/lines.py"], encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-c", test_protocol_contract.BROKER, "lines"],
        env=environment(PYTHONPATH=f"{ROOT}:{tmp_path}"),
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout.split() == []


def test_example_of_a_protocol(tmp_path, monkeypatch):
    """Its two sides understand each other by all rules of a protocol, but for what its capabilities lack."""
    lines = imported("fixtures/wire/lines.py", tmp_path)
    monkeypatch.setitem(sys.modules, "fixtures.wire.lines", lines)
    registry = dict(vars(protocols))
    exec(block_of("docs/extending.md", "python", having="ProtocolEntry("), registry)
    monkeypatch.setattr(test_protocol_contract, "PROTOCOLS", {"lines": registry["LINES"]})
    test_protocol_contract.test_a_second_login_is_refused("lines")
    for piece in (1, 1 << 20):
        test_protocol_contract.test_a_login_is_accepted("lines", piece)
        test_protocol_contract.test_messages_of_others_are_delivered("lines", piece)
        test_protocol_contract.test_messages_of_the_load_are_copies("lines", piece, 40)
    test_protocol_contract.test_the_bulk_path_finds_what_the_plain_path_does("lines")
    test_protocol_contract.test_a_refusal_says_why("lines")
    test_protocol_contract.test_a_broker_survives_whatever_comes("lines")
    test_protocol_contract.test_ways_to_ask_are_rows_of_the_protocol("lines")
