/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * mem.c: memory of the user-space Xen: its heap with reference counts of
 * pages, xmalloc, guest memory, and the parsing that the command line needs.
 */
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/mman.h>

#include "control.h"
#include "internal.h"

#if defined(__SANITIZE_ADDRESS__)
#define SHIM_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SHIM_ASAN 1
#endif
#endif
#ifdef SHIM_ASAN
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(p, n) ((void)(p), (void)(n))
#define ASAN_UNPOISON_MEMORY_REGION(p, n) ((void)(p), (void)(n))
#endif

#define REQUIRE(p) do { if (!(p)) shim_bug("rule broken: " #p, __FILE__, __LINE__); } while (0)

#define ARENA_PAGES (1ul << 18)     /* 1 GiB of address space */
#define ARENA_MFN 0x80000ul
#define MAX_ORDER 10

static uint8_t *arena;
static struct page_info *frames;
static unsigned long bump;
static unsigned long free_head[MAX_ORDER + 1]; /* index + 1 of a free block */

static bool fails(long *left)
{
    if (*left < 0)
        return false;
    if (!*left)
        return true;
    --*left;
    return false;
}

static void arena_init(void)
{
    if (arena)
        return;
    arena = mmap(NULL, ARENA_PAGES << PAGE_SHIFT, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    frames = mmap(NULL, ARENA_PAGES * sizeof(*frames), PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    REQUIRE(arena != MAP_FAILED && (void *)frames != MAP_FAILED);
}

/* Xen's rule for every allocator. */
static void check_context(void)
{
    REQUIRE(!in_irq() && local_irq_is_enabled());
}

void *alloc_xenheap_pages(unsigned int order, unsigned int memflags)
{
    unsigned long at, i;

    (void)memflags;
    check_context();
    REQUIRE(order <= MAX_ORDER);
    if (fails(&shim.fail_heap))
        return NULL;
    arena_init();
    if (free_head[order]) {
        at = free_head[order] - 1;
        free_head[order] = frames[at].u.inuse.type_info;
    } else {
        at = ROUNDUP(bump, 1ul << order);
        REQUIRE(at + (1ul << order) <= ARENA_PAGES);
        bump = at + (1ul << order);
    }
    for (i = at; i < at + (1ul << order); i++) {
        frames[i] = (struct page_info){ .count_info = PGC_xen_heap };
    }
    shim.live_pages += 1ul << order;
    ASAN_UNPOISON_MEMORY_REGION(arena + (at << PAGE_SHIFT), PAGE_SIZE << order);
    memset(arena + (at << PAGE_SHIFT), 0xa5, (size_t)PAGE_SIZE << order);
    return arena + (at << PAGE_SHIFT);
}

void free_xenheap_pages(void *p, unsigned int order)
{
    unsigned long at, i;

    check_context();
    if (!p)
        return;
    at = shim_virt_to_mfn(p) - ARENA_MFN;
    REQUIRE(!(at & ((1ul << order) - 1)));
    for (i = at; i < at + (1ul << order); i++) {
        REQUIRE(frames[i].count_info & PGC_xen_heap);
        /* Freed while somebody maps it: a hole in Xen. */
        REQUIRE(!(frames[i].count_info & (PGC_count_mask | PGC_allocated)));
        frames[i] = (struct page_info){ 0 };
    }
    frames[at].u.inuse.type_info = free_head[order];
    free_head[order] = at + 1;
    shim.live_pages -= 1ul << order;
    ASAN_POISON_MEMORY_REGION(p, PAGE_SIZE << order);
}

unsigned long shim_virt_to_mfn(const void *p)
{
    size_t off = (size_t)((const uint8_t *)p - arena);

    REQUIRE(arena && (const uint8_t *)p >= arena && off >> PAGE_SHIFT < ARENA_PAGES);
    return (off >> PAGE_SHIFT) + ARENA_MFN;
}

void *shim_mfn_to_virt(unsigned long mfn)
{
    REQUIRE(mfn >= ARENA_MFN && mfn < ARENA_MFN + ARENA_PAGES);
    return arena + ((mfn - ARENA_MFN) << PAGE_SHIFT);
}

struct page_info *shim_mfn_to_page(unsigned long mfn)
{
    REQUIRE(mfn >= ARENA_MFN && mfn < ARENA_MFN + ARENA_PAGES);
    return &frames[mfn - ARENA_MFN];
}

unsigned long shim_page_to_mfn(const struct page_info *pg)
{
    return (unsigned long)(pg - frames) + ARENA_MFN;
}

void share_xen_page_with_guest(struct page_info *pg, struct domain *d, enum XENSHARE_flags f)
{
    if (page_get_owner(pg) == d)
        return;
    REQUIRE(!(pg->count_info & ~PGC_xen_heap));
    pg->u.inuse.type_info = (f == SHARE_ro ? PGT_none : PGT_writable_page) |
                            PGT_validated | 1;
    pg->owner = d;
    pg->count_info |= PGC_allocated | 1;
    d->xenheap_pages++;
}

int get_page(struct page_info *pg, const struct domain *d)
{
    if (!(pg->count_info & PGC_count_mask) || pg->owner != d)
        return 0;
    pg->count_info++;
    return 1;
}

void put_page(struct page_info *pg)
{
    REQUIRE(pg->count_info & PGC_count_mask);
    if (--pg->count_info & PGC_count_mask)
        return;
    /* A heap page only leaves its owner's list; Xen frees it. */
    REQUIRE(pg->owner && pg->owner->xenheap_pages);
    pg->owner->xenheap_pages--;
}

void put_page_alloc_ref(struct page_info *pg)
{
    REQUIRE(pg->count_info & PGC_allocated);
    pg->count_info &= ~PGC_allocated;
    put_page(pg);
}

void *shim_map(unsigned long mfn, bool writable)
{
    struct page_info *pg = shim_mfn_to_page(mfn);

    if (!get_page(pg, dom_xen))
        return NULL;
    if (writable && (pg->u.inuse.type_info & PGT_type_mask) != PGT_writable_page) {
        put_page(pg);
        return NULL;
    }
    return shim_mfn_to_virt(mfn);
}

void shim_unmap(unsigned long mfn, bool writable)
{
    (void)writable;
    put_page(shim_mfn_to_page(mfn));
}

/* Nobody maps anything any more. */
void shim_mem_abandon(void)
{
    unsigned long i;

    for (i = 0; i < bump; i++) {
        if (!(frames[i].count_info & PGC_xen_heap))
            continue;
        while ((frames[i].count_info & PGC_count_mask) >
               (frames[i].count_info & PGC_allocated ? 1u : 0u))
            put_page(&frames[i]);
    }
}

/* xmalloc */
void *_xmalloc(unsigned long size, unsigned long align)
{
    void *p;

    check_context();
    if (fails(&shim.fail_xmalloc))
        return NULL;
    REQUIRE(size && size < 1ul << 24);
    p = aligned_alloc(align < 16 ? 16 : align,
                      ROUNDUP(size, align < 16 ? 16ul : align));
    REQUIRE(p);
    memset(p, 0x5a, size);
    shim.live_blocks++;
    return p;
}

void *_xzalloc(unsigned long size, unsigned long align)
{
    void *p = _xmalloc(size, align);

    return p ? memset(p, 0, size) : NULL;
}

void xfree(void *p)
{
    check_context();
    if (!p)
        return;
    shim.live_blocks--;
    free(p);
}

/* guest memory */
static bool guest_ok(const void *p, unsigned long len)
{
    uintptr_t a = (uintptr_t)p;

    if (a < 0x10000 || a >= 1ul << 47 || a + len > 1ul << 47)
        return false;
    return a + len <= (uintptr_t)shim.bad_start || a >= (uintptr_t)shim.bad_end;
}

unsigned long raw_copy_from_guest(void *to, const void *from, unsigned long len)
{
    REQUIRE(!in_irq());
    if (!guest_ok(from, len) || fails(&shim.fail_copy_from)) {
        memset(to, 0, len);
        return len;
    }
    memcpy(to, from, len);
    if (shim.after_copy_from)
        shim.after_copy_from((void *)(uintptr_t)from, len);
    return 0;
}

unsigned long raw_copy_to_guest(void *to, const void *from, unsigned long len)
{
    REQUIRE(!in_irq());
    if (!guest_ok(to, len) || fails(&shim.fail_copy_to))
        return len;
    memcpy(to, from, len);
    return 0;
}

unsigned int copy_from_guest_pv(void *to, const void *from, unsigned int len)
{
    if (!guest_ok(from, len))
        return len;
    memcpy(to, from, len);
    return 0;
}

/* console and command line */
void printk(const char *fmt, ...)
{
    va_list ap;

    shim.printks++;
    if (!shim.verbose)
        return;
    va_start(ap, fmt);
    vfprintf(stderr, fmt, ap);
    va_end(ap);
}

unsigned long simple_strtoul(const char *cp, const char **endp, unsigned int base)
{
    char *end;
    unsigned long v = strtoul(cp, &end, (int)base);

    if (endp)
        *endp = end;
    return v;
}

static bool is_word(const char *s, size_t len, const char *word)
{
    return strlen(word) == len && !strncmp(s, word, len);
}

int parse_bool(const char *s, const char *e)
{
    static const char *const words[2][5] = {
        { "no", "off", "false", "disable", "0" },
        { "yes", "on", "true", "enable", "1" } };
    size_t len = e ? (size_t)(e - s) : strlen(s);
    unsigned int i, j;

    if (!len)
        return -1;
    for (i = 0; i < 2; i++)
        for (j = 0; j < 5; j++)
            if (is_word(s, len, words[i][j]))
                return (int)i;
    return -1;
}

int parse_boolean(const char *name, const char *s, const char *e)
{
    size_t len = e ? (size_t)(e - s) : strlen(s), n = strlen(name);
    bool yes = true;

    if (len > 3 && !strncmp(s, "no-", 3)) {
        yes = false;
        s += 3;
        len -= 3;
    }
    if (len < n || strncmp(s, name, n))
        return -1;
    if (len == n)
        return yes;
    if (s[n] != '=')
        return -1;
    return yes ? (parse_bool(s + n + 1, s + len) < 0 ? -2 : parse_bool(s + n + 1, s + len))
               : -1;
}

static struct { const char *name; int (*fn)(const char *); } params[8];
static int (*initcalls[8])(void);
static unsigned int nr_params, nr_initcalls;
int shim_param_rc;

void shim_add_param(const char *name, int kind, void *var, size_t len)
{
    (void)len;
    REQUIRE(!kind && nr_params < 8);
    params[nr_params].name = name;
    params[nr_params++].fn = (int (*)(const char *))(uintptr_t)var;
}

void shim_add_initcall(int (*fn)(void))
{
    REQUIRE(nr_initcalls < 8);
    initcalls[nr_initcalls++] = fn;
}

void shim_params(const char *value)
{
    unsigned int i;

    shim_param_rc = 0;
    for (i = 0; value && i < nr_params; i++)
        if (!strcmp(params[i].name, "pvperf"))
            shim_param_rc = params[i].fn(value);
}

void shim_initcalls(void)
{
    unsigned int i;

    for (i = 0; i < nr_initcalls; i++)
        REQUIRE(!initcalls[i]());
}
