/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * child.h: a command that runs while something is measured.
 */
#ifndef PVPERF_CLI_CHILD_H
#define PVPERF_CLI_CHILD_H

#include <stdbool.h>
#include <sys/types.h>

struct child {
    pid_t pid;  /* 0: none */
    int go;     /* closing it without a word makes the child end */
    int failed; /* carries errno if exec failed */
};

/* Fork, but wait with the command until _go(). 0, or an exit status. */
int child_start(struct child *c, char **command);
int child_go(struct child *c, char **command);
/* Has it ended? */
bool child_ended(struct child *c);
/* End it if it still runs, and wait for it. */
void child_end(struct child *c);

#endif
