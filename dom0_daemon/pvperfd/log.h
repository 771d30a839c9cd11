/* SPDX-License-Identifier: GPL-2.0-only */
/* log.h: one line each to stderr; with a priority prefix under systemd. */
#ifndef PVPERFD_LOG_H
#define PVPERFD_LOG_H

#include <stdbool.h>

#define LOG_LEVEL_ERROR 3
#define LOG_LEVEL_WARNING 4
#define LOG_LEVEL_INFO 6
#define LOG_LEVEL_DEBUG 7

/* Debug lines are dropped unless @verbose. */
void log_init(bool verbose);
void log_line(int level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#define log_error(...) log_line(LOG_LEVEL_ERROR, __VA_ARGS__)
#define log_warning(...) log_line(LOG_LEVEL_WARNING, __VA_ARGS__)
#define log_info(...) log_line(LOG_LEVEL_INFO, __VA_ARGS__)
#define log_debug(...) log_line(LOG_LEVEL_DEBUG, __VA_ARGS__)

#endif
