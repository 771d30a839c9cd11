// SPDX-License-Identifier: GPL-2.0-only
#include "text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define WORD_MAX 63

static unsigned int min3(unsigned int a, unsigned int b, unsigned int c)
{
    unsigned int m = a < b ? a : b;

    return m < c ? m : c;
}

unsigned int text_distance(const char *a, const char *b)
{
    unsigned int rows[3][WORD_MAX + 1];
    unsigned int *before = rows[0], *last = rows[1], *now = rows[2], *spare;
    size_t la = strlen(a), lb = strlen(b), i, j;

    if (la > WORD_MAX || lb > WORD_MAX)
        return WORD_MAX;
    for (j = 0; j <= lb; j++)
        last[j] = (unsigned int)j;
    for (i = 1; i <= la; i++) {
        now[0] = (unsigned int)i;
        for (j = 1; j <= lb; j++) {
            unsigned int change = last[j - 1] + (a[i - 1] != b[j - 1]);

            now[j] = min3(last[j] + 1, now[j - 1] + 1, change);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
                before[j - 2] + 1 < now[j])
                now[j] = before[j - 2] + 1;
        }
        spare = before;
        before = last;
        last = now;
        now = spare;
    }
    return last[lb];
}

const char *text_suggest(const char *word, const char *const *words)
{
    const char *best = NULL;
    unsigned int best_distance = 0, distance;
    size_t len = strlen(word), limit = 1 + len / 4;

    if (len < 2 || len > WORD_MAX)
        return NULL;
    for (; *words; words++) {
        /* The beginning of a longer word is nearer than any misspelling. */
        distance = !strncmp(word, *words, len) ? 1 : text_distance(word, *words);
        if (distance <= limit && (!best || distance < best_distance)) {
            best = *words;
            best_distance = distance;
        }
    }
    return best;
}

void text_bytes(uint64_t bytes, char *buf, size_t size)
{
    static const char *const units[] = {"KiB", "MiB", "GiB", "TiB"};
    double value = (double)bytes / 1024;
    size_t unit = 0;

    if (bytes < 1024) {
        snprintf(buf, size, "%" PRIu64 " bytes", bytes);
        return;
    }
    while (value >= 1023.95 && unit < 3) {
        value /= 1024;
        unit++;
    }
    snprintf(buf, size, "%.1f %s", value, units[unit]);
}

void text_count(uint64_t count, char *buf, size_t size)
{
    char digits[24];
    size_t len = (size_t)snprintf(digits, sizeof(digits), "%" PRIu64, count);
    size_t i, out = 0;

    for (i = 0; i < len && out + 2 < size; i++) {
        if (i && (len - i) % 3 == 0)
            buf[out++] = ',';
        buf[out++] = digits[i];
    }
    if (size)
        buf[out] = '\0';
}

void text_duration(uint64_t ns, char *buf, size_t size)
{
    uint64_t seconds = ns / 1000000000;

    if (seconds < 10)
        snprintf(buf, size, "%.2f s", (double)ns / 1e9);
    else if (seconds < 60)
        snprintf(buf, size, "%.1f s", (double)(ns / 100000000) / 10);
    else if (seconds < 3600)
        snprintf(buf, size, "%" PRIu64 " min %02" PRIu64 " s", seconds / 60,
                 seconds % 60);
    else
        snprintf(buf, size, "%" PRIu64 " h %02" PRIu64 " min", seconds / 3600,
                 seconds / 60 % 60);
}

void text_uuid(const uint8_t u[16], char *buf)
{
    static const char hex[] = "0123456789abcdef";
    int i, out = 0;

    for (i = 0; i < 16; i++) {
        if (i == 4 || i == 6 || i == 8 || i == 10)
            buf[out++] = '-';
        buf[out++] = hex[u[i] >> 4];
        buf[out++] = hex[u[i] & 15];
    }
    buf[out] = '\0';
}

void text_clean(char *s)
{
    for (; *s; s++) {
        if ((unsigned char)*s < 0x20 || *s == 0x7f)
            *s = '?';
    }
}

void text_json(const char *s, char *buf, size_t size)
{
    size_t out = 0;
    unsigned char c;

    for (; (c = (unsigned char)*s) && out + 7 < size; s++) {
        if (c == '"' || c == '\\') {
            buf[out++] = '\\';
            buf[out++] = (char)c;
        } else if (c < 0x20 || c == 0x7f) {
            out += (size_t)snprintf(buf + out, size - out, "\\u%04x", c);
        } else {
            buf[out++] = (char)c;
        }
    }
    if (size)
        buf[out] = '\0';
}

void text_word(const char *s, char *buf, size_t size)
{
    text_copy(buf, *s ? s : "-", size);
    for (; *buf; buf++) {
        if ((unsigned char)*buf <= ' ' || *buf == 0x7f)
            *buf = '_';
    }
}

int text_copy(char *dst, const char *src, size_t size)
{
    size_t len = strnlen(src, size);
    int cut = len == size;

    if (cut)
        len = size - 1;
    memcpy(dst, src, len);
    dst[len] = '\0';
    return cut ? -1 : 0;
}
