/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* object_elf.c: symbols, executable ranges and build-id of ELF files. */
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "object_private.h"

#define DEBUG_DIR "/usr/lib/debug/.build-id"

static Elf *open_elf(const struct pvp_image *image)
{
    Elf *elf;

    if (elf_version(EV_CURRENT) == EV_NONE)
        return NULL;
    if (image->data)
        elf = elf_memory((char *)(uintptr_t)image->data, image->size);
    else
        elf = elf_begin(image->fd, ELF_C_READ, NULL);
    if (elf && elf_kind(elf) != ELF_K_ELF) {
        elf_end(elf);
        elf = NULL;
    }
    return elf;
}

static void note_build_id(struct pvperf_object *o, Elf_Data *data)
{
    size_t at = 0, name, desc, next;
    GElf_Nhdr note;

    while (data && (next = gelf_getnote(data, at, &note, &name, &desc)) > 0) {
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
            !memcmp((char *)data->d_buf + name, "GNU", 4) && note.n_descsz &&
            note.n_descsz <= PVPERF_BUILD_ID_MAX) {
            o->info.build_id_len = (uint8_t)note.n_descsz;
            memcpy(o->info.build_id, (char *)data->d_buf + desc, note.n_descsz);
            return;
        }
        at = next;
    }
}

static bool wanted_segment(const struct pvperf_object *o, const GElf_Phdr *ph)
{
    if (ph->p_type != PT_LOAD || !(ph->p_flags & PF_X) || !ph->p_filesz)
        return false;
    /* The kernel's per-CPU segment lies at 0. */
    return o->info.kind == PVPERF_OBJECT_PROGRAM || ph->p_vaddr >> 63;
}

static int read_headers(struct pvperf_object *o, Elf *elf, struct pvperf_err *err)
{
    size_t i, nr = 0;
    GElf_Ehdr eh;
    GElf_Phdr ph;

    if (!gelf_getehdr(elf, &eh) || elf_getphdrnum(elf, &nr))
        return pvperf_err_set(err, -ENOEXEC,
                              "%s is a damaged ELF file: %s; use another "
                              "copy",
                              o->path, elf_errmsg(-1));
    if (eh.e_machine != EM_X86_64 || (eh.e_type != ET_EXEC && eh.e_type != ET_DYN))
        return pvperf_err_set(err, -ENOEXEC,
                              "%s is no x86-64 executable; give the file "
                              "that runs there",
                              o->path);
    o->info.relocatable = eh.e_type == ET_DYN;
    for (i = 0; i < nr && i < 4096; i++) {
        if (!gelf_getphdr(elf, (int)i, &ph))
            break;
        if (wanted_segment(o, &ph))
            pvp_object_add_range(o, ph.p_vaddr, ph.p_filesz, ph.p_offset);
        if (ph.p_type == PT_NOTE && !o->info.build_id_len)
            note_build_id(o, elf_getdata_rawchunk(elf, (int64_t)ph.p_offset, ph.p_filesz,
                                                  ELF_T_NHDR));
    }
    if (!o->info.nr_ranges)
        return pvperf_err_set(err, -ENOEXEC,
                              "%s has no code%s; give the file that runs "
                              "there",
                              o->path,
                              o->info.kind == PVPERF_OBJECT_PROGRAM
                                  ? ""
                                  : " in the upper half of the address space");
    return 0;
}

/* Which sections hold code: a bit map, to free(). */
static uint8_t *code_sections(Elf *elf, size_t *nr)
{
    Elf_Scn *scn = NULL;
    GElf_Shdr sh;
    uint8_t *map;

    if (elf_getshdrnum(elf, nr) || *nr > 1u << 20)
        return NULL;
    map = calloc(1, *nr / 8 + 1);
    while (map && (scn = elf_nextscn(elf, scn)))
        if (gelf_getshdr(scn, &sh) && sh.sh_flags & SHF_EXECINSTR &&
            elf_ndxscn(scn) < *nr)
            map[elf_ndxscn(scn) / 8] |= (uint8_t)(1u << elf_ndxscn(scn) % 8);
    return map;
}

/* 0: a function; the lower the better among several of one address. */
static int symbol_rank(const GElf_Sym *sym)
{
    int bind = GELF_ST_BIND(sym->st_info), base;

    switch (GELF_ST_TYPE(sym->st_info)) {
    case STT_FUNC:
    case STT_GNU_IFUNC:
        base = 0;
        break;
    case STT_NOTYPE:
        base = 3;
        break;
    default:
        return -1;
    }
    return base + (bind == STB_GLOBAL ? 0 : bind == STB_WEAK ? 1 : 2);
}

static int take_symbol(struct pvperf_object *o, const GElf_Sym *sym, Elf_Data *strings)
{
    const char *name;
    size_t len;
    int rank = symbol_rank(sym);

    if (rank < 0 || !strings->d_buf || sym->st_name >= strings->d_size)
        return 0;
    name = (const char *)strings->d_buf + sym->st_name;
    len = strnlen(name, strings->d_size - sym->st_name);
    /* Local labels of the assembler say nothing to a reader. */
    if (!len || name[0] == '$' || !strncmp(name, ".L", 2))
        return 0;
    return pvp_object_add(o, sym->st_value, sym->st_size, (unsigned int)rank, name, len);
}

