/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * targets.h: the domains that an operator names.
 */
#ifndef PVPERF_CLI_TARGETS_H
#define PVPERF_CLI_TARGETS_H

#include <stddef.h>

#include <pvperf/client.h>

/*
 * The living domains that @specs name, each once, in their order; all there are
 * if @nr_specs is 0. Give *@list to free(). 0, or an exit status after a line.
 */
int targets_resolve(struct pvperf_client *client, const char *const *specs,
                    unsigned int nr_specs, struct pvperf_domain **list, size_t *nr);

#endif
