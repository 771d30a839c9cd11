/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * barrier.h: every access to memory that Xen writes too, and every barrier.
 * Each names its pair on Xen's side; docs/ring.md has the whole protocol.
 */
#ifndef PVP_BARRIER_H
#define PVP_BARRIER_H

#include <stdint.h>

/* Exactly one load: the value that is checked is the value that is used. */
static inline uint64_t pvp_read_once64(const uint64_t *p)
{
    return __atomic_load_n(p, __ATOMIC_RELAXED);
}

static inline uint32_t pvp_read_once32(const uint32_t *p)
{
    return __atomic_load_n(p, __ATOMIC_RELAXED);
}

static inline uint16_t pvp_read_once16(const uint16_t *p)
{
    return __atomic_load_n(p, __ATOMIC_RELAXED);
}

/*
 * Head before the records.  Pairs with the producer's write barrier between
 * the record and head.
 */
static inline uint64_t pvp_load_head(const uint64_t *head)
{
    return __atomic_load_n(head, __ATOMIC_ACQUIRE);
}

/*
 * DEAD before the last look at head.  Pairs with the producer's write barrier
 * between its last head and the flag.
 */
static inline uint32_t pvp_load_flags(const uint32_t *flags)
{
    return __atomic_load_n(flags, __ATOMIC_ACQUIRE);
}

/*
 * All reads of the records before tail.  Pairs with the producer's read of
 * tail, on which its writing of the next record depends.
 */
static inline void pvp_store_tail(uint64_t *tail, uint64_t value)
{
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    __atomic_store_n(tail, value, __ATOMIC_RELAXED);
}

#endif
