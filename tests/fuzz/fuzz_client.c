/* SPDX-License-Identifier: GPL-2.0-only */
/* fuzz_client.c: frames of a stream, as a client gets them from the socket. */
#include <stdlib.h>
#include <string.h>

#include "client_private.h"
#include "fuzz.h"

static uint64_t sum;

static void on_ring(void *user, const struct pvperf_client_ring *ring)
{
    (void)user;
    sum += ring->serial;
}

static void on_data(void *user, const struct pvperf_client_ring *ring, uint64_t position,
                    const void *bytes, size_t len)
{
    (void)user;
    (void)ring;
    sum += position;
    for (size_t i = 0; i < len; i++)
        sum += ((const uint8_t *)bytes)[i];
}

static void on_sample(void *user, const struct pvperf_client_ring *ring,
                      const struct pvperf_sample *s)
{
    (void)user;
    (void)ring;
    if (s->event >= PVPERF_MAX_EVENTS)
        __builtin_trap();
    sum += s->ip;
}

static void on_notice(void *user, const char *text)
{
    (void)user;
    sum += strlen(text);
}

static void on_domain(void *user, unsigned int event, const struct pvperf_domain *d,
                      unsigned int left)
{
    (void)user;
    sum += event + left + strlen(d->name);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct pvperf_client *c = calloc(1, sizeof(*c));
    struct pvperf_err err;

    if (!c)
        return 0;
    c->sock = c->epoll = c->timer = -1;
    c->nr_events = 2;
    c->session.session = 9;
    c->ops.ring_new = on_ring;
    c->ops.ring_gone = on_ring;
    c->ops.ring_data = on_data;
    c->ops.sample = on_sample;
    c->ops.notice = on_notice;
    c->ops.domain = on_domain;
    while (size >= 4) {
        struct pvperf_frame f = {0};
        uint8_t *body;

        /* type and length; the rest of a frame is its body */
        f.type = (uint16_t)(data[0] % 10 < 9 ? 128 + data[0] % 9 : data[0]);
        f.tag = data[1] & 1;
        f.size = (uint32_t)(data[2] | data[3] << 8);
        data += 4;
        size -= 4;
        if (f.size > size)
            f.size = (uint32_t)size;
        body = malloc(f.size ? f.size : 1);
        if (!body)
            break;
        memcpy(body, data, f.size);
        if (pvp_stream_frame(c, &f, body, &err) < 0) {
            free(body);
            break;
        }
        free(body);
        data += f.size;
        size -= f.size;
    }
    pvp_stream_forget(c);
    free(c->rings);
    free(c);
    return 0;
}
