/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * ring.h: taking bytes out of a mapped ring (the consumer), and making
 * samples of such bytes (the decoder).  The two meet in no memory: bytes may
 * travel over a socket or lie in a file in between.
 *
 * Neither trusts what it reads.  Shared memory is read once; a position or a
 * record that cannot be gives -EBADMSG, never a wild access.
 */
#ifndef PVPERF_RING_H
#define PVPERF_RING_H

#include <stddef.h>
#include <stdint.h>
#include <pvperf/abi.h>
#include <pvperf/error.h>
#include <pvperf/sample.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Consumer ---------------------------------------------------------- */

struct pvperf_consumer;

/*
 * Consume the ring at @header and @data (both mapped by the caller, who keeps
 * them mapped until pvperf_consumer_free()), which must be the one of @info.
 * It goes on at the tail that the last consumer left.
 */
int pvperf_consumer_new(struct pvperf_consumer **out, struct pvperf_ring *header,
                        const void *data, const struct pvperf_ring_info *info,
                        struct pvperf_err *err);
void pvperf_consumer_free(struct pvperf_consumer *c);

struct pvperf_span {
    uint64_t position; /* of the first byte, counted since the ring was made */
    const void *bytes; /* in the ring: valid until it is advanced over them */
    size_t len;        /* whole records, a multiple of 8 */
};

/*
 * The next records, at most @max bytes of them (@max is at least
 * PVPERF_RECORD_MAX).  Returns 1 with a span, 0 if the ring is empty,
 * -EBADMSG if the ring's head cannot be: the ring is then of no more use.
 * What is left behind the span needs another call.
 */
#define PVPERF_RECORD_MAX 2040 /* 255 words of 8 bytes */
int pvperf_consumer_peek(struct pvperf_consumer *c, size_t max, struct pvperf_span *span);

/*
 * Give the first @len bytes of the last span back to Xen.  -EINVAL: more
 * than the span, or not a multiple of 8.
 */
int pvperf_consumer_advance(struct pvperf_consumer *c, size_t len);

/* Position of the next byte to be read; bytes that wait; DEAD flag seen. */
uint64_t pvperf_consumer_position(const struct pvperf_consumer *c);
uint64_t pvperf_consumer_waiting(const struct pvperf_consumer *c);
int pvperf_consumer_dead(const struct pvperf_consumer *c);

/* Xen's counters of this ring; either array may be NULL. */
void pvperf_consumer_counts(const struct pvperf_consumer *c,
                            uint64_t recorded[PVPERF_MAX_EVENTS],
                            uint64_t lost[PVPERF_MAX_EVENTS]);

/* ---- Decoder ----------------------------------------------------------- */

/* One for each ring: the records of a ring depend on those before them. */
struct pvperf_decoder;

struct pvperf_decoder_ops {
    /* @sample and @lost live until the call returns. */
    void (*sample)(void *user, const struct pvperf_sample *sample);
    void (*lost)(void *user, const struct pvperf_lost *lost);
};

struct pvperf_decoder_stats {
    uint64_t samples;
    uint64_t lost;       /* sum of the LOST records */
    uint64_t unknown;    /* records of types this library does not know */
    uint64_t gaps;       /* bytes missing between two feeds */
    uint64_t duplicates; /* bytes fed again, dropped */
    uint64_t corrupt;    /* bytes skipped for not being records */
    uint64_t no_context; /* samples without a CONTEXT before them */
};

/*
 * @events are the session's; they give the period of samples that carry none.
 * @domid and @vcpu are the ring's: they name the samples before the first
 * CONTEXT.  Either operation may be NULL.
 */
int pvperf_decoder_new(struct pvperf_decoder **out, const struct pvperf_event *events,
                       unsigned int nr_events, uint16_t domid, uint16_t vcpu,
                       const struct pvperf_decoder_ops *ops, void *user);
void pvperf_decoder_free(struct pvperf_decoder *d);

/*
 * Decode @len bytes of whole records that begin at @position of the ring.
 * Bytes fed before are dropped; if some are missing in between, the context
 * is forgotten and the number of missing bytes counted.
 *
 * Bytes that are no records: -EBADMSG, *@bad (may be NULL) is the position
 * of the first of them.  The rest of this feed is skipped and counted, the
 * context is forgotten, and the next feed is decoded again from its first
 * byte.  So corruption costs at most the span it stands in.
 */
int pvperf_decoder_feed(struct pvperf_decoder *d, uint64_t position, const void *bytes,
                        size_t len, uint64_t *bad);

void pvperf_decoder_stats(const struct pvperf_decoder *d,
                          struct pvperf_decoder_stats *out);

/* What one sample without PERIOD stands for: events, or ns for the timer. */
uint64_t pvperf_event_period(const struct pvperf_event *event);

#ifdef __cplusplus
}
#endif
#endif
