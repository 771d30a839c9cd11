/* SPDX-License-Identifier: GPL-2.0-only */
/* session.c: life and state of a session; session_rings.c moves its bytes. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "log.h"
#include "session.h"
#include "session_rings.h"

int64_t session_now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

uint64_t session_cookie(void)
{
    uint64_t cookie = 0;

    /* A dom0 that has just booted may lack entropy: do not wait for it. */
    if (getrandom(&cookie, sizeof(cookie), GRND_NONBLOCK) != sizeof(cookie) &&
        getrandom(&cookie, sizeof(cookie), GRND_INSECURE) != sizeof(cookie))
        return 0;
    return (cookie >> 16) | (uint64_t)SESSION_MARK << 48;
}

bool session_is_ours(const struct pvperf_session_info *info)
{
    return info->cookie >> 48 == SESSION_MARK;
}

struct session *session_new(struct pvperf_host *host,
                            const struct pvperf_session_info *info)
{
    struct session *s = calloc(1, sizeof(*s));

    if (!s)
        return NULL;
    s->host = host;
    s->id = info->session;
    s->cookie = info->cookie;
    s->info = *info;
    s->info.ring_changes = ~info->ring_changes; /* no scan was made yet */
    s->since = time(NULL);
    return s;
}

void session_forget(struct session *s)
{
    session_rings_close(s);
    if (s->client)
        s->client->session = NULL;
    free(s->domains);
    free(s);
}

static bool refresh_info(struct session *s, struct pvperf_session_info *info)
{
    struct pvperf_err err;
    int rc = pvperf_host_session_info(s->host, s->id, info, &err);

    if (rc == -ENOENT)
        s->gone = true;
    else if (rc < 0)
        log_warning("%s", err.text);
    return rc >= 0;
}

void session_destroy(struct session *s)
{
    struct pvperf_err err;

    session_rings_close(s);
    if (!s->gone && pvperf_host_session_destroy(s->host, s->id, &err) < 0)
        log_warning("%s", err.text);
    session_forget(s);
}

void session_expire(struct session *s)
{
    struct pvperf_session_info info = s->info;
    uint64_t lost = 0, samples;
    unsigned int i;

    pvperf_host_session_stop(s->host, s->id, NULL);
    if (refresh_info(s, &info))
        session_rings_scan(s, &info, NULL, 0);
    s->info = info;
    samples = session_rings_count(s);
    for (i = 0; i < info.nr_events; i++)
        lost += info.counts[i].lost;
    log_warning("nobody came back for session %u of process %d (%s): destroyed; %" PRIu64
                " samples were not delivered, %" PRIu64 " had found no room",
                s->id, (int)s->pid, s->command[0] ? s->command : "unknown", samples,
                lost);
    session_destroy(s);
}

void session_attach(struct session *s, struct conn *c)
{
    s->client = c;
    c->session = s;
    s->pid = c->pid;
    s->uid = c->uid;
    s->sent_len = 0;
    s->next_counts = session_now_ms() + SESSION_COUNTS_MS;
}

void session_detach(struct session *s, int64_t deadline)
{
    if (s->client)
        s->client->session = NULL;
    s->client = NULL;
    s->sent_len = 0; /* comes again, from the ring */
    s->deadline = deadline;
}

/* ---- Domains ---- */

static void send_domain(struct session *s, unsigned int event,
                        const struct pvperf_domain *d)
{
    struct pvperf_msg_domain_event msg = {
        .event = event, .left = (uint32_t)s->nr_domains, .domain = *d};

    if (s->client)
        conn_send(s->client, PVPERF_MSG_DOMAIN_EVENT, 0, &msg, sizeof(msg), NULL, 0);
}

/* Remember @d as followed. */
static int remember(struct session *s, const struct pvperf_domain *d)
{
    struct pvperf_domain *more;
    size_t at;

    more = reallocarray(s->domains, s->nr_domains + 1, sizeof(*more));
    if (!more)
        return -ENOMEM;
    s->domains = more;
    for (at = s->nr_domains; at && more[at - 1].domid > d->domid; at--)
        more[at] = more[at - 1];
    more[at] = *d;
    s->nr_domains++;
    return 0;
}

