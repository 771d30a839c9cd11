/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* flamegraph.c: folded stacks, and flame graphs as SVG and HTML. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "flamegraph_private.h"

#define DEFAULT_WIDTH 1200
#define MARGIN 10
#define ROW 17
#define TOP 60    /* title, subtitle, legend */
#define BOTTOM 24 /* what is under the pointer */
#define CHAR_WIDTH 6.7
#define LEVELS (PVPERF_MAX_STACK + 1 + 3) /* all, domain, mode, frames */

static const struct pvperf_flamegraph_options no_options;

static int output_status(FILE *out)
{
    if (!fflush(out) && !ferror(out))
        return 0;
    return errno ? -errno : -EIO;
}

/* ---- folded ---- */

/* ';' parts frames: it must not be in a name. */
static void put_folded(FILE *out, const char *name)
{
    for (; *name; name++)
        fputc(*name == ';' ? ':' : *name, out);
}

static int fold(void *arg, const char *domain, uint16_t domid, unsigned int mode,
                const struct pvperf_profile_frame *frames, size_t nr_frames,
                uint64_t samples, uint64_t weight)
{
    FILE *out = arg;
    size_t i;

    (void)domid;
    (void)weight;
    put_folded(out, domain);
    fprintf(out, ";%s", pvperf_mode_name(mode));
    for (i = 0; i < nr_frames; i++) {
        fputc(';', out);
        put_folded(out, frames[i].symbol);
        /* A name that says nothing: say at least where it is. */
        if (frames[i].symbol[0] == '[') {
            fputs(" in ", out);
            put_folded(out, frames[i].object);
        }
    }
    fprintf(out, " %" PRIu64 "\n", samples);
    return 0;
}

int pvperf_flamegraph_folded(const struct pvperf_profile *p, FILE *out,
                             const struct pvperf_flamegraph_options *options)
{
    int rc;

    options = options ? options : &no_options;
    rc = pvperf_profile_stacks(p, &options->filter, fold, out);
    return rc ? rc : output_status(out);
}

/* ---- the tree ---- */

/*
 * Nodes in the order of a walk from the outermost frame inwards.  Stacks come
 * sorted, so that those with a common beginning are neighbours.
 */
struct node {
    char *name; /* own copy */
    const char *object;
    uint64_t samples;
    uint64_t weight;
    uint64_t start; /* weight to the left of it */
    uint8_t level;
    char class; /* a(ll), d(omain), u, k, h, i */
};

struct tree {
    struct node *nodes;
    size_t nr, max;
    size_t path[LEVELS]; /* the open node of each level */
    size_t depth;        /* open levels */
    uint8_t deepest;
    bool by_samples; /* no weights: each sample counts as one */
};

static const char mode_class[PVPERF_MODES] = {'u', 'k', 'h', 'i'};

static int open_node(struct tree *t, const char *name, const char *object, char class,
                     size_t level, uint64_t start)
{
    struct node *nodes, *n;

    if (t->nr == t->max) {
        size_t max = t->max ? 2 * t->max : 1024;

        nodes = reallocarray(t->nodes, max, sizeof(*nodes));
        if (!nodes)
            return -ENOMEM;
        t->nodes = nodes;
        t->max = max;
    }
    n = &t->nodes[t->nr];
    memset(n, 0, sizeof(*n));
    n->name = strdup(name);
    if (!n->name)
        return -ENOMEM;
    n->object = object;
    n->class = class;
    n->level = (uint8_t)level;
    n->start = start;
    t->path[level] = t->nr++;
    t->depth = level + 1;
    if (level > t->deepest)
        t->deepest = (uint8_t)level;
    return 0;
}

static bool same_node(const struct tree *t, size_t level, const char *name,
                      const char *object, char class)
{
    const struct node *n;

    if (level >= t->depth)
        return false;
    n = &t->nodes[t->path[level]];
    return n->class == class && !strcmp(n->name, name) &&
           (n->object == object || (n->object && object && !strcmp(n->object, object)));
}

struct adding {
    struct tree *tree;
    uint16_t domid; /* two domains may have one name */
};

static int add_stack(void *arg, const char *domain, uint16_t domid, unsigned int mode,
                     const struct pvperf_profile_frame *frames, size_t nr_frames,
                     uint64_t samples, uint64_t weight)
{
    struct adding *a = arg;
    struct tree *t = a->tree;
    uint64_t start = t->nodes[0].weight;
    size_t level, i;
    int rc = 0;

    if (nr_frames + 3 > LEVELS)
        return -E2BIG;
    if (t->by_samples)
        weight = samples;
    if (domid != a->domid && t->depth > 1)
        t->depth = 1;
    a->domid = domid;
    for (level = 1; !rc && level < nr_frames + 3; level++) {
        const struct pvperf_profile_frame *f = level > 2 ? &frames[level - 3] : NULL;
        const char *name = f ? f->symbol : level == 1 ? domain : pvperf_mode_name(mode);
        char class = level == 1 ? 'd' : mode_class[f ? f->mode : mode];

        if (same_node(t, level, name, f ? f->object : NULL, class))
            continue;
        rc = open_node(t, name, f ? f->object : NULL, class, level, start);
    }
    t->depth = rc ? t->depth : nr_frames + 3;
    for (i = 0; !rc && i < t->depth; i++) {
        t->nodes[t->path[i]].samples += samples;
        t->nodes[t->path[i]].weight += weight;
    }
    return rc;
}

