# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# make help lists the targets. V=1 shows whole commands. Some variables build into a folder of their own: SAN=1
# userspace with the address and undefined-behaviour sanitizers, FUZZ=1 for fuzzing, CROSS=arm64 for that
# architecture, against the root file system of the lab's guests, STATIC=1 programs that need no library.
# BUILD=FOLDER names the folder for any other setting, such as CLANG=clang-19.

# Debian puts bpftool into a folder that is not in every user's PATH.
export PATH := $(PATH):/usr/sbin:/sbin

# With sudo make, the build belongs to the user, so that the user's make clean can remove it.
ifneq ($(and $(SUDO_UID),$(filter 0,$(shell id -u)),$(filter-out 0,$(SUDO_UID)),\
       $(filter $(SUDO_UID),$(shell stat -c %u .))),)
export HOME := $(shell getent passwd $(SUDO_UID) | cut -d: -f6)
SHELL       := /usr/bin/setpriv
.SHELLFLAGS := --reuid=$(SUDO_UID) --regid=$(SUDO_GID) --init-groups /bin/sh -c
install uninstall: private SHELL := /bin/sh
install uninstall: private .SHELLFLAGS := -c
endif

VERSION  := 0.1.0
CC       ?= gcc
CLANG    ?= clang
BPFTOOL  ?= bpftool
PYTHON   ?= /usr/bin/python3
PREFIX   ?= /usr/local
DESTDIR  ?=

ARCH := $(or $(CROSS),$(shell uname -m | sed -e 's/x86_64/x86/' -e 's/aarch64/arm64/'))
PARALLEL = $(MAKE) --no-print-directory -j$(shell nproc)
SUDO := $(if $(filter 0,$(shell id -u)),,sudo)
# Runs a command as root. Tests of sudo set its variables themselves.
AS_ROOT := $(SUDO) env -u SUDO_UID -u SUDO_GID

BUILD   := build$(if $(SAN),-san)$(if $(FUZZ),-fuzz)$(if $(COVERAGE),-coverage)$(if $(STATIC),-static)$(if $(CROSS),-$(CROSS))
CFLAGS  ?= -O2 -g
CFLAGS  += -std=gnu11 -Wall -Wextra -Werror -Wmissing-prototypes -Wstrict-prototypes
ifdef CROSS
SYSROOT := $(shell tests/lab/fetch-root $(CROSS))
ifeq ($(SYSROOT),)
$(error no root file system for $(CROSS) to build against)
endif
CC      := $(CLANG) --target=$(CROSS:arm64=aarch64)-linux-gnu --sysroot=$(SYSROOT)
LDFLAGS += -fuse-ld=lld
endif
CPPFLAGS += -D_GNU_SOURCE -DSENDPATH_VERSION='"$(VERSION)"' -I. -I$(BUILD)
ifdef SAN
CFLAGS  += -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
endif
ifdef FUZZ
CC      := $(CLANG)
CFLAGS  += -fsanitize=fuzzer-no-link,address,undefined,float-cast-overflow \
           -fno-sanitize-recover=all -fno-omit-frame-pointer
endif
# Counters are in files of their own, shared by all processes of a program: they keep the counts of a process that
# was killed, or that may no longer write.
ifdef COVERAGE
CC      := $(CLANG)
LINES   := $(CURDIR)/$(BUILD)/lines
CFLAGS  += -fprofile-instr-generate=$(LINES)/%c%m.profraw -fcoverage-mapping
CPPFLAGS += -mllvm -runtime-counter-relocation
endif
# lld, because GNU ld warns about each use of NSS: see use_built_in_nss() in common/program.c.
ifdef STATIC
CFLAGS   += -fPIE
CPPFLAGS += -DSENDPATH_STATIC
LDFLAGS  += -static-pie -Wl,--pack-dyn-relocs=relr $(if $(CROSS),,-fuse-ld=lld)
endif
BPF_CFLAGS := -O2 -g -Wall -Wextra -Werror -target bpf -mcpu=v3 -Wno-unused-parameter -D__TARGET_ARCH_$(ARCH) \
              -Ivmlinux/$(ARCH) -I. -I$(BUILD)

# Debian 12's names of the packages; other distributions need theirs installed by hand. Its clang is the oldest
# supported one.
NEWEST_CLANG := 19
BUILD_PACKAGES := gcc libc6-dev clang llvm bpftool libbpf-dev libelf-dev zlib1g-dev \
                  libjson-c-dev libpfm4-dev libcap-dev liburing-dev nettle-dev libmicrohttpd-dev \
                  python3
# Packages for reading run records; their libraries go into a venv, see the target analysis.
ANALYSIS_PACKAGES := python3 python3-venv
# A browser checks its pages.
CHECK_ANALYSIS_PACKAGES := $(ANALYSIS_PACKAGES) chromium
# Packages for kernels in QEMU, also of arm64.
LAB_PACKAGES   := qemu-system-x86 qemu-system-arm busybox-static cpio kmod xz-utils zstd \
                  iproute2 lld
DEB_PACKAGES   := debhelper dpkg-dev
DIST_PACKAGES  := dpkg-dev $(LAB_PACKAGES)
IMAGE_PACKAGES := $(DIST_PACKAGES) buildah
# The row with nginx has programs to observe, the last row is for bcc.
CHECK_PACKAGES := $(LAB_PACKAGES) $(CHECK_ANALYSIS_PACKAGES) $(DEB_PACKAGES) $(IMAGE_PACKAGES) mmdebstrap podman runc catatonit lintian libcmocka-dev clang-format \
                  libclang-rt-14-dev zsh python3-pytest python3-pytest-xdist python3-hypothesis python3-jsonschema python3-yaml python3-coverage strace sudo \
                  iputils-ping ethtool procps e2fsprogs clang-$(NEWEST_CLANG) shellcheck \
                  iperf3 nginx-light wrk linux-perf wireguard-tools \
                  python3-prometheus-client \
                  python3-bpfcc linux-headers-$(shell dpkg --print-architecture 2>/dev/null)
