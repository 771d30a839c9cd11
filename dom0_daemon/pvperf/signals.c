// SPDX-License-Identifier: GPL-2.0-only
#include "signals.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"

static volatile sig_atomic_t interrupts;
static int wake[2] = {-1, -1};

static void on_signal(int sig)
{
    int saved = errno;

    if (sig != SIGCHLD)
        interrupts++;
    /* A third one ends the program even if it hangs somewhere. */
    if (interrupts > 2)
        signal(sig, SIG_DFL);
    if (write(wake[1], "", 1) < 0)
        errno = saved; /* full: it will wake up all the same */
    errno = saved;
}

int signals_catch(void)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGCHLD};
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    size_t i;

    if (pipe2(wake, O_CLOEXEC | O_NONBLOCK))
        return ui_error("cannot make a pipe: %s", strerror(errno));
    for (i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
        sigaction(signals[i], &action, NULL);
    signal(SIGPIPE, SIG_IGN); /* the daemon's end is seen as an error */
    return 0;
}

int signals_count(void)
{
    return interrupts;
}

int signals_fd(void)
{
    return wake[0];
}

void signals_drain(void)
{
    char drop[64];

    while (read(wake[0], drop, sizeof(drop)) > 0)
        ;
}
