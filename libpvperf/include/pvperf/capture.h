/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * capture.h: capture files.
 *
 * A capture is a perf.data file that unmodified perf reads: a domain appears
 * as a process (pid 100000 + domid) named after the domain, each vCPU as a
 * thread of it, and Xen, the domain's kernel and its programs as files mapped
 * by that process.  What perf has no place for (mode, domain, vCPU,
 * page-table base, tag, counts) travels in places that perf skips, and the
 * reader below gives it back.  docs/capture.md has the layout.
 *
 * None of these objects is thread-safe; use each from one thread at a time.
 */
#ifndef PVPERF_CAPTURE_H
#define PVPERF_CAPTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <pvperf/abi.h>
#include <pvperf/error.h>
#include <pvperf/sample.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PVPERF_CAPTURE_NAME_LEN 64   /* of an event or a domain, with NUL */
#define PVPERF_CAPTURE_PATH_LEN 1024 /* of an object, with NUL */
#define PVPERF_BUILD_ID_MAX 20

/* What was asked for.  All of it is fixed when the capture begins. */
struct pvperf_capture_info {
    unsigned int nr_events; /* 1 to PVPERF_MAX_EVENTS */
    struct pvperf_event events[PVPERF_MAX_EVENTS];
    char event_names[PVPERF_MAX_EVENTS][PVPERF_CAPTURE_NAME_LEN];
    uint8_t session_flags; /* PVPERF_SESSION_FLAG_* */
    uint8_t max_stack;
    uint16_t nr_pcpus;
    uint16_t abi_major; /* of Xen */
    uint16_t abi_minor;
    uint64_t start_time;     /* Xen system time, ns */
    uint64_t start_realtime; /* UNIX time, ns; 0: unknown */
    char hostname[64];
    char xen_version[64];
    char os_release[64];   /* of dom0 */
    char arch[16];         /* "x86_64" */
    char tool_version[32]; /* of the writer */
    char command[512];     /* command line, one string */
};

struct pvperf_capture_domain {
    uint16_t domid;     /* PVPERF_DOMID_IDLE: Xen */
    uint16_t nr_vcpus;  /* for Xen: physical CPUs */
    uint8_t handle[16]; /* UUID */
    char name[PVPERF_CAPTURE_NAME_LEN];
};

enum pvperf_object_kind {
    PVPERF_OBJECT_XEN,
    PVPERF_OBJECT_KERNEL,
    PVPERF_OBJECT_PROGRAM,
};

/*
 * A file mapped at [start, start + len), from @file_offset on.  An object of
 * several segments is several of these.  Xen's need be added once only: the
 * writer repeats them for every domain (@domid is PVPERF_DOMID_IDLE then).
 * Programs may be restricted to one @pt_base (0: all of the domain).
 */
struct pvperf_capture_object {
    uint8_t kind;         /* enum pvperf_object_kind */
    uint8_t build_id_len; /* 0: none */
    uint16_t domid;
    uint64_t start;
    uint64_t len;
    uint64_t file_offset;
    uint64_t pt_base;
    uint64_t bias; /* address - ELF address */
    uint8_t build_id[PVPERF_BUILD_ID_MAX];
    char path[PVPERF_CAPTURE_PATH_LEN];
};

/* ---- writer ---- */

struct pvperf_capture_writer;

/*
 * Begin a capture in @path: a regular file, made (mode 0600) or emptied.  A
 * valid capture without samples is there as soon as this returns.
 */
int pvperf_capture_create(const char *path, const struct pvperf_capture_info *info,
                          struct pvperf_capture_writer **out, struct pvperf_err *err);

/*
 * Announce a domain (again, if its name or number of vCPUs changed), before
 * its samples if possible; a sample of a domain never announced announces it
 * as "dom<id>".  PVPERF_DOMID_IDLE is announced by the writer itself.
 */
int pvperf_capture_add_domain(struct pvperf_capture_writer *w,
                              const struct pvperf_capture_domain *domain,
                              struct pvperf_err *err);

/* Announce a mapped object; those of Xen and kernels best before samples. */
int pvperf_capture_add_object(struct pvperf_capture_writer *w,
                              const struct pvperf_capture_object *object,
                              struct pvperf_err *err);

/* Samples of one ring come in order; rings may come in any order. */
int pvperf_capture_write_sample(struct pvperf_capture_writer *w,
                                const struct pvperf_sample *sample,
                                struct pvperf_err *err);
int pvperf_capture_write_lost(struct pvperf_capture_writer *w,
                              const struct pvperf_lost *lost, struct pvperf_err *err);

/*
 * A round is over: every ring has been drained once, up to its head at some
 * time after the round began.  Readers sort by rounds: nothing written later
 * may be older than the newest sample of the round before this one.  Also
 * flushes, so that a reader (or a crash) sees all that was written so far.
 */