# Programs that tests/foreign observes, compilers of its own, and the second instruments.
FOREIGN_PACKAGES := qemu-system-x86 iperf3 nginx-light wrk redis-server postgresql openssh-server openssh-client \
                    nodejs golang-go cargo rustc librust-tokio-dev bpftrace strace util-linux \
                    python3-pytest python3-jsonschema
BENCH_PACKAGES := $(LAB_PACKAGES) $(ANALYSIS_PACKAGES) iperf3 bpftrace bpfcc-tools linux-perf time

LOADGEN_LIBS := -ljson-c -luring -lnettle -lcap -lpthread
ANALYZE_LIBS := -lbpf -lelf -lz -ljson-c -lcap -luring -lnettle -lpthread -lm -ldl
# Debian's static libmicrohttpd needs GnuTLS, which has no static library.
ifdef STATIC
MICROHTTPD   := $(BUILD)/libmicrohttpd/src/microhttpd/.libs/libmicrohttpd.a
ANALYZE_LIBS := $(MICROHTTPD) -lpfm -L$(BUILD) $(ANALYZE_LIBS)
endif

# Unit tests are linked without main.c of the programs.
LOADGEN_OBJS := $(patsubst %.c,$(BUILD)/%.o,$(wildcard common/*.c) \
                $(filter-out loadgen/main.c,$(wildcard loadgen/*.c loadgen/*/*.c)))
ANALYZE_OBJS := $(patsubst %.c,$(BUILD)/%.o,$(filter-out user/main.c,$(wildcard user/*.c user/*/*.c)))
FUZZERS      := $(patsubst tests/fuzz/%.c,$(BUILD)/fuzz/%,$(wildcard tests/fuzz/fuzz_*.c))
FUZZ_RUNS    := $(patsubst tests/fuzz/fuzz_%.c,fuzz-%,$(wildcard tests/fuzz/fuzz_*.c))
UNIT_TESTS   := $(patsubst tests/unit/%.c,$(BUILD)/tests/%,$(wildcard tests/unit/test_*.c))

ifdef V
msg =
Q   =
else
msg = @printf '  %-8s %s\n' $(1) $(2);
Q   = @
endif

.DELETE_ON_ERROR:
.SECONDARY:
.PHONY: all programs run report check check-slow check-installed check-built check-san check-stats check-kernels check-load \
        check-full coverage counted counted-units counted-programs counted-analysis lab lab-report bench clean format install install-libraries uninstall image help \
        vmlinux docs fixtures unit unit-tests test-programs cross analysis check-analysis build-packages \
        analysis-packages check-packages bench-packages check-foreign foreign-programs \
        foreign-packages check-analysis-packages deb deb-packages dist dist-packages archive image-packages fuzz fuzzers fuzz-analysis \
        $(FUZZ_RUNS) soak

all: programs

# The programs are where the README says; those of another build, in the same places under its folder.
AT := $(if $(filter-out build,$(BUILD)),$(BUILD)/)
ifdef AT
PROGRAMS := $(AT)analyze $(AT)loadgen/loadgen $(BUILD)/analysis
$(BUILD)/analysis:
	$(Q)mkdir -p $(@D) && ln -sfn ../analysis $@
$(AT)analyze $(AT)loadgen/loadgen: %: %.bin
	$(Q)cp -f $< $@ # even if it runs
else
PROGRAMS := analyze loadgen/loadgen $(BUILD)/bytecode
analyze loadgen/loadgen: %: $(BUILD)/%.bin
	$(Q)cp -f $< $@ # even if it runs