static void free_tree(struct tree *t)
{
    size_t i;

    for (i = 0; i < t->nr; i++)
        free(t->nodes[i].name);
    free(t->nodes);
}

static int make_tree(const struct pvperf_profile *p,
                     const struct pvperf_profile_filter *filter, struct tree *t)
{
    struct pvperf_profile_totals totals;
    struct adding a = {.tree = t, .domid = PVPERF_ANY_DOMAIN};
    int rc;

    memset(t, 0, sizeof(*t));
    pvperf_profile_get_totals(p, &totals);
    t->by_samples = !totals.weight;
    rc = open_node(t, "all", NULL, 'a', 0, 0);
    if (!rc)
        rc = pvperf_profile_stacks(p, filter, add_stack, &a);
    if (rc)
        free_tree(t);
    return rc;
}

/* ---- SVG ---- */

struct picture {
    FILE *out;
    const struct tree *tree;
    double scale; /* pixels a unit of weight */
    double min_width;
    unsigned int width;
    unsigned int height;
};

static void put_escaped(FILE *out, const char *text, size_t max)
{
    for (; *text && max; text++, max--) {
        switch (*text) {
        case '&':
            fputs("&amp;", out);
            break;
        case '<':
            fputs("&lt;", out);
            break;
        case '>':
            fputs("&gt;", out);
            break;
        case '"':
            fputs("&quot;", out);
            break;
        case '\'':
            fputs("&#39;", out);
            break;
        default:
            fputc(*text >= 0x20 && *text < 0x7f ? *text : '?', out);
        }
    }
}

/* Neighbours of one mode get different shades, by name only. */
static unsigned int shade(const char *name)
{
    uint32_t h = 5381;

    while (*name)
        h = h * 33 + (unsigned char)*name++;
    return h % 3;
}

static void put_node(const struct picture *pic, const struct node *n)
{
    const struct node *root = &pic->tree->nodes[0];
    double x = MARGIN + (double)n->start * pic->scale;
    double w = (double)n->weight * pic->scale;
    unsigned int y = pic->height - BOTTOM - (n->level + 1u) * ROW;
    double chars = (w - 4) / CHAR_WIDTH;
    size_t len = strlen(n->name);

    if (n->class == 'a' || n->class == 'd')
        fprintf(pic->out, "<g class=\"f %c\"><title>", n->class);
    else
        fprintf(pic->out, "<g class=\"f %c%u\"><title>", n->class, shade(n->name));
    put_escaped(pic->out, n->name, SIZE_MAX);
    if (n->object) {
        fputc('\n', pic->out);
        put_escaped(pic->out, n->object, SIZE_MAX);
    }
    fprintf(pic->out,
            "\n%" PRIu64 " samples, %.2f%%</title><rect x=\"%.2f\" y=\"%u\" "
            "width=\"%.2f\" height=\"%d\" rx=\"1\"/><text x=\"%.2f\" y=\"%u\">",
            n->samples, 100.0 * (double)n->weight / (double)root->weight, x, y, w,
            ROW - 1, x + 2, y + 12);
    if (chars >= (double)len) {
        put_escaped(pic->out, n->name, SIZE_MAX);
    } else if (chars >= 3) {
        put_escaped(pic->out, n->name, (size_t)chars - 2);
        fputs("..", pic->out);
    }
    fputs("</text></g>\n", pic->out);
}

static void put_legend(const struct picture *pic, int y)
{
    static const char *const texts[PVPERF_MODES] = {
        "guest user",
        "guest kernel",
        "hypervisor",
        "idle",
    };
    unsigned int i, x = MARGIN;

    for (i = 0; i < PVPERF_MODES; i++) {
        fprintf(pic->out,
                "<rect class=\"%c0\" x=\"%u\" y=\"%d\" width=\"12\" "
                "height=\"12\"/><text class=\"note\" x=\"%u\" y=\"%d\">%s</text>\n",
                mode_class[i], x, y - 10, x + 17, y, texts[i]);
        x += 110;
    }
}

static void put_subtitle(FILE *out, const struct pvperf_profile *p,
                         const struct pvperf_flamegraph_options *o, const struct tree *t)
{
    struct pvperf_profile_totals totals;

    if (o->subtitle) {
        put_escaped(out, o->subtitle, SIZE_MAX);
        return;
    }
    pvperf_profile_get_totals(p, &totals);
    fprintf(out, "%" PRIu64 " samples", t->nodes[0].samples);
    if (totals.lost)
        fprintf(out, "; %" PRIu64 " samples were lost", totals.lost);
}

static const char *title_of(const struct pvperf_flamegraph_options *o)
{
    return o->title ? o->title : "pvperf";
}

