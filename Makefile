# SPDX-License-Identifier: GPL-2.0-only
# pvperf: the top-level targets. `make help` lists them.
#
# Parts add themselves through these files (paths from the top of the tree):
#   libpvperf/Makefile.inc            LIBPVPERF_SRCS, LIBPVPERF_PKGS
#   dom0_daemon/pvperfd/Makefile.inc  PVPERFD_SRCS, PVPERFD_PKGS
#   tests/unit/Makefile.inc           unit tests; tests/unit/core.mk the core's
#   tests/fuzz/Makefile.inc           FUZZ_PROGS and their rules
#   tests/workloads/Makefile.inc, tests/system/Makefile.inc  what the rig's tests use

VERSION := 0.1.0
SOMAJOR := 0

prefix      ?= /usr/local
exec_prefix ?= $(prefix)
bindir      ?= $(exec_prefix)/bin
sbindir     ?= $(exec_prefix)/sbin
libdir      ?= $(exec_prefix)/lib
includedir  ?= $(prefix)/include
mandir      ?= $(prefix)/share/man
unitdir     ?= $(prefix)/lib/systemd/system

CC         ?= gcc
AR         ?= ar
PKG_CONFIG ?= pkg-config
INSTALL    ?= install
B          := build

WARN := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla -Werror
HARDEN := -fstack-protector-strong -fstack-clash-protection -D_FORTIFY_SOURCE=2
HARDEN_LD := -Wl,-z,relro,-z,now -Wl,-z,noexecstack
INCLUDES := -I$(B)/include -Ilibpvperf/include
CFLAGS ?= -O2 -g
BASE_CFLAGS := -std=gnu11 $(WARN) -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 \
	-DPVPERF_VERSION='"$(VERSION)"' $(INCLUDES)
DEPFLAGS = -MMD -MP

# V=1 shows whole commands.
Q := $(if $(filter 1,$(V)),,@)
say = $(if $(Q),@printf '  %-7s %s\n' '$(1)' '$@')

# `all` must be the first target, whatever the included files define.
.DEFAULT_GOAL := all
.DELETE_ON_ERROR:
.SUFFIXES:

