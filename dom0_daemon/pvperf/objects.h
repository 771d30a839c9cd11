/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * objects.h: the files with symbols that belong to this host, found and
 * loaded; and those the operator names.
 *
 * Functions return 0 or a negative errno with one line in @err.
 */
#ifndef PVPERF_CLI_OBJECTS_H
#define PVPERF_CLI_OBJECTS_H

#include <stdint.h>

#include <pvperf/abi.h>
#include <pvperf/error.h>
#include <pvperf/symbols.h>

#include "parse.h"

/* Places of Xen's symbols, for messages. */
#define OBJECTS_XEN_PLACES "/usr/lib/debug and /boot"

/*
 * Load Xen's symbols: @given, or if NULL the file in the usual places that
 * belongs to the running Xen. @query (may be NULL) serves to check that.
 * -ENOENT: none found; -ESTALE: those found belong to another build.
 */
int objects_load_xen(const char *given, const struct pvperf_query *query,
                     struct pvperf_object **out, struct pvperf_err *err);

/*
 * Load the kernel of a domain of this host: for dom0 the running one, else
 * what the toolstack started. -ENOENT: not known.
 */
int objects_load_kernel(uint16_t domid, const uint8_t uuid[16],
                        struct pvperf_object **out, struct pvperf_err *err);

/* Load a program given with --program; its bias goes to *@bias. */
int objects_load_program(const struct parse_file *file, struct pvperf_object **out,
                         uint64_t *bias, struct pvperf_err *err);

/* Give up what is kept to load each file once only. */
void objects_forget(void);

/* A kernel by its path; each file is loaded once. */
int objects_load_kernel_file(const char *path, struct pvperf_object **out,
                             struct pvperf_err *err);

#endif
