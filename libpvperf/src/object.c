/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* object.c: objects and their sorted symbols. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "object_private.h"

struct pvperf_object *pvp_object_new(const char *path, enum pvperf_object_kind kind)
{
    struct pvperf_object *o = calloc(1, sizeof(*o));

    if (!o)
        return NULL;
    o->path = strdup(path);
    if (!o->path) {
        free(o);
        return NULL;
    }
    o->refs = 1;
    o->info.kind = kind;
    o->info.path = o->path;
    o->info.name = strrchr(o->path, '/') ? strrchr(o->path, '/') + 1 : o->path;
    return o;
}

struct pvperf_object *pvperf_object_get(struct pvperf_object *o)
{
    o->refs++;
    return o;
}

void pvperf_object_put(struct pvperf_object *o)
{
    if (!o || --o->refs)
        return;
    free(o->symbols);
    free(o->names);
    free(o->path);
    free(o);
}

const struct pvperf_object_info *pvperf_object_get_info(const struct pvperf_object *o)
{
    return &o->info;
}

static int grow_names(struct pvperf_object *o, size_t len)
{
    size_t max = o->names_max ? o->names_max : 1u << 16;
    char *names;

    while (max - o->names_len < len)
        max *= 2;
    if (max > UINT32_MAX)
        return -E2BIG;
    if (max == o->names_max)
        return 0;
    names = realloc(o->names, max);
    if (!names)
        return -ENOMEM;
    o->names = names;
    o->names_max = max;
    return 0;
}

static int grow_symbols(struct pvperf_object *o)
{
    size_t max = o->max_symbols ? 2 * o->max_symbols : 1024;
    struct pvp_symbol *symbols;

    if (o->info.nr_symbols < o->max_symbols)
        return 0;
    if (o->info.nr_symbols >= PVP_SYMBOLS_MAX)
        return -E2BIG;
    symbols = reallocarray(o->symbols, max, sizeof(*symbols));
    if (!symbols)
        return -ENOMEM;
    o->symbols = symbols;
    o->max_symbols = max;
    return 0;
}

int pvp_object_add(struct pvperf_object *o, uint64_t start, uint64_t size,
                   unsigned int rank, const char *name, size_t len)
{
    struct pvp_symbol *s;
    int rc;

    if (len > PVP_NAME_MAX)
        len = PVP_NAME_MAX;
    rc = grow_symbols(o);
    if (!rc)
        rc = grow_names(o, len + 1);
    if (rc)
        return rc;
    s = &o->symbols[o->info.nr_symbols++];
    s->start = start;
    s->size = size > UINT32_MAX ? 0 : (uint32_t)size;
    s->rank = (uint8_t)rank;
    s->name = (uint32_t)o->names_len;
    memcpy(o->names + o->names_len, name, len);
    o->names[o->names_len + len] = '\0';
    o->names_len += len + 1;
    return 0;
}

void pvp_object_drop_symbols(struct pvperf_object *o)
{
    o->info.nr_symbols = 0;
    o->names_len = 0;
}

static int compare(const void *pa, const void *pb, void *arg)
{
    const struct pvp_symbol *a = pa, *b = pb;
    const char *names = arg, *na = names + a->name, *nb = names + b->name;

    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    if (!a->size != !b->size)
        return a->size ? -1 : 1;
    if (a->rank != b->rank)
        return a->rank < b->rank ? -1 : 1;
    if (strspn(na, "_") != strspn(nb, "_"))
        return strspn(na, "_") < strspn(nb, "_") ? -1 : 1;
    return strcmp(na, nb);
}

void pvp_object_sort(struct pvperf_object *o)
{
    size_t i, n = 0;

    if (!o->info.nr_symbols)
        return;
    qsort_r(o->symbols, o->info.nr_symbols, sizeof(*o->symbols), compare, o->names);
    for (i = 1; i < o->info.nr_symbols; i++)
        if (o->symbols[i].start != o->symbols[n].start)
            o->symbols[++n] = o->symbols[i];
    o->info.nr_symbols = n + 1;
}

void pvp_object_add_range(struct pvperf_object *o, uint64_t start, uint64_t len,
                          uint64_t file_offset)
{
    struct pvperf_object_range *r = o->info.ranges;
    unsigned int i = o->info.nr_ranges;

    if (!len || start + len - 1 < start || i == PVPERF_OBJECT_RANGES)
        return;
    for (; i && r[i - 1].start > start; i--)
        r[i] = r[i - 1];
    r[i].start = start;
    r[i].len = len;
    r[i].file_offset = file_offset;
    o->info.nr_ranges++;
}

/* ---- loading ---- */

int pvp_image_read_all(struct pvp_image *image)
{
    struct stat st;
    size_t n = 0;

    if (image->data)
        return 0;
    if (fstat(image->fd, &st))
        return -errno;
    if (st.st_size < 0 || (uint64_t)st.st_size > PVP_IMAGE_MAX)
        return -EFBIG;
    /* /proc files have no size: read until they end. */
    image->size = st.st_size ? (size_t)st.st_size : 64u << 20;
    image->owned = malloc(image->size + 1);
    if (!image->owned)
        return -ENOMEM;
    while (n < image->size) {
        ssize_t got = pread(image->fd, image->owned + n, image->size - n, (off_t)n);

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return -errno;
        if (!got)
            break;
        n += (size_t)got;
    }
    image->size = n;
    image->data = image->owned;
    return 0;
}

