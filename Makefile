# The two commands of the README are `make bench` and `make test`; everything that they need is built here.
PYTHON ?= python3
BIN := .venv/bin

# Tests and sessions start hundreds of processes of Python. Where this is set, each of them compiles every module anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: bench test test-brokers test-hosts test-all check bench-engine bench-fit bench-audit wheel extras lock clean

# A wheel needs its builder alone: who installs it does not wait for the packages twice.
.venv: requirements.txt
.build: requirements-build.txt
.venv .build:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed, this is " + sys.version)'
	rm -rf $@
	$(PYTHON) -m venv $@
	$@/bin/pip install --quiet --disable-pip-version-check --require-hashes --requirement $<
	touch $@

bench: .venv
	$(BIN)/pytest microbench -k replication --grid quick --benchmark-quiet

# Whatever is pure, the suite's own broker, one ActiveMQ, one Spark. Tests that measure (alone) need the machine for
# themselves; the others do not mind company.
test: .venv
	$(BIN)/pytest -m "not brokers and not hosts and not slow" -n 4 --no-loadscope-reorder

# Further brokers, clients and workers, containers, TLS, kills and a browser.
test-brokers: .venv
	$(BIN)/pytest -m "brokers and not slow and not alone" -n 6 --no-loadscope-reorder
	$(BIN)/pytest -m "brokers and not slow and alone"

# Load from several hosts and analysis on a cluster, each with a real Spark cluster; most of it as root.
test-hosts: .venv
	$(BIN)/pytest -m "hosts and not slow and not alone" -n 4 --no-loadscope-reorder
	$(BIN)/pytest -m "hosts and not slow and alone"

test-all: .venv
	$(BIN)/pytest --hypothesis-profile thorough -m "not alone" -n 4 --no-loadscope-reorder
	$(BIN)/pytest --hypothesis-profile thorough -m alone

check: .venv
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# The same bytes from the same tree: the backend dates all files alike.
wheel: .build
	rm -rf dist
	.build/bin/python -m hatchling build --target wheel --directory dist

# What only some tests need, from the packages of Debian; as root. Without it those tests are skipped, loudly.
EXTRAS := chromium docker.io iproute2 libsasl2-modules mosquitto nats-server python3-qpid-proton rabbitmq-server

extras:
	@command -v apt-get > /dev/null || { echo "make extras: needs apt-get; install $(EXTRAS) in this system's way" >&2; exit 1; }
	@.ci/extras $(EXTRAS)

bench-engine: .venv
	$(BIN)/python -m tests.bench_engine
	$(BIN)/python -m tests.bench_protocols

bench-fit: .venv
	$(BIN)/python -m tests.bench_fit
	$(BIN)/python -m tests.bench_gate

bench-audit: .venv
	$(BIN)/python -m tests.bench_audit

LOCKED := --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header --quiet

# Pins what pyproject.toml names, for every platform, with hashes and without the address of an index.
lock:
	rm -rf .lock && $(PYTHON) -m venv .lock && .lock/bin/pip install --quiet uv
	.lock/bin/uv pip compile pyproject.toml --extra dev --upgrade $(LOCKED) --output-file requirements.txt
	echo hatchling | .lock/bin/uv pip compile - --constraint requirements.txt --no-annotate $(LOCKED) \
	    --output-file requirements-build.txt
	rm -rf .lock

clean:
	rm -rf .venv .build dist .benchmarks .hypothesis .mypy_cache .pytest_cache .ruff_cache .import_linter_cache spark-warehouse
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
