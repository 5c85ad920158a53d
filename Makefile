# Each target makes its own environment from nothing; nothing needs to be activated.
PYTHON ?= python3
# Two environments: the demo needs no torch, so a first look costs a minute.
DEMO := .venv-demo
DEV := .venv
PIP := -m pip install --quiet --disable-pip-version-check -c constraints.txt
# What builds the package is installed apart, where -c does not reach: the first of these reaches it
# from pip 25.3 on, the second before.
PINNED := PIP_BUILD_CONSTRAINT="$(CURDIR)/constraints.txt" PIP_CONSTRAINT="$(CURDIR)/constraints.txt"

.PHONY: help demo test unit soak lint typecheck format docs tutorials lock audit dist sbom wheels bench results clean

help: ## Show this list
	@grep -E '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/'

$(DEMO)/.installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(DEMO)
	$(PINNED) $(DEMO)/bin/python $(PIP) -e ".[cli,learning]"
	@touch $@

$(DEV)/.installed: pyproject.toml lab/pyproject.toml constraints.txt
	$(PYTHON) -m venv $(DEV)
	$(PINNED) $(DEV)/bin/python $(PIP) -e ".[dev]" -e lab
	@touch $@

demo: $(DEMO)/.installed ## The loop and the routing over an invented country, without key or network
	$(DEMO)/bin/skr demo

test: lint typecheck ## All checks: format, lint, types and every test
	$(DEV)/bin/python -m pytest -n 2 --dist worksteal

unit: $(DEV)/.installed ## The quick tests alone: no servers, no real weights, no recorded data
	$(DEV)/bin/python -m pytest -m "not integration and not data and not soak"

soak: $(DEV)/.installed ## The tests that take minutes; of 5,000 questions, or SKR_SOAK_QUESTIONS=500
	$(DEV)/bin/python -m pytest -m soak

lint: $(DEV)/.installed ## ruff, format and rules
	$(DEV)/bin/ruff format --check .
	$(DEV)/bin/ruff check .

typecheck: $(DEV)/.installed ## mypy --strict
	$(DEV)/bin/mypy

format: $(DEV)/.installed ## Put the code into shape
	$(DEV)/bin/ruff check --fix .
	$(DEV)/bin/ruff format .

docs: $(DEV)/.installed ## The documentation as a site, in site/; it needs no network to be made or read
	$(DEV)/bin/python -m scripts.pictures
	$(DEV)/bin/python -m scripts.matrix
	$(DEV)/bin/python -m scripts.commands
	NO_MKDOCS_2_WARNING=1 $(DEV)/bin/python -m mkdocs build --strict

tutorials: $(DEV)/.installed ## Execute tutorials/*.py and keep what they show in docs/tutorials/
	$(DEV)/bin/python scripts/tutorials.py

lock: ## Write down what the test environment holds: its pins and its licences
	$(DEV)/bin/python scripts/supply.py pins > constraints.new && mv constraints.new constraints.txt
	$(DEV)/bin/python scripts/supply.py licences > docs/licences.md
	@touch $(DEV)/.installed

audit: $(DEV)/.installed ## Known advisories on the pinned packages, of which PyPI is asked
	$(DEV)/bin/uv tool run pip-audit@2.10.1 --strict --disable-pip --no-deps --requirement constraints.txt

WHEELS := . lab packaging/langchain-skr packaging/llama-index-query-engines-skr

# What the wheel brings is tried by these hashes:  pip install --require-hashes -r dist/requirements.txt
dist: $(DEV)/.installed ## The wheels, and the hashes of all that skr-rag[all] brings, in dist/
	rm -rf dist
	for each in $(WHEELS); do $(DEV)/bin/uv build --wheel --out-dir dist --build-constraints constraints.txt $$each || exit 1; done
	$(DEV)/bin/uv pip compile pyproject.toml --extra all --constraints constraints.txt --quiet \
		--generate-hashes --no-annotate --no-header --output-file dist/requirements.txt \
		--python-version $$($(DEV)/bin/python -c "import platform; print(platform.python_version())")

sbom: ## What the wheel brings, as a bill of materials, of which PyPI is asked
	$(DEV)/bin/uv tool run --from cyclonedx-bom==7.1.0 cyclonedx-py requirements dist/requirements.txt \
		--pyproject pyproject.toml --output-reproducible --output-file dist/sbom.cdx.json

wheels: ## Each wheel of dist/ by its name in an empty environment, with both frameworks' suites
	PATH="$(CURDIR)/$(DEV)/bin:$$PATH" $(DEV)/bin/python scripts/wheels.py

bench: $(DEV)/.installed ## Everything beside a peer, into lab/docs/; two hours, with the recorded data (SKR_DATA)
	cd lab && ../$(DEV)/bin/python -m benchmarks

results: $(DEV)/.installed ## The tables of recorded figures on their pages, anew; minutes, with the recorded data (SKR_DATA)
	cd lab && ../$(DEV)/bin/python -m benchmarks.results

clean: ## Remove the environments and caches
	rm -rf $(DEMO) $(DEV) skr-demo site .mypy_cache .ruff_cache .pytest_cache .hypothesis
