# The two commands of the README, and what they are made of. Each target does its own set-up.
PYTHON ?= python3
TORCH_SPEC ?= torch==2.13.0
TILEOPS_SPEC ?= tileops==0.1.0
VENV ?= .venv
BIN := $(abspath $(VENV))/bin
NAME ?= acme
COUNT ?= 20000
SEED ?= 1

.PHONY: demo test test-nova test-variants fuzz proofs stress benchmark lint setup generated clean

setup: $(VENV)/.ready

$(VENV)/.ready: pyproject.toml
	@echo "== environment in $(VENV)"
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/pip install "$(TORCH_SPEC)" numpy
	$(BIN)/pip install --quiet -e ".[build,test,lint]"
# The wheel asks for Python 3.12; it installs and runs on 3.10 and 3.11 too.
	$(BIN)/pip install --quiet --ignore-requires-python "$(TILEOPS_SPEC)"
	touch $@

demo: setup
	@echo "== new backend in build/$(NAME)"
	rm -rf build/$(NAME)
	$(BIN)/acmegen new-backend $(NAME) --dir build/$(NAME)
	@echo "== build"
	$(BIN)/acmegen build build/$(NAME)
	@echo "== train"
	$(BIN)/python examples/demo.py --device $(NAME)

# Beside the backend that compiles and runs its own tests, all others.
test: setup
	$(BIN)/python -m pytest --numprocesses 2 --dist loadfile --no-loadscope-reorder

# A backend of another name, built and tested: slow, and the same but for the name (tests/lifecycle shows that).
test-nova: setup
	$(BIN)/python -m pytest tests/backend --backend nova

# The flagship with other allocators, built and tested: what differs is in allocator.yaml.
test-variants: setup
	$(BIN)/python -m tests.variants

# Thousands of damaged manifests, each through the whole line: a quarter of an hour on two cores.
fuzz: setup
	$(BIN)/python -m tests.fuzz --count $(COUNT) --seed $(SEED)

# What the tests of the life cycle do in a few rounds, in hundreds: runs that are killed, random use. Half an hour.
proofs: setup
	$(BIN)/python -m pytest -m slow tests/lifecycle

# The allocators under random use, with each sanitizer: about half an hour.
stress: setup
	$(BIN)/python -m tests.runtime_stress

# Two backends, one for each kind of allocator; that of the second is uninstalled again. Nothing is asserted.
benchmark: setup
	@echo "== new backends in build/benchmark"
	rm -rf build/benchmark
	$(BIN)/acmegen new-backend $(NAME) --dir build/benchmark/caching
	$(BIN)/acmegen new-backend $(NAME)_direct --dir build/benchmark/direct
	printf 'manifest: allocator/v1\ndevice: {kind: direct}\n' > build/benchmark/direct/manifests/allocator.yaml
	$(BIN)/acmegen regen build/benchmark/direct
	@echo "== build"
	$(BIN)/acmegen build build/benchmark/caching
	$(BIN)/acmegen build build/benchmark/direct
	@echo "== measure"
	TORCH_DEVICE_BACKEND_AUTOLOAD=0 $(BIN)/python benchmarks/runtime.py --device $(NAME)
	$(BIN)/python benchmarks/replay.py --devices $(NAME) $(NAME)_direct
	$(BIN)/pip uninstall --yes torch_$(NAME)_direct tileops_$(NAME)_direct

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check acmegen tests examples benchmarks
	$(BIN)/mypy

# The committed output, from nothing: once files too. The build's folder is kept.
generated: setup
	find generated/acme -mindepth 1 -maxdepth 1 ! -name build -exec rm -rf {} +
	$(BIN)/acmegen schema
	$(BIN)/acmegen regen generated/acme --manifests manifests/acme

clean:
	rm -rf build $(VENV)
