/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <stdarg.h>
#include <stdio.h>

#include <pvperf/error.h>

int pvperf_err_set(struct pvperf_err *err, int rc, const char *fmt, ...)
{
    va_list args;
    char *c;

    if (!err)
        return rc;
    va_start(args, fmt);
    if (vsnprintf(err->text, sizeof(err->text), fmt, args) < 0)
        err->text[0] = '\0';
    va_end(args);
    for (c = err->text; *c; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            *c = '?';
    return rc;
}
