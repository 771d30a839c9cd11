/* SPDX-License-Identifier: GPL-2.0-only */
/* pvperfd: holds pvperf's sessions in Xen and drains their rings for clients. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "server.h"
#include "systemd.h"

#define GRACE_S 30
#define GRACE_MAX_S 86400

static void usage(FILE *to)
{
    fprintf(to,
            "Usage: pvperfd [OPTION...]\n"
            "Holds pvperf's sessions in Xen and drains their rings for its clients.\n"
            "Runs in the foreground and logs to stderr.\n\n"
            "  -s, --socket PATH    listen here (default $%s or %s)\n"
            "  -g, --group NAME     group that may use the socket (mode 0660)\n"
            "      --grace SECONDS  keep a session without client so long (default %d)\n"
            "      --stop-sessions  destroy all sessions on exit; else they stay in Xen\n"
            "                       for the next pvperfd\n"
            "      --foreground     accepted for clarity; there is no other way\n"
            "  -v, --verbose        log more\n"
            "      --version\n"
            "  -h, --help\n",
            PVPERF_SOCKET_ENV, PVPERF_SOCKET_DEFAULT, GRACE_S);
}

static int parse_grace(const char *text)
{
    char *end;
    long value;

    errno = 0;
    value = strtol(text, &end, 10);
    if (errno || end == text || *end || value < 0 || value > GRACE_MAX_S) {
        log_error("--grace takes 0 to %d seconds, not \"%s\"", GRACE_MAX_S, text);
        exit(2);
    }
    return (int)value * 1000;
}

static void parse(int argc, char **argv, struct server_config *config)
{
    static const struct option options[] = {
        {"socket", required_argument, NULL, 's'},
        {"group", required_argument, NULL, 'g'},
        {"grace", required_argument, NULL, 'G'},
        {"stop-sessions", no_argument, NULL, 'S'},
        {"foreground", no_argument, NULL, 'f'},
        {"verbose", no_argument, NULL, 'v'},
        {"version", no_argument, NULL, 'V'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    int option;

    while ((option = getopt_long(argc, argv, "s:g:vh", options, NULL)) != -1) {
        switch (option) {
        case 's':
            config->socket = optarg;
            break;
        case 'g':
            config->group = optarg;
            break;
        case 'G':
            config->grace_ms = parse_grace(optarg);
            break;
        case 'S':
            config->stop_sessions = true;
            break;
        case 'f':
            break;
        case 'v':
            log_init(true);
            break;
        case 'V':
            printf("pvperfd %s, protocol %d.%d, ABI %d.%d\n", PVPERF_VERSION,
                   PVPERF_PROTO_MAJOR, PVPERF_PROTO_MINOR, PVPERF_ABI_MAJOR,
                   PVPERF_ABI_MINOR);
            exit(0);
        case 'h':
            usage(stdout);
            exit(0);
        default:
            exit(2); /* getopt has said why */
        }
    }
    if (optind < argc) {
        log_error("what is \"%s\"? pvperfd takes options only: see pvperfd --help",
                  argv[optind]);
        exit(2);
    }
}

int main(int argc, char **argv)
{
    struct server_config config = {.socket = getenv(PVPERF_SOCKET_ENV),
                                   .grace_ms = GRACE_S * 1000,
                                   .listen_fd = -1,
                                   .host_open = pvperf_host_open};
    int status;

    log_init(false);
    if (!config.socket || !*config.socket)
        config.socket = PVPERF_SOCKET_DEFAULT;
    parse(argc, argv, &config);
    config.listen_fd = systemd_socket();
    domains_xen_open(&config.domains);
    status = server_run(&config);
    config.domains.close(config.domains.ctx);
    return status;
}
