// SPDX-License-Identifier: GPL-2.0-only
#include "view.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "objects.h"

static int add_file(struct parse_file *files, unsigned int *nr, int with_base,
                    const char *arg)
{
    struct pvperf_err err;

    if (*nr == VIEW_FILES)
        return ui_usage("more than %d files given; leave some out", VIEW_FILES);
    if (parse_file(arg, with_base, &files[*nr], &err))
        return ui_usage("%s", err.text);
    (*nr)++;
    return 0;
}

int view_option(struct view *v, int opt, char **argv)
{
    struct pvperf_err err;

    switch (opt) {
    case 'i':
        v->input = optarg;
        return 0;
    case 'd':
        v->domains = optarg;
        return 0;
    case VIEW_OPT_MODE:
        return parse_modes(optarg, &v->filter.modes, &err) ? ui_usage("%s", err.text) : 0;
    case VIEW_OPT_EVENT:
        v->event = optarg;
        return 0;
    case VIEW_OPT_KERNEL:
        return add_file(v->kernels, &v->nr_kernels, 0, optarg);
    case VIEW_OPT_PROGRAM:
        return add_file(v->programs, &v->nr_programs, 1, optarg);
    case VIEW_OPT_XEN_SYMS:
        v->xen_syms = optarg;
        return 0;
    case VIEW_OPT_SYMFS:
        v->symfs = optarg;
        return 0;
    default:
        return ui_bad_option(opt, argv);
    }
}

/* ---- domains of the capture ---- */

static int resolve(const struct view *v, const char *spec, uint16_t *domid)
{
    size_t nr = pvperf_capture_nr_domains(v->reader), i, index;
    struct parse_domain *domains = calloc(nr + 1, sizeof(*domains));
    struct pvperf_err err;
    int rc;

    if (!domains)
        return ui_error("out of memory; close other programs");
    for (i = 0; i < nr; i++) {
        const struct pvperf_capture_domain *d = pvperf_capture_get_domain(v->reader, i);

        domains[i].domid = d->domid;
        memcpy(domains[i].uuid, d->handle, sizeof(domains[i].uuid));
        domains[i].name = d->name;
    }
    rc = parse_domain(spec, domains, nr, "'pvperf report' shows those of the capture",
                      &index, &err);
    if (!rc)
        *domid = domains[index].domid;
    free(domains);
    return rc ? ui_error("%s", err.text) : 0;
}

static int resolve_filter(struct view *v)
{
    const char *list = v->domains;
    char word[128];
    int rc;

    if (!list)
        return 0;
    while ((rc = parse_word(&list, word, sizeof(word))) > 0) {
        if (v->filter.nr_domains == VIEW_DOMAINS)
            return ui_usage("more than %d domains given; leave some out", VIEW_DOMAINS);
        rc = resolve(v, word, &v->domids[v->filter.nr_domains]);
        if (rc)
            return rc;
        v->filter.nr_domains++;
    }
    if (rc < 0 || !v->filter.nr_domains)
        return ui_usage("'%s' is no list of domains; separate them by single commas",
                        v->domains);
    v->filter.domains = v->domids;
    return 0;
}

static int resolve_event(struct view *v)
{
    unsigned int i;

    v->only_event = -1;
    if (!v->event)
        return 0;
    for (i = 0; i < v->info->nr_events; i++) {
        if (!strcmp(v->info->event_names[i], v->event)) {
            v->only_event = (int)i;
            return 0;
        }
    }
    return ui_error("the capture has no event '%s'; its first is '%s'", v->event,
                    v->info->event_names[0]);
}

/* ---- symbols ---- */

/* Does an option give another file in the place of this one? */
static bool is_replaced(const struct view *v, const struct pvperf_capture_object *co)
{
    return co->kind == PVPERF_OBJECT_XEN      ? v->xen_syms != NULL
           : co->kind == PVPERF_OBJECT_KERNEL ? v->nr_kernels > 0
                                              : v->nr_programs > 0;
}

static void warn(void *arg, const char *line)
{
    struct view *v = arg;
    size_t i;

    /* What is replaced by an option need not be there. */
    for (i = 0; i < pvperf_capture_nr_objects(v->reader); i++) {
        const struct pvperf_capture_object *co = pvperf_capture_get_object(v->reader, i);

        if (is_replaced(v, co) && strstr(line, co->path))
            return;
    }
    ui_note("%s; --symfs, --xen-syms, --kernel and --program say where to look", line);
}

static bool same_build(const struct pvperf_capture_object *co,
                       const struct pvperf_object_info *info)
{
    return !co->build_id_len || !info->build_id_len ||
           (co->build_id_len == info->build_id_len &&
            !memcmp(co->build_id, info->build_id, co->build_id_len));
}

/* The operator may know better, but should know. */
static void check_build(const struct view *v, struct pvperf_object *o, uint16_t domid,
                        const char *path)
{
    const struct pvperf_object_info *info = pvperf_object_get_info(o);
    size_t i;

    for (i = 0; i < pvperf_capture_nr_objects(v->reader); i++) {
        const struct pvperf_capture_object *co = pvperf_capture_get_object(v->reader, i);

        if (co->kind == info->kind && info->kind != PVPERF_OBJECT_PROGRAM &&
            (co->domid == domid || co->kind == PVPERF_OBJECT_XEN) &&
            !same_build(co, info)) {
            ui_note(
                "%s is of another build than what was recorded; its names may be wrong",
                path);
            return;
        }
    }
}