static int read_symbol_section(struct pvperf_object *o, Elf *elf, Elf_Scn *scn,
                               const uint8_t *code, size_t nr_sections)
{
    GElf_Shdr sh, str_sh;
    Elf_Data *data, *strings;
    Elf_Scn *str_scn;
    size_t i, nr;
    int rc = 0;

    if (!gelf_getshdr(scn, &sh) || sh.sh_entsize != sizeof(Elf64_Sym))
        return 0;
    str_scn = elf_getscn(elf, sh.sh_link);
    if (!str_scn || !gelf_getshdr(str_scn, &str_sh) || str_sh.sh_type != SHT_STRTAB)
        return 0;
    data = elf_getdata(scn, NULL);
    strings = elf_getdata(str_scn, NULL);
    if (!data || !data->d_buf || !strings)
        return 0;
    nr = data->d_size / sizeof(Elf64_Sym);
    for (i = 0; !rc && i < nr && i < INT32_MAX; i++) {
        GElf_Sym sym;

        if (!gelf_getsym(data, (int)i, &sym))
            break;
        if (sym.st_shndx < nr_sections && sym.st_shndx < SHN_LORESERVE &&
            code[sym.st_shndx / 8] >> sym.st_shndx % 8 & 1)
            rc = take_symbol(o, &sym, strings);
    }
    return rc;
}

/* All symbol tables of type @type (SHT_*). */
static int read_symbols(struct pvperf_object *o, Elf *elf, unsigned int type)
{
    Elf_Scn *scn = NULL;
    GElf_Shdr sh;
    size_t nr = 0;
    uint8_t *code = code_sections(elf, &nr);
    int rc = 0;

    if (!code)
        return 0;
    while (!rc && (scn = elf_nextscn(elf, scn)))
        if (gelf_getshdr(scn, &sh) && sh.sh_type == type)
            rc = read_symbol_section(o, elf, scn, code, nr);
    free(code);
    return rc;
}

/* A separate file of debugging information, as Debian's -dbgsym packages. */
static int read_debug_file(struct pvperf_object *o)
{
    char path[sizeof(DEBUG_DIR) + 2 * PVPERF_BUILD_ID_MAX + 16];
    struct pvp_image image = {.fd = -1};
    int rc = 0, at, i;
    Elf *elf;

    if (o->info.build_id_len < 2)
        return 0;
    at = snprintf(path, sizeof(path), DEBUG_DIR "/%02x/", o->info.build_id[0]);
    for (i = 1; i < o->info.build_id_len; i++)
        at += snprintf(path + at, sizeof(path) - (size_t)at, "%02x", o->info.build_id[i]);
    snprintf(path + at, sizeof(path) - (size_t)at, ".debug");
    image.fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (image.fd < 0)
        return 0;
    elf = open_elf(&image);
    if (elf) {
        rc = read_symbols(o, elf, SHT_SYMTAB);
        elf_end(elf);
    }
    close(image.fd);
    return rc;
}

static int read_kernel_tables(struct pvperf_object *o, struct pvp_image *image)
{
    int rc = pvp_image_read_all(image);

    if (!rc)
        rc = pvp_object_read_kallsyms(o, image->data, image->size);
    /* Tables that do not hold together are as good as none. */
    if (rc == -ENOENT || rc == -EBADMSG) {
        pvp_object_drop_symbols(o);
        rc = 0;
    }
    return rc;
}

/* Each source in turn, until one has symbols. */
static int read_any_symbols(struct pvperf_object *o, Elf *elf, struct pvp_image *image)
{
    int rc;

    o->info.source = PVPERF_SYMS_SYMTAB;
    rc = read_symbols(o, elf, SHT_SYMTAB);
    if (rc || o->info.nr_symbols)
        return rc;
    o->info.source = PVPERF_SYMS_DEBUG;
    rc = read_debug_file(o);
    if (rc || o->info.nr_symbols)
        return rc;
    if (o->info.kind == PVPERF_OBJECT_KERNEL) {
        o->info.source = PVPERF_SYMS_KALLSYMS;
        return read_kernel_tables(o, image);
    }
    o->info.source = PVPERF_SYMS_DYNSYM;
    return read_symbols(o, elf, SHT_DYNSYM);
}

static const char *const advice[] = {
    [PVPERF_OBJECT_XEN] = "give xen-syms of the running build",
    [PVPERF_OBJECT_KERNEL] = "give System.map or the -dbg package's vmlinux",
    [PVPERF_OBJECT_PROGRAM] = "build it without strip, or install its -dbgsym package",
};

int pvp_object_read_elf(struct pvperf_object *o, struct pvp_image *image,
                        struct pvperf_err *err)
{
    Elf *elf = open_elf(image);
    int rc;

    if (!elf)
        return pvperf_err_set(err, -ENOEXEC,
                              "%s is a damaged ELF file: %s; use another "
                              "copy",
                              o->path, elf_errmsg(-1));
    rc = read_headers(o, elf, err);
    if (!rc) {
        o->info.elf = true;
        rc = read_any_symbols(o, elf, image);
        if (rc)
            pvperf_err_set(err, rc, "cannot read the symbols of %s: %s", o->path,
                           strerror(-rc));
        else if (!o->info.nr_symbols)
            rc = pvperf_err_set(err, -ENODATA, "%s has no symbols; %s", o->path,
                                advice[o->info.kind]);
    }
    /* perf finds symbol tables, too, but not those only a kernel can read. */
    if (!rc && o->info.source == PVPERF_SYMS_KALLSYMS)
        o->info.elf = false;
    elf_end(elf);
    return rc;
}
