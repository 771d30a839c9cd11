/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* table.c: see table.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "table.h"

void pvp_table_init(struct pvp_table *t, size_t item_size, size_t limit,
                    pvp_equal_fn *equal)
{
    memset(t, 0, sizeof(*t));
    t->item_size = item_size;
    t->limit = limit < UINT32_MAX ? limit : UINT32_MAX - 1;
    t->equal = equal;
    /* Without randomness the table still works. */
    if (getrandom(&t->seed, sizeof(t->seed), GRND_NONBLOCK) != sizeof(t->seed))
        t->seed = (uint64_t)(uintptr_t)t;
}

void pvp_table_free(struct pvp_table *t)
{
    free(t->items);
    free(t->hashes);
    free(t->slots);
}

static uint64_t mix(uint64_t h)
{
    h ^= h >> 32;
    h *= 0xd6e8feb86659fd93ull;
    h ^= h >> 32;
    h *= 0xd6e8feb86659fd93ull;
    return h ^ h >> 32;
}

uint64_t pvp_table_hash(const struct pvp_table *t, const void *data, size_t len)
{
    const uint8_t *p = data;
    uint64_t h = mix(t->seed ^ len), word;

    for (; len >= 8; p += 8, len -= 8) {
        memcpy(&word, p, 8);
        h = mix(h ^ word) + t->seed;
    }
    if (len) {
        word = 0;
        memcpy(&word, p, len);
        h = mix(h ^ word) + t->seed;
    }
    return mix(h);
}

int64_t pvp_table_find(const struct pvp_table *t, uint64_t hash, const void *key)
{
    size_t slot;
    uint32_t i;

    if (!t->nr_slots)
        return -1;
    for (slot = hash & (t->nr_slots - 1); (i = t->slots[slot]);
         slot = (slot + 1) & (t->nr_slots - 1))
        if (t->hashes[i - 1] == hash && t->equal(pvp_table_at(t, i - 1), key))
            return i - 1;
    return -1;
}

static void put_slot(struct pvp_table *t, uint32_t i)
{
    size_t slot = t->hashes[i] & (t->nr_slots - 1);

    while (t->slots[slot])
        slot = (slot + 1) & (t->nr_slots - 1);
    t->slots[slot] = i + 1;
}

static int grow(struct pvp_table *t)
{
    size_t max = t->max ? 2 * t->max : 64, nr_slots = 2 * max;
    uint8_t *items = reallocarray(t->items, max, t->item_size);
    uint64_t *hashes;
    uint32_t *slots, i;

    if (!items)
        return -ENOMEM;
    t->items = items;
    hashes = reallocarray(t->hashes, max, sizeof(*hashes));
    if (!hashes)
        return -ENOMEM;
    t->hashes = hashes;
    slots = calloc(nr_slots, sizeof(*slots));
    if (!slots)
        return -ENOMEM;
    free(t->slots);
    t->slots = slots;
    t->nr_slots = nr_slots;
    t->max = max;
    for (i = 0; i < t->nr; i++)
        put_slot(t, i);
    return 0;
}

int64_t pvp_table_add(struct pvp_table *t, uint64_t hash, const void *item)
{
    if (t->nr >= t->limit)
        return -ENOSPC;
    if (t->nr == t->max && grow(t))
        return -ENOMEM;
    memcpy(pvp_table_at(t, t->nr), item, t->item_size);
    t->hashes[t->nr] = hash;
    put_slot(t, (uint32_t)t->nr);
    return (int64_t)t->nr++;
}