static const char *const kind_names[] = {
    [PVPERF_OBJECT_XEN] = "Xen (xen-syms)",
    [PVPERF_OBJECT_KERNEL] = "a kernel (vmlinux, vmlinuz or System.map)",
    [PVPERF_OBJECT_PROGRAM] = "a program (ELF)",
};

static int load_kernel_image(struct pvperf_object *o, struct pvp_image *image,
                             struct pvperf_err *err)
{
    struct pvp_image elf = {.fd = -1};
    int rc = pvp_image_unpack(image, &elf, o->path, err);

    if (!rc)
        rc = pvp_object_read_elf(o, &elf, err);
    o->info.elf = false; /* perf cannot look into it */
    free(elf.owned);
    return rc;
}

/* By what the first bytes say it is. */
static int load_image(struct pvperf_object *o, struct pvp_image *image,
                      struct pvperf_err *err)
{
    uint8_t magic[0x206] = {0};
    ssize_t got = 0;
    int rc;

    if (image->data)
        memcpy(magic, image->data,
               image->size < sizeof(magic) ? image->size : sizeof(magic));
    else
        got = pread(image->fd, magic, sizeof(magic), 0);
    if (got < 0)
        return pvperf_err_set(err, -errno, "cannot read %s: %s", o->path,
                              strerror(errno));
    if (!memcmp(magic, "\177ELF", 4))
        return pvp_object_read_elf(o, image, err);
    if (o->info.kind == PVPERF_OBJECT_PROGRAM)
        return pvperf_err_set(err, -ENOEXEC, "%s is not %s; give the program's file",
                              o->path, kind_names[o->info.kind]);
    rc = pvp_image_read_all(image);
    if (rc)
        return pvperf_err_set(err, rc, "cannot read %s: %s", o->path, strerror(-rc));
    if (!memcmp(magic + 0x202, "HdrS", 4) && o->info.kind == PVPERF_OBJECT_KERNEL)
        return load_kernel_image(o, image, err);
    rc = pvp_object_read_text(o, (const char *)image->data, image->size, err);
    if (rc == -ENOEXEC)
        return pvperf_err_set(err, rc, "%s is not %s; give such a file", o->path,
                              kind_names[o->info.kind]);
    return rc;
}

static int load(const char *path, struct pvp_image *image, enum pvperf_object_kind kind,
                struct pvperf_object **out, struct pvperf_err *err)
{
    struct pvperf_object *o = pvp_object_new(path, kind);
    int rc;

    if (!o)
        return pvperf_err_set(err, -ENOMEM, "no memory for the symbols of %s", path);
    rc = load_image(o, image, err);
    if (rc) {
        pvperf_object_put(o);
        return rc;
    }
    pvp_object_sort(o);
    *out = o;
    return 0;
}

int pvperf_object_load(const char *path, enum pvperf_object_kind kind,
                       struct pvperf_object **out, struct pvperf_err *err)
{
    struct pvp_image image = {.fd = -1};
    struct stat st;
    int rc;

    image.fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (image.fd < 0)
        return pvperf_err_set(err, -errno, "cannot open %s: %s", path, strerror(errno));
    if (fstat(image.fd, &st) || !S_ISREG(st.st_mode))
        rc = pvperf_err_set(err, -ENOEXEC, "%s is no regular file; give %s", path,
                            kind_names[kind]);
    else
        rc = load(path, &image, kind, out, err);
    free(image.owned);
    close(image.fd);
    return rc;
}

int pvperf_object_load_buffer(const void *buf, size_t len, const char *name,
                              enum pvperf_object_kind kind, struct pvperf_object **out,
                              struct pvperf_err *err)
{
    struct pvp_image image = {.fd = -1, .data = buf, .size = len};

    return load(name, &image, kind, out, err);
}

/* ---- questions ---- */

static const struct pvp_symbol *find(const struct pvperf_object *o, uint64_t address)
{
    size_t low = 0, high = o->info.nr_symbols;

    while (low < high) {
        size_t mid = low + (high - low) / 2;

        if (o->symbols[mid].start <= address)
            low = mid + 1;
        else
            high = mid;
    }
    return low ? &o->symbols[low - 1] : NULL;
}

static const struct pvperf_object_range *range_of(const struct pvperf_object *o,
                                                  uint64_t address)
{
    unsigned int i;

    for (i = 0; i < o->info.nr_ranges; i++)
        if (address - o->info.ranges[i].start < o->info.ranges[i].len)
            return &o->info.ranges[i];
    return NULL;
}

/* Padding between functions counts as part of the one before. */
#define PADDING 64

const char *pvperf_object_lookup(const struct pvperf_object *o, uint64_t address,
                                 uint64_t *start)
{
    const struct pvperf_object_range *range = range_of(o, address);
    const struct pvp_symbol *s = range ? find(o, address) : NULL;

    if (!s || s->start < range->start)
        return NULL;
    if (s->size && address - s->start >= (uint64_t)s->size + PADDING)
        return NULL;
    if (start)
        *start = s->start;
    return o->names + s->name;
}

int pvperf_object_find(const struct pvperf_object *o, const char *name, uint64_t *address)
{
    size_t i;

    for (i = 0; i < o->info.nr_symbols; i++) {
        if (!strcmp(o->names + o->symbols[i].name, name)) {
            *address = o->symbols[i].start;
            return 0;
        }
    }
    return -ENOENT;
}

int pvperf_object_symbol(const struct pvperf_object *o, size_t i, const char **name,
                         uint64_t *start, uint64_t *len)
{
    if (i >= o->info.nr_symbols)
        return -ENOENT;
    *name = o->names + o->symbols[i].name;
    *start = o->symbols[i].start;
    *len = o->symbols[i].size;
    return 0;
}
