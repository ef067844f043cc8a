# The commands a person types; the build itself is CMakeLists.txt.
#
#   make         builds into build/            make demo    sets up, builds, runs the bundled example
#   make demo-persona  the same with a small persona evaluation
#   make test    sets up, builds, tests        make bench   side-by-side measurements
#   make check   before each commit: style, dependencies, unit tests, 300 simulated seeds; under two minutes on a built tree
#   make audit RUN=ID [LOG=FILE]               the records of a run, compared
#   make install PREFIX=$HOME/.local [COMPONENT=vibeq|worker|offline|docs] [DESTDIR=DIR]   without COMPONENT: all of them
#   make uninstall                             make clean
#   make chaos   real programs, really killed: a short round of each kind
#   make chaos-long [ROUNDS=1000] [DIALOGUES=100] [PAIRS=300] [SEED=1] [CHAOS="KIND..."] [TABLE=FILE.md]
#                PAIRS rounds of two crash points each, three stampedes of 500 workers, DIALOGUES rounds of each kind with dialogues, and
#                ROUNDS of each kind of kill: three hours on two cores, nine seconds a round of all 16 kinds of kill; CHAOS=net or other
#                names of tests/chaos/run take the place of these
#   make night [TASKS=22000]                   an operator's night: three pools, refusals, two workers elsewhere, kills, a resume
#   make conformance                           limits held against a server that counts them
#   make simulation [SEEDS=N] [START=N]        the whole cluster in one thread, N seeds from START on
#   make broken-builds                         deliberate defects, each caught by the test that claims to
#   make deploy-test [PARTS="units bookworm ..."]   packages, units, images and fleets, as far as this machine can show them
#   make coverage, make format                 what the tests reach; the sources as CI wants them

PREFIX ?= /usr/local
BUILD  ?= build
JOBS   ?= $(shell nproc 2>/dev/null || echo 2)
# Tests at a time for each core: most of them wait (for terms, for answers that take their time); all of them together compute for five
# minutes, of eighteen that they last.
WAITING ?= 3

.PHONY: help coverage all deps configure build demo demo-persona test simulation broken-builds check bench audit chaos chaos-long night conformance deploy-test install uninstall clean format

all: build

help:
	@sed -n '3,/^$$/s/^# \{0,1\}//p' Makefile

deps:
	@deploy/install-deps

build: configure
	@cmake --build $(BUILD) -j $(JOBS) --target programs

configure:
	@command -v cmake >/dev/null 2>&1 && command -v ninja >/dev/null 2>&1 || deploy/install-deps
	@cmake -S . -B $(BUILD) -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo -DCMAKE_INSTALL_PREFIX=$(PREFIX) \
	    $(if $(WERROR),-DVQ_WERROR=$(WERROR)) >$(BUILD).log 2>&1 \
	    || { cat $(BUILD).log; echo "Some packages may be missing: run deploy/install-deps"; rm -f $(BUILD).log; exit 1; }
	@rm -f $(BUILD).log

# Seeds that the tests do not use; its last line are the figures, its exit code the verdict.
SEEDS ?= 20000
START ?= 2001
simulation: configure
	@cmake --build $(BUILD) -j $(JOBS) --target vibeq-sim vibeq-exhaust >$(BUILD).log || { cat $(BUILD).log; exit 1; }
	@rm -f $(BUILD).log
	@$(BUILD)/bin/vibeq-exhaust --depth 4 --faults 3 --every 8 --jobs $(JOBS)
	@$(BUILD)/bin/vibeq-sim --seeds $(START)..$$(($(START) + $(SEEDS) - 1)) --jobs $(JOBS)

broken-builds: deps
	@tests/broken/run

demo: deps build
	$(BUILD)/bin/vibeq run examples/friendly-vs-terse.yaml

demo-persona: deps build
	$(BUILD)/bin/vibeq run examples/persona.yaml

test: deps configure
	@cmake --build $(BUILD) -j $(JOBS)
	ctest --test-dir $(BUILD) --output-on-failure --no-tests=error -j $$(($(WAITING) * $(JOBS))) -LE 'long|root'

