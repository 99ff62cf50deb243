# The commands for this repository; `make` without a target lists them.
#
#   VERBOSE=1  shows the output of every step, not only of steps that fail
#   STRICT=1   makes warnings errors, and lets lint and tests share one build folder (for CI)

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.PHONY: help setup build release plugins demo fixtures test examples unit-tests docs headers samples bench bench-all bench-count sanitize sanitize-quick fuzz lint format clean
.NOTPARALLEL:

# CI builds everything once: modules as a whole take less time than their files do, a tenth less if
# they are not compiled first for others to import, and a third less without debug information.
STRICT_FLAGS := -Xswiftc -warnings-as-errors -Xcc -Werror \
	--explicit-target-dependency-import-check error \
	-Xswiftc -whole-module-optimization -Xswiftc -num-threads -Xswiftc 2 \
	-Xswiftc -no-emit-module-separately-wmo -debug-info-format none
SWIFT_FLAGS := $(if $(STRICT),$(STRICT_FLAGS))
# Without a limit, all tests run at once and each takes as long as the whole run. On a busy machine
# that exceeds time limits, and the freshness lifetime of cached responses.
TEST_FLAGS := --experimental-maximum-parallelization-width 8
LINT_FLAGS := $(STRICT_FLAGS) $(if $(STRICT),,--scratch-path .build/lint)

# The folders for `swift format`, which ignores C sources.
FORMATTED := Sources Tests PluginsSDK SamplePlugins Benchmarks Package.swift

STEP := .ci/step
HERE := $(MAKE) --no-print-directory

help: ## List the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 20

setup: ## Install the Debian packages that are missing; check the Swift toolchain
	@.ci/setup

build: setup ## Build everything for debugging
	@$(STEP) "build, debug" swift build $(SWIFT_FLAGS)

release: setup ## Build the program and the sample plugins for use
	@$(STEP) "build, release" swift build -c release $(SWIFT_FLAGS)

plugins: release ## Fill the folder plugins/ with the sample plugins
	@$(HERE) samples
	@$(STEP) "sample plugins to plugins/" .ci/install-plugins .build/release plugins

demo: plugins ## Build, then send sample requests through the sample plugins to a local server
	@.build/release/outlet demo --plugins plugins

test: setup ## Build everything in every language and run all tests
	@$(STEP) "build, debug, with tests" swift build --build-tests $(SWIFT_FLAGS)
	@$(HERE) examples unit-tests

# Needs the debug build.
examples: headers samples fixtures
	@$(STEP) "examples of the documentation" .ci/check-readme
	@$(STEP) "commands of the SDK's README" .ci/check-sdk
	@$(STEP) "documentation" .ci/docs

# Needs the debug build with tests, and fixtures.
unit-tests:
	@.ci/check-leftovers swift test --skip-build $(TEST_FLAGS) $(SWIFT_FLAGS)

docs: setup ## Build the documentation of each library (.build/docs/NAME); broken links fail
	@$(STEP) "build, debug" swift build $(SWIFT_FLAGS)
	@$(STEP) "documentation" .ci/docs

headers: ## Check the plugin headers with gcc and clang in every standard, and the layout of the ABI
	@$(STEP) "plugin headers, every compiler and standard" .ci/check-headers
	@$(STEP) "layout of the plugin ABI" .ci/abi check

fixtures: ## Build the faulty plugins that tests load, which `swift build` does not
	@$(STEP) "faulty plugins, by cc alone" $(MAKE) -s -C Tests/FaultyPlugins BUILD=../../.build/fixtures

samples: ## Build the C sample plugins with nothing but cc and the header
	@$(STEP) "sample plugins, by cc alone" $(MAKE) -C SamplePlugins BUILD=../.build/samples

bench: setup ## Measure what a request costs, beside a plain C libcurl loop (under two minutes)
	@Benchmarks/run

bench-all: setup ## Measure everything but the soak test, for longer: downloads of 1 GiB, 4,096 requests at a time
	@Benchmarks/run --all
	@Benchmarks/count --skip-build

bench-count: setup ## Count instructions and allocations of a request (needs valgrind)
	@Benchmarks/count

sanitize: setup ## Run the tests, and a stress test of 100,000 requests, under both sanitizers (half an hour)
	@.ci/sanitize

sanitize-quick: setup ## Run a stress test of 10,000 requests under both sanitizers
	@.ci/sanitize --quick

fuzz: setup ## Run libFuzzer on each parser of external data for FUZZ_SECONDS (60)
	@.ci/fuzz

lint: setup ## Check format, imports and warnings
	@$(STEP) "format" swift format lint --strict --recursive $(FORMATTED)
	@$(STEP) "imports" .ci/check-imports
	@$(STEP) "folders" .ci/check-folders
	@$(STEP) "exclusivity" .ci/check-exclusivity
	@$(STEP) "text as bytes" .ci/check-text
	@$(STEP) "optimisations" Benchmarks/tricks --check
	@$(STEP) "no warnings" swift build --build-tests $(LINT_FLAGS)

format: ## Format the Swift sources in place
	@swift format --in-place --recursive $(FORMATTED)

clean: ## Delete what was built, but no other files in plugins/
	@rm -rf .build
	@.ci/install-plugins --remove plugins