LIBPVPERF_SRCS := $(wildcard libpvperf/src/*.c)
LIBPVPERF_PKGS := xencall xenforeignmemory xenevtchn xenstore xentoollog libdw libelf
PVPERFD_SRCS := $(wildcard dom0_daemon/pvperfd/*.c)
PVPERFD_PKGS :=
# The ABI header has one home; the library's users know it by this name.
ABI_H := $(B)/include/pvperf/abi.h

-include libpvperf/Makefile.inc
-include dom0_daemon/pvperfd/Makefile.inc
PVPERF_SRCS := $(wildcard dom0_daemon/pvperf/*.c)

pkg = $(if $(strip $(2)),$(or $(shell $(PKG_CONFIG) $(1) $(2) || echo missing),))
pkg_need = $(if $(filter missing,$(1)),$(error libraries are missing; run 'make deps'),$(1))
pkg_cflags = $(call pkg_need,$(call pkg,--cflags,$(1)))
pkg_libs = $(call pkg_need,$(call pkg,--libs,$(1)))
# Asked for once and only when something is built, so that `make help`,
# `make deps` and `make clean` work before the packages are there.
LIB_CFLAGS = $(eval LIB_CFLAGS := $(call pkg_cflags,$(LIBPVPERF_PKGS) $(PVPERFD_PKGS)))$(LIB_CFLAGS)
LIB_LIBS = $(eval LIB_LIBS := $(call pkg_libs,$(LIBPVPERF_PKGS)))$(LIB_LIBS)
PVPERFD_LIBS = $(eval PVPERFD_LIBS := $(call pkg_libs,$(PVPERFD_PKGS)))$(PVPERFD_LIBS)

objs = $(patsubst %.c,$(B)/obj/%.o,$(1))
LIBPVPERF_OBJS := $(call objs,$(LIBPVPERF_SRCS))
PVPERFD_OBJS := $(call objs,$(PVPERFD_SRCS))
PVPERF_OBJS := $(call objs,$(PVPERF_SRCS))

LIB_A := $(B)/libpvperf.a
LIB_SO := $(B)/libpvperf.so.$(VERSION)

## help: list these targets
.PHONY: help
help:
	@sed -n 's/^## \([a-z-]*\): /  \1\t/p' Makefile | expand -t 16
	@echo
	@echo 'Variables: prefix=$(prefix) DESTDIR= CC=$(CC) CFLAGS="$(CFLAGS)" V=1 FUZZ_SECONDS=$(FUZZ_SECONDS)'

## deps: install what building, the demo and the tests need (Debian 12, as root)
.PHONY: deps
deps:
	tests/rig/deps.sh check

## all: build libpvperf, pvperfd and pvperf into build/
.PHONY: all
all: $(LIB_A) $(B)/libpvperf.so $(B)/libpvperf.pc $(B)/pvperfd $(B)/pvperf

$(ABI_H): xen_patches/xen/include/public/pvperf.h
	@mkdir -p $(@D)
	@cp $< $@

$(LIB_A): $(LIBPVPERF_OBJS)
	$(call say,AR)
	@rm -f $@
	$(Q)$(AR) rcs $@ $^

$(LIB_SO): $(LIBPVPERF_OBJS) libpvperf/libpvperf.map
	$(call say,LINK)
	$(Q)$(CC) -shared $(LDFLAGS) $(HARDEN_LD) -Wl,-soname,libpvperf.so.$(SOMAJOR) \
		-Wl,--version-script=libpvperf/libpvperf.map -Wl,--no-undefined \
		-o $@ $(LIBPVPERF_OBJS) $(LIB_LIBS)

$(B)/libpvperf.so: $(LIB_SO)
	@ln -sf libpvperf.so.$(VERSION) $(B)/libpvperf.so.$(SOMAJOR)
	@ln -sf libpvperf.so.$(SOMAJOR) $@

$(B)/libpvperf.pc: libpvperf/libpvperf.pc.in Makefile
	@mkdir -p $(@D)
	@sed -e 's|@prefix@|$(prefix)|g' -e 's|@exec_prefix@|$(exec_prefix)|g' \
		-e 's|@libdir@|$(libdir)|g' -e 's|@includedir@|$(includedir)|g' \
		-e 's|@VERSION@|$(VERSION)|g' -e 's|@version@|$(VERSION)|g' $< >$@

# The programs carry the library in them: one file to copy into a dom0.
$(B)/pvperfd: $(PVPERFD_OBJS) $(LIB_A)
	$(call say,LINK)
	$(Q)$(CC) -pie $(LDFLAGS) $(HARDEN_LD) -o $@ $^ $(PVPERFD_LIBS) $(LIB_LIBS)

$(B)/pvperf: $(PVPERF_OBJS) $(LIB_A)
	$(call say,LINK)
	$(Q)$(CC) -pie $(LDFLAGS) $(HARDEN_LD) -o $@ $^ $(LIB_LIBS)

# Links only if the command keeps to what the library exports.
$(B)/pvperf-shared: $(PVPERF_OBJS) $(B)/libpvperf.so
	$(call say,LINK)
	$(Q)$(CC) -pie $(LDFLAGS) $(HARDEN_LD) -o $@ $(PVPERF_OBJS) -L$(B) -lpvperf \
		-Wl,-rpath-link,$(B)

$(B)/obj/%.o: %.c Makefile | $(ABI_H)
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(CC) $(BASE_CFLAGS) $(CFLAGS) $(CPPFLAGS) $(HARDEN) -fPIC -fvisibility=default \
		$(LIB_CFLAGS) $(DEPFLAGS) -c -o $@ $<

FUZZ_SECONDS ?= 10
include tests/unit/Makefile.inc
-include tests/fuzz/Makefile.inc
-include tests/workloads/Makefile.inc
-include tests/system/Makefile.inc
-include tests/bench/Makefile.inc

## demo: boot the real Xen, profile a domU from dom0, print the report
.PHONY: demo
demo:
	tests/rig/deps.sh demo
	$(MAKE) all
	tests/system/demo

# tests/run-all builds what each group needs, runs all of them even when one
# fails, and ends with the line "N passed, N failed, N skipped".
RUN_ALL := MAKE='$(MAKE)' BUILD='$(B)' FUZZ_SECONDS='$(FUZZ_SECONDS)' tests/run-all

## check: all tests: lint, unit, sanitizers, fuzz (short), the rig's system tests
## check-unit: unit tests only (no root, no Xen)
## check-san: unit tests under ASan and UBSan, and under valgrind
## check-rig: system tests on the real Xen under QEMU
## fuzz: fuzzers, FUZZ_SECONDS each
## bench: what profiling costs in instructions, beside xenoprof and vPMU; docs/bench.md
## lint: formatting, headers alone as C and C++, ABI layout, scripts, man pages
.PHONY: check check-unit check-san check-rig fuzz lint
check:
	+@$(RUN_ALL) lint unit san fuzz rig
check-unit:
	+@$(RUN_ALL) unit
check-san:
	+@$(RUN_ALL) san
check-rig:
	+@$(RUN_ALL) rig
fuzz:
	+@$(RUN_ALL) fuzz
lint:
	+@$(RUN_ALL) lint

## format: put user-space sources into the form that lint wants
.PHONY: format
format:
	clang-format -i $$(find libpvperf dom0_daemon tests/unit tests/fuzz -name shim -prune \
		-o -name '*.[ch]' -print 2>/dev/null)

# What each group of tests builds; tests/run-all asks for these.
.PHONY: build-unit build-san build-fuzz build-lint build-rig
build-unit: $(UNIT_PROGS)
build-san: $(UNIT_PROGS) $(SAN_PROGS)
build-fuzz: $(FUZZ_PROGS)
build-lint: $(ABI_H) $(B)/pvperf-shared $(B)/pvperf
build-rig: all $(if $(wildcard tests/system/Makefile.inc),payload)

# For tests/run-all: the value of a variable.
print-%:
	@echo $($*)

## install: install into $(DESTDIR)$(prefix)
MANS1 := $(wildcard docs/man/*.1)
MANS3 := $(wildcard docs/man/*.3)
MANS8 := $(wildcard docs/man/*.8)
UNITS := $(wildcard dom0_daemon/pvperfd/*.service.in)
.PHONY: install
install: all
	$(INSTALL) -d $(DESTDIR)$(bindir) $(DESTDIR)$(sbindir) $(DESTDIR)$(libdir)/pkgconfig \
		$(DESTDIR)$(includedir)/pvperf $(DESTDIR)$(mandir)/man1 \
		$(DESTDIR)$(mandir)/man3 $(DESTDIR)$(mandir)/man8 $(DESTDIR)$(unitdir)
	$(INSTALL) -m 755 $(B)/pvperf $(DESTDIR)$(bindir)/
	$(INSTALL) -m 755 $(B)/pvperfd $(DESTDIR)$(sbindir)/
	$(INSTALL) -m 644 $(LIB_A) $(DESTDIR)$(libdir)/
	$(INSTALL) -m 755 $(LIB_SO) $(DESTDIR)$(libdir)/
	ln -sf libpvperf.so.$(VERSION) $(DESTDIR)$(libdir)/libpvperf.so.$(SOMAJOR)
	ln -sf libpvperf.so.$(SOMAJOR) $(DESTDIR)$(libdir)/libpvperf.so
	$(INSTALL) -m 644 $(B)/libpvperf.pc $(DESTDIR)$(libdir)/pkgconfig/
	$(INSTALL) -m 644 libpvperf/include/pvperf/*.h $(ABI_H) $(DESTDIR)$(includedir)/pvperf/
	$(INSTALL) -m 644 $(MANS1) $(DESTDIR)$(mandir)/man1/
	$(if $(MANS3),$(INSTALL) -m 644 $(MANS3) $(DESTDIR)$(mandir)/man3/)
	$(INSTALL) -m 644 $(MANS8) $(DESTDIR)$(mandir)/man8/
	set -e; for unit in $(UNITS); do \
		sed -e 's|@sbindir@|$(sbindir)|g' -e 's|@bindir@|$(bindir)|g' $$unit \
			>$(DESTDIR)$(unitdir)/$$(basename $$unit .in); \
	done

## clean: remove build/ (the rig's cache stays; see tests/rig/README.md)
.PHONY: clean
clean:
	rm -rf $(B)

-include $(shell find $(B) -name '*.d' 2>/dev/null)
