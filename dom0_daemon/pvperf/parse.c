// SPDX-License-Identifier: GPL-2.0-only
#include "parse.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text.h"

#define DURATION_MAX_S (366ull * 24 * 3600)

const char *const parse_event_names[] = {
    "timer",         "cycles",           "instructions", "ref-cycles", "branches",
    "branch-misses", "cache-references", "cache-misses", NULL,
};

/* ---- events ---- */

static int mode_of_letter(char c)
{
    static const char letters[] = "ukhi"; /* in the order of PVPERF_MODE_* */
    const char *at = c ? strchr(letters, c) : NULL;

    return at ? (int)(at - letters) : -1;
}

static int parse_event_modes(const char *letters, uint8_t *modes, struct pvperf_err *err)
{
    uint8_t wanted = 0;
    const char *p;
    int mode;

    for (p = letters; *p; p++) {
        mode = mode_of_letter(*p);
        if (mode < 0)
            return pvperf_err_set(
                err, -EINVAL,
                "unknown mode '%c' in ':%s'; use letters of ukhi (user, "
                "kernel, hypervisor, idle)",
                *p, letters);
        wanted |= (uint8_t)(1u << mode);
    }
    if (!wanted)
        return pvperf_err_set(err, -EINVAL,
                              "no mode after ':'; use letters of ukhi (user, kernel, "
                              "hypervisor, idle) or leave the ':' out");
    *modes = wanted;
    return 0;
}

static int parse_raw(const char *name, uint64_t *config)
{
    char *end;

    if (name[0] != 'r' || !isxdigit((unsigned char)name[1]) || strlen(name) > 17)
        return -EINVAL;
    *config = strtoull(name + 1, &end, 16);
    return *end ? -EINVAL : 0;
}

static int event_of_name(const char *name, struct pvperf_event *event)
{
    unsigned int i;

    for (i = 0; parse_event_names[i]; i++) {
        if (strcmp(parse_event_names[i], name))
            continue;
        event->type = i ? PVPERF_EVENT_GENERIC : PVPERF_EVENT_TIMER;
        event->config = i ? i - 1 : 0;
        return 0;
    }
    event->type = PVPERF_EVENT_RAW;
    return parse_raw(name, &event->config);
}

int parse_event(const char *spec, struct parse_event *out, struct pvperf_err *err)
{
    struct parse_event parsed;
    char name[PARSE_EVENT_NAME];
    const char *colon = strchr(spec, ':'), *near;
    int rc;

    memset(&parsed, 0, sizeof(parsed));
    if (text_copy(parsed.name, spec, sizeof(parsed.name)))
        return pvperf_err_set(err, -EINVAL, "the event name '%.40s...' is too long",
                              spec);
    strcpy(name, parsed.name);
    if (colon)
        name[colon - spec] = '\0';
    if (event_of_name(name, &parsed.event)) {
        near = text_suggest(name, parse_event_names);
        if (near)
            return pvperf_err_set(err, -ENOENT,
                                  "there is no event '%s'; did you mean '%s'? "
                                  "'pvperf list events' lists them",
                                  name, near);
        return pvperf_err_set(err, -ENOENT,
                              "there is no event '%s'; 'pvperf list events' lists them",
                              name);
    }
    parsed.event.modes = PVPERF_MODE_MASK_ALL;
    if (colon) {
        rc = parse_event_modes(colon + 1, &parsed.event.modes, err);
        if (rc)
            return rc;
    }
    *out = parsed;
    return 0;
}

void parse_event_name(const struct pvperf_event *event, char *buf, size_t size)
{
    if (event->type == PVPERF_EVENT_TIMER)
        snprintf(buf, size, "timer");
    else if (event->type == PVPERF_EVENT_GENERIC && event->config < PVPERF_GENERIC_NR)
        snprintf(buf, size, "%s", parse_event_names[event->config + 1]);
    else if (event->type == PVPERF_EVENT_RAW)
        snprintf(buf, size, "r%" PRIx64, event->config);
    else
        snprintf(buf, size, "type%u:%" PRIx64, event->type, event->config);
}

static int mode_of_word(const char *word)
{
    static const char *const names[] = {"user", "kernel", "hypervisor", "idle"};
    int i;

    for (i = 0; i < PVPERF_MODES; i++) {
        if (!strcmp(word, names[i]))
            return i;
    }
    if (!strcmp(word, "xen"))
        return PVPERF_MODE_HYPERVISOR;
    return word[0] && !word[1] ? mode_of_letter(word[0]) : -1;
}

