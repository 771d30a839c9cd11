/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * capture_format.h: the layout of captures, shared by writer and reader.
 * docs/capture.md explains it.  All integers are little-endian (x86 only).
 */
#ifndef PVP_CAPTURE_FORMAT_H
#define PVP_CAPTURE_FORMAT_H

#include <stdint.h>
#include <linux/perf_event.h>
#include <pvperf/capture.h>

#define PVP_PERF_MAGIC "PERFILE2"
#define PVP_ATTR_SIZE PERF_ATTR_SIZE_VER5
#define PVP_FINISHED_ROUND 68 /* perf's PERF_RECORD_FINISHED_ROUND */
#define PVP_MAX_RECORD 65528  /* largest multiple of 8 in 16 bits */
#define PVP_MAX_VCPUS 8192

/* Feature sections of perf.data. */
#define PVP_FEAT_HOSTNAME 3
#define PVP_FEAT_OSRELEASE 4
#define PVP_FEAT_VERSION 5
#define PVP_FEAT_ARCH 6
#define PVP_FEAT_NRCPUS 7
#define PVP_FEAT_CMDLINE 11
#define PVP_FEAT_EVENT_DESC 12
#define PVP_FEAT_SAMPLE_TIME 21
#define PVP_FEAT_PVPERF 250 /* far above what perf knows: it skips it */

struct pvp_section {
    uint64_t offset;
    uint64_t size;
};

struct pvp_file_header {
    char magic[8];
    uint64_t size;
    uint64_t attr_size;
    struct pvp_section attrs;
    struct pvp_section data;
    struct pvp_section event_types;
    uint64_t features[4];
};

struct pvp_file_attr {
    uint8_t attr[PVP_ATTR_SIZE];
    struct pvp_section ids;
};

/*
 * pvperf's block: what is known when a capture begins.  It lies between the
 * event ids and the data, where perf never looks, at the offset that
 * event_types.offset gives (its size is 0, so perf ignores it).
 */
#define PVP_HEAD_MAGIC "PVPERFC1"
#define PVP_HEAD_VERSION 2

struct pvp_head_event {
    struct pvperf_event event;
    char name[PVPERF_CAPTURE_NAME_LEN];
};

struct pvp_head {
    char magic[8];
    uint32_t size;
    uint16_t version;
    uint8_t session_flags;
    uint8_t max_stack;
    uint16_t nr_events;
    uint16_t nr_pcpus;
    uint16_t abi_major;
    uint16_t abi_minor;
    uint64_t start_time;
    uint64_t start_realtime;
    char hostname[64];
    char xen_version[64];
    char os_release[64];
    char arch[16];
    char tool_version[32];
    char command[512];
    struct pvp_head_event events[PVPERF_MAX_EVENTS];
};

/* Feature section 250: what is known when a capture ends. */
#define PVP_TAIL_MAGIC "PVPERFT1"

struct pvp_tail {
    char magic[8];
    uint32_t size;
    uint32_t nr_events;
    uint64_t end_time;
    uint64_t samples;
    uint64_t lost;
    uint64_t first_time;
    uint64_t last_time;
    uint32_t counts_valid; /* bit per event */
    uint32_t reserved;
    struct pvperf_counts counts[PVPERF_MAX_EVENTS];
};

/* End of every record but SAMPLE and FINISHED_ROUND (sample_id_all). */
struct pvp_trailer {
    uint32_t pid, tid;
    uint64_t time;
    uint32_t cpu, reserved;
    uint64_t id;
};

/* SAMPLE up to the call chain. */
struct pvp_sample {
    struct perf_event_header hdr;
    uint64_t id; /* event + 1 */
    uint64_t ip;
    uint32_t pid, tid;
    uint64_t time;
    uint32_t cpu, reserved;
    uint64_t period;
};

/* The raw data of a sample, after its 32-bit size. */
#define PVP_RAW_MAGIC 0x31535650u /* "PVS1" */

struct pvp_raw {
    uint32_t size;
    uint32_t magic;
    uint16_t domid;
    uint16_t vcpu;
    uint8_t event;
    uint8_t mode;
    uint16_t flags;
    uint16_t nr_xen;
    uint16_t nr_kernel;
    uint16_t nr_user;
    uint16_t reserved;
    uint64_t pt_base;
    uint64_t tag;
};

#define PVP_RAW_SIZE (sizeof(struct pvp_raw) - sizeof(uint32_t))

struct pvp_lost {
    struct perf_event_header hdr;
    uint64_t id;
    uint64_t lost;
    /* perf finds the trailer from the end and does not look at these. */
    uint64_t time_first;
    uint16_t domid;
    uint16_t vcpu;
    uint8_t event;
    uint8_t reserved[3];
    struct pvp_trailer trailer;
};

/* COMM: pid, tid, name with NUL padded to 8, [pvp_comm_extra], trailer. */
#define PVP_DOMAIN_MAGIC 0x31445650u /* "PVD1" */

struct pvp_comm_extra {
    uint32_t magic;
    uint16_t domid;
    uint16_t nr_vcpus;
    uint8_t handle[16];
    char name[PVPERF_CAPTURE_NAME_LEN];
};

/* MMAP2, then the path with NUL padded to 8, [pvp_mmap_extra], trailer. */
#define PVP_OBJECT_MAGIC 0x314f5650u /* "PVO1" */

struct pvp_mmap2 {
    struct perf_event_header hdr;
    uint32_t pid, tid;
    uint64_t addr, len, pgoff;
    uint8_t build_id_size;
    uint8_t reserved[3];
    uint8_t build_id[PVPERF_BUILD_ID_MAX];
    uint32_t prot, flags;
};

struct pvp_mmap_extra {
    uint32_t magic;
    uint8_t kind;
    uint8_t reserved;
    uint16_t domid;
    uint64_t pt_base;
    uint64_t bias;
};

_Static_assert(sizeof(struct pvp_file_header) == 104, "perf's file header");
_Static_assert(sizeof(struct pvp_file_attr) == 128, "perf's file attribute");
_Static_assert(sizeof(struct pvp_sample) == 56, "sample");
_Static_assert(sizeof(struct pvp_raw) == 40, "raw data");
_Static_assert(sizeof(struct pvp_mmap2) == 72, "mmap2");
_Static_assert(sizeof(struct pvp_lost) % 8 == 0, "lost");
_Static_assert(sizeof(struct pvp_comm_extra) % 8 == 0, "domain");
_Static_assert(sizeof(struct pvp_head) % 8 == 0, "head");

#define PVP_ALIGN8(n) (((n) + 7) & ~(size_t)7)

#endif