/* What only a picture that stands alone has: titles and buttons. */
static void put_svg_header(const struct picture *pic, const struct pvperf_profile *p,
                           const struct pvperf_flamegraph_options *o)
{
    fprintf(pic->out, "<text class=\"title\" x=\"%d\" y=\"20\">", MARGIN);
    put_escaped(pic->out, title_of(o), SIZE_MAX);
    fprintf(pic->out, "</text>\n<text class=\"note\" x=\"%d\" y=\"36\">", MARGIN);
    put_subtitle(pic->out, p, o, pic->tree);
    fprintf(pic->out,
            "</text>\n"
            "<text class=\"note act\" id=\"search\" x=\"%u\" y=\"20\">Search</text>\n"
            "<text class=\"note act\" id=\"reset\" x=\"%u\" y=\"20\">Reset</text>\n"
            "<text class=\"note\" id=\"found\" x=\"%u\" y=\"36\"></text>\n",
            pic->width - 110, pic->width - 55, pic->width - 110);
}

static void put_picture(struct picture *pic, const struct pvperf_profile *p,
                        const struct pvperf_flamegraph_options *o, bool alone)
{
    const struct tree *t = pic->tree;
    size_t i;

    fprintf(pic->out,
            "<svg id=\"flame\" xmlns=\"http://www.w3.org/2000/svg\" "
            "width=\"%u\" height=\"%u\" viewBox=\"0 0 %u %u\" data-left=\"%d\" "
            "data-width=\"%u\">\n<style>%s</style>\n",
            pic->width, pic->height, pic->width, pic->height, MARGIN,
            pic->width - 2 * MARGIN, pvp_flame_style);
    if (alone)
        put_svg_header(pic, p, o);
    put_legend(pic, alone ? TOP - 6 : 14);
    if (!t->nodes[0].weight)
        fprintf(pic->out, "<text class=\"note\" x=\"%d\" y=\"%u\">no samples</text>\n",
                MARGIN, pic->height - BOTTOM - 4);
    for (i = 0; t->nodes[0].weight && i < t->nr; i++)
        if ((double)t->nodes[i].weight * pic->scale >= pic->min_width)
            put_node(pic, &t->nodes[i]);
    fprintf(pic->out, "<text class=\"note\" id=\"hover\" x=\"%d\" y=\"%u\"></text>\n",
            MARGIN, pic->height - 8);
    if (alone)
        fprintf(pic->out, "<script><![CDATA[\n%s]]></script>\n", pvp_flame_script);
    fputs("</svg>\n", pic->out);
}

static void size_picture(struct picture *pic, const struct pvperf_flamegraph_options *o,
                         bool alone)
{
    double weight = (double)pic->tree->nodes[0].weight;

    pic->width = o->width ? o->width : DEFAULT_WIDTH;
    if (pic->width < 300)
        pic->width = 300;
    if (pic->width > 100000)
        pic->width = 100000;
    pic->height = (alone ? TOP : 20) + (pic->tree->deepest + 1u) * ROW + BOTTOM + 6;
    pic->scale = weight > 0 ? (pic->width - 2 * MARGIN) / weight : 0;
    pic->min_width = o->min_share > 0 ? o->min_share * (pic->width - 2 * MARGIN) : 0.33;
}

int pvperf_flamegraph_svg(const struct pvperf_profile *p, FILE *out,
                          const struct pvperf_flamegraph_options *options)
{
    struct tree t;
    struct picture pic = {.out = out, .tree = &t};
    int rc;

    options = options ? options : &no_options;
    rc = make_tree(p, &options->filter, &t);
    if (rc)
        return rc;
    size_picture(&pic, options, true);
    fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n", out);
    put_picture(&pic, p, options, true);
    free_tree(&t);
    return output_status(out);
}

/* ---- HTML ---- */

int pvperf_flamegraph_html(const struct pvperf_profile *p, FILE *out,
                           const struct pvperf_flamegraph_options *options)
{
    struct tree t;
    struct picture pic = {.out = out, .tree = &t};
    int rc;

    options = options ? options : &no_options;
    rc = make_tree(p, &options->filter, &t);
    if (rc)
        return rc;
    size_picture(&pic, options, false);
    fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
          "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
          "style-src 'unsafe-inline'; script-src 'unsafe-inline'\">\n<title>",
          out);
    put_escaped(out, title_of(options), SIZE_MAX);
    fprintf(out, "</title>\n<style>%s</style>\n</head>\n<body>\n<h1>",
            pvp_flame_page_style);
    put_escaped(out, title_of(options), SIZE_MAX);
    fputs("</h1>\n<p>", out);
    put_subtitle(out, p, options, &t);
    fputs(". Click a frame to zoom in, Escape to get back.</p>\n"
          "<form id=\"form\"><input id=\"query\" type=\"search\" "
          "placeholder=\"search for a function\" autocomplete=\"off\"> "
          "<button id=\"reset\" type=\"button\">Reset</button> "
          "<span id=\"found\"></span></form>\n",
          out);
    put_picture(&pic, p, options, false);
    fprintf(out, "<script>\n%s</script>\n</body>\n</html>\n", pvp_flame_script);
    free_tree(&t);
    return output_status(out);
}
