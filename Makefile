# Needs Python >= 3.11 and make; no compiler. Everything is installed into .venv, once.
#   make demo PYTHON=/path/to/python3.12   uses that interpreter to make the environment

FIND_PYTHON = for p in python3 python3.13 python3.12 python3.11 python; do \
	$$p -c 'import sys, ensurepip; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 && echo $$p && break; done
PYTHON ?= $(shell $(FIND_PYTHON))
BIN = .venv/bin
WORKERS ?= 2

.DEFAULT_GOAL := help
.PHONY: help demo test lint types imports pytest soak fuzz versions bench wheel clean

help:  ## show this list
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## */|/' | awk -F'|' '{ printf "  make %-8s %s\n", $$1, $$2 }'

demo: .venv/.installed  ## install and run the bundled humanoid; writes a plot and a trajectory file
	$(BIN)/kinetree run humanoid

test: lint types imports pytest  ## install the tools, then lint, types, import contracts and the whole test suite

lint: .venv/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: .venv/.installed-dev
	$(BIN)/mypy

imports: .venv/.installed-dev
	$(BIN)/lint-imports

pytest: .venv/.installed-dev
	$(BIN)/python -m tests.warm  # with all processors; tests would compile the same things twice
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal

soak: .venv/.installed-dev  ## long random runs, not part of `make test`
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -m soak

SECONDS ?= 60
fuzz: .venv/.installed-dev  ## attack the engine with hostile input for SECONDS=n; prints what reproduces a failure
	WORKERS=$(WORKERS) $(BIN)/python -m tests.fuzz $(SECONDS)

LLVMLITES ?= 0.45.1 0.46.0 0.47.0 0.48.0 0.49.0 0.50.0
versions: .venv/.installed-dev  ## the compiler with every version of llvmlite that pyproject.toml allows
	for v in $(LLVMLITES); do \
		$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --upgrade --target build/llvmlite-$$v llvmlite==$$v && \
		PYTHONPATH=build/llvmlite-$$v KINETREE_CACHE=build/cache-$$v \
		$(BIN)/python -m pytest -q tests/kernel/test_language.py tests/kernel/test_elementary.py tests/test_needs.py || exit 1; done

bench: .venv/.installed-bench  ## ratios against MuJoCo, all in one run
	$(BIN)/python benchmarks/run.py

wheel: .venv/.installed-dev  ## machine code for all usual processors, then wheel and sdist, in dist/; needs ld, or ziglang
	rm -rf build/prebuilt dist
	$(BIN)/python -m kinetree.kernel.jit.library build/prebuilt
	$(BIN)/python -m build --sdist --wheel
	$(BIN)/twine check --strict dist/*
	$(BIN)/auditwheel show dist/*.whl

clean:  ## remove the environment, caches and what the demo wrote
	rm -rf .venv kinetree-run bench-results build dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# One environment for all; the stamps say what is installed in it, so that a second run starts at once.
.venv/.made:
	@test -n "$(PYTHON)" || { echo "kinetree needs Python >= 3.11 with its venv module; none was found." \
		"Name one with: make demo PYTHON=/path/to/python" >&2; exit 1; }
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || \
		{ echo "kinetree needs Python >= 3.11, and $(PYTHON) is not one." >&2; exit 1; }
	"$(PYTHON)" -m venv .venv
	@touch $@

.venv/.installed: .venv/.made pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[jit]"
	@touch $@

.venv/.installed-dev: .venv/.made pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[dev]"
	@touch .venv/.installed $@

.venv/.installed-bench: .venv/.installed-dev
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[dev,bench]"
	@touch $@
