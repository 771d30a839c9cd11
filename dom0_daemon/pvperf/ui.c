// SPDX-License-Identifier: GPL-2.0-only
#include "cli.h"

#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool progress_shown;

static void say(const char *fmt, va_list args)
{
    char line[1024];

    ui_progress_end();
    vsnprintf(line, sizeof(line), fmt, args);
    fprintf(stderr, "pvperf: %s\n", line);
}

int ui_error(const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    say(fmt, args);
    va_end(args);
    return EXIT_FAILURE;
}

int ui_usage(const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    say(fmt, args);
    va_end(args);
    return EXIT_USAGE;
}

void ui_note(const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    say(fmt, args);
    va_end(args);
}

int ui_help(const char *command)
{
    help_print(stdout, command);
    return EXIT_SUCCESS;
}

int ui_bad_option(int opt, char **argv)
{
    const char *given = optind > 0 ? argv[optind - 1] : "";

    if (opt == ':' && optopt && given[0] == '-' && given[1] != '-')
        return ui_usage("%s: option -%c needs a value; see 'pvperf help %s'", argv[0],
                        optopt, argv[0]);
    if (opt == ':')
        return ui_usage("%s: option %s needs a value; see 'pvperf help %s'", argv[0],
                        given, argv[0]);
    if (optopt && given[1] != '-')
        return ui_usage("%s: there is no option -%c; see 'pvperf help %s'", argv[0],
                        optopt, argv[0]);
    if (optopt)
        return ui_usage("%s: option %s takes no value; see 'pvperf help %s'", argv[0],
                        given, argv[0]);
    return ui_usage("%s: there is no option %s, or it is ambiguous; see 'pvperf help %s'",
                    argv[0], given, argv[0]);
}

int ui_bad_argument(char **argv)
{
    return ui_usage("%s: '%s' is one argument too many; see 'pvperf help %s'", argv[0],
                    argv[optind], argv[0]);
}

bool ui_color(FILE *out)
{
    const char *no_color = getenv("NO_COLOR");
    const char *term = getenv("TERM");

    if ((no_color && *no_color) || (term && !strcmp(term, "dumb")))
        return false;
    return isatty(fileno(out));
}

void ui_progress(const char *fmt, ...)
{
    char line[256];
    va_list args;

    if (!isatty(STDERR_FILENO))
        return;
    va_start(args, fmt);
    vsnprintf(line, sizeof(line), fmt, args);
    va_end(args);
    fprintf(stderr, "\r%s\033[K", line);
    progress_shown = true;
}

void ui_progress_end(void)
{
    if (progress_shown)
        fputs("\r\033[K", stderr);
    progress_shown = false;
}

int ui_finish(void)
{
    if (!fflush(stdout) && !ferror(stdout))
        return EXIT_SUCCESS;
    /* Who closed the pipe has seen enough. */
    if (errno == EPIPE)
        return EXIT_FAILURE;
    return ui_error("cannot write the output: %s", strerror(errno));
}
