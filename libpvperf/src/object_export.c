/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * object_export.c: an ELF file of symbols only, for perf.  Its code sections
 * are NOBITS; file offsets are made up, but agree with the program headers.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "object_private.h"

enum { SEC_NULL, SEC_NOTE, SEC_SYMTAB, SEC_STRTAB, SEC_SHSTRTAB, SEC_TEXT };

#define MAX_SECTIONS (SEC_TEXT + PVPERF_OBJECT_RANGES)
#define PAGE 4096ull

static const char shstrtab[] = "\0.note.gnu.build-id\0.symtab\0.strtab\0.shstrtab\0.text";

struct image {
    Elf64_Ehdr eh;
    Elf64_Phdr ph[PVPERF_OBJECT_RANGES + 1];
    Elf64_Shdr sh[MAX_SECTIONS];
    struct {
        Elf64_Nhdr hdr;
        char name[4];
        uint8_t id[PVPERF_BUILD_ID_MAX];
    } note;
    Elf64_Sym *symbols;
    size_t nr_symbols;
};

static uint32_t section_name(const char *name)
{
    const char *p = shstrtab + 1;

    while (strcmp(p, name))
        p += strlen(p) + 1;
    return (uint32_t)(p - shstrtab);
}

/* Up to the next symbol, or the end of the range. */
static uint64_t symbol_size(const struct pvperf_object *o, size_t i,
                            const struct pvperf_object_range *r)
{
    uint64_t end = r->start + r->len;

    if (o->symbols[i].size)
        return o->symbols[i].size;
    if (i + 1 < o->info.nr_symbols && o->symbols[i + 1].start < end)
        end = o->symbols[i + 1].start;
    return end - o->symbols[i].start;
}

static int fill_symbols(const struct pvperf_object *o, struct image *im)
{
    unsigned int range = 0;
    size_t i;

    im->symbols = calloc(o->info.nr_symbols + 1, sizeof(*im->symbols));
    if (!im->symbols)
        return -ENOMEM;
    im->nr_symbols = 1;
    for (i = 0; i < o->info.nr_symbols; i++) {
        const struct pvperf_object_range *r = &o->info.ranges[range];
        Elf64_Sym *sym = &im->symbols[im->nr_symbols];

        while (o->symbols[i].start >= r->start && range + 1 < o->info.nr_ranges &&
               o->symbols[i].start - r->start >= r->len)
            r = &o->info.ranges[++range];
        if (o->symbols[i].start < r->start || o->symbols[i].start - r->start >= r->len)
            continue;
        sym->st_name = o->symbols[i].name + 1;
        sym->st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC);
        sym->st_shndx = (uint16_t)(SEC_TEXT + range);
        sym->st_value = o->symbols[i].start;
        sym->st_size = symbol_size(o, i, r);
        im->nr_symbols++;
    }
    return 0;
}

static void fill_ranges(const struct pvperf_object *o, struct image *im)
{
    uint64_t offset = PAGE;
    unsigned int i;

    for (i = 0; i < o->info.nr_ranges; i++) {
        const struct pvperf_object_range *r = &o->info.ranges[i];
        Elf64_Phdr *ph = &im->ph[i];
        Elf64_Shdr *sh = &im->sh[SEC_TEXT + i];

        offset += r->start % PAGE;
        ph->p_type = PT_LOAD;
        ph->p_flags = PF_R | PF_X;
        ph->p_offset = offset;
        ph->p_vaddr = ph->p_paddr = r->start;
        ph->p_filesz = ph->p_memsz = r->len;
        ph->p_align = PAGE;
        sh->sh_name = section_name(".text");
        sh->sh_type = SHT_NOBITS;
        sh->sh_flags = SHF_ALLOC | SHF_EXECINSTR;
        sh->sh_addr = r->start;
        sh->sh_offset = offset;
        sh->sh_size = r->len;
        sh->sh_addralign = 1;
        offset = (offset + r->len + PAGE - 1) & ~(PAGE - 1);
    }
}

/* Each section's place, one after the other behind the headers. */
static void place(struct image *im, unsigned int section, const char *name, uint32_t type,
                  uint64_t size, uint64_t *at)
{
    Elf64_Shdr *sh = &im->sh[section];

    *at = (*at + 7) & ~7ull;
    sh->sh_name = section_name(name);
    sh->sh_type = type;
    sh->sh_offset = *at;
    sh->sh_size = size;
    sh->sh_addralign = type == SHT_STRTAB ? 1 : 8;
    *at += size;
}

