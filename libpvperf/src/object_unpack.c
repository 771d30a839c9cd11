/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * object_unpack.c: the ELF file inside a bzImage (vmlinuz).  The boot header
 * says where the packed payload is; gzip, xz and zstd are what distributions
 * use.
 */
#include <errno.h>
#include <lzma.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

#include "object_private.h"

#define SETUP_SECTS 0x1f1
#define BOOT_VERSION 0x206   /* u16 */
#define PAYLOAD_OFFSET 0x248 /* u32, from the protected-mode code */
#define PAYLOAD_LENGTH 0x24c /* u32 */
#define HEADER_SIZE 0x250

struct sink {
    uint8_t *data;
    size_t len;
    size_t max;
};

/* Room for at least one more byte. */
static int sink_grow(struct sink *s)
{
    size_t max = s->max ? 2 * s->max : 32u << 20;
    uint8_t *data;

    if (s->len < s->max)
        return 0;
    if (max > PVP_IMAGE_MAX)
        return -EFBIG;
    data = realloc(s->data, max);
    if (!data)
        return -ENOMEM;
    s->data = data;
    s->max = max;
    return 0;
}

static int unpack_xz(const uint8_t *in, size_t len, struct sink *out)
{
    lzma_stream s = LZMA_STREAM_INIT;
    lzma_ret ret = lzma_stream_decoder(&s, 256ull << 20, 0);
    int rc = 0;

    s.next_in = in;
    s.avail_in = len;
    while (ret == LZMA_OK) {
        rc = sink_grow(out);
        if (rc)
            break;
        s.next_out = out->data + out->len;
        s.avail_out = out->max - out->len;
        ret = lzma_code(&s, LZMA_RUN);
        out->len = out->max - s.avail_out;
        if (ret == LZMA_OK && !s.avail_in && s.avail_out)
            break; /* cut off */
    }
    lzma_end(&s);
    return rc ? rc : ret == LZMA_STREAM_END ? 0 : -EBADMSG;
}

static int unpack_gzip(const uint8_t *in, size_t len, struct sink *out)
{
    z_stream s = {0};
    int ret, rc = 0;

    if (inflateInit2(&s, 16 + MAX_WBITS) != Z_OK)
        return -ENOMEM;
    s.next_in = (Bytef *)(uintptr_t)in;
    s.avail_in = (uInt)len;
    do {
        rc = sink_grow(out);
        if (rc)
            break;
        s.next_out = out->data + out->len;
        s.avail_out = (uInt)(out->max - out->len);
        ret = inflate(&s, Z_NO_FLUSH);
        out->len = out->max - s.avail_out;
        if (ret == Z_OK && !s.avail_in && s.avail_out)
            break;
    } while (ret == Z_OK);
    inflateEnd(&s);
    return rc ? rc : ret == Z_STREAM_END ? 0 : -EBADMSG;
}

static int unpack_zstd(const uint8_t *in, size_t len, struct sink *out)
{
    ZSTD_DStream *s = ZSTD_createDStream();
    ZSTD_inBuffer src = {.src = in, .size = len};
    size_t left = 1;
    int rc = s ? 0 : -ENOMEM;

    /* Kernels are packed with windows of up to 128 MiB. */
    if (s)
        ZSTD_DCtx_setParameter(s, ZSTD_d_windowLogMax, 27);
    while (!rc && left) {
        ZSTD_outBuffer dst;
        size_t in_before = src.pos, out_before = out->len;

        rc = sink_grow(out);
        if (rc)
            break;
        dst.dst = out->data;
        dst.size = out->max;
        dst.pos = out->len;
        left = ZSTD_decompressStream(s, &dst, &src);
        out->len = dst.pos;
        if (ZSTD_isError(left) ||
            (src.pos == in_before && out->len == out_before && left))
            rc = -EBADMSG;
    }
    ZSTD_freeDStream(s);
    return rc;
}

static uint32_t u32_at(const uint8_t *p)
{
    uint32_t v;

    memcpy(&v, p, sizeof(v));
    return v;
}

/* @len is less than 512 MiB, and so fits all of the libraries' types. */
static int unpack(const uint8_t *in, size_t len, struct sink *out)
{
    if (len >= 6 && !memcmp(in,
                            "\375"
                            "7zXZ",
                            6))
        return unpack_xz(in, len, out);
    if (len >= 4 && !memcmp(in, "\x28\xb5\x2f\xfd", 4))
        return unpack_zstd(in, len, out);
    if (len >= 2 && !memcmp(in, "\x1f\x8b", 2))
        return unpack_gzip(in, len, out);
    return -EOPNOTSUPP;
}

int pvp_image_unpack(const struct pvp_image *in, struct pvp_image *out, const char *name,
                     struct pvperf_err *err)
{
    struct sink sink = {0};
    uint64_t start, len;
    int rc;

    if (in->size < HEADER_SIZE || in->data[BOOT_VERSION + 1] < 2 ||
        (in->data[BOOT_VERSION + 1] == 2 && in->data[BOOT_VERSION] < 8))
        return pvperf_err_set(err, -ENOEXEC,
                              "%s is a kernel image of an unknown kind; "
                              "give its vmlinux or System.map",
                              name);
    start = (in->data[SETUP_SECTS] ? in->data[SETUP_SECTS] + 1u : 5u) * 512ull +
            u32_at(in->data + PAYLOAD_OFFSET);
    len = u32_at(in->data + PAYLOAD_LENGTH);
    if (start > in->size || len > in->size - start)
        return pvperf_err_set(err, -ENOEXEC, "%s is cut off; use another copy", name);
    rc = unpack(in->data + start, (size_t)len, &sink);
    if (rc)
        free(sink.data);
    if (rc == -EOPNOTSUPP)
        return pvperf_err_set(err, -ENOEXEC,
                              "%s is packed in a way that pvperf does not "
                              "know (not gzip, xz or zstd); give its vmlinux or "
                              "System.map",
                              name);
    if (rc)
        return pvperf_err_set(err, rc == -EBADMSG ? -ENOEXEC : rc,
                              "cannot unpack %s: %s; "
                              "give its vmlinux or System.map",
                              name, rc == -EBADMSG ? "it is damaged" : strerror(-rc));
    out->fd = -1;
    out->data = out->owned = sink.data;
    out->size = sink.len;
    if (sink.len < 4 || memcmp(sink.data, "\177ELF", 4))
        return pvperf_err_set(err, -ENOEXEC,
                              "%s holds no ELF file; give its vmlinux or "
                              "System.map",
                              name);
    return 0;
}
