# make demo · make test · make bench · make lint      (each sets up first, which is quick the second time)
#
# Needs git, make, a C compiler, cargo 1.95 or later, and Python 3.11 or later with venv and pip.
# Python packages go into .venv, and compiled files into target/.

SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
CARGO := cargo
# The output of a build is shown only if it fails.
LOGGED = > $(VENV)/build.log 2>&1 || { cat $(VENV)/build.log; exit 1; }
# One interpreter for every build, so that cargo does not rebuild the binding between them.
export PYO3_PYTHON := $(CURDIR)/$(BIN)/python
export VIRTUAL_ENV := $(CURDIR)/$(VENV)
# What make compiles is compiled once: for the core of .venv, for lints and for tests. One unit a crate takes three quarters of the time of
# many, which are for whoever changes a crate and runs cargo by hand.
export CARGO_PROFILE_DEV_CODEGEN_UNITS := 1
export CARGO_INCREMENTAL := 0
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# Build machines often set it. Tests start hundreds of interpreters, and without bytecode each of them compiles all libraries.
unexport PYTHONDONTWRITEBYTECODE

# All sources of the binding. Tables and templates are compiled in, tests are not.
RUST_SOURCES := Cargo.toml $(wildcard Cargo.lock) pyproject.toml \
	$(shell find crates \( -name tests -o -name fuzz \) -prune -o -type f -print 2>/dev/null)
DEMO_RESULTS := results/demo

.PHONY: help
help:
	@echo "make demo    set up, build, and reproduce the study sfc-aidc-2025 into $(DEMO_RESULTS); WHEEL=FILE uses a wheel and compiles nothing"
	@echo "make test    set up, and run all lints and tests"
	@echo "make lint    check with formatters, clippy, ruff and mypy"
	@echo "make capi-test  build the C library and its header's test, with gcc and clang, sanitizers and valgrind"
	@echo "make frontends-test  build the C library, and test what the frontends for ASTRA-sim and SimAI share"
	@echo "make fuzz    fuzz every parser of frames for FUZZ_SECONDS (300), two at a time"
	@echo "make playground       build the simulator as one page for a browser (playground/dist/index.html)"
	@echo "make playground-test  build it, and compare its runs in headless Chromium with those of the command"
	@echo "make docs    build the documents as a site (dist/docs/index.html) that needs no server and no network"
	@echo "make docs-test  build it, and test it in headless Chromium"
	@echo "make wheel   build a wheel and an sdist (dist/wheel), and try them in an empty environment without a compiler"
	@echo "make soak    check invariants of random scenarios until it is stopped, or for SOAK=2000 of them (SEED=1)"
	@echo "make kills   kill sweeps at KILLS (100) random instants, resume them, and compare their rows (SEED=1)"
	@echo "make stops   stop every command by Ctrl-C and SIGTERM, and measure the time until it ends"
	@echo "make bench   measure instructions and time per packet-hop, and the cost of runs in series and sweeps"
	@echo "make reference  write the pages and tables of docs/ that are generated from the code: keys, commands, metrics, catalog"
	@echo "make lock    renew requirements.lock from pyproject.toml, and the lock file of the site"
	@echo "make clean   remove all built files, but no results"

# With an existing wheel (make demo WHEEL=dist/wheel/FILE), nothing is compiled, and .venv is not touched.
ifdef WHEEL
DEMO := dist/demo/bin
DEMO_BUILT := dist/demo/built
else
DEMO := $(BIN)
DEMO_BUILT := $(VENV)/built
endif

.PHONY: demo
demo: $(DEMO_BUILT)
	$(DEMO)/backwater reproduce sfc-aidc-2025 --seeds 1 --out $(DEMO_RESULTS) --force
	@echo
	@echo "One seed, which says nothing about spread: $(DEMO)/backwater reproduce sfc-aidc-2025 runs ten."
	@echo "Results: $(DEMO_RESULTS)/table.json is the table above, $(DEMO_RESULTS)/runs holds every run"
	@echo "(Parquet tables and a manifest each). Try next: $(DEMO)/backwater --help"

dist/demo/built: $(WHEEL)
	@echo "installing $(WHEEL) into dist/demo"
	@rm -rf dist/demo
	@"$(PYTHON)" -m venv dist/demo
	@dist/demo/bin/python -m pip install --quiet "$(WHEEL)"
	@touch $@

# Compilation leaves cores idle while one crate waits for another, and the tests of Python use them. Compilers also take jobs: one more
# than cores is enough, and with four times as many each takes longer.
JOBS := $(shell echo $$(( $$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2) + 1 )))
.PHONY: test
test: $(VENV)/built
	@$(MAKE) --no-print-directory --jobs=$(JOBS) --output-sync=target test-rust lint-python test-python

# Clippy compiles the examples. All crates are named, so that features are those of the core in .venv, and other people's crates are not
# compiled again. A recipe with + shares make's jobs with its compilers. Tests of the C library leave it in deps.
.PHONY: test-rust
test-rust: lint-rust
	+$(CARGO) test --workspace --tests --quiet
	@bash tests/capi.sh target/debug/deps quick
	@bash tests/frontends.sh target/debug/deps
	+$(CARGO) test --workspace --doc --quiet

