# The two commands are `make run` and `make test`; the rest serves them.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

CARGO ?= cargo
# Debian packages that the tests use as clients, servers and browsers.
TEST_PACKAGES := g++ dnsutils knot-dnsutils dnsperf curl openssl nginx-light chromium libnss3-tools \
	haproxy caddy iproute2 procps python3 litmus ipset nftables php-fpm apache2-utils valgrind faketime goaccess \
	systemd adduser man-db shellcheck logrotate redis-server redis-tools postgresql clickhouse-server
SUDO := $(shell [ "$$(id -u)" = 0 ] || echo sudo)

# Debian's peers and load generators of the benchmarks.
BENCH_PACKAGES := apache2-bin caddy apache2-utils dnsperf httperf wrk wget valgrind haproxy nginx-light lighttpd lighttpd-mod-deflate squid tinyproxy privoxy \
	varnish perlbal dnsdist unbound nghttp2-client
BENCH_FLAGS := $(if $(QUICK),--quick) $(if $(ROUNDS),--rounds $(ROUNDS))
BENCHES := dns pixel proxy web gateway browser scale edge

PROFDATA = $(wildcard $(shell rustc --print sysroot)/lib/rustlib/*/bin/llvm-profdata)
.PHONY: help run fleet test dist dashboard test-packages cache-suite s3-server lint unit e2e fuzz-build fuzz-smoke bench bench-peers instructions \
	soak book clean packages packages-test $(BENCHES:%=bench-%)

help:
	@echo "make run      build Tidegate and start all five doors on this machine"
	@echo "make fleet    three machines in one, with the Redis and the PostgreSQL that they share, to look at"
	@echo "make test     everything that CI runs"
	@echo "make book     the manual as a searchable site in target/book"
	@echo "make dist     the release binary, optimised as a whole (slow; PGO=1: trained first, much slower)"
	@echo "make packages   Debian packages, static binaries, container image, SBOM and checksums in target/packages"
	@echo "make bench    measure beside the peers that are installed (QUICK=1: only see that it works; ROUNDS=N)"
	@echo "make bench-dns, bench-pixel, bench-proxy, bench-web, bench-gateway, bench-browser, bench-scale, bench-edge   one of it"
	@echo "make bench-peers   install the peers that Debian has"
	@echo "make soak     all five doors under load and faults for ten minutes (SOAK=--minutes=60)"

run: dashboard
	$(CARGO) build --release --locked
	exec target/release/tidegate run

# Three machines of a fleet on this one, with their engines; all of it is gone at its end.
fleet: dashboard
	@command -v redis-server >/dev/null && ls /usr/lib/postgresql/*/bin/postgres >/dev/null 2>&1 || \
		$(SUDO) env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends redis-server postgresql
	$(CARGO) build --release --locked
	TIDEGATE_BIN=target/release/tidegate packaging/fleet_demo.py

# PGO=1: a build that counts is trained first (bench/train.py), and the release binary is laid out by what it counted.
# LLVM's tools must be those of the compiler: `rustup component add llvm-tools`.
dist: dashboard $(if $(filter 1,$(PGO)),target/pgo/trained.profdata)
	$(if $(filter 1,$(PGO)),RUSTFLAGS=-Cprofile-use=$(CURDIR)/target/pgo/trained.profdata) $(CARGO) build --profile dist --locked
	@ls -l target/dist/tidegate

.PHONY: target/pgo/trained.profdata
target/pgo/trained.profdata: dashboard
	@test -n "$(PROFDATA)" || { echo "make dist PGO=1 needs llvm-profdata: rustup component add llvm-tools"; exit 1; }
	RUSTFLAGS=-Cprofile-generate=$(CURDIR)/target/pgo/build $(CARGO) build --profile dist --locked --target-dir target/pgo
	rm -rf target/pgo/raw
	bench/train.py target/pgo/dist/tidegate target/pgo/raw
	$(PROFDATA) merge -o $@ target/pgo/raw/*.profraw

# What is installed (packaging/). PROFILE=release builds faster, and a slower program. Zig is the compiler of C and C++
# and the linker for musl, of any processor (docs/adr/0048).
ZIG_VERSION := 0.17.1
ZIGBUILD_VERSION := 0.24.1
ZIG := target/tools/zig/bin/cargo-zigbuild
packages: dashboard $(ZIG)
	packaging/build.py $(if $(PROFILE),--profile $(PROFILE)) $(TARGETS:%=--target %)

$(ZIG): Makefile
	python3 -m venv target/tools/zig
	target/tools/zig/bin/pip install --quiet --disable-pip-version-check ziglang==$(ZIG_VERSION) cargo-zigbuild==$(ZIGBUILD_VERSION)
	@touch $@

# The dashboard is built from dashboard/src into dashboard/dist, which the binary embeds.
dashboard: dashboard/dist/index.html
DASHBOARD_SOURCES := $(shell find dashboard/src dashboard/public dashboard/dev -type f 2>/dev/null) dashboard/index.html \
	dashboard/package.json dashboard/package-lock.json dashboard/tsconfig.json dashboard/vite.config.ts
dashboard/dist/index.html: $(DASHBOARD_SOURCES)
	cd dashboard && npm ci --no-audit --no-fund --silent && npm run --silent build
	@touch $@

# End-to-end tests start one thing at a time and leave a core idle: what needs only a compiler, or counts instructions,
# is done meanwhile at the lowest priority, and shown when it has ended.
MEANWHILE := target/meanwhile.log
test: test-packages dashboard lint book unit
	@mkdir -p target
	@nice -n 19 $(MAKE) --no-print-directory instructions fuzz-build >$(MEANWHILE) 2>&1 & meanwhile=$$!; \
	trap 'kill $$meanwhile 2>/dev/null || true' EXIT; \
	$(MAKE) --no-print-directory e2e packages-test; \
	wait $$meanwhile || { cat $(MEANWHILE); exit 1; }; \
	cat $(MEANWHILE)
	@$(MAKE) --no-print-directory fuzz-smoke
	@echo "all tests passed"

# Installed, not started: RUNLEVEL=1 keeps services of peers from being started.
test-packages:
	@missing=$$(for p in $(TEST_PACKAGES); do dpkg-query -W -f '$${Status}' $$p 2>/dev/null | grep -q 'ok installed' || echo $$p; done); \
	if [ -n "$$missing" ]; then $(SUDO) apt-get update -qq; \
	$(SUDO) env RUNLEVEL=1 DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $$missing >/dev/null; fi

lint: dashboard
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets --locked -- -D warnings
	$(CARGO) xtask fences
	$(CARGO) xtask tidy
	@if $(CARGO) deny --version >/dev/null 2>&1; then $(CARGO) deny check bans licenses sources; \
	else echo "cargo-deny is not installed: licences and bans were not checked"; fi
	python3 -B -m unittest discover -s bench/tests -q
	cd dashboard && npm run --silent check && npm test --silent

# The manual as a site. Links and anchors are checked by `cargo xtask tidy`; mdBook renders. It is not
# optimised: it takes seconds for these pages, and minutes to compile otherwise.
MDBOOK_VERSION := 0.5.4
MDBOOK := target/tools/bin/mdbook
book: $(MDBOOK)
	$(MDBOOK) build docs

$(MDBOOK): Makefile
	if [ "$$($@ --version 2>/dev/null)" != "mdbook v$(MDBOOK_VERSION)" ]; then \
	$(CARGO) install --debug mdbook --version $(MDBOOK_VERSION) --locked --no-default-features --features search --root target/tools; fi
	@touch $@

# nextest where it is installed, else cargo's own runner: the same tests.
unit: dashboard
	if $(CARGO) nextest --version >/dev/null 2>&1; then $(CARGO) nextest run --retries 1 --workspace --exclude tidegate-tests --locked; \
	else tests/run.py --binaries $(CARGO) test --workspace --exclude tidegate-tests --locked; fi
	$(CARGO) test --workspace --doc --locked -q

# One test at a time: they start whole servers, browsers and network namespaces.
e2e: dashboard test-packages cache-suite s3-server
	$(CARGO) build --locked -p tidegate
	tests/run.py $(CARGO) test -p tidegate-tests --locked -- --test-threads=1
	cd dashboard && npm run --silent stories

# Packages of the binary that the end-to-end tests have, on machines with systemd that are kept in memory.
packages-test: test-packages dashboard
	$(CARGO) build --locked -p tidegate
	python3 -B -m unittest discover -s packaging/tests

# The public suite of HTTP cache tests, as it is published.
cache-suite: tests/cache-suite/node_modules/.package-lock.json
tests/cache-suite/node_modules/.package-lock.json: tests/cache-suite/package.json tests/cache-suite/package-lock.json
	cd tests/cache-suite && npm ci --ignore-scripts --no-audit --no-fund --silent

# A server that speaks as S3 does and verifies signatures.
s3-server: tests/s3/node_modules/.package-lock.json
tests/s3/node_modules/.package-lock.json: tests/s3/package.json tests/s3/package-lock.json
	cd tests/s3 && npm ci --ignore-scripts --no-audit --no-fund --silent

fuzz-build:
	fuzz/smoke --build

fuzz-smoke:
	fuzz/smoke

# TIDEGATE_BIN names another binary, and then nothing is built.
bench bench-%: BENCH_BINARY = $(or $(TIDEGATE_BIN),$(CURDIR)/target/dist/tidegate)
bench: $(if $(TIDEGATE_BIN),,dist)
	TIDEGATE_BIN=$(BENCH_BINARY) bench/run $(BENCH_FLAGS)

$(BENCHES:%=bench-%): bench-%: $(if $(TIDEGATE_BIN),,dist)
	TIDEGATE_BIN=$(BENCH_BINARY) bench/run $* $(BENCH_FLAGS)

# Installed, not started: each benchmark starts its own.
bench-peers:
	$(SUDO) apt-get update -qq
	RUNLEVEL=1 DEBIAN_FRONTEND=noninteractive $(SUDO) apt-get install -y -qq --no-install-recommends $(BENCH_PACKAGES)

# Instructions of the pure hot functions beside bench/instructions/baseline.json.
instructions:
	bench/instructions/gate.py

soak: $(if $(TIDEGATE_BIN),,dist)
	TIDEGATE_BIN=$(or $(TIDEGATE_BIN),$(CURDIR)/target/dist/tidegate) bench/soak/run.py $(SOAK)

clean:
	$(CARGO) clean
	rm -rf dashboard/dist dashboard/node_modules