int session_add_domain(struct session *s, const struct pvperf_domain *d,
                       struct pvperf_err *err)
{
    int rc;

    if (domains_find(s->domains, s->nr_domains, d->domid))
        return 0;
    rc = pvperf_host_domain_add(s->host, s->id, d->domid, err);
    if (rc < 0)
        return rc;
    rc = remember(s, d);
    if (rc < 0)
        return pvperf_err_set(err, rc, "pvperfd is out of memory: profile fewer domains");
    send_domain(s, PVPERF_DOMAIN_EVENT_NEW, d);
    return 0;
}

static void adopt_domain(struct session *s, uint16_t domid, const uint8_t *uuid,
                         const struct pvperf_domain *list, size_t nr)
{
    const struct pvperf_domain *now = domains_find(list, nr, domid);
    struct pvperf_domain d = {.domid = domid};

    memcpy(d.uuid, uuid, sizeof(d.uuid));
    if (now && !memcmp(now->uuid, d.uuid, sizeof(d.uuid)))
        d = *now;
    if (domid == PVPERF_DOMID_IDLE || domains_find(s->domains, s->nr_domains, domid))
        return;
    if (remember(s, &d) < 0)
        log_error("out of memory: session %u does not follow domain %u", s->id, domid);
}

/*
 * Who is in a session that was found in Xen?  Those that have rings or counts;
 * that some of them died meanwhile comes out when they are compared with the
 * list.
 */
static void adopt_domains(struct session *s, const struct pvperf_domain *list, size_t nr)
{
    bool counts = s->info.session_flags & PVPERF_SESSION_FLAG_COUNT;
    struct pvperf_counts_read read = {.total = counts};
    uint32_t next;
    size_t i;

    for (i = 0; i < s->nr_rings; i++)
        adopt_domain(s, s->rings[i].info.domid, s->rings[i].info.handle, list, nr);
    for (next = 0; next < read.total; next += read.nr) {
        if (pvperf_host_counts_read(s->host, s->id, next, &read, NULL) < 0 || !read.nr)
            return;
        for (i = 0; i < read.nr; i++)
            if (!(read.entry[i].flags & PVPERF_COUNT_FLAG_DEAD))
                adopt_domain(s, read.entry[i].domid, read.entry[i].handle, list, nr);
    }
}

/* The same domain, and alive? */
static const struct pvperf_domain *
still_there(const struct pvperf_domain *d, const struct pvperf_domain *list, size_t nr)
{
    const struct pvperf_domain *now = domains_find(list, nr, d->domid);

    if (!now || now->state == PVPERF_DOMAIN_DYING ||
        memcmp(now->uuid, d->uuid, sizeof(d->uuid)))
        return NULL;
    return now;
}

static void drop_gone(struct session *s, const struct pvperf_domain *list, size_t nr)
{
    const struct pvperf_domain *now;
    struct pvperf_domain old;
    size_t i = 0;

    while (i < s->nr_domains) {
        now = still_there(&s->domains[i], list, nr);
        if (now) {
            old = s->domains[i];
            s->domains[i] = *now;
            /* xenstore forgets a domain that is destroyed before Xen does. */
            if (!now->name[0])
                memcpy(s->domains[i].name, old.name, sizeof(old.name));
            if (strcmp(old.name, s->domains[i].name))
                send_domain(s, PVPERF_DOMAIN_EVENT_NAME, &s->domains[i]);
            i++;
            continue;
        }
        old = s->domains[i];
        s->nr_domains--;
        memmove(&s->domains[i], &s->domains[i + 1],
                (s->nr_domains - i) * sizeof(s->domains[0]));
        send_domain(s, PVPERF_DOMAIN_EVENT_GONE, &old);
    }
}

static void notice(struct session *s, const char *text)
{
    if (s->client)
        conn_send(s->client, PVPERF_MSG_NOTICE, 0, text, strlen(text), NULL, 0);
}

