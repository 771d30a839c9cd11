/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * signals.h: Ctrl-C and the like, and the end of children, as something to
 * wait for.
 */
#ifndef PVPERF_CLI_SIGNALS_H
#define PVPERF_CLI_SIGNALS_H

/* From now on. 0, or an exit status. */
int signals_catch(void);
/* How often the user has asked for the end; a third time ends the program. */
int signals_count(void);
/* Readable after a signal, until _drain(). */
int signals_fd(void);
void signals_drain(void);

#endif
