/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * object_kallsyms.c: the symbols that a stripped kernel image still holds.
 *
 * Linux keeps its own symbols in read-only data, as unnamed tables:
 *   names        for each symbol a length and as many one-byte tokens; the
 *                first letter of the expanded text is the type
 *   markers      u32: offset in names of each 256th symbol
 *   token_table  256 strings, one after the other
 *   token_index  u16: offset in token_table of each string
 *   offsets      s32 a symbol; relative_base u64; num_syms u32
 * Up to 6.3 the order is offsets, relative_base, num_syms, names, markers,
 * [seqs_of_names, 3 bytes a symbol,] token_table, token_index; from 6.4 on it
 * is num_syms, names, markers, token_table, token_index, offsets,
 * relative_base.  Each table begins at a multiple of 8.
 *
 * token_index is found first, since it can be computed from the table before
 * it: 512 bytes that agree are no accident.  The rest must fit as exactly.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "object_private.h"

#define TOKENS 256
#define MARKER_STEP 256
#define MAX_NAME_BYTES 1024 /* of one symbol in names, length included */
#define SEARCH_STEPS (256u << 20)

struct tables {
    const uint8_t *data;
    size_t len;
    size_t token_table;
    size_t token_offset[TOKENS];
    uint8_t token_len[TOKENS];
    size_t token_end; /* behind token_index */
    size_t names;
    size_t names_end;
    uint32_t nr;
    size_t offsets;
    uint64_t base;
    uint32_t budget; /* steps left before a search is given up */
};

static uint32_t u32_at(const struct tables *t, size_t at)
{
    uint32_t v;

    memcpy(&v, t->data + at, sizeof(v));
    return v;
}

static uint64_t u64_at(const struct tables *t, size_t at)
{
    uint64_t v;

    memcpy(&v, t->data + at, sizeof(v));
    return v;
}

static size_t align8(size_t n)
{
    return (n + 7) & ~(size_t)7;
}

/* Whether 256 strings begin at @at, and the index of them follows. */
static bool check_tokens(struct tables *t, size_t at)
{
    size_t p = at, n, i;
    uint16_t index;

    for (i = 0; i < TOKENS; i++) {
        n = strnlen((const char *)t->data + p, t->len - p < 128 ? t->len - p : 128);
        if (n == 128 || p + n >= t->len)
            return false;
        t->token_offset[i] = p;
        t->token_len[i] = (uint8_t)n;
        p += n + 1;
    }
    p = align8(p);
    if (p > t->len || t->len - p < 2 * TOKENS)
        return false;
    for (i = 0; i < TOKENS; i++) {
        memcpy(&index, t->data + p + 2 * i, sizeof(index));
        if (index != t->token_offset[i] - at)
            return false;
    }
    t->token_table = at;
    t->token_end = p + 2 * TOKENS;
    return true;
}

/* Digits stand for themselves: "0", "1" ... are neighbours in the table. */
static bool find_tokens(struct tables *t, size_t *from)
{
    static const char digits[] = "0\0001\0002\0003\0004\0005\0006\0007\0008\0009";
    const uint8_t *hit;
    size_t at;
    int i;

    while (*from < t->len) {
        hit = memmem(t->data + *from, t->len - *from, digits, sizeof(digits));
        if (!hit)
            return false;
        *from = (size_t)(hit - t->data) + 1;
        /* Back over the 48 tokens before '0'. */
        at = (size_t)(hit - t->data);
        for (i = 0; i < '0' && at > 1; i++)
            for (at--; at && t->data[at - 1]; at--)
                ;
        if (i == '0' && at % 8 == 0 && check_tokens(t, at))
            return true;
    }
    return false;
}

/* Size in names of the symbol at @at; 0: it reaches beyond @end. */
static size_t name_size(const struct tables *t, size_t at, size_t end, size_t *header)
{
    size_t len;

    if (at >= end)
        return 0;
    len = t->data[at];
    *header = 1;
    if (len & 0x80) { /* long names: two bytes of length */
        if (at + 1 >= end)
            return 0;
        len = (len & 0x7f) | (size_t)t->data[at + 1] << 7;
        *header = 2;
    }
    if (!len || len + *header > MAX_NAME_BYTES || len > end - at - *header)
        return 0;
    return len + *header;
}

/*
 * Whether @nr symbols begin at @names, with markers behind them that agree,
 * and tokens behind those (directly, or after 3 bytes a symbol of indices).
 */