.PHONY: test-python
test-python: $(VENV)/built tools
	$(BIN)/python -m pytest --numprocesses=auto --dist=worksteal

# Some tests open captures and reports in other programs. Without these the tests are skipped; in continuous integration (CI is set)
# that is an error.
.PHONY: tools
tools:
	@bash tests/tool.sh tshark "Captures in Wireshark"
	@bash tests/tool.sh chromium "Reports in a browser"

# mypy has one thread, so it runs beside the compiler.
.PHONY: lint
lint: $(VENV)/built
	@$(MAKE) --no-print-directory --jobs=$(JOBS) --output-sync=target lint-rust lint-python

.PHONY: lint-rust
lint-rust: $(VENV)/built
	+$(CARGO) fmt --all --check
	+$(CARGO) clippy --workspace --all-targets --features backwater/jemalloc --quiet -- -D warnings
	+$(CARGO) check --package backwater-wire --no-default-features --quiet
	+RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --no-deps --quiet

.PHONY: lint-python
lint-python: $(VENV)/built
	$(BIN)/ruff check --no-cache
	$(BIN)/ruff format --check
	$(BIN)/mypy python/backwater tests/python benches
	$(BIN)/mypy studies/notifications-2026/scenes.py

# The core as WebAssembly, in a page that needs no server and no network.
WASM := wasm32-unknown-unknown
.PHONY: playground
playground:
	@test -d "$$(rustc --print target-libdir --target $(WASM))" || { \
		echo "error: Rust has no standard library for $(WASM), which a browser runs" >&2; \
		echo "hint: rustup target add $(WASM)" >&2; exit 1; }
	$(CARGO) build --manifest-path crates/backwater-wasm/Cargo.toml --target-dir target --locked --profile wasm --target $(WASM) --quiet
	python3 playground/build.py target/$(WASM)/wasm/backwater_wasm.wasm playground/dist

.PHONY: playground-test
playground-test: $(VENV)/built playground tools
	$(CARGO) fmt --manifest-path crates/backwater-wasm/Cargo.toml --check
	$(CARGO) clippy --manifest-path crates/backwater-wasm/Cargo.toml --target-dir target --locked --all-targets --quiet -- -D warnings
	$(CARGO) test --manifest-path crates/backwater-wasm/Cargo.toml --target-dir target --locked --quiet
	$(BIN)/python -m pytest --quiet -s tests/python/house/test_playground.py

# The C library, and a program in C that uses all of it. Needs cargo and a C compiler.
.PHONY: capi-test
capi-test:
	+$(CARGO) build --package backwater-capi --quiet
	bash tests/capi.sh target/debug

# Needs a compiler of C++ as well, but no program that a frontend is for.
.PHONY: frontends-test
frontends-test:
	+$(CARGO) build --package backwater-capi --quiet
	bash tests/frontends.sh target/debug

# A release, which takes two minutes more to compile than make demo. maturin names the wheel after the oldest glibc it runs with.
.PHONY: wheel
wheel: $(VENV)/built
	rm -rf dist/wheel
	$(BIN)/maturin build --release --locked --out dist/wheel
	$(BIN)/maturin sdist --out dist/wheel
	bash tests/wheel.sh dist/wheel $(BIN)

# Tests docs/own-mechanism.md, with a release build of a core that has one more mechanism. It takes some minutes.
.PHONY: own-mechanism
own-mechanism: $(VENV)/built
	bash tests/own.sh $(BIN)

# The site has its own environment, because its tools and ours need different versions of some libraries.
DOCS_VENV := .venv-docs
.PHONY: docs
docs: $(DOCS_VENV)/installed
	NO_MKDOCS_2_WARNING=1 $(DOCS_VENV)/bin/mkdocs build --strict --quiet --config-file docs/site/mkdocs.yml
	@echo "open dist/docs/index.html"

.PHONY: docs-test
docs-test: $(VENV)/built docs tools
	$(BIN)/python -m pytest --quiet -p no:xdist tests/python/house/test_site.py

$(DOCS_VENV)/installed: docs/site/requirements.lock | $(VENV)/bin/python
	@echo "installing docs/site/requirements.lock into $(DOCS_VENV)"
	@"$(PYTHON)" -m venv $(DOCS_VENV)
	@$(DOCS_VENV)/bin/python -m pip install --quiet --require-hashes --requirement docs/site/requirements.lock
	@touch $@

.PHONY: bench
bench: $(VENV)/built
	$(BIN)/maturin develop --release $(LOGGED)
	bash benches/run.sh
	bash benches/series.sh
	$(BIN)/python benches/sweep.py

.PHONY: reference
reference: $(VENV)/built
	+BLESS=1 $(CARGO) test --package backwater --test it --quiet reference
	BLESS=1 $(BIN)/python -m pytest --quiet tests/python/house/test_documents.py -k "tables_of_parameters or every_column"
	BLESS=1 $(BIN)/python -m pytest --quiet tests/python/house/test_generated.py

