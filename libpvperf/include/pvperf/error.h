/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * error.h: how libpvperf tells what went wrong.
 *
 * Functions return 0 (or a useful non-negative value) on success and a
 * negative errno on failure, and leave their outputs untouched on failure.
 * Those whose failure an operator must understand also take a
 * struct pvperf_err *, which may be NULL; on failure it holds one line
 * without a newline: what is wrong and what to do about it.
 */
#ifndef PVPERF_ERROR_H
#define PVPERF_ERROR_H

#ifdef __cplusplus
extern "C" {
#endif

struct pvperf_err {
    char text[512];
};

/*
 * Fill @err (if not NULL) with the formatted line; control characters become
 * '?', since parts of it may come from files or guests.  Returns @rc, so that
 * callers can write: return pvperf_err_set(err, -EINVAL, "...").
 */
int pvperf_err_set(struct pvperf_err *err, int rc, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

#ifdef __cplusplus
}
#endif
#endif
