// SPDX-License-Identifier: GPL-2.0-only
/*
 * The command as it is run: the real pvperf against the daemon's own code over
 * a Xen in memory. What needs no Xen at all is proved here quickly; what does
 * is proved in tests/system.
 */
#include <check.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "fake_xen.h"

#include "../../dom0_daemon/pvperfd/log.h"
#include "../../dom0_daemon/pvperfd/server.h"

#define SAMPLE_US 500
#define LIMIT_S 60 /* of any program that a test runs */

static struct fake_xen *xen;
static pid_t daemon_pid, sampler_pid;
static char dir[64], sock[128], pvperf[512];

/* ---- the daemon, and what fills its rings ---- */

static int host_open(struct pvperf_host **host, struct pvperf_err *err)
{
    (void)err;
    return pvp_host_new(host, &fake_ops, xen);
}

static int list_domains(void *ctx, struct pvperf_domain **out, size_t *nr)
{
    (void)ctx;
    fake_lock(xen);
    *out = malloc(sizeof(xen->domains));
    memcpy(*out, xen->domains, sizeof(xen->domains));
    *nr = xen->nr_domains;
    fake_unlock(xen);
    return 0;
}

static int store_fd(void *ctx)
{
    (void)ctx;
    return xen->store;
}

static void store_ack(void *ctx)
{
    (void)ctx;
    fake_ack(xen->store);
}

static void no_close(void *ctx)
{
    (void)ctx;
}

static void start_daemon(void)
{
    struct server_config config = {
        .socket = sock,
        .listen_fd = -1,
        .grace_ms = 30000,
        .host_open = host_open,
        .domains = {NULL, list_domains, store_fd, store_ack, no_close},
    };
    int tries;

    daemon_pid = fork();
    if (daemon_pid == 0) {
        if (!freopen("/dev/null", "w", stderr))
            _exit(9);
        log_init(false);
        _exit(server_run(&config));
    }
    for (tries = 0; tries < 200 && access(sock, F_OK); tries++)
        usleep(10000);
    ck_assert_int_eq(access(sock, F_OK), 0);
}

static void stop(pid_t *pid, int sig)
{
    if (*pid <= 0)
        return;
    kill(*pid, sig);
    waitpid(*pid, NULL, 0);
    *pid = 0;
}

static void kill_daemon(void)
{
    stop(&daemon_pid, SIGKILL);
    unlink(sock);
}

static void sample_all(uint64_t time)
{
    uint32_t ids[PVPERF_MAX_SESSIONS] = {0};
    uint16_t domids[FAKE_DOMAINS];
    size_t i, j, nr;

    fake_lock(xen);
    for (i = 0; i < PVPERF_MAX_SESSIONS; i++)
        ids[i] = xen->sessions[i].used ? xen->sessions[i].info.session : 0;
    nr = xen->nr_domains;
    for (i = 0; i < nr; i++)
        domids[i] = xen->domains[i].domid;
    fake_unlock(xen);
    for (i = 0; i < PVPERF_MAX_SESSIONS; i++) {
        for (j = 0; ids[i] && j < nr; j++)
            fake_sample(xen, ids[i], domids[j], 0, time);
    }
}

static void start_sampler(void)
{
    uint64_t time = 6000000000;

    sampler_pid = fork();
    if (sampler_pid)
        return;
    for (;; time += SAMPLE_US * 1000) {
        sample_all(time);
        if (time % 10000000 == 0)
            fake_poke(xen->virq);
        usleep(SAMPLE_US);
    }
}

/* ---- running pvperf ---- */

static pid_t run_start(const char *args)
{
    char line[2048];
    pid_t pid;

    snprintf(line, sizeof(line), "exec %s >out 2>err %s", pvperf, args);
    pid = fork();
    if (pid == 0) {
        alarm(LIMIT_S);
        if (chdir(dir))
            _exit(99);
        execl("/bin/sh", "sh", "-c", line, (char *)NULL);
        _exit(99);
    }
    return pid;
}

