/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * decoder.c: makes samples of ring bytes.  The bytes are foreign: they may be
 * noise, and they may change while we look.  So each word is loaded once, into
 * our own memory, and checked there.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <pvperf/ring.h>

#define NS_PER_S 1000000000ull

struct pvperf_decoder {
    struct pvperf_decoder_ops ops;
    void *user;
    uint64_t period[PVPERF_MAX_EVENTS];
    unsigned int nr_events;
    uint16_t domid, vcpu; /* of the ring */
    bool started;
    bool has_context;
    uint64_t next; /* position of the first byte not fed yet */
    struct pvperf_rec_context context;
    struct pvperf_decoder_stats stats;
    struct pvperf_sample sample;
};

/* One load of a word that may lie anywhere and may change. */
struct word {
    volatile uint64_t value;
} __attribute__((packed, may_alias));

static uint64_t load_word(const uint8_t *p)
{
    return ((const struct word *)(const void *)p)->value;
}

static void load_words(void *to, const uint8_t *from, size_t bytes)
{
    uint64_t value;
    size_t at;

    for (at = 0; at < bytes; at += 8) {
        value = load_word(from + at);
        memcpy((uint8_t *)to + at, &value, 8);
    }
}

uint64_t pvperf_event_period(const struct pvperf_event *event)
{
    if (!(event->flags & PVPERF_EVENT_FLAG_FREQ))
        return event->rate;
    if (event->type == PVPERF_EVENT_TIMER && event->rate)
        return NS_PER_S / event->rate;
    return 1;
}

int pvperf_decoder_new(struct pvperf_decoder **out, const struct pvperf_event *events,
                       unsigned int nr_events, uint16_t domid, uint16_t vcpu,
                       const struct pvperf_decoder_ops *ops, void *user)
{
    struct pvperf_decoder *d;
    unsigned int i;

    if (!nr_events || nr_events > PVPERF_MAX_EVENTS)
        return -EINVAL;
    d = calloc(1, sizeof(*d));
    if (!d)
        return -ENOMEM;
    for (i = 0; i < nr_events; i++)
        d->period[i] = pvperf_event_period(&events[i]);
    d->nr_events = nr_events;
    d->domid = domid;
    d->vcpu = vcpu;
    d->ops = *ops;
    d->user = user;
    *out = d;
    return 0;
}

void pvperf_decoder_free(struct pvperf_decoder *d)
{
    free(d);
}

/* The chain at @p, of which @len bytes are in the record. */
static int decode_chain(struct pvperf_sample *s, const uint8_t *p, size_t len)
{
    struct pvperf_chain chain;
    size_t frames;

    if (len < sizeof(chain))
        return -EBADMSG;
    load_words(&chain, p, sizeof(chain));
    frames = (size_t)chain.nr_xen + chain.nr_kernel + chain.nr_user;
    if (frames > PVPERF_MAX_STACK || frames * 8 > len - sizeof(chain))
        return -EBADMSG;
    s->nr_xen = chain.nr_xen;
    s->nr_kernel = chain.nr_kernel;
    s->nr_user = chain.nr_user;
    load_words(s->chain, p + sizeof(chain), frames * 8);
    return 0;
}

static void set_context(struct pvperf_decoder *d, struct pvperf_sample *s)
{
    if (d->has_context) {
        s->domid = d->context.domid;
        s->vcpu = d->context.vcpu;
        s->pt_base = d->context.pt_base;
        s->tag = d->context.tag;
        return;
    }
    d->stats.no_context++;
    s->domid = d->domid;
    s->vcpu = d->vcpu;
    s->pt_base = 0;
    s->tag = 0;
}