static bool check_names(struct tables *t, size_t names, uint32_t nr)
{
    size_t at = names, header, n, markers, end;
    uint32_t i;

    for (i = 0; i < nr; i++) {
        n = name_size(t, at, t->token_table, &header);
        if (!n || !t->budget)
            return false;
        t->budget--;
        at += n;
    }
    markers = align8(at);
    end = align8(markers + 4 * ((size_t)(nr - 1) / MARKER_STEP + 1));
    if (end != t->token_table && align8(end + 3 * (size_t)nr) != t->token_table)
        return false;
    for (at = names, i = 0; i < nr; i++) {
        if (i % MARKER_STEP == 0 &&
            at - names != u32_at(t, markers + 4 * (size_t)(i / MARKER_STEP)))
            return false;
        at += name_size(t, at, markers, &header);
    }
    t->names = names;
    t->names_end = markers;
    t->nr = nr;
    return true;
}

static bool check_offsets(struct tables *t, size_t offsets, size_t base)
{
    if (base > t->len || t->len - base < 8 || offsets > base ||
        u64_at(t, base) >> 31 != (1ull << 33) - 1)
        return false;
    t->offsets = offsets;
    t->base = u64_at(t, base);
    return true;
}

static bool find_offsets(struct tables *t)
{
    size_t size = 4 * (size_t)t->nr;

    /* 6.4 and later: behind the tokens. */
    if (size <= t->len &&
        check_offsets(t, align8(t->token_end), align8(align8(t->token_end) + size)))
        return true;
    if (t->names < 16 + align8(size))
        return false;
    return check_offsets(t, t->names - 16 - align8(size), t->names - 16);
}

/* Back from the tokens to a count of symbols with that many behind it. */
static bool find_before(struct tables *t)
{
    size_t at;

    for (at = t->token_table & ~(size_t)7; at >= 8; at -= 8) {
        uint32_t nr = u32_at(t, at - 8);

        if (nr < 2 || nr > (t->token_table - at) / 2 || u32_at(t, at - 4))
            continue;
        if (check_names(t, at, nr) && find_offsets(t))
            return true;
    }
    return false;
}

static size_t expand(const struct tables *t, size_t at, size_t len, char *out, size_t max)
{
    size_t n = 0, i;

    for (i = 0; i < len; i++) {
        uint8_t token = t->data[at + i];
        size_t part = t->token_len[token];

        if (part > max - n)
            part = max - n;
        memcpy(out + n, t->data + t->token_offset[token], part);
        n += part;
    }
    return n;
}

/*
 * Offsets are unsigned, or, with per-CPU symbols kept as absolute ones, a
 * negative one counts down from the base and a positive one is absolute.
 */
static bool offsets_signed(const struct tables *t)
{
    uint32_t i, negative = 0;

    for (i = 0; i < t->nr; i++)
        negative += u32_at(t, t->offsets + 4 * (size_t)i) >> 31;
    return negative > t->nr / 2;
}

static int take_symbols(struct pvperf_object *o, const struct tables *t)
{
    bool is_signed = offsets_signed(t);
    size_t at = t->names, header, size, n;
    char name[PVP_NAME_MAX + 1];
    uint64_t address, before = 0;
    uint32_t i, back = 0;
    int rc = 0;

    for (i = 0; !rc && i < t->nr; i++) {
        uint32_t v = u32_at(t, t->offsets + 4 * (size_t)i);

        size = name_size(t, at, t->names_end, &header);
        n = expand(t, at + header, size - header, name, sizeof(name));
        at += size;
        if (is_signed)
            address = v >> 31 ? t->base - 1 - (uint64_t)(int64_t)(int32_t)v : v;
        else
            address = t->base + v;
        back += address < before;
        before = address;
        if (n < 2 || !strchr("tTwW", name[0]) || !(address >> 63))
            continue;
        rc = pvp_object_add(o, address, 0,
                            name[0] == 'T'   ? 0
                            : name[0] == 't' ? 2
                                             : 1,
                            name + 1, n - 1);
    }
    /* The kernel sorts them; else these are not what they seem. */
    return rc ? rc : back > t->nr / 1000 ? -EBADMSG : 0;
}

int pvp_object_read_kallsyms(struct pvperf_object *o, const uint8_t *data, size_t len)
{
    struct tables t = {.data = data, .len = len, .budget = SEARCH_STEPS};
    size_t from = 0;

    while (find_tokens(&t, &from))
        if (find_before(&t))
            return take_symbols(o, &t);
    return -ENOENT;
}