/* The exit status, -1 if it was killed. */
static int run_end(pid_t pid)
{
    int status;

    while (waitpid(pid, &status, 0) < 0)
        ;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int run(const char *args)
{
    return run_end(run_start(args));
}

static char *content(const char *name)
{
    static char text[1 << 20];
    char path[256];
    size_t len = 0;
    FILE *f;

    snprintf(path, sizeof(path), "%s/%s", dir, name);
    f = fopen(path, "r");
    if (f) {
        len = fread(text, 1, sizeof(text) - 1, f);
        fclose(f);
    }
    text[len] = '\0';
    return text;
}

static bool exists(const char *name)
{
    char path[256];

    snprintf(path, sizeof(path), "%s/%s", dir, name);
    return !access(path, F_OK);
}

static unsigned long lines(const char *text)
{
    unsigned long n = 0;

    for (; *text; text++)
        n += *text == '\n';
    return n;
}

#define ck_says(name, word)                                                         \
    ck_assert_msg(strstr(content(name), word), "%s lacks '%s': %.300s", name, word, \
                  content(name))

/* A refusal: the status, one line with @word in it, and no file. */
#define ck_refuses(status, word, args)               \
    do {                                             \
        ck_assert_int_eq(run(args), status);         \
        ck_says("err", word);                        \
        ck_assert_uint_eq(lines(content("err")), 1); \
        ck_assert(!exists("x.data"));                \
    } while (0)

/* Samples in a capture, by the words of `pvperf script`. */
static unsigned long samples(const char *file)
{
    char args[256];

    snprintf(args, sizeof(args), "script --fields time -i %s", file);
    run(args);
    return lines(content("out"));
}

/* What Xen counted: recorded, of the first event. */
static unsigned long counted(const char *file, unsigned long *lost)
{
    unsigned long over = 0, recorded = 0, filtered = 0;
    char args[256];
    int got;

    snprintf(args, sizeof(args), "report --counts -i %s", file);
    ck_assert_int_eq(run(args), 0);
    got = sscanf(content("out"), "%*[^\n]\n%*s %lu %lu %lu %lu", &over, &recorded, lost,
                 &filtered);
    ck_assert_int_eq(got, 4);
    ck_assert_uint_eq(over, recorded + *lost + filtered);
    return recorded;
}

static void ck_whole(const char *file)
{
    unsigned long lost, recorded = counted(file, &lost), have = samples(file);

    ck_assert_uint_gt(recorded, 0);
    ck_assert_uint_eq(recorded, have);
}

static void setup(void)
{
    char *slash, self[400];
    ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);

    /* BUILD/tests/unit/X runs BUILD/pvperf, BUILD/tests/san/X BUILD/san/pvperf. */
    ck_assert_int_gt(len, 0);
    self[len] = '\0';
    slash = strstr(self, "/tests/unit/");
    if (slash)
        snprintf(pvperf, sizeof(pvperf), "%.*s/pvperf", (int)(slash - self), self);
    else if ((slash = strstr(self, "/tests/san/")))
        snprintf(pvperf, sizeof(pvperf), "%.*s/san/pvperf", (int)(slash - self), self);
    ck_assert_ptr_nonnull(slash);
    strcpy(dir, "/tmp/pvperf-cli-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(dir));
    snprintf(sock, sizeof(sock), "%s/sock", dir);
    setenv("PVPERFD_SOCKET", sock, 1);
    setenv("HOME", dir, 1);
    unsetenv("XDG_CACHE_HOME");
    xen = fake_new();
    fake_add_domain(xen, 0, 1, "Domain-0");
    fake_add_domain(xen, 3, 1, "web");
    fake_add_domain(xen, 4, 1, "db");
    start_daemon();
    start_sampler();
}

static void teardown(void)
{
    char line[128];

    stop(&sampler_pid, SIGKILL);
    stop(&daemon_pid, SIGKILL);
    fake_free(xen);
    snprintf(line, sizeof(line), "rm -rf %s", dir);
    ck_assert_int_eq(system(line), 0);
}

/* ---- tests ---- */

START_TEST(record_for_a_time)
{
    ck_assert_int_eq(run("record -d web -e timer --duration 0.6 -o x.data"), 0);
    ck_says("err", "samples in");
    ck_says("err", "x.data");
    ck_says("err", "web");
    ck_whole("x.data");
    ck_assert_int_eq(run("script --fields domain,event -i x.data"), 0);
    ck_says("out", "web timer");
    ck_assert_ptr_null(strstr(content("out"), "db"));
}
END_TEST

START_TEST(record_by_id_and_uuid)
{
    ck_assert_int_eq(
        run("record -q -d 3,04000000-0000-0000-0000-0000000000aa --duration 0.3"
            " -o x.data"),
        0);
    ck_assert_str_eq(content("err"), "");
    ck_assert_int_eq(run("script --fields domain -i x.data"), 0);
    ck_says("out", "web");
    ck_says("out", "db");
    ck_assert_ptr_null(strstr(content("out"), "Domain-0"));
}
END_TEST

START_TEST(record_all_by_default)
{
    ck_assert_int_eq(run("record --duration 0.3 -o x.data"), 0);
    ck_says("err", "sampling by the timer");
    ck_whole("x.data");
    ck_assert_int_eq(run("script --fields domain -i x.data"), 0);
    ck_says("out", "Domain-0");
    ck_says("out", "web");
}
END_TEST

static void give_pmu(void)
{
    fake_lock(xen);
    xen->query.backend = PVPERF_BACKEND_INTEL;
    xen->query.nr_counters = 4;
    xen->query.generic_events = 0x7f;
    fake_unlock(xen);
}

/* The fake's numbers: see fake_counts(). */
START_TEST(stat_counts)
{
    give_pmu();
    ck_assert_int_eq(
        run("stat --json -d web,db -e instructions:u,branches:k --duration 0.2"), 0);
    ck_assert_str_eq(content("err"), "");
    ck_assert_uint_eq(lines(content("out")), 4);
    ck_says("out",
            "\"domain\": \"web\", \"domid\": 3, \"event\": \"instructions:u\", "
            "\"count\": 1000000, \"time_ns\": 10000000, \"counted_ns\": 10000000}");
    ck_says("out", "\"domain\": \"db\", \"domid\": 4, \"event\": \"branches:k\", "
                   "\"count\": 2000000, \"time_ns\": 10000000, \"counted_ns\": 5000000}");
    /* Half of the time: twice as many, and said so. */
    ck_assert_int_eq(run("stat -d web -e cycles,branches --duration 0.2"), 0);
    ck_says("out", " 1,000,000 ");
    ck_says("out", "~           4,000,000 ");
    ck_says("out", "50 %");
    /* Without a list: what most want to know, of all domains. */
    ck_assert_int_eq(run("stat --duration 0.2 -I 0.05"), 0);
    ck_says("out", "branch-misses");
    ck_says("out", "Domain-0");
    ck_says("out", "at 0.2");
    ck_assert_uint_eq(xen->query.sessions, 0);
}
END_TEST

START_TEST(stat_per_vcpu_and_command)
{
    give_pmu();
    fake_add_domain(xen, 9, 12, "wide");
    ck_assert_int_eq(run("stat --per-vcpu -d wide -e cycles -- true"), 0);
    ck_assert_uint_eq(lines(content("out")), 1 + 12 + 2);
    ck_says("out", "wide/11");
}
END_TEST

START_TEST(stat_refuses)
{
    ck_refuses(EXIT_FAILURE, "PMU", "stat -d web --duration 0.1");
    give_pmu();
    ck_refuses(2, "timer", "stat -d web -e timer");
    ck_refuses(2, "did you mean", "stat -d web -e instrutions");
    ck_refuses(2, "-a and -d", "stat -a -d web");
    ck_refuses(EXIT_FAILURE, "pvperf list domains", "stat -d nobody -e cycles");
    ck_refuses(EXIT_FAILURE, "nothere", "stat -d web -e cycles -- nothere");
    xen->rc[PVPERF_OP_counts_read] = -EFAULT;
    ck_refuses(EXIT_FAILURE, "counts", "stat -d web -e cycles --duration 0.1");
    xen->rc[PVPERF_OP_counts_read] = 0;
    xen->rc[PVPERF_OP_session_create] = -EINVAL;
    ck_refuses(EXIT_FAILURE, "two events", "stat -d web -e cycles:uh --duration 0.1");
    ck_assert_uint_eq(xen->query.sessions, 0);
}
END_TEST

/* Another daemon goes on where the first one was killed. */
START_TEST(stat_outlives_the_daemon)
{
    pid_t pid;

    give_pmu();
    pid = run_start("stat --json -d web -e cycles --duration 2");
    usleep(600000);
    kill_daemon();
    start_daemon();
    ck_assert_int_eq(run_end(pid), 0);
    ck_says("out", "\"domain\": \"web\"");
}
END_TEST

START_TEST(record_until_interrupt)
{
    pid_t pid = run_start("record -d web -o x.data");

    usleep(700000);
    kill(pid, SIGINT);
    ck_assert_int_eq(run_end(pid), 0);
    ck_whole("x.data");
    pid = run_start("record -d web -o x.data");
    usleep(700000);
    kill(pid, SIGTERM);
    ck_assert_int_eq(run_end(pid), 0);
    ck_whole("x.data");
    ck_whole("x.data.old");
}
END_TEST

START_TEST(record_while_a_command_runs)
{
    ck_assert_int_eq(run("record -d web -o x.data -- sleep 0.4"), 0);
    ck_whole("x.data");
    unlink("x.data");
    ck_assert_int_eq(run("record -d web -o y.data -- no-such-command"), 1);
    ck_says("err", "no-such-command");
    ck_assert(!exists("y.data"));
}
END_TEST

START_TEST(record_refuses)
{
    ck_refuses(1, "did you mean 'web'", "record -d wbe -o x.data");
    ck_refuses(1, "4711", "record -d 4711 -o x.data");
    ck_refuses(2, "did you mean 'cycles'", "record -e cycels -o x.data");
    ck_refuses(1, "use -e timer", "record -e cycles -o x.data");
    ck_refuses(1, "10000", "record -e timer -F 10001 -o x.data");
    ck_refuses(1, "too short", "record -e timer -c 10 -o x.data");
    ck_refuses(1, "no-such-dir", "record -a -o no-such-dir/x.data");
    ck_refuses(1, "nope", "record -d web --kernel web=nope -o x.data");
    ck_refuses(1, "dbb", "record -d web --kernel dbb=/bin/sh -o x.data");
    ck_refuses(2, "-F and -c", "record -F 1 -c 1000000 -o x.data");
    ck_assert_uint_eq(xen->query.sessions, 0);
}
END_TEST

START_TEST(xen_cannot)
{
    xen->rc[PVPERF_OP_query] = -EOPNOTSUPP;
    kill_daemon();
    start_daemon();
    ck_refuses(1, "pvperf=on", "record -a -o x.data");
    xen->rc[PVPERF_OP_query] = -ENOSYS;
    kill_daemon();
    start_daemon();
    ck_refuses(1, "no pvperf", "record -a -o x.data");
    kill_daemon();
    ck_refuses(1, "pvperfd", "record -a -o x.data");
}
END_TEST

START_TEST(domain_dies)
{
    pid_t pid = run_start("record -d web -o x.data");

    usleep(700000);
    fake_kill_domain(xen, 3);
    ck_assert_int_eq(run_end(pid), 0);
    ck_says("err", "(web) is gone");
    ck_whole("x.data");
}
END_TEST

START_TEST(one_of_two_domains_dies)
{
    pid_t pid = run_start("record -d web,db --duration 1.2 -o x.data");

    usleep(600000);
    fake_kill_domain(xen, 3);
    ck_assert_int_eq(run_end(pid), 0);
    ck_says("err", "(web) is gone");
    ck_whole("x.data");
}
END_TEST

START_TEST(domain_comes)
{
    pid_t pid = run_start("record -a --duration 1.5 -o x.data");

    usleep(500000);
    fake_add_domain(xen, 9, 1, "late");
    ck_assert_int_eq(run_end(pid), 0);
    ck_assert_int_eq(run("script --fields domain -i x.data"), 0);
    ck_says("out", "late");
}
END_TEST

START_TEST(daemon_is_restarted)
{
    unsigned long lost = 0;
    pid_t pid = run_start("record -d web --duration 3 -o x.data");

    usleep(800000);
    kill_daemon();
    usleep(200000);
    start_daemon();
    ck_assert_int_eq(run_end(pid), 0);
    ck_assert_uint_eq(counted("x.data", &lost), samples("x.data"));
}
END_TEST

START_TEST(daemon_stays_away)
{
    pid_t pid = run_start("record -d web -o x.data");

    usleep(800000);
    kill_daemon();
    ck_assert_int_eq(run_end(pid), 1);
    ck_says("err", "pvperfd");
    ck_assert_uint_gt(samples("x.data"), 100);
}
END_TEST

/* A file that may not grow is what a full disk looks like. */
START_TEST(disk_is_full)
{
    struct rlimit before, small;
    pid_t pid;

    ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &before), 0);
    small = before;
    small.rlim_cur = 100 * 1024;
    signal(SIGXFSZ, SIG_IGN);
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &small), 0);
    pid = run_start("record -q -d web -o x.data");
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &before), 0);
    ck_assert_int_eq(run_end(pid), 1);
    ck_says("err", "x.data");
    ck_assert_msg(lines(content("err")) == 1, "%.300s", content("err"));
    ck_assert_uint_gt(samples("x.data"), 200);
}
END_TEST

