/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * protocol.h: what pvperfd and its clients say to each other.  For those who
 * write another client; all others use client.h.  docs/protocol.md explains.
 *
 * Frames over a UNIX stream socket, in the byte order of the machine that
 * both run on: a header, then @size bytes.  Reserved fields are zero.
 */
#ifndef PVPERF_PROTOCOL_H
#define PVPERF_PROTOCOL_H

#include <stdint.h>
#include <pvperf/abi.h>
#include <pvperf/client.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PVPERF_PROTO_MAGIC 0x64766650u /* "Pfvd" */
#define PVPERF_PROTO_MAJOR 1
#define PVPERF_PROTO_MINOR 0

#define PVPERF_FRAME_MAX 65536  /* bytes behind the header */
#define PVPERF_DOMIDS_MAX 16384 /* in one OPEN */
#define PVPERF_TEXT_MAX 512
#define PVPERF_COMMAND_LEN 64 /* with the final zero */

struct pvperf_frame {
    uint32_t size; /* of what follows this header */
    uint16_t type; /* PVPERF_MSG_* */
    uint16_t tag;  /* chosen by the client for a request; in all its answers */
};

/* Requests; each is answered by zero or more frames and then a REPLY. */
#define PVPERF_MSG_HELLO 1   /* pvperf_msg_hello; answer WELCOME */
#define PVPERF_MSG_STATUS 2  /* empty; answer HOST, SESSION... */
#define PVPERF_MSG_DOMAINS 3 /* empty; answer DOMAIN... */
#define PVPERF_MSG_OPEN 4    /* pvperf_msg_open, uint16_t domids[]; OPENED */
#define PVPERF_MSG_RESUME 5  /* pvperf_msg_opened; answer OPENED */
#define PVPERF_MSG_START 6   /* empty */
#define PVPERF_MSG_STOP 7    /* empty; END follows when all is drained */
#define PVPERF_MSG_DETACH 8  /* empty; destroys the session */
#define PVPERF_MSG_READ 9    /* empty; answer COUNT... */
#define PVPERF_MSG_REQUESTS 10

/* Answers. */
#define PVPERF_MSG_REPLY 64   /* pvperf_msg_reply, then text */
#define PVPERF_MSG_WELCOME 65 /* pvperf_msg_hello */
#define PVPERF_MSG_HOST 66    /* pvperf_msg_host */
#define PVPERF_MSG_SESSION 67 /* struct pvperf_status_session */
#define PVPERF_MSG_DOMAIN 68  /* struct pvperf_domain */
#define PVPERF_MSG_OPENED 69  /* pvperf_msg_opened */
#define PVPERF_MSG_COUNT 70   /* struct pvperf_client_count */

/* The stream of a session; tag 0. */
#define PVPERF_MSG_RING_NEW 128     /* struct pvperf_client_ring */
#define PVPERF_MSG_RING_DATA 129    /* pvperf_msg_data, then whole records */
#define PVPERF_MSG_RING_GONE 130    /* pvperf_msg_gone */
#define PVPERF_MSG_SYNCED 131       /* empty: all rings have been announced */
#define PVPERF_MSG_DOMAIN_EVENT 132 /* pvperf_msg_domain_event */
#define PVPERF_MSG_COUNTS 133       /* struct pvperf_session_counts */
#define PVPERF_MSG_END 134          /* struct pvperf_session_counts */
#define PVPERF_MSG_NOTICE 135       /* text */

/* This one never changes, so that any two versions can tell each other. */
struct pvperf_msg_hello {
    uint32_t magic;
    uint16_t major;
    uint16_t minor;
    char version[32]; /* of the program, for people */
};

struct pvperf_msg_reply {
    int32_t rc; /* 0 or a negative errno; text says why */
    uint32_t reserved;
};

struct pvperf_msg_open {
    uint8_t flags; /* PVPERF_SESSION_FLAG_* */
    uint8_t ring_order;
    uint8_t max_stack;
    uint8_t nr_events;
    uint32_t nr_domids;
    char command[PVPERF_COMMAND_LEN];
    struct pvperf_event events[PVPERF_MAX_EVENTS];
};

/* Id and token of a session: what it takes to resume it. */
struct pvperf_msg_opened {
    uint32_t session;
    uint32_t reserved;
    uint64_t token;
};

struct pvperf_msg_host {
    int32_t rc; /* 0: query is valid */
    uint32_t nr_sessions;
    char error[256];
    struct pvperf_query query;
};

struct pvperf_msg_data {
    uint64_t serial;
    uint64_t position;
};

struct pvperf_msg_gone {
    uint64_t serial;
};

struct pvperf_msg_domain_event {
    uint32_t event; /* PVPERF_DOMAIN_EVENT_* */
    uint32_t left;
    struct pvperf_domain domain;
};

#ifdef __cplusplus
}
#endif
#endif
