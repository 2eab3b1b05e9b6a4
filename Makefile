# Two commands for a fresh machine: `make demo` and `make test`.
PYTHON ?= python3
BIN := .venv/bin
CORES ?= 2
PORT ?= 5000

.PHONY: help demo test bench ui lint format lock clean
.DEFAULT_GOAL := help

help:  ## this list
	@sed -n 's/^\([a-z]*\):.*## /\1\t/p' Makefile

demo: .venv/.installed  ## install, then run the toy study (about two minutes)
	$(BIN)/snakemake --cores $(CORES) --configfile config/toy.yaml
	@echo; echo "The report:     results/toy/report/index.html"; echo "The MLflow UI:  make ui"

test: .venv/.installed  ## every test; real data is read from LETOR_HOME, if it is set
	$(BIN)/python -m pytest

bench: .venv/.installed  ## our speed beside that of peers, in one run
	$(BIN)/python benchmarks/bench_reader.py
	OMP_NUM_THREADS=2 $(BIN)/python benchmarks/bench_ranksvm.py
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/bench_gaussian.py
	OMP_NUM_THREADS=2 $(BIN)/python benchmarks/bench_sinkhorn.py
	OMP_NUM_THREADS=2 $(BIN)/python benchmarks/bench_svmcompare.py
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/bench_baselines.py

ui: .venv/.installed  ## the MLflow UI on http://127.0.0.1:5000 (PORT=... for another port)
	@test -f results/mlflow.db || { echo "results/mlflow.db does not exist yet: run a study first, for example make demo"; exit 1; }
	@for file in $$(find results -name mlflow.synced.json | sort); do id=$$(sed -n 's/.*"experiment_id": "\([0-9]*\)".*/\1/p' $$file); \
	  name=$${file#results/}; echo "$${name%/mlflow.synced.json}: http://127.0.0.1:$(PORT)/#/experiments/$$id/runs?workflowType=machine_learning"; done
	MLFLOW_DISABLE_TELEMETRY=true $(BIN)/mlflow ui --backend-store-uri sqlite:///results/mlflow.db --host 127.0.0.1 --port $(PORT)

lint: .venv/.installed  ## style, types, and the workflow's own lint
	$(BIN)/ruff check . && $(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/snakefmt --check Snakefile workflow
	$(BIN)/python -m pytest tests/test_workflow.py -k lint

format: .venv/.installed  ## rewrite the style
	$(BIN)/ruff check --fix . ; $(BIN)/ruff format .
	$(BIN)/snakefmt Snakefile workflow

lock: .venv/.installed  ## write what is installed to requirements.lock
	$(BIN)/pip freeze --exclude-editable --exclude letorlab | sed 's/+cpu$$//' > requirements.lock

# pip, not uv: see README on the CPU build of torch
.venv/.installed: requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "letorlab needs Python 3.11 or newer; name one: make PYTHON=python3.12 ...")'
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --disable-pip-version-check --quiet --requirement requirements.lock
	$(BIN)/pip install --disable-pip-version-check --quiet --no-deps --editable .
	@touch $@

clean:  ## remove what the workflow wrote (downloaded archives stay in results/archives)
	rm -rf .snakemake results/mlflow.db results/mlartifacts
	find results -mindepth 1 -maxdepth 1 -type d ! -name archives -exec rm -rf {} +
