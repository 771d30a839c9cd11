# SPDX-License-Identifier: GPL-2.0-only
# The tests of the hypervisor's core: the files that Xen compiles, unchanged,
# against the headers in tests/unit/shim instead of Xen's. Each core_*.c is a
# check program; test_abi.c needs the public header alone. All are built
# plainly and under ASan and UBSan; CORE_LIB and CORE_SAN_LIB hold the core and
# the shim, for the fuzzers, too.

CORE_DIR := xen_patches/xen/common/pvperf
CORE_SRCS := $(wildcard $(CORE_DIR)/*.c)
CORE_SHIM := $(wildcard tests/unit/shim/*.c)
CORE_INC := -Itests/unit/shim -Ixen_patches/xen/include -Itests/unit
# Xen's own warnings, and more; its style passes unused and unsigned freely.
CORE_XEN_CFLAGS := -std=gnu11 -D_GNU_SOURCE -g -Wall -Wextra -Wno-sign-compare \
	-Wno-unused-parameter -Wno-missing-field-initializers -Wmissing-prototypes \
	-Werror -fno-strict-aliasing -fno-omit-frame-pointer $(CORE_INC)
CORE_TEST_CFLAGS := -std=gnu11 -D_GNU_SOURCE -g $(WARN) -fno-omit-frame-pointer \
	-fno-strict-aliasing $(CORE_INC)

CORE_NAMES := $(patsubst tests/unit/%.c,%,$(filter-out tests/unit/core_util.c,\
	$(wildcard tests/unit/core_*.c)))
CORE_TESTS += $(CORE_NAMES:%=tests/unit/%.c) tests/unit/test_abi.c
UNIT_PROGS += $(CORE_NAMES:%=$(B)/tests/unit/%) $(B)/tests/unit/test_abi
SAN_PROGS += $(CORE_NAMES:%=$(B)/tests/san/%)

CORE_LIB := $(B)/core/core.a
CORE_SAN_LIB := $(B)/core-san/core.a
core_objs = $(patsubst %.c,$(B)/$(1)/%.o,$(CORE_SRCS) $(CORE_SHIM) tests/unit/core_util.c)

$(B)/core/$(CORE_DIR)/%.o: $(CORE_DIR)/%.c tests/unit/core.mk
	@mkdir -p $(@D)
	$(CC) $(CORE_XEN_CFLAGS) -O2 $(CPPFLAGS) -MMD -MP -c -o $@ $<
$(B)/core/tests/%.o: tests/%.c tests/unit/core.mk
	@mkdir -p $(@D)
	$(CC) $(CORE_TEST_CFLAGS) -O2 $(CPPFLAGS) -MMD -MP -c -o $@ $<
$(B)/core-san/$(CORE_DIR)/%.o: $(CORE_DIR)/%.c tests/unit/core.mk
	@mkdir -p $(@D)
	$(CC) $(CORE_XEN_CFLAGS) -O1 $(SAN) $(CPPFLAGS) -MMD -MP -c -o $@ $<
$(B)/core-san/tests/%.o: tests/%.c tests/unit/core.mk
	@mkdir -p $(@D)
	$(CC) $(CORE_TEST_CFLAGS) -O1 $(SAN) $(CPPFLAGS) -MMD -MP -c -o $@ $<

# Whole, since parameters and init calls register themselves.
$(CORE_LIB): $(call core_objs,core)
	@rm -f $@
	$(AR) rcs $@ $^
$(CORE_SAN_LIB): $(call core_objs,core-san)
	@rm -f $@
	$(AR) rcs $@ $^

CORE_LINK = -Wl,--whole-archive $(1) -Wl,--no-whole-archive $(CHECK_LIBS) -lpthread
$(CORE_NAMES:%=$(B)/tests/unit/%): $(B)/tests/unit/%: $(B)/core/tests/unit/%.o $(CORE_LIB)
	@mkdir -p $(@D)
	$(CC) $(LDFLAGS) -o $@ $< $(call CORE_LINK,$(CORE_LIB))
$(CORE_NAMES:%=$(B)/tests/san/%): $(B)/tests/san/%: $(B)/core-san/tests/unit/%.o $(CORE_SAN_LIB)
	@mkdir -p $(@D)
	$(CC) $(LDFLAGS) $(SAN) -o $@ $< $(call CORE_LINK,$(CORE_SAN_LIB))
$(B)/tests/unit/test_abi: $(B)/core/tests/unit/test_abi.o
	@mkdir -p $(@D)
	$(CC) $(LDFLAGS) -o $@ $< $(CHECK_LIBS) -lpthread
