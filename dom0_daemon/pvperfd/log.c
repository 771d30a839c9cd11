/* SPDX-License-Identifier: GPL-2.0-only */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "log.h"

static bool verbose_on;
static bool with_priority;

void log_init(bool verbose)
{
    verbose_on = verbose;
    with_priority = getenv("JOURNAL_STREAM") != NULL;
}

void log_line(int level, const char *fmt, ...)
{
    char line[1024];
    va_list args;
    size_t at = 0, i;
    int n;

    if (level == LOG_LEVEL_DEBUG && !verbose_on)
        return;
    n = snprintf(line, sizeof(line), "<%d>", level);
    if (with_priority)
        at = (size_t)n;
    else
        at = (size_t)snprintf(line, sizeof(line), "pvperfd: ");
    va_start(args, fmt);
    n = vsnprintf(line + at, sizeof(line) - at - 1, fmt, args);
    va_end(args);
    if (n < 0)
        return;
    /* Parts of the line may be a client's or a guest's: one line it stays. */
    for (i = at; line[i]; i++)
        if ((unsigned char)line[i] < 0x20 || line[i] == 0x7f)
            line[i] = '?';
    line[i++] = '\n';
    /* One write, so that lines of several processes do not mix. */
    if (write(STDERR_FILENO, line, i) < 0)
        return;
}