int parse_modes(const char *spec, uint8_t *modes, struct pvperf_err *err)
{
    char word[32];
    uint8_t wanted = 0;
    int rc, mode;

    while ((rc = parse_word(&spec, word, sizeof(word))) > 0) {
        mode = mode_of_word(word);
        if (mode < 0)
            return pvperf_err_set(err, -EINVAL,
                                  "unknown mode '%s'; use user, kernel, hypervisor, idle",
                                  word);
        wanted |= (uint8_t)(1u << mode);
    }
    if (rc < 0 || !wanted)
        return pvperf_err_set(err, -EINVAL,
                              "no mode given; use user, kernel, hypervisor, idle");
    *modes = wanted;
    return 0;
}

/* ---- numbers ---- */

/* Digits only (no sign, no blank), checked against overflow. */
static int parse_digits(const char *s, const char **end, uint64_t *out)
{
    uint64_t value = 0;

    if (!isdigit((unsigned char)*s))
        return -EINVAL;
    for (; isdigit((unsigned char)*s); s++) {
        if (value > (UINT64_MAX - 9) / 10)
            return -ERANGE;
        value = value * 10 + (uint64_t)(*s - '0');
    }
    *end = s;
    *out = value;
    return 0;
}

int parse_number(const char *spec, const char *what, uint64_t min, uint64_t max,
                 uint64_t *out, struct pvperf_err *err)
{
    uint64_t value, unit = 1;
    const char *end = spec;
    int rc = parse_digits(spec, &end, &value);

    if (!rc && *end) {
        unit = *end == 'k' || *end == 'K' ? 1000
               : *end == 'M'              ? 1000000
               : *end == 'G'              ? 1000000000
                                          : 0;
        if (!unit || end[1])
            rc = -EINVAL;
    }
    if (rc == -EINVAL)
        return pvperf_err_set(err, rc,
                              "%s '%s' is no whole number; give one, such as 999 or 10k",
                              what, spec);
    if (rc || value > UINT64_MAX / unit || value * unit < min || value * unit > max)
        return pvperf_err_set(
            err, -ERANGE, "%s %s is out of range; give one from %" PRIu64 " to %" PRIu64,
            what, spec, min, max);
    *out = value * unit;
    return 0;
}

/* Nanoseconds in the unit that @s names; 0: no unit. */
static uint64_t duration_unit(const char *s)
{
    if (!*s || !strcmp(s, "s"))
        return 1000000000;
    if (!strcmp(s, "ms"))
        return 1000000;
    if (!strcmp(s, "m") || !strcmp(s, "min"))
        return 60 * 1000000000ull;
    return !strcmp(s, "h") ? 3600 * 1000000000ull : 0;
}

/* The digits after the point, as billionths. */
static const char *parse_fraction(const char *s, uint64_t *billionths)
{
    uint64_t weight = 100000000;

    *billionths = 0;
    for (; isdigit((unsigned char)*s); s++, weight /= 10)
        *billionths += weight * (uint64_t)(*s - '0');
    return s;
}

int parse_duration(const char *spec, uint64_t *ns, struct pvperf_err *err)
{
    uint64_t whole = 0, fraction = 0, unit, total;
    const char *p = spec;

    if ((*p != '.' && parse_digits(p, &p, &whole)) ||
        (*p == '.' && !isdigit((unsigned char)p[1])))
        goto invalid;
    if (*p == '.')
        p = parse_fraction(p + 1, &fraction);
    unit = duration_unit(p);
    if (!unit)
        goto invalid;
    if (whole > DURATION_MAX_S * 1000000000 / unit)
        return pvperf_err_set(err, -ERANGE,
                              "the duration %s is too long; at most 366 days", spec);
    /* Two steps, so that a fraction of an hour does not overflow. */
    total = whole * unit + fraction * (unit / 1000) / 1000000;
    if (!total)
        return pvperf_err_set(err, -ERANGE,
                              "the duration %s is too short; give some seconds", spec);
    *ns = total;
    return 0;

invalid:
    return pvperf_err_set(
        err, -EINVAL,
        "'%s' is no duration; give seconds, such as 10 or 0.5, or 500ms, 2m", spec);
}

int parse_ring_pages(const char *spec, uint8_t *order, struct pvperf_err *err)
{
    uint64_t pages;
    uint8_t log = 0;
    int rc;

    rc = parse_number(spec, "ring size in pages", 1, 1u << PVPERF_MAX_RING_ORDER, &pages,
                      err);
    if (rc)
        return rc;
    while ((1u << log) < pages)
        log++;
    if ((1u << log) != pages)
        return pvperf_err_set(err, -EINVAL,
                              "the ring size %s is no power of two; give %u or %u pages",
                              spec, 1u << (log - 1), 1u << log);
    *order = log;
    return 0;
}

