# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# make help lists the targets. V=1 shows whole commands; SAN=1 builds userspace
# with the address and undefined-behaviour sanitizers into a folder of its own.

VERSION  := 0.1.0
CC       ?= gcc
CLANG    ?= clang
BPFTOOL  ?= bpftool
PYTHON   ?= /usr/bin/python3
PREFIX   ?= /usr/local
DESTDIR  ?=

ARCH := $(shell uname -m | sed -e 's/x86_64/x86/' -e 's/aarch64/arm64/')
SUDO := $(if $(filter 0,$(shell id -u)),,sudo)

BUILD   := build$(if $(SAN),-san)
CFLAGS  ?= -O2 -g
CFLAGS  += -std=gnu11 -Wall -Wextra -Werror -Wmissing-prototypes -Wstrict-prototypes
CPPFLAGS += -D_GNU_SOURCE -DSENDPATH_VERSION='"$(VERSION)"' -I. -I$(BUILD)
ifdef SAN
CFLAGS  += -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
endif
BPF_CFLAGS := -O2 -g -Wall -Wextra -Werror -target bpf -mcpu=v3 -Wno-unused-parameter -D__TARGET_ARCH_$(ARCH) \
              -Ivmlinux/$(ARCH) -I.

BUILD_PACKAGES := gcc libc6-dev clang llvm bpftool libbpf-dev libelf-dev zlib1g-dev \
                  libjson-c-dev libpfm4-dev libcap-dev
CHECK_PACKAGES := libcmocka-dev python3-pytest python3-hypothesis python3-jsonschema

LOADGEN_LIBS := -ljson-c -lpthread
ANALYZE_LIBS := -lbpf -lelf -lz -ljson-c -lpfm -lcap -lpthread

# main.c of each program stays out of what the unit tests link.
LOADGEN_OBJS := $(patsubst %.c,$(BUILD)/%.o,$(filter-out loadgen/main.c,$(wildcard loadgen/*.c)))
ANALYZE_OBJS := $(patsubst %.c,$(BUILD)/%.o,$(filter-out user/main.c,$(wildcard user/*.c)))
# The shared maps first: the linker of libbpf 1.1 forgets the offset of a map that
# it met as an extern before its definition.
BPF_OBJS     := $(patsubst %.c,$(BUILD)/%.o,bpf/state.bpf.c \
                $(filter-out bpf/state.bpf.c,$(wildcard bpf/*.bpf.c)))
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
.PHONY: all run check bench clean format install help vmlinux unit build-packages check-packages

all: analyze loadgen/loadgen

# The programs stand where the README says; a sanitizer build leaves them alone.
ifdef SAN
analyze loadgen/loadgen: %: $(BUILD)/%.bin
else
analyze loadgen/loadgen: %: $(BUILD)/%.bin
	$(Q)cp $< $@
endif

$(BUILD)/loadgen/loadgen.bin: $(BUILD)/loadgen/main.o $(LOADGEN_OBJS)
	$(call msg,LINK,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) $^ $(LOADGEN_LIBS) -o $@

$(BUILD)/analyze.bin: $(BUILD)/user/main.o $(ANALYZE_OBJS) $(LOADGEN_OBJS)
	$(call msg,LINK,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) $^ $(ANALYZE_LIBS) -o $@

$(BUILD)/user/%.o: user/%.c $(BUILD)/sendpath.skel.h
	$(call msg,CC,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(CFLAGS) $(CPPFLAGS) -MMD -MP -c $< -o $@

$(BUILD)/loadgen/%.o: loadgen/%.c
	$(call msg,CC,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(CFLAGS) $(CPPFLAGS) -MMD -MP -c $< -o $@

$(BUILD)/bpf/%.bpf.o: bpf/%.bpf.c
	$(call msg,BPF,$@)
	$(Q)mkdir -p $(@D) && $(CLANG) $(BPF_CFLAGS) -MMD -MP -c $< -o $@

$(BUILD)/sendpath.bpf.o: $(BPF_OBJS)
	$(call msg,BPFLINK,$@)
	$(Q)$(BPFTOOL) gen object $@ $^

$(BUILD)/sendpath.skel.h: $(BUILD)/sendpath.bpf.o
	$(call msg,SKELETON,$@)
	$(Q)$(BPFTOOL) gen skeleton $< name sendpath > $@

# Unit tests: one program a file, linked against everything but the mains.
$(BUILD)/tests/%: tests/unit/%.c $(ANALYZE_OBJS) $(LOADGEN_OBJS)
	$(call msg,TEST,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(CFLAGS) $(CPPFLAGS) -MMD -MP $< \
		$(filter %.o,$^) $(ANALYZE_LIBS) -lcmocka -o $@

unit: $(UNIT_TESTS)
	$(Q)for t in $(UNIT_TESTS); do $$t || exit 1; done

# From this machine's kernel, or BTF=FILE for another architecture's: ARCH=arm64.
BTF ?= /sys/kernel/btf/vmlinux
vmlinux:
	$(call msg,VMLINUX,vmlinux/$(ARCH)/vmlinux.h)
	$(Q)vmlinux/generate $(BTF) vmlinux/types.txt vmlinux/$(ARCH)/types.txt > $(BUILD)/vmlinux.h
	$(Q)mv $(BUILD)/vmlinux.h vmlinux/$(ARCH)/vmlinux.h

clean:
	$(Q)rm -rf build build-san analyze loadgen/loadgen

-include $(wildcard $(BUILD)/*/*.d)
