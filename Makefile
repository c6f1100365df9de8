# A newcomer needs `make demo` and `make test`; both install what they use into .venv first.
PYTHON ?= python3
CLUSTER ?= local
BIN := .venv/bin
VENV := .venv/.installed

.PHONY: demo demo-down test test-argocd lint types layers bench generated venv clean

demo: $(VENV)  ## a local cluster, the operator and two models; CLUSTER=kind uses kind
	@$(BIN)/python -m e2e.demo $(CLUSTER)

demo-down: $(VENV)  ## ends what demo left running, on kind too
	@$(BIN)/python -m e2e.demo --down

test: $(VENV)  ## unit, golden, chart and control-plane tests
	$(BIN)/pytest -m "not argocd and not slow"

test-argocd: $(VENV)  ## the GitOps tests; builds Argo CD on the first run, needs redis-server and git
	$(BIN)/python -m e2e.argocd
	$(BIN)/pytest -m argocd

lint: $(VENV)
	$(BIN)/ruff check
	$(BIN)/ruff format --check

types: $(VENV)
	$(BIN)/mypy

layers: $(VENV)
	$(BIN)/lint-imports

bench: $(VENV)
	$(BIN)/python -m e2e.bench

generated: $(VENV)  ## the CRD from the models, its copies in the charts, manifests/install.yaml
	$(BIN)/inference-fleet crd > crds/inferencefleet.io_inferenceservices.yaml.new
	mv crds/inferencefleet.io_inferenceservices.yaml.new crds/inferencefleet.io_inferenceservices.yaml
	$(BIN)/python -m e2e.manifests

venv: $(VENV)

# Redone only when what is locked, or what the package declares, has changed.
$(VENV): requirements-dev.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "error: Python 3.11 or newer is needed; name it with make PYTHON=python3.12" >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null \
	  || { echo "error: this Python cannot make virtual environments; on Debian: apt-get install python3-venv" >&2; exit 1; }
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --disable-pip-version-check --require-hashes -r requirements-dev.lock
	$(BIN)/pip install --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

clean:
	rm -rf .venv build operator/*.egg-info .pytest_cache .mypy_cache .ruff_cache .import_linter_cache