/* ---- files, UUIDs ---- */

/* The base at the end of @path, if there is one, is cut off and returned. */
static uint64_t take_base(char *path)
{
    char *at = strrchr(path, '@'), *end;
    const char *digits;
    uint64_t base;

    if (!at || at == path)
        return 0;
    digits = !strncmp(at + 1, "0x", 2) ? at + 3 : at + 1;
    if (!isxdigit((unsigned char)*digits) || strlen(digits) > 16)
        return 0;
    base = strtoull(digits, &end, 16);
    if (*end)
        return 0;
    *at = '\0';
    return base;
}

int parse_file(const char *spec, int with_base, struct parse_file *out,
               struct pvperf_err *err)
{
    const char *form = with_base ? "DOMAIN=FILE[@BASE]" : "DOMAIN=FILE";
    const char *equal = strchr(spec, '=');
    struct parse_file parsed;

    memset(&parsed, 0, sizeof(parsed));
    if (!equal || equal == spec || !equal[1])
        return pvperf_err_set(err, -EINVAL, "'%s' is not of the form %s", spec, form);
    if ((size_t)(equal - spec) >= sizeof(parsed.domain) ||
        text_copy(parsed.path, equal + 1, sizeof(parsed.path)))
        return pvperf_err_set(err, -ENAMETOOLONG, "'%.60s...' is too long", spec);
    memcpy(parsed.domain, spec, (size_t)(equal - spec));
    if (with_base)
        parsed.base = take_base(parsed.path);
    *out = parsed;
    return 0;
}

int parse_uuid(const char *spec, uint8_t uuid[16])
{
    uint8_t parsed[16];
    char digits[3] = "";
    int i;

    for (i = 0; i < 16; i++) {
        if ((i == 4 || i == 6 || i == 8 || i == 10) && *spec++ != '-')
            return -EINVAL;
        if (!isxdigit((unsigned char)spec[0]) || !isxdigit((unsigned char)spec[1]))
            return -EINVAL;
        digits[0] = spec[0];
        digits[1] = spec[1];
        parsed[i] = (uint8_t)strtoul(digits, NULL, 16);
        spec += 2;
    }
    if (*spec)
        return -EINVAL;
    memcpy(uuid, parsed, sizeof(parsed));
    return 0;
}

/* ---- domains ---- */

struct matches {
    size_t first;
    size_t second; /* of the last two, for the message */
    size_t count;
};

static void match_add(struct matches *m, size_t i)
{
    if (!m->count++)
        m->first = i;
    else
        m->second = i;
}

static int no_domain(const char *spec, const struct parse_domain *domains, size_t nr,
                     const char *where, struct pvperf_err *err)
{
    const char **names = calloc(nr + 1, sizeof(*names));
    const char *near = NULL;
    size_t i;

    if (names) {
        for (i = 0; i < nr; i++)
            names[i] = domains[i].name;
        near = text_suggest(spec, names);
    }
    free(names);
    if (near)
        return pvperf_err_set(err, -ESRCH,
                              "there is no domain '%s'; did you mean '%s'? %s", spec,
                              near, where);
    return pvperf_err_set(err, -ESRCH, "there is no domain '%s'; %s", spec, where);
}

int parse_domain(const char *spec, const struct parse_domain *domains, size_t nr,
                 const char *where, size_t *index, struct pvperf_err *err)
{
    struct matches found = {0, 0, 0};
    const char *end;
    uint8_t uuid[16];
    uint64_t id = UINT64_MAX;
    int is_uuid = !parse_uuid(spec, uuid);
    size_t i;

    if (parse_digits(spec, &end, &id) || *end)
        id = UINT64_MAX;
    for (i = 0; i < nr; i++) {
        if (domains[i].domid == id || !strcmp(domains[i].name, spec) ||
            (is_uuid && !memcmp(domains[i].uuid, uuid, sizeof(uuid))))
            match_add(&found, i);
    }
    if (!found.count)
        return no_domain(spec, domains, nr, where, err);
    if (found.count > 1)
        return pvperf_err_set(
            err, -ENOTUNIQ,
            "'%s' names %zu domains (ids %u and %u); give an id or a UUID", spec,
            found.count, domains[found.first].domid, domains[found.second].domid);
    *index = found.first;
    return 0;
}

int parse_word(const char **list, char *word, size_t size)
{
    size_t len = strcspn(*list, ",");

    if (!**list)
        return 0;
    if (!len || len >= size || ((*list)[len] == ',' && !(*list)[len + 1]))
        return -EINVAL;
    memcpy(word, *list, len);
    word[len] = '\0';
    *list += len;
    if (**list)
        (*list)++;
    return 1;
}
