// SPDX-License-Identifier: GPL-2.0-only
#include "child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli.h"

static bool runnable(const char *dir, size_t len, const char *name)
{
    char path[4096];

    if ((size_t)snprintf(path, sizeof(path), "%.*s/%s", (int)len, len ? dir : ".",
                         name) >= sizeof(path))
        return false;
    return !access(path, X_OK);
}

/* Found out before anything is recorded. */
static bool command_exists(const char *name)
{
    const char *path = getenv("PATH");
    size_t len;

    if (strchr(name, '/'))
        return !access(name, X_OK);
    for (path = path ? path : "/usr/bin:/bin";; path += len + 1) {
        len = strcspn(path, ":");
        if (runnable(path, len, name))
            return true;
        if (!path[len])
            return false;
    }
}

static void child_main(int go, int failed, char **command)
{
    char word;
    int error;

    if (read(go, &word, 1) != 1)
        _exit(0);
    signal(SIGPIPE, SIG_DFL);
    execvp(command[0], command);
    error = errno;
    if (write(failed, &error, sizeof(error)) < 0)
        _exit(126);
    _exit(127);
}

int child_start(struct child *c, char **command)
{
    int go[2], failed[2];

    if (!command_exists(command[0]))
        return ui_error("there is no command '%s'; check its name", command[0]);
    if (pipe2(go, O_CLOEXEC))
        return ui_error("cannot run '%s': %s", command[0], strerror(errno));
    if (pipe2(failed, O_CLOEXEC)) {
        close(go[0]);
        close(go[1]);
        return ui_error("cannot run '%s': %s", command[0], strerror(errno));
    }
    c->pid = fork();
    if (c->pid == 0) {
        /* Held open here, it would never tell of the parent's end. */
        close(go[1]);
        child_main(go[0], failed[1], command);
    }
    close(go[0]);
    close(failed[1]);
    c->go = go[1];
    c->failed = failed[0];
    if (c->pid < 0) {
        c->pid = 0;
        close(c->go);
        close(c->failed);
        return ui_error("cannot run '%s': %s", command[0], strerror(errno));
    }
    return 0;
}

int child_go(struct child *c, char **command)
{
    int error = 0;
    ssize_t got;

    if (write(c->go, "", 1) != 1)
        return ui_error("cannot run '%s': %s", command[0], strerror(errno));
    do
        got = read(c->failed, &error, sizeof(error));
    while (got < 0 && errno == EINTR);
    if (got == sizeof(error))
        return ui_error("cannot run '%s': %s", command[0], strerror(error));
    return 0;
}

bool child_ended(struct child *c)
{
    if (!c->pid || waitpid(c->pid, NULL, WNOHANG) != c->pid)
        return false;
    close(c->go);
    close(c->failed);
    c->pid = 0;
    return true;
}

void child_end(struct child *c)
{
    int tries;

    if (!c->pid)
        return;
    close(c->go); /* one that never began ends by this */
    close(c->failed);
    kill(c->pid, SIGTERM);
    for (tries = 0; tries < 20 && waitpid(c->pid, NULL, WNOHANG) == 0; tries++)
        usleep(50000);
    if (tries == 20) {
        kill(c->pid, SIGKILL);
        waitpid(c->pid, NULL, 0);
    }
    c->pid = 0;
}
