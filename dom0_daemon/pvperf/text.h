/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * text.h: words and numbers for people. Pure functions.
 */
#ifndef PVPERF_CLI_TEXT_H
#define PVPERF_CLI_TEXT_H

#include <stddef.h>
#include <stdint.h>

/*
 * The member of @words (ended by NULL) that @word was probably meant to be,
 * or NULL if none is near.
 */
const char *text_suggest(const char *word, const char *const *words);

/* Edits (insert, delete, change, swap neighbours) that turn @a into @b. */
unsigned int text_distance(const char *a, const char *b);

/* "834 bytes", "12.4 KiB", "1.0 GiB". */
void text_bytes(uint64_t bytes, char *buf, size_t size);

/* "123456" with separators: "123,456". */
void text_count(uint64_t count, char *buf, size_t size);

/* "0.40 s", "12.3 s", "2 min 03 s", "1 h 02 min". */
void text_duration(uint64_t ns, char *buf, size_t size);

/* 8-4-4-4-12 hexadecimal digits; @buf holds 37 bytes. */
void text_uuid(const uint8_t uuid[16], char *buf);

/* Replace control characters by '?', in place. */
void text_clean(char *s);

/* @s as the inside of a JSON string, cut if @buf is too small. */
void text_json(const char *s, char *buf, size_t size);

/* Blanks become '_', so that the value is one word; "" becomes "-". */
void text_word(const char *s, char *buf, size_t size);

/* Copy what fits, always ended. Returns -1 if @src was cut, else 0. */
int text_copy(char *dst, const char *src, size_t size);

#endif
