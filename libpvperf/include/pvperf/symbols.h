/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * symbols.h: names for addresses.
 *
 * An object is a file with symbols: Xen (xen-syms), a guest's kernel (vmlinux
 * with or without a symbol table, vmlinuz, or System.map / kallsyms text), or
 * a program.  A symbol map says which objects are in which domain, and finds
 * the symbol of an address.  Files may be hostile: every size is checked.
 */
#ifndef PVPERF_SYMBOLS_H
#define PVPERF_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <pvperf/capture.h>
#include <pvperf/error.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- objects ---- */

struct pvperf_object;

enum pvperf_object_source {
    PVPERF_SYMS_SYMTAB,   /* ELF .symtab */
    PVPERF_SYMS_DYNSYM,   /* ELF .dynsym: exported functions only */
    PVPERF_SYMS_DEBUG,    /* .symtab of a separate debug file */
    PVPERF_SYMS_KALLSYMS, /* the tables that a kernel image carries */
    PVPERF_SYMS_TEXT,     /* System.map or /proc/kallsyms */
};

#define PVPERF_OBJECT_RANGES 8

struct pvperf_object_range {
    uint64_t start; /* address as linked */
    uint64_t len;
    uint64_t file_offset;
};

struct pvperf_object_info {
    enum pvperf_object_kind kind;
    enum pvperf_object_source source;
    bool relocatable; /* PIE: a load base must be given */
    bool elf;         /* perf can read this very file */
    uint8_t build_id_len;
    uint8_t build_id[PVPERF_BUILD_ID_MAX];
    unsigned int nr_ranges; /* executable ranges, by address */
    struct pvperf_object_range ranges[PVPERF_OBJECT_RANGES];
    size_t nr_symbols;
    const char *path;
    const char *name; /* last part of the path */
};

/*
 * Load @path.  @kind says how addresses are chosen and which formats may
 * occur.  -ENOENT: no such file; -ENOEXEC: not an object of that kind, or
 * damaged; -ENODATA: an object without symbols.
 */
int pvperf_object_load(const char *path, enum pvperf_object_kind kind,
                       struct pvperf_object **out, struct pvperf_err *err);
/* The same from memory; @buf is not needed afterwards. */
int pvperf_object_load_buffer(const void *buf, size_t len, const char *name,
                              enum pvperf_object_kind kind, struct pvperf_object **out,
                              struct pvperf_err *err);
struct pvperf_object *pvperf_object_get(struct pvperf_object *o);
void pvperf_object_put(struct pvperf_object *o);

const struct pvperf_object_info *pvperf_object_get_info(const struct pvperf_object *o);

/* Symbol of an address as linked: its name and where it starts, or NULL. */
const char *pvperf_object_lookup(const struct pvperf_object *o, uint64_t address,
                                 uint64_t *start);
/* Address of a symbol by name (the first, if several): -ENOENT. */
int pvperf_object_find(const struct pvperf_object *o, const char *name,
                       uint64_t *address);
/* Symbols by index, sorted by address.  @len is 0 if not known. */
int pvperf_object_symbol(const struct pvperf_object *o, size_t i, const char **name,
                         uint64_t *start, uint64_t *len);

/*
 * Write an ELF file that holds this object's symbols and no code, for perf,
 * where the object's own file is none that perf can read (vmlinuz, text).
 * Returns a new object for it in @out: the one to put into a capture.
 */
int pvperf_object_export_elf(const struct pvperf_object *o, const char *path,
                             struct pvperf_object **out, struct pvperf_err *err);

/* ---- the map of a host ---- */

struct pvperf_symbols;

int pvperf_symbols_new(struct pvperf_symbols **out);
void pvperf_symbols_free(struct pvperf_symbols *s);

/*
 * Xen's object is for all domains (@domid is ignored); a kernel's replaces
 * the domain's former one.  @bias is added to addresses as linked: KASLR, or
 * the load base of a PIE.  @pt_base restricts a program (0: all).  Takes a
 * reference of its own.
 */
int pvperf_symbols_add(struct pvperf_symbols *s, uint16_t domid, uint64_t bias,
                       uint64_t pt_base, struct pvperf_object *o);

/*
 * Load and add all objects that a scanned capture names.  Those that cannot
 * be loaded, or whose build-id differs, are left out; @warn is called for
 * each with one line.  Returns the number left out.
 */
int pvperf_symbols_add_capture(struct pvperf_symbols *s,
                               const struct pvperf_capture_reader *r,
                               void (*warn)(void *arg, const char *line), void *arg);

/* Add @o (once per executable range) to a capture, mapped as above. */
int pvperf_capture_add_file(struct pvperf_capture_writer *w, uint16_t domid,
                            uint64_t bias, uint64_t pt_base,
                            const struct pvperf_object *o, struct pvperf_err *err);

struct pvperf_location {
    const char *object; /* "xen-syms", "vmlinux", ...; "[unknown]" */
    const char *symbol; /* "[unknown]" if there is none */
    uint64_t offset;    /* from the symbol's start */
    bool known;         /* symbol is a real one */
};

/*
 * Names of @address in mode @mode (PVPERF_MODE_*).  The strings live as long
 * as @s.  Never fails: what is not known is "[unknown]" and is counted.
 */
void pvperf_symbols_lookup(struct pvperf_symbols *s, uint16_t domid, unsigned int mode,
                           uint64_t pt_base, uint64_t address,
                           struct pvperf_location *loc);

/* What could not be named, and what would help; by domain, then mode. */
struct pvperf_missing {
    uint16_t domid;
    uint8_t mode;
    uint64_t count;   /* lookups */
    uint64_t address; /* an example */
    char hint[160];
};

size_t pvperf_symbols_nr_missing(const struct pvperf_symbols *s);
int pvperf_symbols_get_missing(const struct pvperf_symbols *s, size_t i,
                               struct pvperf_missing *m);

#ifdef __cplusplus
}
#endif
#endif
