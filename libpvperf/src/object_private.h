/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* object_private.h: what the readers of object files share. */
#ifndef PVP_OBJECT_PRIVATE_H
#define PVP_OBJECT_PRIVATE_H

#include <pvperf/symbols.h>

#define PVP_NAME_MAX 511 /* longer symbol names are cut */
#define PVP_SYMBOLS_MAX (8u << 20)
#define PVP_IMAGE_MAX (512ull << 20) /* kernel images, text files */

struct pvp_symbol {
    uint64_t start;
    uint32_t size; /* 0: up to the next symbol */
    uint32_t name; /* offset in names */
    uint8_t rank;  /* of several at one address, the least wins */
};

struct pvperf_object {
    unsigned int refs;
    struct pvperf_object_info info;
    char *path;
    struct pvp_symbol *symbols;
    size_t max_symbols;
    char *names;
    size_t names_len;
    size_t names_max;
};

/* object.c */
struct pvperf_object *pvp_object_new(const char *path, enum pvperf_object_kind kind);
int pvp_object_add(struct pvperf_object *o, uint64_t start, uint64_t size,
                   unsigned int rank, const char *name, size_t len);
void pvp_object_drop_symbols(struct pvperf_object *o);
/* Sort, and leave one symbol an address. */
void pvp_object_sort(struct pvperf_object *o);
void pvp_object_add_range(struct pvperf_object *o, uint64_t start, uint64_t len,
                          uint64_t file_offset);

/* A file or a part of memory. */
struct pvp_image {
    int fd;              /* -1: memory */
    const uint8_t *data; /* NULL: file, not read */
    size_t size;
    uint8_t *owned; /* to free */
};

int pvp_image_read_all(struct pvp_image *image);
/* Kernel image (bzImage) to the ELF within it, in @out. */
int pvp_image_unpack(const struct pvp_image *in, struct pvp_image *out, const char *name,
                     struct pvperf_err *err);

int pvp_object_read_elf(struct pvperf_object *o, struct pvp_image *image,
                        struct pvperf_err *err);
int pvp_object_read_text(struct pvperf_object *o, const char *text, size_t len,
                         struct pvperf_err *err);
/* Symbol tables that a kernel carries for itself.  -ENOENT: none found. */
int pvp_object_read_kallsyms(struct pvperf_object *o, const uint8_t *data, size_t len);

#endif
