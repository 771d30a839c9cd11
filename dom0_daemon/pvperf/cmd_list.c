// SPDX-License-Identifier: GPL-2.0-only
/*
 * pvperf list: domains and events.
 */
#include "cli.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <pvperf/client.h>

#include "daemon.h"
#include "events.h"
#include "parse.h"
#include "text.h"

enum { OPT_SOCKET = 256, OPT_JSON };

static const struct option options[] = {
    {"socket", required_argument, NULL, OPT_SOCKET},
    {"json", no_argument, NULL, OPT_JSON},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

static void print_domain(const struct pvperf_domain *d)
{
    char uuid[37];

    text_uuid(d->uuid, uuid);
    printf("%5u  %-24s %s %5u  %-4s %s\n", d->domid, d->name[0] ? d->name : "-", uuid,
           d->nr_vcpus, d->hvm ? "hvm" : "pv", pvperf_domain_state_name(d->state));
}

static void print_domain_json(const struct pvperf_domain *d, bool last)
{
    char uuid[37], name[6 * PVPERF_NAME_LEN];

    text_uuid(d->uuid, uuid);
    text_json(d->name, name, sizeof(name));
    printf("  {\"domid\": %u, \"name\": \"%s\", \"uuid\": \"%s\", \"vcpus\": %u, "
           "\"type\": \"%s\", \"state\": \"%s\", \"cpu_time\": %" PRIu64 "}%s\n",
           d->domid, name, uuid, d->nr_vcpus, d->hvm ? "hvm" : "pv",
           pvperf_domain_state_name(d->state), d->cpu_time, last ? "" : ",");
}

static void print_domains(const struct pvperf_domain *domains, size_t nr, bool json)
{
    size_t i;

    if (json)
        puts("\"domains\": [");
    else
        printf("%5s  %-24s %-36s %5s  %-4s %s\n", "ID", "NAME", "UUID", "VCPUS", "TYPE",
               "STATE");
    for (i = 0; i < nr; i++) {
        if (json)
            print_domain_json(&domains[i], i + 1 == nr);
        else
            print_domain(&domains[i]);
    }
    if (json)
        puts("]");
}

static int list_domains(struct pvperf_client *client, bool json)
{
    struct pvperf_domain *domains;
    struct pvperf_err err;
    size_t nr;

    if (pvperf_client_domains(client, &domains, &nr, &err))
        return ui_error("%s", err.text);
    print_domains(domains, nr, json);
    free(domains);
    return EXIT_SUCCESS;
}

static const char *describe(const char *name)
{
    static const char *const texts[][2] = {
        {"timer", "time, by a timer on each CPU; needs no PMU"},
        {"cycles", "processor cycles when not halted"},
        {"instructions", "instructions retired"},
        {"ref-cycles", "cycles at the reference frequency"},
        {"branches", "branches retired"},
        {"branch-misses", "branches predicted wrongly"},
        {"cache-references", "accesses to the last-level cache"},
        {"cache-misses", "misses of the last-level cache"},
    };
    size_t i;

    for (i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        if (!strcmp(texts[i][0], name))
            return texts[i][1];
    }
    return "";
}

/* @name is an event to ask for, @shown how the list calls it. */
static void print_event(const struct pvperf_query *query, const char *name,
                        const char *shown, const char *text, bool json)
{
    struct parse_event parsed;
    struct pvperf_err err = {""};
    char why[2 * sizeof(err.text)];
    int rc;

    if (parse_event(name, &parsed, &err))
        return;
    rc = events_check(query, &parsed.event, shown, &err);
    text_json(rc ? err.text : text, why, sizeof(why));
    if (json)
        printf("  {\"event\": \"%s\", \"here\": %s, \"text\": \"%s\"},\n", shown,
               rc ? "false" : "true", why);
    else
        printf("  %-18s %-4s %s\n", shown, rc ? "no" : "yes", rc ? err.text : text);
}

static int list_events(struct pvperf_client *client, bool json)
{
    struct pvperf_status status;
    struct pvperf_err err;
    unsigned int i;

    if (pvperf_client_status(client, &status, &err))
        return ui_error("%s", err.text);
    if (status.host_rc)
        return ui_error("%s", status.host_error);
    if (json) {
        puts("\"events\": [");
    } else {
        printf("  %-18s HERE DESCRIPTION\n", "EVENT");
    }
    for (i = 0; parse_event_names[i]; i++)
        print_event(&status.query, parse_event_names[i], parse_event_names[i],
                    describe(parse_event_names[i]), json);
    print_event(&status.query, "r0", "rHEX", "the processor's own event select bits",
                json);
    if (json) {
        printf("  null],\n\"max_rate\": %u\n", status.query.max_rate);
        return EXIT_SUCCESS;
    }
    printf(
        "\nAppend :u, :k, :h, :i (or several) for user, kernel, hypervisor, idle only.\n"
        "Up to %u samples a second and CPU.\n",
        status.query.max_rate);
    return EXIT_SUCCESS;
}

static int list(struct pvperf_client *client, const char *what, bool json)
{
    int rc = EXIT_SUCCESS;

    if (json)
        putchar('{');
    if (!what || !strcmp(what, "domains"))
        rc = list_domains(client, json);
    if (!what && !rc)
        puts(json ? "," : "");
    if ((!what || !strcmp(what, "events")) && !rc)
        rc = list_events(client, json);
    if (json)
        puts("}");
    return rc;
}

static int check_what(const char *what)
{
    static const char *const words[] = {"domains", "events", NULL};
    const char *near;

    if (!strcmp(what, "domains") || !strcmp(what, "events"))
        return 0;
    near = text_suggest(what, words);
    return ui_usage("list: cannot list '%s'; use 'pvperf list %s'", what,
                    near ? near : "domains' or 'pvperf list events");
}

int cmd_list(int argc, char **argv)
{
    struct pvperf_client *client;
    const char *socket = NULL, *what = NULL;
    struct pvperf_err err;
    bool json = false;
    int opt, rc;

    while ((opt = getopt_long(argc, argv, ":h", options, NULL)) != -1) {
        if (opt == 'h')
            return ui_help(argv[0]);
        if (opt == OPT_JSON)
            json = true;
        else if (opt == OPT_SOCKET)
            socket = optarg;
        else
            return ui_bad_option(opt, argv);
    }
    if (optind < argc) {
        what = argv[optind++];
        rc = check_what(what);
        if (rc)
            return rc;
    }
    if (optind < argc)
        return ui_bad_argument(argv);
    if (daemon_connect(&client, socket, &err))
        return ui_error("%s", err.text);
    rc = list(client, what, json);
    pvperf_client_close(client);
    return rc;
}
