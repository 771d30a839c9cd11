/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * table.h: a hash table of items of one size, which keep their index, up to a
 * limit.  The hash is seeded anew for each table, so that whoever chooses the
 * keys (guests, files) cannot make them collide.
 */
#ifndef PVP_TABLE_H
#define PVP_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef bool pvp_equal_fn(const void *item, const void *key);

struct pvp_table {
    uint8_t *items;
    uint64_t *hashes;
    size_t nr;
    size_t max;
    size_t limit;
    size_t item_size;
    uint32_t *slots; /* index + 1; 0: free */
    size_t nr_slots; /* a power of two, or 0 */
    uint64_t seed;
    pvp_equal_fn *equal;
};

void pvp_table_init(struct pvp_table *t, size_t item_size, size_t limit,
                    pvp_equal_fn *equal);
void pvp_table_free(struct pvp_table *t);
uint64_t pvp_table_hash(const struct pvp_table *t, const void *data, size_t len);
/* Index of the item that equals @key, or -1. */
int64_t pvp_table_find(const struct pvp_table *t, uint64_t hash, const void *key);
/* Add one that is not there yet: its index, -ENOSPC (limit) or -ENOMEM. */
int64_t pvp_table_add(struct pvp_table *t, uint64_t hash, const void *item);

static inline void *pvp_table_at(const struct pvp_table *t, size_t i)
{
    return t->items + i * t->item_size;
}

#endif