static void fill_headers(const struct pvperf_object *o, struct image *im)
{
    unsigned int nr_ph = o->info.nr_ranges;
    uint64_t at = sizeof(im->eh);
    size_t note =
        o->info.build_id_len ? sizeof(Elf64_Nhdr) + 4 + o->info.build_id_len : 0;

    memcpy(im->eh.e_ident, ELFMAG, SELFMAG);
    im->eh.e_ident[EI_CLASS] = ELFCLASS64;
    im->eh.e_ident[EI_DATA] = ELFDATA2LSB;
    im->eh.e_ident[EI_VERSION] = EV_CURRENT;
    im->eh.e_type = o->info.relocatable ? ET_DYN : ET_EXEC;
    im->eh.e_machine = EM_X86_64;
    im->eh.e_version = EV_CURRENT;
    im->eh.e_ehsize = sizeof(im->eh);
    im->eh.e_phentsize = sizeof(Elf64_Phdr);
    im->eh.e_shentsize = sizeof(Elf64_Shdr);
    im->eh.e_shstrndx = SEC_SHSTRTAB;
    im->eh.e_shnum = (uint16_t)(SEC_TEXT + o->info.nr_ranges);
    im->eh.e_phoff = at;
    at += sizeof(im->ph);
    im->eh.e_shoff = at;
    at += sizeof(im->sh);

    im->note.hdr.n_namesz = 4;
    im->note.hdr.n_descsz = o->info.build_id_len;
    im->note.hdr.n_type = NT_GNU_BUILD_ID;
    memcpy(im->note.name, "GNU", 4);
    memcpy(im->note.id, o->info.build_id, o->info.build_id_len);
    place(im, SEC_NOTE, ".note.gnu.build-id", SHT_NOTE, note, &at);
    im->sh[SEC_NOTE].sh_addralign = 4;
    place(im, SEC_SYMTAB, ".symtab", SHT_SYMTAB, im->nr_symbols * sizeof(Elf64_Sym), &at);
    im->sh[SEC_SYMTAB].sh_link = SEC_STRTAB;
    im->sh[SEC_SYMTAB].sh_info = 1;
    im->sh[SEC_SYMTAB].sh_entsize = sizeof(Elf64_Sym);
    place(im, SEC_STRTAB, ".strtab", SHT_STRTAB, o->names_len + 1, &at);
    place(im, SEC_SHSTRTAB, ".shstrtab", SHT_STRTAB, sizeof(shstrtab), &at);
    if (note) {
        Elf64_Phdr *ph = &im->ph[nr_ph++];

        ph->p_type = PT_NOTE;
        ph->p_flags = PF_R;
        ph->p_offset = im->sh[SEC_NOTE].sh_offset;
        ph->p_filesz = ph->p_memsz = note;
        ph->p_align = 4;
    }
    im->eh.e_phnum = (uint16_t)nr_ph;
}

static int write_at(int fd, const void *data, size_t len, uint64_t offset)
{
    const uint8_t *p = data;

    while (len) {
        ssize_t n = pwrite(fd, p, len, (off_t)offset);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? -errno : -EIO;
        p += n;
        len -= (size_t)n;
        offset += (uint64_t)n;
    }
    return 0;
}

static int write_image(int fd, const struct pvperf_object *o, const struct image *im)
{
    const Elf64_Shdr *sh = im->sh;
    int rc = write_at(fd, &im->eh, sizeof(im->eh), 0);

    if (!rc)
        rc = write_at(fd, im->ph, sizeof(im->ph), im->eh.e_phoff);
    if (!rc)
        rc = write_at(fd, im->sh, sizeof(im->sh), im->eh.e_shoff);
    if (!rc)
        rc = write_at(fd, &im->note, sh[SEC_NOTE].sh_size, sh[SEC_NOTE].sh_offset);
    if (!rc)
        rc = write_at(fd, im->symbols, sh[SEC_SYMTAB].sh_size, sh[SEC_SYMTAB].sh_offset);
    /* The string table begins with an empty string: names lie one further. */
    if (!rc)
        rc = write_at(fd, "", 1, sh[SEC_STRTAB].sh_offset);
    if (!rc)
        rc = write_at(fd, o->names, o->names_len, sh[SEC_STRTAB].sh_offset + 1);
    if (!rc)
        rc = write_at(fd, shstrtab, sizeof(shstrtab), sh[SEC_SHSTRTAB].sh_offset);
    return rc;
}

static int write_file(const char *path, const struct pvperf_object *o,
                      const struct image *im)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY, 0644);
    int rc;

    if (fd < 0)
        return -errno;
    rc = write_image(fd, o, im);
    if (close(fd) && !rc)
        rc = -errno;
    if (rc)
        unlink(path);
    return rc;
}

int pvperf_object_export_elf(const struct pvperf_object *o, const char *path,
                             struct pvperf_object **out, struct pvperf_err *err)
{
    struct image *im = calloc(1, sizeof(*im));
    int rc = im ? fill_symbols(o, im) : -ENOMEM;

    if (!rc) {
        fill_ranges(o, im);
        fill_headers(o, im);
        rc = write_file(path, o, im);
    }
    if (im)
        free(im->symbols);
    free(im);
    if (rc)
        return pvperf_err_set(err, rc,
                              "cannot write the symbols of %s to %s: %s; choose "
                              "another place",
                              o->path, path, strerror(-rc));
    return pvperf_object_load(path, o->info.kind, out, err);
}
