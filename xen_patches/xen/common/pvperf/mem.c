/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * mem.c: pages of Xen's that dom0 may map.
 *
 * They belong to DOMID_XEN, as those of xentrace do: privileged domains map
 * them by frame number.  Each page carries one reference for being shared.
 * Once that is dropped the page is free when its count is zero, that is,
 * when nobody maps it; then nobody can map it again.
 */
#include <xen/mm.h>
#include <xen/string.h>

#include "private.h"

void *pvp_pages_alloc(unsigned int order, bool readonly)
{
    void *va = alloc_xenheap_pages(order, 0);
    unsigned int i;

    if ( !va )
        return NULL;

    memset(va, 0, PAGE_SIZE << order);
    for ( i = 0; i < 1u << order; i++ )
        share_xen_page_with_privileged_guests(
            virt_to_page(va) + i, readonly ? SHARE_ro : SHARE_rw);

    return va;
}

void pvp_pages_unshare(void *va, unsigned int order)
{
    unsigned int i;

    for ( i = 0; i < 1u << order; i++ )
        put_page_alloc_ref(virt_to_page(va) + i);
}

bool pvp_pages_unused(const void *va, unsigned int order)
{
    const struct page_info *pg = virt_to_page(va);
    unsigned int i;

    for ( i = 0; i < 1u << order; i++ )
        if ( ACCESS_ONCE(pg[i].count_info) & PGC_count_mask )
            return false;

    return true;
}

/*
 * The owner stays set: freeing a page with an owner makes the allocator flush
 * TLBs before anybody else gets it, and some may still hold a translation
 * which dom0 has given up without a flush.
 */
void pvp_pages_free(void *va, unsigned int order)
{
    free_xenheap_pages(va, order);
}

uint64_t pvp_pages_frame(const void *va)
{
    return virt_to_mfn(va);
}

/*
 * Local variables:
 * mode: C
 * c-file-style: "BSD"
 * c-basic-offset: 4
 * tab-width: 4
 * indent-tabs-mode: nil
 * End:
 */