endif
# Programs that the tests observe; they are not needed for measuring.
TEST_PROGRAMS := $(patsubst %.c,$(BUILD)/%,$(filter-out %.bpf.c,$(wildcard tests/programs/*.c))) \
                 $(BUILD)/tests/programs/packets.bpf.o $(BUILD)/tests/bench/empty
# Programs for the lab's arm64 guests.
PROGRAMS += $(if $(CROSS),$(if $(STATIC),,$(TEST_PROGRAMS)))

programs: $(PROGRAMS)
test-programs: $(TEST_PROGRAMS)

$(BUILD)/loadgen/loadgen.bin: $(BUILD)/loadgen/main.o $(LOADGEN_OBJS)
	$(call msg,LINK,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) $^ $(LOADGEN_LIBS) -o $@

$(BUILD)/analyze.bin: $(BUILD)/user/main.o $(ANALYZE_OBJS) $(LOADGEN_OBJS) \
                      | $(if $(STATIC),$(MICROHTTPD) $(BUILD)/libbpf.a)
	$(call msg,LINK,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) $^ $(ANALYZE_LIBS) -o $@

# user/kernel/types.c replaces this function of libbpf.
$(BUILD)/libbpf.a:
	$(call msg,LIBRARY,$@)
	$(Q)mkdir -p $(@D) && llvm-objcopy --weaken-symbol=btf__load_vmlinux_btf $$($(CC) -print-file-name=libbpf.a) $@

# Builds only what the exporter uses of the library.
$(MICROHTTPD):
	$(call msg,LIBRARY,$@)
	$(Q)source=$$(tests/lab/fetch-package --source libmicrohttpd) && rm -rf $(BUILD)/libmicrohttpd && \
		mkdir -p $(BUILD)/libmicrohttpd && cd $(BUILD)/libmicrohttpd && \
		{ $$source/configure --quiet --host=$(or $(CROSS:arm64=aarch64),$(shell uname -m))-linux-gnu \
			CC='$(CC)' CFLAGS='-O2 -g -fPIE' LDFLAGS='$(if $(CROSS),-fuse-ld=lld)' AR=llvm-ar RANLIB=llvm-ranlib \
			--disable-shared --disable-https --disable-bauth --disable-dauth \
			--disable-httpupgrade --disable-postprocessor && \
		$(MAKE) -C src/microhttpd libmicrohttpd.la; } >log 2>&1 || { tail -n 40 log >&2; exit 1; }

$(BUILD)/user/%.o: user/%.c $(BUILD)/sendpath.skel.h $(BUILD)/symbols.skel.h
	$(call msg,CC,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(CFLAGS) $(CPPFLAGS) -MMD -MP -c $< -o $@

$(LOADGEN_OBJS) $(BUILD)/loadgen/main.o: $(BUILD)/%.o: %.c | $(BUILD)/tables.h
	$(call msg,CC,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(CFLAGS) $(CPPFLAGS) -MMD -MP -c $< -o $@

$(BUILD)/tables.h: $(wildcard analysis/tables/*.py)
	$(call msg,TABLES,$@)
	$(Q)mkdir -p $(@D) && $(PYTHON) -B -S -m analysis.tables.generate > $@

# Writes what docs/ has of the tables, and of the compiled programs.
docs: $(BUILD)/bpf/sendpath.bpf.o
	$(Q)$(PYTHON) -B -S -m analysis.tables.documents docs
	$(Q)$(PYTHON) -I -B -S docs/maps.py $< docs/zerocopy.md

# Records the kept raw lines again, here and in guests, with what derive makes of them: review the difference.
fixtures: check-packages
	$(Q)$(PARALLEL) all test-programs
	$(Q)$(AS_ROOT) $(PYTHON) tests/fixtures/record.py

# Compiles the front's Python files, which Python would otherwise compile at each start.
FRONT := $(addprefix analysis/,__init__.py advise compare derive findings front tables text faults.py files.py notes.py words.py)
$(BUILD)/bytecode: $(wildcard $(addsuffix /*.py,$(FRONT)) $(FRONT))
	$(Q)mkdir -p $(@D) && $(PYTHON) -m compileall -q $(FRONT) && touch $@

$(BUILD)/%.bpf.o: %.bpf.c $(BUILD)/tables.h
	$(call msg,BPF,$@)
	$(Q)mkdir -p $(@D) && $(CLANG) $(BPF_CFLAGS) -MMD -MP -c $< -o $@

$(BUILD)/%.skel.h: $(BUILD)/bpf/%.bpf.o
	$(call msg,SKELETON,$@)
	$(Q)$(BPFTOOL) gen skeleton $< name $* > $@

$(BUILD)/tests/bench/empty.skel.h: $(BUILD)/tests/bench/empty.bpf.o
	$(call msg,SKELETON,$@)
	$(Q)$(BPFTOOL) gen skeleton $< name empty > $@

$(BUILD)/tests/bench/empty: tests/bench/empty.c $(BUILD)/tests/bench/empty.skel.h
	$(call msg,CC,$@)
	$(Q)$(CC) $(CFLAGS) $(CPPFLAGS) $(LDFLAGS) $< -lbpf -lelf -lz -o $@

# Unit tests: one program per file, linked against everything except the mains.
$(BUILD)/tests/%: tests/unit/%.c $(ANALYZE_OBJS) $(LOADGEN_OBJS)
	$(call msg,TEST,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(CFLAGS) $(CPPFLAGS) -MMD -MP $< \
		$(filter %.o,$^) $(ANALYZE_LIBS) -lcmocka -o $@

# Fuzzers: one program per file, with a corpus in tests/fuzz/corpus/NAME. Input that reaches new code is kept
# beside the program, and so is input that fails.
$(BUILD)/fuzz/%: tests/fuzz/%.c $(ANALYZE_OBJS) $(LOADGEN_OBJS)
	$(call msg,FUZZER,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(CFLAGS) -fsanitize=fuzzer $(CPPFLAGS) -MMD -MP $< \
		$(filter %.o,$^) $(ANALYZE_LIBS) -o $@

fuzzers: $(FUZZERS)

# Runs all at once: they share the CPUs for FUZZ_S seconds. The input is random, unless SEED is given.
FUZZ_S ?= 60
fuzz: check-packages
	$(Q)$(PARALLEL) FUZZ=1 fuzzers $(VENV)/installed-for-tests
	$(Q)$(MAKE) --no-print-directory -k -j $(words $(FUZZ_RUNS) 1) $(FUZZ_RUNS) fuzz-analysis

$(FUZZ_RUNS): fuzz-%:
	$(Q)mkdir -p build-fuzz/fuzz/corpus/$*
	$(Q)cd build-fuzz/fuzz && ./fuzz_$* -max_total_time=$(FUZZ_S) $(if $(SEED),-seed=$(SEED)) -verbosity=0 -close_fd_mask=1 \
		-print_final_stats=1 -artifact_prefix=$*- corpus/$* ../../tests/fuzz/corpus/$* >$*.log 2>&1 || \
		{ tail -n 40 $*.log >&2; echo "make: fuzz_$* fails on the newest build-fuzz/fuzz/$*-*" >&2; exit 1; }
	$(Q)echo "  FUZZ     $*: $$(awk '/number_of_executed_units/ {print $$2}' build-fuzz/fuzz/$*.log) executions in $(FUZZ_S) s"

# Runs hypothesis on what reads records, plans and folders in Python: repeatedly, with another seed each time.
fuzz-analysis:
	$(Q)mkdir -p build-fuzz/fuzz
	$(Q)end=$$(($$(date +%s) + $(FUZZ_S))) rounds=0; while [ $$(date +%s) -lt $$end ]; do \
		HYPOTHESIS_STORAGE_DIRECTORY=build-fuzz/fuzz/hypothesis $(VENV_PYTHON) -m pytest -q \
			-p no:cacheprovider --hypothesis-profile=fuzz $(if $(SEED),--hypothesis-seed=$$(($(SEED) + rounds))) -k any_ tests/analysis/test_damage.py tests/unit/test_front.py tests/unit/test_text.py \
			>build-fuzz/fuzz/analysis.log 2>&1 || { tail -n 40 build-fuzz/fuzz/analysis.log >&2; exit 1; }; \
		rounds=$$((rounds + 1)); \
	done; echo "  FUZZ     analysis: $$rounds rounds in $(FUZZ_S) s"

# These include the kernel programs, compiled for this machine: the test acts as their kernel.
NATIVE_TESTS := $(addprefix $(BUILD)/tests/,test_completions test_refusals test_stages test_waits)
$(NATIVE_TESTS): private CPPFLAGS := -Itests/unit/native -Ivmlinux/$(ARCH) -Wno-attributes \
	-Wno-unused-parameter -Wno-unused-function -Wno-unknown-pragmas -Wno-missing-prototypes -Wno-strict-prototypes \
	$(CPPFLAGS)

# Each is one file beside common.h, and needs only the C library.
$(BUILD)/tests/programs/%: tests/programs/%.c tests/programs/common.h
	$(call msg,TEST,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(CFLAGS) -D_GNU_SOURCE $(LDFLAGS) $< -o $@

# Built with Debian's compilers and crates, so that nothing else is downloaded. liburing's example exists unless
# the packages' documentation is left out.
GO      ?= /usr/bin/go
CARGO   ?= /usr/bin/cargo
RUSTC   ?= /usr/bin/rustc
CRATES  := --config 'source.crates-io.replace-with="debian"' \
           --config 'source.debian.directory="/usr/share/cargo/registry"'
FOREIGN := $(BUILD)/foreign
URING_EXAMPLE := $(wildcard /usr/share/doc/liburing-dev/examples/send-zerocopy.c)
foreign-programs: $(FOREIGN)/errqueue.so $(FOREIGN)/go $(FOREIGN)/tokio $(if $(URING_EXAMPLE),$(FOREIGN)/uring)

$(FOREIGN)/errqueue.so: tests/foreign/errqueue.c
	$(call msg,CC,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(CFLAGS) -Wno-missing-prototypes -D_GNU_SOURCE -shared -fPIC $< -o $@ -ldl

$(FOREIGN)/go: tests/foreign/send.go
	$(call msg,GO,$@)
	$(Q)mkdir -p $(@D) && GOCACHE=$(abspath $(@D))/go-cache CGO_ENABLED=0 $(GO) build -o $@ $<

$(FOREIGN)/tokio: tests/foreign/send.rs tests/foreign/Cargo.toml
	$(call msg,CARGO,$@)
	$(Q)mkdir -p $(@D)/cargo && cp $^ $(@D)/cargo
	$(Q)cd $(@D)/cargo && CARGO_HOME=$$PWD/home RUSTC=$(RUSTC) \
		$(CARGO) $(CRATES) build --quiet --offline --target-dir target
	$(Q)cp $(@D)/cargo/target/debug/send $@

$(FOREIGN)/uring: $(URING_EXAMPLE)
	$(call msg,CC,$@)
	$(Q)mkdir -p $(@D) && $(CC) -O2 -o $@ $< -luring

unit-tests: $(UNIT_TESTS)

unit: unit-tests
	$(Q)for t in $(UNIT_TESTS); do $$t || exit 1; done

# Reads this machine's kernel types, or BTF=FILE of another architecture: ARCH=arm64.
BTF ?= /sys/kernel/btf/vmlinux
vmlinux:
	$(call msg,VMLINUX,vmlinux/$(ARCH)/vmlinux.h)
	$(Q)vmlinux/generate $(BTF) vmlinux/types.txt vmlinux/$(ARCH)/types.txt > $(BUILD)/vmlinux.h
	$(Q)mv $(BUILD)/vmlinux.h vmlinux/$(ARCH)/vmlinux.h

# Installs missing packages of a list, and names them.
define install_packages
	@missing=; for p in $(1); do \
		[ "$$(dpkg-query -W -f='$${db:Status-Status}' $$p 2>/dev/null)" = installed ] || \
			missing="$$missing $$p"; \
	done; \
	[ -z "$$missing" ] && exit 0; \
	command -v apt-get >/dev/null || { echo "make: without apt-get, install by hand:$$missing" >&2; exit 1; }; \
	printf '  %-8s %s\n' INSTALL "$$missing"; \
	$(SUDO) apt-get -qq update && \
	DEBIAN_FRONTEND=noninteractive $(SUDO) apt-get -qq -y --no-install-recommends \
		-o Dpkg::Use-Pty=0 install $$missing >/dev/null
endef

build-packages:
	$(call install_packages,$(BUILD_PACKAGES))
analysis-packages:
	$(call install_packages,$(ANALYSIS_PACKAGES))
check-packages:
	$(call install_packages,$(BUILD_PACKAGES) $(CHECK_PACKAGES))
check-analysis-packages:
	$(call install_packages,$(CHECK_ANALYSIS_PACKAGES))
bench-packages:
	$(call install_packages,$(BUILD_PACKAGES) $(BENCH_PACKAGES))
dist-packages:
	$(call install_packages,$(BUILD_PACKAGES) $(DIST_PACKAGES))
image-packages:
	$(call install_packages,$(BUILD_PACKAGES) $(IMAGE_PACKAGES))
deb-packages:
	$(call install_packages,$(BUILD_PACKAGES) $(DEB_PACKAGES))
foreign-packages:
	$(call install_packages,$(BUILD_PACKAGES) $(FOREIGN_PACKAGES))

run: build-packages
	$(Q)$(PARALLEL) all
	$(SUDO) ./analyze --variant all --total 3

# Compares three ways of sending, at four sizes and four numbers of threads, ten times each, and writes the answers
# to REPORT. After an interrupt, the same command continues; REPORT=DIR makes another.
REPORT         ?= $(BUILD)/report
REPORT_OPTIONS ?= --duration 0.5
report: build-packages analysis
	$(Q)$(PARALLEL) all
	$(SUDO) ./analyze sweep --grid copies $(REPORT_OPTIONS) --out $(REPORT)
	./analyze report $(REPORT)

# Installs the libraries of analysis/ in a Python environment of their own, where ./analyze finds it. Measuring
# needs none of them.
VENV        := analysis/.venv
VENV_PYTHON := $(VENV)/bin/python3
PIP_INSTALL := $(VENV_PYTHON) -m pip --disable-pip-version-check install --quiet \
               --root-user-action ignore --only-binary :all: --require-hashes --no-deps
$(VENV)/installed: analysis/requirements.txt
	$(call msg,VENV,$(VENV))
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "make: analysis/ needs Python 3.11: PYTHON=FILE names one" >&2; exit 1; }
	$(Q)$(PYTHON) -m venv --clear $(VENV)
	$(Q)$(PIP_INSTALL) -r $<
	$(Q)$(VENV_PYTHON) -B -m analysis.figures.save
	$(Q)touch $@

$(VENV)/installed-for-tests: tests/analysis/requirements.txt $(VENV)/installed
	$(call msg,VENV,$<)
	$(Q)$(PIP_INSTALL) -r $<
	$(Q)touch $@

analysis: analysis-packages
	$(Q)$(MAKE) --no-print-directory $(VENV)/installed

# The system's Python runs the tests; PYTEST_OPTIONS=--durations=25 names the slowest. FULL=1 runs more: every
# mechanism, all storms, every row of the lab's matrix. Root's tests leave no files of root in the clone.
TEST_ENV    = CI=$(CI) $(if $(FULL),SENDPATH_FULL=1) PYTHONDONTWRITEBYTECODE=1 \
              HYPOTHESIS_STORAGE_DIRECTORY=/run/sendpath-hypothesis
TEST_PYTEST = $(PYTHON) -m pytest $(PYTEST_OPTIONS)

# The environment's Python runs these tests, because it has the libraries of analysis/. They run in one process:
# importing these and drawing a report take longer than most tests.
check-analysis: check-analysis-packages
	$(Q)$(MAKE) --no-print-directory $(VENV)/installed-for-tests
	$(Q)$(VENV_PYTHON) -m pytest -n0 $(PYTEST_OPTIONS) -m 'not slow and not simulation' tests/analysis

# Tests how often statistical claims hold, simulates completions over 30,000 seeds, and runs tests with a million
# rows or a browser.
check-stats: check-packages
	$(Q)$(PARALLEL) unit-tests $(VENV)/installed-for-tests
	$(Q)$(VENV_PYTHON) -m pytest -n auto --dist loadfile $(PYTEST_OPTIONS) -m 'slow or simulation' \
		tests/analysis tests/unit

# Runs the tests for each change. Tests that judge time, noise or the whole machine run first, with nothing beside
# them. Then four workers share two CPUs: one waits for a guest of the lab, one for the tests of analysis/. A
# file's tests stay in one worker, because its fixtures belong to a process.
CHECKED     := tests/lab/test_kernels.py tests/lab/test_beside.py tests/lab/test_suites.py tests/lab/test_support.py \
               tests/lab/test_lab.py::test_scripts_pass_shellcheck tests/unit tests/integration
LEFT_TO_CI  := not slow and not installed and not simulation and not sanitized
TEST_BESIDE := -n 4 --dist loadfile
check: check-packages
	$(Q)$(PARALLEL) all unit-tests test-programs $(VENV)/installed-for-tests
	$(Q)status=0; \
	$(AS_ROOT) $(TEST_ENV) $(TEST_PYTEST) -m 'serial and $(LEFT_TO_CI)' $(CHECKED) || status=1; \
	$(AS_ROOT) $(TEST_ENV) $(TEST_PYTEST) -m 'not serial and $(LEFT_TO_CI)' $(TEST_BESIDE) $(CHECKED) || status=1; \
	exit $$status

# Runs tests that take long and hardly ever fail alone, and the benchmarks. A worker has a network namespace.
check-slow: check-built
	$(Q)$(AS_ROOT) $(TEST_ENV) $(TEST_PYTEST) -m 'slow and not installed' -n 1 tests/integration tests/bench tests/soak

# Builds and installs what users install, and tests it. These tests mostly wait for apt: make -j2 check-slow
# check-installed takes hardly longer than the longer one.
check-installed: check-built
	$(Q)$(MAKE) --no-print-directory dist image
	$(Q)$(AS_ROOT) $(TEST_ENV) $(TEST_PYTEST) -m installed tests/integration
check-built: check-packages
	$(Q)$(PARALLEL) all test-programs $(VENV)/installed

# Runs the C unit tests, and tests of the programs, with the sanitizers.
check-san: check-packages
	$(Q)$(PARALLEL) all test-programs
	$(Q)$(PARALLEL) SAN=1 all unit-tests
	$(Q)$(AS_ROOT) $(TEST_ENV) SENDPATH_SANITIZED=1 $(TEST_PYTEST) -m sanitized -n 2 tests/unit/test_units.py \
		tests/integration/test_sanitized.py

# Loads every program, as two clangs build it, into the kernels that KERNEL names; by default into all of the lab.
NEWEST := CLANG=clang-$(NEWEST_CLANG)
LOAD_KERNELS = $(or $(KERNEL),$(shell sed -n 's/^\([^#\t]*\)\t.*/\1/p' tests/lab/kernels.tsv))
check-load: check-packages
	$(Q)$(PARALLEL) all
	$(Q)$(PARALLEL) $(NEWEST) BUILD=build-clang$(NEWEST_CLANG) all
	$(if $(findstring arm64,$(LOAD_KERNELS)),$(Q)$(MAKE) --no-print-directory cross && \
		$(MAKE) --no-print-directory $(NEWEST) ARM_BUILD=build-arm64-clang$(NEWEST_CLANG) cross)
	$(Q)$(AS_ROOT) $(TEST_ENV) SENDPATH_LOAD='$(LOAD_KERNELS)' SENDPATH_NEWEST_CLANG=clang-$(NEWEST_CLANG) \
		$(TEST_PYTEST) tests/lab/test_load.py

# Runs the lab's own tests, and every row of its matrix except those of check.
check-kernels: check-packages analysis
	$(Q)$(PARALLEL) all test-programs
	$(Q)$(MAKE) --no-print-directory cross dist
	$(Q)$(AS_ROOT) $(TEST_ENV) SENDPATH_KERNELS=1 $(TEST_PYTEST) tests/lab \
		--ignore tests/lab/test_beside.py --ignore tests/lab/test_load.py

# Reports which lines of C and Python are reached by the tests of check that need no guest, or by TESTS. Tests run
# one at a time: the counters slow programs down. All parts run, even if a test fails.
TESTS ?= $(filter-out tests/lab/%,$(CHECKED)) tests/analysis
coverage: check-packages
	$(Q)$(PARALLEL) all test-programs $(VENV)/installed-for-tests
	$(Q)$(PARALLEL) COVERAGE=1 all unit-tests
	$(Q)$(MAKE) --no-print-directory COVERAGE=1 counted

# All users may write a program's counters, which exist once it has run.
counted:
	$(Q)$(AS_ROOT) rm -rf $(LINES) && mkdir -m 777 $(LINES)
	$(Q)umask 0; for program in $(BUILD)/analyze $(BUILD)/loadgen/loadgen; do $$program --version >/dev/null; done
	$(Q)status=0; $(AS_ROOT) tests/coverage/run $(LINES) $(MAKE) --no-print-directory -k COVERAGE=1 \
		$(if $(filter tests/unit,$(TESTS)),counted-units) \
		$(if $(filter-out tests/analysis%,$(TESTS)),counted-programs) \
		$(if $(filter tests/analysis%,$(TESTS)),counted-analysis) || status=$$?; \
	$(PYTHON) tests/coverage/report.py $(BUILD) && exit $$status

counted-units: unit
counted-programs:
	$(Q)$(TEST_ENV) SENDPATH_BIN=$(CURDIR)/$(BUILD) $(TEST_PYTEST) -m '$(LEFT_TO_CI) and not uncounted' \
		--ignore=tests/unit/test_units.py $(filter-out tests/analysis%,$(TESTS))
counted-analysis:
	$(Q)$(TEST_ENV) $(VENV_PYTHON) -m pytest $(PYTEST_OPTIONS) -m '$(LEFT_TO_CI)' $(filter tests/analysis%,$(TESTS))

check-full:
	$(Q)for target in check check-load check-stats check-slow check-installed check-san check-kernels check-foreign; do \
		$(MAKE) --no-print-directory FULL=1 $$target || exit 1; \
	done

# Compares counts of third-party programs with other instruments, and writes a table.
check-foreign: foreign-packages
	$(Q)$(PARALLEL) all test-programs foreign-programs
	$(Q)mkdir -p $(FOREIGN) && rm -f $(FOREIGN)/table.md
	$(Q)$(AS_ROOT) SENDPATH_FOREIGN=$(abspath $(FOREIGN))/table.md \
		$(PYTHON) -m pytest --confcutdir=tests/foreign tests/foreign

# Runs a kernel of the lab, with a shell on the terminal or a command.
lab: check-packages
	$(Q)$(PARALLEL) all test-programs
	$(if $(findstring arm64,$(KERNEL)),$(Q)$(MAKE) --no-print-directory cross)
	$(Q)tests/lab/lab $(if $(KERNEL),--kernel $(KERNEL)) $(if $(TOPOLOGY),--topology $(TOPOLOGY)) \
		$(if $(SHARE),--share $(SHARE)) $(if $(CMD),-- bash -c '$(subst ','\'',$(CMD))')

lab-report: check-packages
	$(Q)$(PARALLEL) all
	$(Q)$(MAKE) --no-print-directory cross
	$(Q)$(PYTHON) tests/lab/support.py

# Builds for arm64. fetch-root exits with 77 and a reason if that cannot be done here: the lab does the same then,
# and the tests in guests of arm64 are skipped.
define for_arm64
	$(Q)tests/lab/fetch-root arm64 >/dev/null; case $$? in \
	0) $(PARALLEL) CROSS=arm64 $(1) ;; \
	77) echo "make: nothing is built for arm64" >&2 ;; \
	*) exit 1 ;; \
	esac