# Without SOAK it runs until Ctrl-C.
SOAK ?=
SEED ?= 1
.PHONY: soak
soak:
	$(CARGO) run --profile soak --quiet --package backwater --example soak -- $(or $(SOAK),18446744073709551615) $(SEED)

# Kills sweeps at random instants, on this machine and on a cluster. A hundred kills take some ten minutes.
# KILL="--keep flows" also compares flows, and KILL=--goal kills a search.
KILLS ?= 100
KILL ?=
.PHONY: kills
kills: $(VENV)/built
	PYTHONPATH=tests/python $(BIN)/python -m kit.kills --kills $(KILLS) --seed $(SEED) $(KILL)

# Stops every command by both signals, at INSTANTS points of its run. It takes a quarter of an hour.
INSTANTS ?= 5
.PHONY: stops
stops: $(VENV)/built
	PYTHONPATH=tests/python $(BIN)/python -m kit.stops --instants $(INSTANTS)

FUZZ_SECONDS ?= 300
.PHONY: fuzz
fuzz:
	@command -v cargo-fuzz >/dev/null || { \
		echo "error: cargo-fuzz is missing" >&2; \
		echo "hint: cargo install cargo-fuzz; it needs a nightly compiler: rustup toolchain install nightly" >&2; exit 1; }
	cd crates/backwater-wire && $(CARGO) +nightly fuzz build --features libfuzzer
	cd crates/backwater-wire && $(CARGO) +nightly fuzz list | xargs -P 2 -I TARGET $(CARGO) +nightly fuzz run --features libfuzzer TARGET -- \
		-max_total_time=$(FUZZ_SECONDS) -timeout=10 -print_final_stats=1

# The package in .venv is the tree itself, so only the compiled part is built. Compilers and pip run in parallel.
$(VENV)/built: requirements.lock $(RUST_SOURCES) | $(VENV)/bin/python
	@command -v $(CARGO) >/dev/null || { \
		echo "error: cargo is missing; Backwater's core is written in Rust (1.95 or later)" >&2; \
		echo "hint: install Rust and see that cargo is on the PATH" >&2; exit 1; }
	@$(MAKE) --no-print-directory --jobs=2 $(VENV)/installed $(VENV)/compiled
	@$(BIN)/maturin develop $(LOGGED)
	@touch $@

$(VENV)/installed: requirements.lock | $(VENV)/bin/maturin
	@echo "installing requirements.lock into $(VENV)"
	@$(BIN)/python -m pip install --quiet --no-compile --require-hashes --requirement requirements.lock
	@touch $@

$(VENV)/compiled: $(RUST_SOURCES) | $(VENV)/bin/maturin
	@echo "compiling the core (four minutes the first time on two cores; $(VENV)/build.log)"
	@$(BIN)/maturin build --out $(VENV)/compiled.wheel $(LOGGED)
	@rm -r $(VENV)/compiled.wheel
	@touch $@

$(VENV)/bin/maturin: | $(VENV)/bin/python
	@sed -n '/^maturin==/,/[^\\]$$/p' requirements.lock > $(VENV)/maturin.lock
	@$(BIN)/python -m pip install --quiet --require-hashes --requirement $(VENV)/maturin.lock

$(VENV)/bin/python:
	@command -v "$(PYTHON)" >/dev/null || { \
		echo "error: Python 3.11 or later is missing $(PYTHON)" >&2; \
		echo "hint: Debian has it in the packages python3, python3-venv and python3-pip" >&2; exit 1; }
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "error: $(PYTHON) is $$("$(PYTHON)" --version 2>&1); Backwater needs 3.11 or later" >&2; \
		echo "hint: make PYTHON=/path/to/python3.11" >&2; exit 1; }
	@"$(PYTHON)" -c 'import ensurepip, venv' 2>/dev/null || { \
		echo "error: $(PYTHON) has no venv with pip" >&2; \
		echo "hint: Debian has it in the packages python3-venv and python3-pip" >&2; exit 1; }
	"$(PYTHON)" -m venv $(VENV)

.PHONY: lock
lock: $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet pip-tools
	$(BIN)/python -c 'import tomllib; project = tomllib.load(open("pyproject.toml", "rb"))["project"]; \
		extras = project["optional-dependencies"].values(); \
		print(*project["dependencies"], *(one for extra in extras for one in extra), sep="\n")' \
		> $(VENV)/requirements.in
	$(BIN)/pip-compile --quiet --generate-hashes --allow-unsafe --upgrade --strip-extras --no-header \
		--no-annotate --no-emit-index-url --no-emit-trusted-host --no-emit-find-links \
		--output-file requirements.lock $(VENV)/requirements.in
	$(BIN)/pip-compile --quiet --generate-hashes --allow-unsafe --upgrade --strip-extras --no-header \
		--no-annotate --no-emit-index-url --no-emit-trusted-host --no-emit-find-links \
		--output-file docs/site/requirements.lock docs/site/requirements.in

.PHONY: clean
clean:
	rm -rf target playground/dist $(VENV) $(DOCS_VENV) dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find python -name '__pycache__' -prune -exec rm -rf {} + -o -name '*.so' -delete