START_TEST(list_and_report)
{
    ck_assert_int_eq(run("list domains"), 0);
    ck_says("out", "web");
    ck_says("out", "03000000-0000-0000-0000-0000000000aa");
    ck_assert_int_eq(run("list --json"), 0);
    ck_says("out", "\"name\": \"web\"");
    ck_assert_int_eq(run("list events"), 0);
    ck_says("out", "timer");
    ck_assert_int_eq(run("record -q -d web,db --duration 0.5 -o x.data"), 0);
    ck_assert_int_eq(run("report -i x.data"), 0);
    ck_says("out", "web");
    ck_assert_int_eq(run("report -i x.data -d web"), 0);
    ck_says("out", "web");
    ck_assert_int_eq(run("report -i x.data -d nobody"), 1);
    ck_says("err", "nobody");
    ck_assert_int_eq(run("flamegraph -i x.data -o x.svg"), 0);
    ck_assert(exists("x.svg"));
    ck_assert_int_eq(run("flamegraph -i x.data -o -"), 0);
    ck_says("out", "web;");
}
END_TEST

/* What closes the pipe has seen enough; what cannot be written is told. */
START_TEST(output_that_ends)
{
    ck_assert_int_eq(run("record -q -a --duration 0.5 -o x.data"), 0);
    run("script -i x.data 2>late | head -n 1");
    ck_assert_str_eq(content("late"), "");
    ck_assert_int_eq(run("script -i x.data >/dev/full"), 1);
    ck_says("err", "No space left");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cli_run");
    TCase *tc = tcase_create("run");
    SRunner *runner;
    int failed;

    signal(SIGPIPE, SIG_IGN);
    tcase_set_timeout(tc, 120);
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, record_for_a_time);
    tcase_add_test(tc, record_by_id_and_uuid);
    tcase_add_test(tc, record_all_by_default);
    tcase_add_test(tc, stat_counts);
    tcase_add_test(tc, stat_per_vcpu_and_command);
    tcase_add_test(tc, stat_refuses);
    tcase_add_test(tc, stat_outlives_the_daemon);
    tcase_add_test(tc, record_until_interrupt);
    tcase_add_test(tc, record_while_a_command_runs);
    tcase_add_test(tc, record_refuses);
    tcase_add_test(tc, xen_cannot);
    tcase_add_test(tc, domain_dies);
    tcase_add_test(tc, one_of_two_domains_dies);
    tcase_add_test(tc, domain_comes);
    tcase_add_test(tc, daemon_is_restarted);
    tcase_add_test(tc, daemon_stays_away);
    tcase_add_test(tc, disk_is_full);
    tcase_add_test(tc, list_and_report);
    tcase_add_test(tc, output_that_ends);
    suite_add_tcase(suite, tc);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
