/* SPDX-License-Identifier: GPL-2.0-only */
#include <string.h>

#include "domains.h"

/* Length of the UTF-8 character at @p, 0 if it is none. */
static size_t utf8_len(const unsigned char *p, size_t left)
{
    size_t len, i;

    if (p[0] >= 0x20 && p[0] < 0x7f)
        return 1;
    if (p[0] >= 0xc2 && p[0] <= 0xdf)
        len = 2;
    else if (p[0] >= 0xe0 && p[0] <= 0xef)
        len = 3;
    else if (p[0] >= 0xf0 && p[0] <= 0xf4)
        len = 4;
    else
        return 0;
    if (len > left)
        return 0;
    for (i = 1; i < len; i++)
        if ((p[i] & 0xc0) != 0x80)
            return 0;
    /* Not the C1 controls, overlong forms, surrogates or beyond the last. */
    if ((p[0] == 0xc2 && p[1] < 0xa0) || (p[0] == 0xe0 && p[1] < 0xa0) ||
        (p[0] == 0xed && p[1] > 0x9f) || (p[0] == 0xf0 && p[1] < 0x90) ||
        (p[0] == 0xf4 && p[1] > 0x8f))
        return 0;
    return len;
}

void domains_clean_name(char out[PVPERF_NAME_LEN], const char *bytes, size_t len)
{
    const unsigned char *p = (const unsigned char *)bytes;
    size_t at = 0, from = 0, n;

    memset(out, 0, PVPERF_NAME_LEN);
    while (from < len) {
        n = utf8_len(p + from, len - from);
        if (at + (n ? n : 1) >= PVPERF_NAME_LEN)
            break;
        if (n)
            memcpy(out + at, p + from, n);
        else
            out[at] = '?';
        at += n ? n : 1;
        from += n ? n : 1;
    }
}

const struct pvperf_domain *domains_find(const struct pvperf_domain *list, size_t nr,
                                         uint16_t domid)
{
    size_t low = 0, high = nr, mid;

    while (low < high) {
        mid = low + (high - low) / 2;
        if (list[mid].domid == domid)
            return &list[mid];
        if (list[mid].domid < domid)
            low = mid + 1;
        else
            high = mid;
    }
    return NULL;
}
