// SPDX-License-Identifier: GPL-2.0-only
#include "targets.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "parse.h"

static int check_alive(const struct pvperf_domain *d, const char *spec)
{
    if (d->state == PVPERF_DOMAIN_DYING)
        return ui_error("domain '%s' is dying; choose another", spec);
    if (d->state == PVPERF_DOMAIN_SHUTDOWN)
        return ui_error("domain '%s' has shut down; start it again first", spec);
    return 0;
}

static bool chosen(const struct pvperf_domain *list, size_t nr, uint16_t domid)
{
    size_t i;

    for (i = 0; i < nr; i++)
        if (list[i].domid == domid)
            return true;
    return false;
}

/* @out has room for one of each spec. */
static int choose(const struct pvperf_domain *all, const struct parse_domain *names,
                  size_t nr_all, const char *const *specs, unsigned int nr_specs,
                  struct pvperf_domain *out, size_t *nr)
{
    struct pvperf_err err;
    unsigned int i;
    size_t index;
    int rc;

    for (i = 0; i < nr_specs; i++) {
        if (parse_domain(specs[i], names, nr_all, "'pvperf list domains' shows them",
                         &index, &err))
            return ui_error("%s", err.text);
        rc = check_alive(&all[index], specs[i]);
        if (rc)
            return rc;
        if (!chosen(out, *nr, all[index].domid))
            out[(*nr)++] = all[index];
    }
    return 0;
}

int targets_resolve(struct pvperf_client *client, const char *const *specs,
                    unsigned int nr_specs, struct pvperf_domain **list, size_t *nr)
{
    struct pvperf_domain *all, *out;
    struct parse_domain *names;
    struct pvperf_err err;
    size_t nr_all, i;
    int rc;

    if (pvperf_client_domains(client, &all, &nr_all, &err))
        return ui_error("%s", err.text);
    *nr = nr_all;
    *list = all;
    if (!nr_specs)
        return 0;
    *nr = 0;
    names = calloc(nr_all + 1, sizeof(*names));
    out = calloc(nr_specs, sizeof(*out));
    for (i = 0; names && i < nr_all; i++) {
        names[i].domid = all[i].domid;
        memcpy(names[i].uuid, all[i].uuid, sizeof(names[i].uuid));
        names[i].name = all[i].name;
    }
    rc = names && out ? choose(all, names, nr_all, specs, nr_specs, out, nr)
                      : ui_error("out of memory; close other programs");
    free(names);
    free(all);
    *list = out;
    if (rc) {
        free(out);
        *list = NULL;
    }
    return rc;
}
