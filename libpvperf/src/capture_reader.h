/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* capture_reader.h: what the parts of the capture reader share. */
#ifndef PVP_CAPTURE_READER_H
#define PVP_CAPTURE_READER_H

#include "capture_format.h"

#define PVP_READ_WINDOW (256u << 10)
#define PVP_MAX_OBJECTS 8192

struct pvp_index {
    uint64_t time;
    uint64_t offset;
};

struct pvperf_capture_reader {
    /* Where the bytes come from: a file through a window, or memory. */
    int fd;
    const uint8_t *memory;
    uint64_t size;
    uint8_t *window;
    uint64_t window_offset;
    size_t window_len;
    char name[PVPERF_CAPTURE_PATH_LEN];

    struct pvperf_capture_info info;
    struct pvperf_capture_summary summary;
    uint64_t data_start;
    uint64_t data_end; /* within the file */
    bool short_file;   /* the file ends before its data do */
    bool callchain;
    uint64_t position; /* of the next record */
    uint64_t seen;     /* records before this are in the tables */
    int end;           /* how the data ended; 1: not yet */
    struct pvperf_err end_error;

    struct pvperf_capture_domain *domains;
    size_t nr_domains, max_domains;
    uint16_t *domain_at; /* by domid: place in the table, plus one */
    struct pvperf_capture_object *objects;
    size_t nr_objects, max_objects;

    struct pvp_index *index; /* sorted; NULL: order of the file */
    size_t nr_index, max_index;
    size_t next_index; /* counts domains and objects first */
};

/* @len bytes at @offset, valid until the next call; NULL: not there. */
const uint8_t *pvp_reader_bytes(struct pvperf_capture_reader *r, uint64_t offset,
                                size_t len);

/* 1: @rec filled; 0: for perf only; -EBADMSG: noise.  @p: @size whole bytes. */
int pvp_record_parse(const struct pvperf_capture_reader *r, const uint8_t *p, size_t size,
                     struct pvperf_capture_rec *rec);

/* capture_open.c: head and tail of the file, all but the data. */
int pvp_reader_head(struct pvperf_capture_reader *r, struct pvperf_err *err);

#endif