static void add_new(struct session *s, const struct pvperf_domain *list, size_t nr)
{
    struct pvperf_err err;
    size_t i;
    int rc;

    for (i = 0; i < nr; i++) {
        if (list[i].state == PVPERF_DOMAIN_DYING)
            continue;
        rc = session_add_domain(s, &list[i], &err);
        if (rc == -ENOSPC || rc == -ENOMEM) {
            /* Its samples go to the CPUs' rings: say it once. */
            notice(s, err.text);
            log_warning("session %u, domain %u: %s", s->id, list[i].domid, err.text);
            remember(s, &list[i]);
        }
    }
}

void session_domains_changed(struct session *s, const struct pvperf_domain *list,
                             size_t nr)
{
    drop_gone(s, list, nr);
    if (s->info.session_flags & PVPERF_SESSION_FLAG_ALL)
        add_new(s, list, nr);
}

/* A domain may have got vCPUs since it was added. */
static void follow(struct session *s, int64_t now)
{
    size_t i;

    if (now < s->next_follow)
        return;
    s->next_follow = now + SESSION_FOLLOW_MS;
    for (i = 0; i < s->nr_domains; i++)
        pvperf_host_domain_add(s->host, s->id, s->domains[i].domid, NULL);
}

/* ---- Counts, start, stop ---- */

static void send_counts(struct session *s, unsigned int type)
{
    struct pvperf_session_counts counts = {.nr_events = s->info.nr_events,
                                           .nr_rings = (uint32_t)s->nr_rings};

    memcpy(counts.event, s->info.counts, sizeof(counts.event));
    conn_send(s->client, type, 0, &counts, sizeof(counts), NULL, 0);
}

void session_greet(struct session *s, const struct pvperf_domain *list, size_t nr)
{
    size_t i;

    session_rings_announce(s, list, nr);
    session_tick(s, list, nr);
    if (s->adopted)
        adopt_domains(s, list, nr);
    else
        for (i = 0; i < s->nr_domains; i++)
            send_domain(s, PVPERF_DOMAIN_EVENT_NEW, &s->domains[i]);
    s->adopted = true; /* the next to be greeted has heard of them */
    session_domains_changed(s, list, nr);
    session_tick(s, list, nr); /* the rings of those who have just joined */
    if (s->client)
        conn_send(s->client, PVPERF_MSG_SYNCED, 0, NULL, 0, NULL, 0);
}

bool session_tick(struct session *s, const struct pvperf_domain *list, size_t nr)
{
    struct pvperf_session_info info;
    int64_t now = session_now_ms();

    if (!s->client)
        return true; /* Xen fills its rings until somebody comes */
    follow(s, now);
    if (!refresh_info(s, &info))
        return !s->gone;
    session_rings_scan(s, &info, list, nr);
    s->info = info;
    if (s->stopping || now < s->next_counts)
        return true;
    s->next_counts = now + SESSION_COUNTS_MS;
    if (conn_idle(s->client)) /* a slow client has use for other things */
        send_counts(s, PVPERF_MSG_COUNTS);
    return true;
}

int session_start(struct session *s, struct pvperf_err *err)
{
    s->stopping = false;
    return pvperf_host_session_start(s->host, s->id, err);
}

int session_stop(struct session *s, const struct pvperf_domain *list, size_t nr,
                 struct pvperf_err *err)
{
    int rc = pvperf_host_session_stop(s->host, s->id, err);

    if (rc < 0)
        return rc;
    /* A ring made since the last look has samples too. */
    session_tick(s, list, nr);
    s->stopping = true;
    return 0;
}

bool session_pump(struct session *s)
{
    struct pvperf_session_info info;
    struct conn *c = s->client;

    if (!c)
        return false;
    if (session_rings_drain(s))
        return true;
    if (!s->stopping || s->sent_len || c->dead || !session_rings_empty(s))
        return false;
    if (!refresh_info(s, &info))
        return false;
    memcpy(s->info.counts, info.counts, sizeof(info.counts));
    s->stopping = false;
    send_counts(s, PVPERF_MSG_END);
    conn_flush(c);
    return false;
}
