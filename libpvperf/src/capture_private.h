/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* capture_private.h: what the two halves of the capture writer share. */
#ifndef PVP_CAPTURE_PRIVATE_H
#define PVP_CAPTURE_PRIVATE_H

#include <stdbool.h>
#include <sys/types.h>
#include "capture_format.h"

#define PVP_WRITE_BUFFER (256u << 10)

/*
 * A process in perf's eyes: a domain (@pt_base 0), or one program of it that
 * has files of its own, since perf knows one address space a process.
 */
struct pvp_process {
    struct pvperf_capture_domain domain;
    uint64_t pt_base;
    uint32_t pid;
    bool announced;
    bool has_children; /* processes with a pt_base exist */
    uint64_t threads[PVP_MAX_VCPUS / 64];
};

struct pvperf_capture_writer {
    int fd;
    int failed; /* the first error, for good */
    char path[PVPERF_CAPTURE_PATH_LEN];
    struct pvperf_err error;
    struct pvperf_capture_info info;

    struct pvp_file_header header;
    uint64_t data_written; /* bytes of whole records in the file */
    uint8_t *buffer;
    size_t used;

    struct pvp_process **processes;
    size_t nr_processes;
    struct pvp_process *last;
    struct pvperf_capture_object *objects;
    size_t nr_objects;
    size_t max_objects;

    struct pvp_tail tail;
};

/* capture_writer.c */
int pvp_capture_fail(struct pvperf_capture_writer *w, int rc, struct pvperf_err *err);
int pvp_capture_append(struct pvperf_capture_writer *w, const void *record,
                       struct pvperf_err *err);
int pvp_capture_flush(struct pvperf_capture_writer *w, struct pvperf_err *err);
int pvp_capture_pwrite(struct pvperf_capture_writer *w, const void *data, size_t len,
                       uint64_t offset, size_t *done);

/* capture_maps.c: the process for a sample, announced, or NULL with @err. */
struct pvp_process *pvp_capture_process(struct pvperf_capture_writer *w, uint16_t domid,
                                        uint64_t pt_base, uint16_t vcpu,
                                        struct pvperf_err *err);
uint32_t pvp_process_tid(const struct pvp_process *p, uint16_t vcpu);

/* capture_features.c */
int pvp_capture_write_head(struct pvperf_capture_writer *w);
int pvp_capture_write_features(struct pvperf_capture_writer *w);

#endif
