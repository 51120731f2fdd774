# `make` lists the targets. scripts/setup.sh installs what a target needs and the machine lacks.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-builtin-rules

# Folder of rustup and `cargo install`, which is not in PATH right after an installation.
export PATH := $(or $(CARGO_HOME),$(HOME)/.cargo)/bin:$(PATH)

DEMO := scenarios/home-wifi-lte.toml

.PHONY: help setup build package static release test-bare test-package test-wheel wheel docs web demo test test-web test-kernels test-vm test-upstream bench bench-peers validate-peers results fuzz sanitize mutants lint clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' Makefile

setup: ## install what this machine lacks for building, testing and linting
	@scripts/setup.sh test
	@scripts/setup.sh lint

build: ## build target/release/joulepath, fully optimised
	@scripts/setup.sh build
	@scripts/cargo.sh build --release --locked --package joulepath

wheel: ## build the Python package: a wheel in target/wheels
	@scripts/setup.sh test
	@scripts/python.sh wheel

docs: web ## build the documentation as a site in target/site, with the playground; every link is checked
	@scripts/setup.sh test
	@scripts/python.sh docs

web: ## build the playground, a page that simulates in the browser: target/web/index.html
	@scripts/setup.sh web
	@scripts/web.py

package: ## build the Debian package: target/debian/joulepath_VERSION_ARCH.deb
	@scripts/setup.sh package
	@scripts/package.sh

static: ## build the daemon without dependencies: target/static/joulepath-ARCH, with musl (ARGS="dev x86_64")
	@scripts/setup.sh static
	@scripts/static.sh $(ARGS)

release: ## build the files of a release: target/dist with wheel, Debian package, static binaries, SBOM, checksums
	@scripts/setup.sh release
	@scripts/release.sh $(ARGS)

test-bare: ## run the demo from a fresh clone in bare Debians 12 and 13; as root (ARGS="trixie": only there)
	@scripts/setup.sh fresh
	@scripts/test-bare.sh $(ARGS)

test-package: ## install, run and purge the Debian package in a bare Debian; as root (ARGS=FILE.deb: this package)
	@scripts/setup.sh bare
	@scripts/test-package.sh $(ARGS)

test-wheel: ## install the Python package in bare Debians and from source, and run a new user's first steps; as root (ARGS=FILE.whl)
	@scripts/setup.sh bare
	@scripts/test-wheel.sh $(ARGS)

demo: ## compare policies for a phone's download over WiFi and LTE, 30 seeds; write a report
	@scripts/setup.sh demo
	@cargo build --locked --package joulepath --no-default-features
	target/debug/joulepath compare $(DEMO) --seeds 30 --report

test: ## run all tests
	@scripts/setup.sh test
	@scripts/test.sh

test-web: ## test the playground in Chromium against the command line, with all scenarios and policies
	@scripts/setup.sh browser
	@scripts/web.py
	@scripts/cargo.sh build --locked --package joulepath
	@JOULEPATH_WEB=all JOULEPATH_REQUIRE_BROWSER=1 cargo test --locked --package joulepath-web

test-kernels: ## boot Debian's kernels 6.1, 6.12 and its newest under QEMU and test the kernel engine in them
	@scripts/test-kernels.sh

test-vm: ## run the Debian package in a virtual Debian with WiFi, modem and NetworkManager (ARGS="--network networkd")
	@scripts/test-vm.sh $(ARGS)

test-upstream: build ## run the kernel's own MPTCP selftests with each of our controllers; as root, an hour (ARGS=--quick: minutes)
	@scripts/test-upstream.sh $(ARGS)

bench: ## measure the speed of controllers, links and engines, and the cost of the kernel's controllers
	@scripts/setup.sh build
	@scripts/cargo.sh bench --workspace --locked --bench '*'

bench-peers: ## compare the speed of the packet engine with ns-2 and ns-3; --write updates docs/performance.md (ARGS="--rounds 7 --write")
	@scripts/setup.sh build
	benches/peers/build.sh
	benches/peers/speed.py $(ARGS)

validate-peers: ## compare goodput, loss and queue with ns-2 and ns-3, into benches/peers/cross-validation.md; half an hour
	@scripts/setup.sh build
	benches/peers/build.sh
	cargo build --locked --package joulepath-benches --example once
	benches/peers/validate.py --write $(ARGS)

results: build ## measure stored tables of earlier engines again; hours, resumes (ARGS=--list)
	@scripts/setup.sh test
	@scripts/results.py $(ARGS)

fuzz: ## thousands of random scenarios against invariants; changes of its corpus for every parser, a minute each (ARGS=600: seconds)
	@scripts/setup.sh test
	@JOULEPATH_FUZZ_SECONDS=$(or $(ARGS),60) JOULEPATH_FUZZ_SEED=$$RANDOM scripts/cargo.sh test --workspace --exclude joulepath-benches \
		--exclude joulepath-python --locked --lib --test study -- a_panic --nocapture
	@from=$$((RANDOM * 10000)); for part in LANGUAGE FUZZ; do export JOULEPATH_$$part=$$from..$$((from + 3000)); done; \
		scripts/cargo.sh test --workspace --exclude joulepath-benches --exclude joulepath-python --locked \
		--test study --test validation -- no_scenario_of_the_language random_scenarios_break --nocapture

sanitize: ## run the tests of unsafe code under Miri and sanitizers, where this machine has them (ARGS="miri address")
	@scripts/setup.sh test
	@scripts/sanitize.sh $(ARGS)

mutants: ## change one crate in many small ways, and list the changes that no test detects (ARGS="-p joulepath-live src/decide")
	@scripts/setup.sh mutants
	@scripts/mutants.py $(ARGS)

lint: ## check formats, lints, licences of dependencies, documentation
	@scripts/setup.sh lint
	@scripts/lint.sh

clean: ## remove build results and reports
	cargo clean
	rm -rf joulepath-report joulepath-reproduction benches/peers/ns3/w benches/peers/ns3/v
