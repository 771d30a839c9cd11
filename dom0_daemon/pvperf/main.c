// SPDX-License-Identifier: GPL-2.0-only
/*
 * pvperf: the operator's command. Finds the subcommand and runs it.
 */
#include "cli.h"

#include <locale.h>
#include <stdlib.h>
#include <string.h>

#include "text.h"

static const struct {
    const char *name;
    int (*run)(int argc, char **argv);
} commands[] = {
    {"doctor", cmd_doctor},         {"list", cmd_list},
    {"record", cmd_record},         {"stat", cmd_stat},
    {"report", cmd_report},         {"script", cmd_script},
    {"flamegraph", cmd_flamegraph},
};

static int unknown_command(const char *name)
{
    const char *near = text_suggest(name, help_commands);

    if (near)
        return ui_usage("there is no command '%s'; did you mean 'pvperf %s'?", name,
                        near);
    return ui_usage("there is no command '%s'; 'pvperf help' lists them", name);
}

static int cmd_help(int argc, char **argv)
{
    if (argc > 2)
        return ui_usage("help takes one command; try 'pvperf help %s'", argv[1]);
    if (help_print(stdout, argv[1]))
        return unknown_command(argv[1]);
    return EXIT_SUCCESS;
}

static int run(int argc, char **argv)
{
    const char *name = argv[1];
    size_t i;

    if (!strcmp(name, "--version") || !strcmp(name, "-V")) {
        puts("pvperf " PVPERF_VERSION);
        return EXIT_SUCCESS;
    }
    if (!strcmp(name, "--help") || !strcmp(name, "-h"))
        return ui_help(NULL);
    if (!strcmp(name, "help"))
        return cmd_help(argc - 1, argv + 1);
    if (name[0] == '-')
        return ui_usage("there is no option %s; 'pvperf help' tells what there is", name);
    for (i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
        if (!strcmp(commands[i].name, name))
            return commands[i].run(argc - 1, argv + 1);
    }
    return unknown_command(name);
}

int main(int argc, char **argv)
{
    int status, output;

    /* Characters of names only: numbers are written the same everywhere. */
    setlocale(LC_CTYPE, "");
    if (argc < 2) {
        help_print(stderr, NULL);
        return EXIT_USAGE;
    }
    status = run(argc, argv);
    output = ui_finish();
    return status ? status : output;
}
