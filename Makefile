# The commands a person types; the build itself is CMakeLists.txt.
#
#   make         builds into build/            make demo    sets up, builds, runs the bundled example
#   make test    sets up, builds, tests        make bench   side-by-side measurements
#   make install PREFIX=/usr/local             make clean

PREFIX ?= /usr/local
BUILD  ?= build
JOBS   ?= $(shell nproc 2>/dev/null || echo 2)

.PHONY: all deps configure build demo test bench conformance install uninstall clean format

all: build

deps:
	@deploy/install-deps

build: configure
	@cmake --build $(BUILD) -j $(JOBS) --target programs

configure:
	@command -v cmake >/dev/null 2>&1 && command -v ninja >/dev/null 2>&1 || deploy/install-deps
	@cmake -S . -B $(BUILD) -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo -DCMAKE_INSTALL_PREFIX=$(PREFIX) >$(BUILD).log 2>&1 \
	    || { cat $(BUILD).log; echo "Some packages may be missing: run deploy/install-deps"; rm -f $(BUILD).log; exit 1; }
	@rm -f $(BUILD).log

demo: deps build
	$(BUILD)/bin/vibeq run examples/friendly-vs-terse.yaml

test: deps configure
	@cmake --build $(BUILD) -j $(JOBS)
	ctest --test-dir $(BUILD) --output-on-failure --no-tests=error -j $(JOBS) -LE 'long|root'

bench: configure
	@deploy/install-deps --bench
	@cmake --build $(BUILD) -j $(JOBS)
	@bench/run $(BUILD)

conformance: deps build
	VQ_BIN_DIR=$(BUILD)/bin tests/conformance/limits.py $(CONFORMANCE)

install: build
	cmake --install $(BUILD) --prefix $(PREFIX)

uninstall:
	@test -f $(BUILD)/install_manifest.txt || { echo "nothing was installed from $(BUILD)"; exit 1; }
	xargs rm -f < $(BUILD)/install_manifest.txt

format:
	tools/format --write

clean:
	rm -rf $(BUILD)