CHECK_SEEDS ?= 300
check: configure
	@cmake --build $(BUILD) -j $(JOBS) >$(BUILD)/check.log || { tail -40 $(BUILD)/check.log; exit 1; }
	@tools/format
	@tools/check-deps
	@tools/tidy
	@ctest --test-dir $(BUILD) --output-on-failure --no-tests=error -j $(JOBS) -R '^unit\.' -LE 'long|root' >$(BUILD)/check.log \
	    || { tail -60 $(BUILD)/check.log; exit 1; }
	@grep 'tests passed' $(BUILD)/check.log
	@$(BUILD)/bin/vibeq-sim --seeds 1..$(CHECK_SEEDS) --jobs $(JOBS)
	@tests/simulation/mutants $(BUILD) 1..1 none

bench: configure
	@deploy/install-deps --bench
	@cmake --build $(BUILD) -j $(JOBS)
	@bench/run $(BUILD)

chaos: build
	@deploy/install-deps --ci
	@cmake --build $(BUILD) -j $(JOBS) --target vq_faulty >/dev/null
	tests/chaos/points
	VQ_BIN_DIR=$(BUILD)/bin tests/chaos/run --rounds 12 --seconds 210 --jobs 6 $(CHAOS)

ROUNDS    ?= 1000
DIALOGUES ?= 100
PAIRS     ?= 300
SEED      ?= 1
chaos-long: build
	@deploy/install-deps --ci
	@cmake --build $(BUILD) -j $(JOBS) --target vq_faulty >/dev/null
	tests/chaos/points --pairs $(PAIRS)
	VQ_BIN_DIR=$(BUILD)/bin tests/chaos/run stampede_large --rounds 3 --jobs 1 --seed $(SEED)
	VQ_BIN_DIR=$(BUILD)/bin tests/chaos/run dialogue --rounds $(DIALOGUES) --seed $(SEED) --jobs 8 --json $(BUILD)/chaos-dialogues.json \
	    --markdown $(BUILD)/chaos-dialogues.md
	VQ_BIN_DIR=$(BUILD)/bin tests/chaos/run $(or $(CHAOS),kill) --rounds $(ROUNDS) --seed $(SEED) --jobs 8 --json $(BUILD)/chaos-long.json \
	    --markdown $(or $(TABLE),$(BUILD)/chaos-long.md)

# What a run planned, what the endpoint saw (LOG, of vibeq-offline), what is stored and what came out: compared.
audit:
	@[ -n "$(RUN)" ] || { echo "usage: make audit RUN=ID [LOG=FILE]"; exit 2; }
	@tests/tools/audit "$${VIBEQ_RUNS:-runs}/$(RUN)" $(if $(LOG),--log "$(LOG)")

night: build
	cd tests/integration && VQ_BIN_DIR=$(abspath $(BUILD))/bin VQ_NIGHT_TASKS=$(or $(TASKS),22000) python3 test_night.py

conformance: deps build
	VQ_BIN_DIR=$(BUILD)/bin tests/conformance/limits.py $(CONFORMANCE)

deploy-test: build
	@VQ_BIN_DIR=$(abspath $(BUILD))/bin tests/deploy/run $(PARTS)

install: build
	cmake --install $(BUILD) --prefix $(PREFIX) $(if $(COMPONENT),--component $(COMPONENT))

uninstall:
	@ls $(BUILD)/install_manifest*.txt >/dev/null 2>&1 || { echo "nothing was installed from $(BUILD)"; exit 1; }
	sed -s '$$a\' $(BUILD)/install_manifest*.txt | sed 's|^|$(DESTDIR)|' | tr '\n' '\0' | xargs -0 rm -f
	rm -f $(BUILD)/install_manifest*.txt

coverage:
	tools/coverage $(if $(SEEDS),--seeds $(SEEDS))

format:
	tools/format --write

clean:
	rm -rf $(BUILD)