endef

# Builds for the lab's guests.
ARM_BUILD := build-arm64
cross:
	$(call for_arm64,BUILD=$(ARM_BUILD) all)

bench: bench-packages
	$(Q)$(PARALLEL) all test-programs $(VENV)/installed
	$(Q)$(MAKE) --no-print-directory cross
	$(Q)$(AS_ROOT) $(PYTHON) tests/bench/bench.py

# The soak's mounts are its own, and disappear with it.
SOAK_S ?= 600
soak: check-packages
	$(Q)$(PARALLEL) all test-programs
	$(Q)$(AS_ROOT) PYTHONDONTWRITEBYTECODE=1 unshare --mount \
		$(PYTHON) tests/soak/soak.py --seconds $(SOAK_S) $(if $(SEED),--seed $(SEED))

SOURCES := $(wildcard $(addsuffix /*.[ch],bpf common user user/* loadgen loadgen/* tests/unit tests/unit/* tests/fuzz \
                                          tests/unit/native/bpf tests/bench tests/programs))
format:
	$(Q)clang-format -i $(SOURCES)

# The parts keep their places relative to each other; see user/system/files.h. A package (DESTDIR) installs the
# libraries of analysis/ separately.
SHARE   := $(DESTDIR)$(PREFIX)/share
LIBEXEC := $(DESTDIR)$(PREFIX)/libexec/sendpath
INSTALLED_DOCS := run-record.md run-record.schema.json causes.md findings.md cases.md table.md statistics.md memory.md \
                  report.md reading.md mechanisms.md support.md costs.md zerocopy.md \
                  advise.md fleet.md foreign.md path.md robustness.md stages.md zerocopy-in-practice.md
MANUAL := $(notdir $(wildcard docs/man/*.1))
DEPLOYED = $(shell find deploy/prometheus deploy/grafana deploy/kubernetes deploy/slurm deploy/pairs -type f)
SERVICE := sendpath-exporter.service
UNITS   ?= $(PREFIX)/lib/systemd/system
PYTHON_FILES = $(shell find analysis -name .venv -prune -o -name __pycache__ -prune -o -type f -print)
# All users may read installed files, whatever the caller's umask is.
install install-libraries archive: private Q := $(Q)umask 022;
install: all $(if $(DESTDIR),,analysis-packages)
	$(call msg,INSTALL,$(DESTDIR)$(PREFIX))
	$(Q)install -D -m 755 $(AT)analyze $(DESTDIR)$(PREFIX)/bin/sendpath
	$(Q)install -D -m 755 $(AT)loadgen/loadgen $(LIBEXEC)/loadgen/loadgen
	$(Q)ln -sf ../libexec/sendpath/loadgen/loadgen $(DESTDIR)$(PREFIX)/bin/sendpath-loadgen
	$(Q)for f in $(PYTHON_FILES); do install -D -m 644 $$f $(LIBEXEC)/$$f || exit 1; done
	$(if $(DESTDIR),,$(Q)cd $(LIBEXEC) && $(PYTHON) -m compileall -q $(FRONT))
	$(Q)mkdir -p $(SHARE)/man/man1 && for page in $(MANUAL); do \
		sed 's|/usr/local|$(PREFIX)|' docs/man/$$page >$(SHARE)/man/man1/$$page || exit 1; done
	$(Q)chmod 644 $(addprefix $(SHARE)/man/man1/,$(MANUAL))
	$(Q)install -D -m 644 docs/sendpath.bash $(SHARE)/bash-completion/completions/sendpath
	$(Q)install -D -m 644 docs/_sendpath $(SHARE)/zsh/site-functions/_sendpath
	$(Q)install -D -m 644 NEWS $(SHARE)/doc/sendpath/NEWS
	$(Q)for f in $(INSTALLED_DOCS); do \
		install -D -m 644 docs/$$f $(SHARE)/doc/sendpath/$$f || exit 1; done
	$(Q)for f in $(DEPLOYED); do \
		install -D -m $$([ -x $$f ] && echo 755 || echo 644) $$f $(SHARE)/doc/sendpath/$$f || exit 1; done
	$(Q)mkdir -p $(DESTDIR)$(UNITS) && sed 's|/usr/local/bin|$(PREFIX)/bin|' deploy/systemd/$(SERVICE) \
		>$(DESTDIR)$(UNITS)/$(SERVICE) && chmod 644 $(DESTDIR)$(UNITS)/$(SERVICE)
ifeq ($(DESTDIR),)
	$(Q)$(MAKE) --no-print-directory SHELL=/bin/sh .SHELLFLAGS=-c VENV=$(LIBEXEC)/analysis/.venv \
		$(LIBEXEC)/analysis/.venv/installed
endif

# Installs the libraries of analysis/ as files of a package. A real venv would contain paths of this machine;
# Python needs no more of one than this.
LIBRARIES := $(LIBEXEC)/analysis/.venv
install-libraries: $(VENV)/installed
	$(call msg,INSTALL,$(LIBRARIES))
	$(Q)site=$(LIBRARIES)/lib/$$($(PYTHON) -c 'import sys; print("python%d.%d" % sys.version_info[:2])')/site-packages && \
		$(PIP_INSTALL) --no-compile --target $$site -r analysis/requirements.txt && rm -rf $$site/bin
	$(Q)mkdir -p $(LIBRARIES)/bin && ln -sf $(PYTHON) $(LIBRARIES)/bin/python3
	$(Q)echo 'home = $(dir $(PYTHON))' >$(LIBRARIES)/pyvenv.cfg
	$(Q)$(LIBRARIES)/bin/python3 -B -m analysis.figures.save

uninstall:
	$(Q)rm -rf $(LIBEXEC) $(SHARE)/doc/sendpath
	$(Q)rm -f $(DESTDIR)$(PREFIX)/bin/sendpath $(DESTDIR)$(PREFIX)/bin/sendpath-loadgen \
		$(addprefix $(SHARE)/man/man1/,$(MANUAL)) $(DESTDIR)$(UNITS)/$(SERVICE) \
		$(SHARE)/bash-completion/completions/sendpath $(SHARE)/zsh/site-functions/_sendpath

# Packs what install installs, with static programs: an archive for each architecture, in DIST.
DIST    := build/dist
ARCHIVE  = sendpath-$(VERSION)-$(or $(CROSS:arm64=aarch64),$(shell uname -m))
# Packages whose code is in the programs; they have the licences.
STATIC_LIBRARIES := libc6-dev $(filter lib%-dev zlib1g-dev nettle-dev,$(filter-out libc6-dev,$(BUILD_PACKAGES)))
dist: dist-packages
	$(Q)$(PARALLEL) STATIC=1 archive
	$(call for_arm64,STATIC=1 archive)

archive:
	$(Q)rm -rf $(BUILD)/archive && $(MAKE) --no-print-directory install DESTDIR=$(CURDIR)/$(BUILD)/archive
	$(call msg,ARCHIVE,$(DIST)/$(ARCHIVE).tar.gz)
	$(Q)cd $(BUILD)/archive$(PREFIX) && llvm-strip bin/sendpath libexec/sendpath/loadgen/loadgen
	$(Q)install -m 644 LICENSE $(BUILD)/archive$(PREFIX)/share/doc/sendpath
	$(Q)for p in $(STATIC_LIBRARIES); do \
		dpkg-query -W -f='\n== $${source:Package} $${source:Version}, of Debian\n\n' $$p && \
		cat /usr/share/doc/$$p/copyright || exit 1; \
	done >$(BUILD)/archive$(PREFIX)/share/doc/sendpath/LIBRARIES
	$(Q)mkdir -p $(DIST) && tar -C $(BUILD)/archive$(PREFIX) --owner=0 --group=0 --sort=name \
		--transform 's|^\.|$(ARCHIVE)|S' -czf $(DIST)/$(ARCHIVE).tar.gz .

# Builds a container image of the exporter, in DIST: docker load and podman load read it.
IMAGE   := build-static/image
BUILDAH := buildah --log-level error --storage-driver vfs --root $(CURDIR)/$(IMAGE)/root --runroot $(CURDIR)/$(IMAGE)/run
image: image-packages
	$(Q)$(PARALLEL) STATIC=1 all
	$(call msg,IMAGE,$(DIST)/$(ARCHIVE)-image.tar)
	$(Q)rm -rf $(IMAGE) $(DIST)/$(ARCHIVE)-image.tar && mkdir -p $(IMAGE)/context $(DIST)
	$(Q)llvm-strip -o $(IMAGE)/context/sendpath build-static/analyze
	$(Q)$(BUILDAH) build --isolation chroot --quiet -t sendpath:$(VERSION) -f deploy/Containerfile \
		$(IMAGE)/context >/dev/null
	$(Q)$(BUILDAH) push --quiet sendpath:$(VERSION) docker-archive:$(DIST)/$(ARCHIVE)-image.tar:sendpath:$(VERSION)
	$(Q)rm -rf $(IMAGE)

# Builds a Debian package of what install installs, in DEB. debhelper works in a folder of its own.
DEB   := $(BUILD)/deb
comma := ,
space := $(subst ,, )
deb: deb-packages analysis-packages
	$(Q)$(PARALLEL) all
	$(call msg,DEB,$(DEB))
	$(Q)rm -rf $(DEB) && mkdir -p $(DEB)/sendpath && cp -r deploy/debian $(DEB)/sendpath
	$(Q)sed -i 's/@BUILD@/$(subst $(space),$(comma) ,$(strip $(BUILD_PACKAGES)))/' $(DEB)/sendpath/debian/control
	$(Q){ sed '/^== GPL/q' LICENSE; echo; echo 'See /usr/share/common-licenses/GPL-2.'; } \
		>$(DEB)/sendpath/debian/copyright
	$(Q)cd $(DEB)/sendpath && env -u MAKEFLAGS -u MAKELEVEL -u DESTDIR TOP=$(CURDIR) \
		DEB_BUILD_OPTIONS=noautodbgsym dpkg-buildpackage -b -us -uc >../log 2>&1 || { tail -n 40 ../log >&2; exit 1; }
	$(Q)ls $(DEB)/*.deb

# Refuses spaces, which end a path for make and the shell: rm would remove the folder named before the space.
without_spaces = $(foreach name,$(1),$(if $(word 2,x$($(name))x),$(error $(name)=$($(name)): give a path without spaces)))
ifneq ($(filter install install-libraries uninstall,$(MAKECMDGOALS)),)
$(call without_spaces,DESTDIR PREFIX UNITS)
endif
ifneq ($(filter archive deb dist image,$(MAKECMDGOALS)),)
$(call without_spaces,CURDIR PREFIX DEB DIST)
endif

help:
	@echo 'make             build ./analyze and loadgen/loadgen'
	@echo 'make run         install what is missing, build, and compare three ways of sending'
	@echo 'make report      three ways of sending over sizes and threads, and a report with figures:'
	@echo '                 build/report/report (about 10 minutes)'
	@echo 'make check       install what is missing, build, and run the tests that a change needs'
	@echo 'make check-load  load every BPF program in every kernel of the lab, or in KERNEL=6.1'
	@echo 'make check-kernels  tests in every kernel of the lab'
	@echo 'make check-stats    simulations of the statistics'
	@echo 'make check-san      tests with the sanitizers'
	@echo 'make coverage    run the tests of make check that need no guest, and print which lines they reach'
	@echo "                 TESTS='tests/unit' runs fewer"
	@echo 'make fuzz        fuzz the readers of files, the wire protocol and options: FUZZ_S=60'
	@echo 'make soak        long-running programs under churn: SOAK_S=600, SEED=N'
	@echo 'make check-slow  tests that take long: counts of a million sends, stalls, the benchmarks'
	@echo 'make check-installed  the archive, the image and the packages: what users install'
	@echo 'make check-full  all of these and check-foreign, with every mechanism in every kernel'
	@echo 'make analysis    install the libraries of table, compare and report, in analysis/.venv'
	@echo 'make check-analysis  run only the tests of these'
	@echo 'make check-foreign  counts of third-party programs, beside other instruments'
	@echo '                 (docs/foreign.md); Debian starts the services that this installs'
	@echo 'make lab         a shell in a kernel of the lab, or a command: KERNEL=5.10 TOPOLOGY=veth'
	@echo "                 CMD='./analyze --variant all'; files that CMD writes are kept only in SHARE=DIR;"
	@echo '                 tests/lab/lab --list shows the kernels and topologies'
	@echo 'make fixtures    record the raw lines of tests again'
	@echo 'make docs        write the parts of docs/ that come from analysis/tables'
	@echo 'make lab-report  write docs/support.md: what can be measured in each kernel'
	@echo 'make cross       build for the arm64 guests of tests/lab, in build-arm64/'
	@echo 'make bench       measure the load generator and the cost of measuring, beside other tools'
	@echo 'make install     install as sendpath: PREFIX=/usr/local; with DESTDIR= (a package)'
	@echo '                 without the libraries of analysis/'
	@echo 'make deb         build a Debian package, in build/deb/'
	@echo 'make image       build a container image of the exporter, in build/dist/'
	@echo 'make dist        build archives with static programs for x86-64 and arm64, in build/dist/'
	@echo 'make uninstall   remove what install installed'
	@echo 'make format      format the C sources (clang-format)'
	@echo 'make vmlinux     write vmlinux/ from BTF=FILE for ARCH=x86 or arm64 (default: this kernel)'
	@echo 'make clean       remove what was built'
	@echo 'V=1 shows whole commands; SAN=1 builds with sanitizers, in build-san/;'
	@echo 'CROSS=arm64 builds for arm64 (clang, lld), in build-arm64/'

clean:
	$(Q)rm -rf build build-* analyze loadgen/loadgen $(VENV) analysis/__pycache__ analysis/*/__pycache__

-include $(wildcard $(BUILD)/*/*.d $(BUILD)/*/*/*.d)