static int add_given(struct view *v, const struct parse_file *file, bool program)
{
    struct pvperf_object *o;
    struct pvperf_err err;
    uint64_t bias = 0;
    uint16_t domid = 0;
    int rc = resolve(v, file->domain, &domid);

    if (rc)
        return rc;
    rc = program ? objects_load_program(file, &o, &bias, &err)
                 : objects_load_kernel_file(file->path, &o, &err);
    if (rc)
        return ui_error("%s", err.text);
    check_build(v, o, domid, file->path);
    rc = pvperf_symbols_add(v->symbols, domid, bias, 0, o);
    pvperf_object_put(o);
    return rc ? ui_error("cannot use %s: %s", file->path, strerror(-rc)) : 0;
}

static int add_given_xen(struct view *v)
{
    struct pvperf_object *o;
    struct pvperf_err err;
    int rc = pvperf_object_load(v->xen_syms, PVPERF_OBJECT_XEN, &o, &err);

    if (rc)
        return ui_error("%s", err.text);
    check_build(v, o, PVPERF_DOMID_IDLE, v->xen_syms);
    rc = pvperf_symbols_add(v->symbols, PVPERF_DOMID_IDLE, 0, 0, o);
    pvperf_object_put(o);
    return rc ? ui_error("cannot use %s: %s", v->xen_syms, strerror(-rc)) : 0;
}

/* One object of the capture, from below --symfs. */
static void load_below(struct view *v, const struct pvperf_capture_object *co)
{
    struct pvperf_object *o;
    struct pvperf_err err;
    char *path;

    if (asprintf(&path, "%s/%s", v->symfs, co->path) < 0)
        return;
    if (pvperf_object_load(path, co->kind, &o, &err)) {
        ui_note("%s", err.text);
    } else {
        if (same_build(co, pvperf_object_get_info(o)))
            pvperf_symbols_add(v->symbols, co->domid, co->bias, co->pt_base, o);
        else
            ui_note(
                "%s is of another build than the one recorded; its symbols are not used",
                path);
        pvperf_object_put(o);
    }
    free(path);
}

/* An object of several segments, and Xen in each domain, comes several times. */
static bool met_before(const struct view *v, size_t i)
{
    const struct pvperf_capture_object *a = pvperf_capture_get_object(v->reader, i), *b;
    size_t j;

    for (j = 0; j < i; j++) {
        b = pvperf_capture_get_object(v->reader, j);
        if (!strcmp(a->path, b->path) &&
            (a->kind == PVPERF_OBJECT_XEN ||
             (a->domid == b->domid && a->bias == b->bias && a->pt_base == b->pt_base)))
            return true;
    }
    return false;
}

static void load_capture_symbols(struct view *v)
{
    size_t i;

    if (!v->symfs) {
        pvperf_symbols_add_capture(v->symbols, v->reader, warn, v);
        return;
    }
    for (i = 0; i < pvperf_capture_nr_objects(v->reader); i++) {
        if (!met_before(v, i))
            load_below(v, pvperf_capture_get_object(v->reader, i));
    }
}

static int load_symbols(struct view *v)
{
    unsigned int i;
    int rc = pvperf_symbols_new(&v->symbols);

    if (rc)
        return ui_error("out of memory; close other programs");
    load_capture_symbols(v);
    if (v->xen_syms && (rc = add_given_xen(v)))
        return rc;
    for (i = 0; i < v->nr_kernels; i++) {
        rc = add_given(v, &v->kernels[i], false);
        if (rc)
            return rc;
    }
    for (i = 0; i < v->nr_programs; i++) {
        rc = add_given(v, &v->programs[i], true);
        if (rc)
            return rc;
    }
    return 0;
}

/* ---- */

int view_open_file(struct view *v)
{
    struct pvperf_err err;

    if (!v->input)
        v->input = CLI_DEFAULT_FILE;
    if (pvperf_capture_open(v->input, &v->reader, &err))
        return ui_error("%s", err.text);
    err.text[0] = '\0';
    if (pvperf_capture_scan(v->reader, &err) < 0) {
        ui_note("%s%s%s", strstr(err.text, v->input) ? "" : v->input,
                strstr(err.text, v->input) ? "" : ": ", err.text);
        v->damaged = true;
    }
    v->info = pvperf_capture_get_info(v->reader);
    v->summary = pvperf_capture_get_summary(v->reader);
    return 0;
}

int view_open(struct view *v)
{
    int rc = view_open_file(v);

    if (rc)
        return rc;
    if ((rc = resolve_event(v)) || (rc = resolve_filter(v)))
        return rc;
    return load_symbols(v);
}

void view_close(struct view *v)
{
    if (v->symbols)
        pvperf_symbols_free(v->symbols);
    if (v->reader)
        pvperf_capture_close(v->reader);
    objects_forget();
}

bool view_wants(const struct view *v, const struct pvperf_sample *sample)
{
    size_t i;

    if (v->only_event >= 0 && sample->event != v->only_event)
        return false;
    if (v->filter.modes && !(v->filter.modes & 1u << sample->mode))
        return false;
    for (i = 0; i < v->filter.nr_domains; i++) {
        if (v->domids[i] == sample->domid)
            return true;
    }
    return !v->filter.nr_domains;
}

struct pvperf_profile *view_profile(struct view *v, int event, bool stacks)
{
    struct pvperf_profile_options options = {.event = event, .stacks = stacks};
    struct pvperf_profile *p;
    struct pvperf_err err;
    int rc;

    if (pvperf_profile_new(v->symbols, &options, &p)) {
        ui_error("out of memory; close other programs");
        return NULL;
    }
    /* Damage was told when the capture was opened; what is whole counts. */
    rc = pvperf_profile_add_capture(p, v->reader, &err);
    if (rc < 0 && rc != -ENODATA && rc != -EBADMSG) {
        ui_error("%s", err.text);
        pvperf_profile_free(p);
        return NULL;
    }
    return p;
}