int pvperf_capture_end_round(struct pvperf_capture_writer *w, struct pvperf_err *err);

/* Counts of event @event as Xen has them; the last call before finish holds. */
int pvperf_capture_set_counts(struct pvperf_capture_writer *w, unsigned int event,
                              const struct pvperf_counts *counts);
/* Xen system time at which the session stopped, for the duration. */
void pvperf_capture_set_end(struct pvperf_capture_writer *w, uint64_t time);

/* Bytes written, headers included. */
uint64_t pvperf_capture_bytes(const struct pvperf_capture_writer *w);

/*
 * Write what remains, the feature sections, fsync, close and free @w (always,
 * also on failure).  After a write error every call returns that error, and
 * finish still leaves a valid capture of what reached the disk.
 */
int pvperf_capture_finish(struct pvperf_capture_writer *w, struct pvperf_err *err);

/* ---- reader ---- */

struct pvperf_capture_reader;

/* What the file tells of itself, complete after pvperf_capture_scan(). */
struct pvperf_capture_summary {
    uint64_t samples;
    uint64_t lost;       /* sum of LOST records */
    uint64_t first_time; /* of samples; 0: none */
    uint64_t last_time;
    uint64_t end_time; /* 0: not finished */
    bool finished;     /* the writer finished it */
    bool truncated;    /* it ends within a record */
    bool damaged;      /* noise was met */
    bool has_counts;   /* counts below are valid */
    struct pvperf_counts counts[PVPERF_MAX_EVENTS];
};

enum pvperf_capture_rec_type {
    PVPERF_CAPTURE_SAMPLE,
    PVPERF_CAPTURE_LOST,
    PVPERF_CAPTURE_DOMAIN,
    PVPERF_CAPTURE_OBJECT,
    PVPERF_CAPTURE_ROUND,
};

struct pvperf_capture_rec {
    enum pvperf_capture_rec_type type;
    uint64_t offset; /* in the file */
    union {
        struct pvperf_sample sample;
        struct pvperf_lost lost;
        struct pvperf_capture_domain domain;
        struct pvperf_capture_object object;
    } u;
};

/*
 * -EBADMSG: no capture of pvperf, or its head is damaged; -EPROTO: of a later
 * format; -ENODATA: too short to hold anything.
 */
int pvperf_capture_open(const char *path, struct pvperf_capture_reader **out,
                        struct pvperf_err *err);
/* @buf must stay until close. */
int pvperf_capture_open_buffer(const void *buf, size_t len,
                               struct pvperf_capture_reader **out,
                               struct pvperf_err *err);
void pvperf_capture_close(struct pvperf_capture_reader *r);

const struct pvperf_capture_info *
pvperf_capture_get_info(const struct pvperf_capture_reader *r);
const struct pvperf_capture_summary *
pvperf_capture_get_summary(const struct pvperf_capture_reader *r);

/*
 * The next record, in the order of the file.  1: one in @rec; 0: the end;
 * -ENODATA: the file ends within a record; -EBADMSG: noise at an offset that
 * @err names; nothing follows either.  All before was delivered.
 */
int pvperf_capture_next(struct pvperf_capture_reader *r, struct pvperf_capture_rec *rec,
                        struct pvperf_err *err);
void pvperf_capture_rewind(struct pvperf_capture_reader *r);

/*
 * Read the whole file once: summary, domains and objects are then complete,
 * and the reader is rewound.  Returns as pvperf_capture_next() at the end (0,
 * -ENODATA, -EBADMSG); in the latter cases, too, what was whole can be used.
 */
int pvperf_capture_scan(struct pvperf_capture_reader *r, struct pvperf_err *err);

/*
 * From now on (rewinds), samples and losses come in order of time, after all
 * domains and objects.  Takes 16 bytes of memory for each of them.
 */
int pvperf_capture_sort(struct pvperf_capture_reader *r, struct pvperf_err *err);

/* Domains and objects met so far, in the order of the file. */
size_t pvperf_capture_nr_domains(const struct pvperf_capture_reader *r);
const struct pvperf_capture_domain *
pvperf_capture_get_domain(const struct pvperf_capture_reader *r, size_t i);
const struct pvperf_capture_domain *
pvperf_capture_find_domain(const struct pvperf_capture_reader *r, uint16_t domid);
size_t pvperf_capture_nr_objects(const struct pvperf_capture_reader *r);
const struct pvperf_capture_object *
pvperf_capture_get_object(const struct pvperf_capture_reader *r, size_t i);

/* Process and thread that stand for a domain and its vCPU in perf's eyes. */
int32_t pvperf_capture_pid(uint16_t domid);
int32_t pvperf_capture_tid(uint16_t domid, uint16_t vcpu);

#ifdef __cplusplus
}
#endif
#endif
