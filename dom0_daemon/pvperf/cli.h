/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * cli.h: what the parts of the command share: the subcommands, how they speak
 * to the operator, and facts of this machine.
 *
 * Each message is one line. Exit status: 0, EXIT_FAILURE, or EXIT_USAGE for a
 * command line that makes no sense.
 */
#ifndef PVPERF_CLI_H
#define PVPERF_CLI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define EXIT_USAGE 2

#define CLI_DEFAULT_FILE "pvperf.data"

/* Subcommands get their own name in argv[0] and return an exit status. */
int cmd_doctor(int argc, char **argv);
int cmd_list(int argc, char **argv);
int cmd_record(int argc, char **argv);
int cmd_stat(int argc, char **argv);
int cmd_report(int argc, char **argv);
int cmd_script(int argc, char **argv);
int cmd_flamegraph(int argc, char **argv);

/* ---- help.c ---- */

/* Help of a subcommand, or of pvperf itself for NULL. -1: no such command. */
int help_print(FILE *out, const char *command);
/* Names of the subcommands, ended by NULL. */
extern const char *const help_commands[];

/* ---- ui.c ---- */

/* "pvperf: ..." on standard error; returns EXIT_FAILURE. */
int ui_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* The same for mistakes of the command line; returns EXIT_USAGE. */
int ui_usage(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* The same for what is good to know. */
void ui_note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Print the help of @command to standard output; returns EXIT_SUCCESS. */
int ui_help(const char *command);

/*
 * What getopt_long() returned '?' or ':' for, as one line; returns EXIT_USAGE.
 * Short options must begin with ':', so that getopt itself keeps quiet.
 */
int ui_bad_option(int opt, char **argv);
/* There is an argument too many: argv[optind]. Returns EXIT_USAGE. */
int ui_bad_argument(char **argv);

/* May colours be used on @out? Not if NO_COLOR is set. */
bool ui_color(FILE *out);

/* A line on standard error that is rewritten in place; nothing if no tty. */
void ui_progress(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void ui_progress_end(void);

/* Flush standard output: EXIT_SUCCESS, or EXIT_FAILURE and one line. */
int ui_finish(void);

/* ---- sys.c ---- */

/* The first line of a small file. 0, or a negative errno. */
int sys_read_line(const char *path, char *buf, size_t size);

bool sys_on_xen(void);
/* In a domain that may control others (dom0)? */
bool sys_is_control_domain(void);
/* "4.17.5", or "" if not known. */
void sys_xen_version(char *buf, size_t size);
/* The running Xen's build-id; returns its length, 0 if not known. */
size_t sys_xen_build_id(uint8_t *id, size_t size);
void sys_hostname(char *buf, size_t size);
void sys_os_release(char *buf, size_t size);
uint64_t sys_monotonic_ns(void);
uint64_t sys_realtime_ns(void);

/*
 * The kernel image of a domU, as the toolstack recorded it; 0, or -ENOENT if
 * it recorded none or the file is gone.
 */
int sys_guest_kernel(uint16_t domid, const uint8_t uuid[16], char *path, size_t size);

#endif
