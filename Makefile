# `make` lists what there is. What a target needs and the machine lacks is installed by scripts/setup.sh.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-builtin-rules

# Where rustup and `cargo install` put their programs; not in PATH right after an installation.
export PATH := $(or $(CARGO_HOME),$(HOME)/.cargo)/bin:$(PATH)

DEMO := scenarios/home-wifi-lte.toml

.PHONY: help setup build package static release test-bare test-package test-wheel wheel docs demo test test-kernels test-upstream bench bench-peers validate-peers joule mutants lint clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' Makefile

setup: ## install what building, testing and linting need and this machine lacks
	@scripts/setup.sh test
	@scripts/setup.sh lint

build: ## build target/release/joulepath, fully optimised
	@scripts/setup.sh build
	@scripts/cargo.sh build --release --locked --package joulepath

wheel: ## build the Python package: a wheel in target/wheels
	@scripts/setup.sh test
	@scripts/python.sh wheel

docs: ## build the documentation as a site in target/site; every link is checked
	@scripts/setup.sh test
	@scripts/python.sh docs

package: ## build the Debian package: target/debian/joulepath_VERSION_ARCH.deb
	@scripts/setup.sh package
	@scripts/package.sh

static: ## build the daemon for machines that have nothing else: target/static/joulepath-ARCH, with musl (ARGS="dev x86_64")
	@scripts/setup.sh static
	@scripts/static.sh $(ARGS)

release: ## build what a release consists of: target/dist with wheel, Debian package, static binaries, SBOM, checksums
	@scripts/setup.sh release
	@scripts/release.sh $(ARGS)

test-bare: ## run the demo from a fresh clone in bare Debians 12 and 13; as root (ARGS="trixie": in that one)
	@scripts/setup.sh fresh
	@scripts/test-bare.sh $(ARGS)

test-package: ## install, run and purge the Debian package in a bare Debian; as root (ARGS=FILE.deb: that one)
	@scripts/setup.sh bare
	@scripts/test-package.sh $(ARGS)

test-wheel: ## install the Python package in bare Debians and from source, and do what a new user does first; as root (ARGS=FILE.whl)
	@scripts/setup.sh bare
	@scripts/test-wheel.sh $(ARGS)

demo: ## compare policies for a phone's download over WiFi and LTE, 30 seeds; leave a report to look at
	@scripts/setup.sh demo
	@cargo build --locked --package joulepath --no-default-features
	target/debug/joulepath compare $(DEMO) --seeds 30 --report

test: ## run all tests
	@scripts/setup.sh test
	@scripts/test.sh

test-kernels: ## boot stock kernels 6.1 and 6.12 under QEMU and test the kernel engine in them
	@scripts/test-kernels.sh

test-upstream: build ## run the kernel's own MPTCP selftests with each of our controllers; as root, an hour (ARGS=--quick: minutes)
	@scripts/test-upstream.sh $(ARGS)

bench: ## measure the speed of controllers, links, engines, and what the kernel's controllers cost
	@scripts/setup.sh build
	@scripts/cargo.sh bench --workspace --locked --bench '*'

bench-peers: ## the packet engine against ns-2 and ns-3, in one run; --write puts it into docs/performance.md (ARGS="--rounds 7 --write")
	@scripts/setup.sh build
	benches/peers/build.sh
	benches/peers/speed.py $(ARGS)

validate-peers: ## goodput, loss and queue of the packet engine against ns-2 and ns-3, into benches/peers/cross-validation.md; half an hour
	@scripts/setup.sh build
	benches/peers/build.sh
	cargo build --locked --package joulepath-packet --example once
	benches/peers/validate.py --write $(ARGS)

joule: build ## measure anew what docs/joule.md says, and write its tables and figures; half an hour
	@scripts/setup.sh test
	scripts/python.sh run scripts/joule measure
	scripts/python.sh run scripts/joule page

mutants: ## change one crate in many small ways, and list what no test notices (ARGS="-p joulepath-live src/decide")
	@scripts/setup.sh mutants
	@scripts/mutants.py $(ARGS)

lint: ## check formats, lints, licences of dependencies, documentation
	@scripts/setup.sh lint
	@scripts/lint.sh

clean: ## remove what was built and the reports
	cargo clean
	rm -rf joulepath-report joulepath-reproduction benches/peers/ns3/w benches/peers/ns3/v