static int decode_sample(struct pvperf_decoder *d, const struct pvperf_rec *hdr,
                         const uint8_t *p, size_t len)
{
    struct pvperf_sample *s = &d->sample;
    struct pvperf_rec_sample rec;
    size_t at = sizeof(rec);

    if (len < sizeof(rec) || hdr->event >= d->nr_events || hdr->mode >= PVPERF_MODES)
        return -EBADMSG;
    load_words(&rec, p, sizeof(rec));
    s->time = rec.time;
    s->ip = rec.ip;
    s->pcpu = hdr->pcpu;
    s->event = hdr->event;
    s->mode = hdr->mode;
    s->flags = hdr->flags;
    s->period = d->period[hdr->event];
    s->nr_xen = s->nr_kernel = s->nr_user = 0;
    if (hdr->flags & PVPERF_SAMPLE_FLAG_PERIOD) {
        if (len < at + 8)
            return -EBADMSG;
        s->period = load_word(p + at);
        at += 8;
    }
    if ((hdr->flags & PVPERF_SAMPLE_FLAG_CHAIN) && decode_chain(s, p + at, len - at) < 0)
        return -EBADMSG;
    set_context(d, s);
    d->stats.samples++;
    if (d->ops.sample)
        d->ops.sample(d->user, s);
    return 0;
}

static int decode_context(struct pvperf_decoder *d, const uint8_t *p, size_t len)
{
    if (len < sizeof(d->context))
        return -EBADMSG;
    load_words(&d->context, p, sizeof(d->context));
    d->has_context = true;
    return 0;
}

static int decode_lost(struct pvperf_decoder *d, const struct pvperf_rec *hdr,
                       const uint8_t *p, size_t len)
{
    struct pvperf_rec_lost rec;
    struct pvperf_lost lost;

    if (len < sizeof(rec) || hdr->event >= d->nr_events)
        return -EBADMSG;
    load_words(&rec, p, sizeof(rec));
    lost = (struct pvperf_lost){
        .count = rec.count,
        .time_first = rec.time_first,
        .time_last = rec.time_last,
        .domid = d->domid,
        .vcpu = d->vcpu,
        .pcpu = hdr->pcpu,
        .event = hdr->event,
    };
    d->stats.lost += rec.count;
    if (d->ops.lost)
        d->ops.lost(d->user, &lost);
    return 0;
}

/* The record at @p, of at most @left bytes; returns its length. */
static int decode_record(struct pvperf_decoder *d, const uint8_t *p, size_t left)
{
    struct pvperf_rec hdr;
    size_t len;
    int rc = 0;

    load_words(&hdr, p, sizeof(hdr));
    len = (size_t)hdr.words * 8;
    if (!len || len > left)
        return -EBADMSG;
    switch (hdr.type) {
    case PVPERF_REC_PAD:
        break;
    case PVPERF_REC_SAMPLE:
        rc = decode_sample(d, &hdr, p, len);
        break;
    case PVPERF_REC_CONTEXT:
        rc = decode_context(d, p, len);
        break;
    case PVPERF_REC_LOST:
        rc = decode_lost(d, &hdr, p, len);
        break;
    default:
        d->stats.unknown++;
        break;
    }
    return rc < 0 ? rc : (int)len;
}

static int corrupt(struct pvperf_decoder *d, uint64_t position, uint64_t len,
                   uint64_t *bad)
{
    d->has_context = false;
    d->stats.corrupt += len;
    if (bad)
        *bad = position;
    return -EBADMSG;
}

int pvperf_decoder_feed(struct pvperf_decoder *d, uint64_t position, const void *bytes,
                        size_t len, uint64_t *bad)
{
    const uint8_t *p = bytes;
    size_t at = 0;
    int used;

    if (position % 8 || len % 8 || position + len < position)
        return corrupt(d, position, len, bad);
    if (d->started && position < d->next) {
        at = d->next - position < len ? (size_t)(d->next - position) : len;
        d->stats.duplicates += at;
        if (at == len)
            return 0;
    } else if (d->started && position > d->next) {
        d->stats.gaps += position - d->next;
        d->has_context = false;
    }
    d->started = true;
    d->next = position + len;
    while (at < len) {
        used = decode_record(d, p + at, len - at);
        if (used < 0)
            return corrupt(d, position + at, len - at, bad);
        at += (size_t)used;
    }
    return 0;
}

void pvperf_decoder_stats(const struct pvperf_decoder *d,
                          struct pvperf_decoder_stats *out)
{
    *out = d->stats;
}
