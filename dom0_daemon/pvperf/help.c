// SPDX-License-Identifier: GPL-2.0-only
#include "cli.h"

#include <string.h>

const char *const help_commands[] = {
    "doctor", "list", "record", "stat", "report", "script", "flamegraph", "help", NULL,
};

static const char main_help[] =
    "usage: pvperf COMMAND [OPTIONS]\n"
    "\n"
    "Profile Xen and its domains from dom0; the guests need not help.\n"
    "\n"
    "  doctor      what works on this host, what does not, what to do\n"
    "  list        domains and events\n"
    "  record      take samples and write them to a capture file\n"
    "  stat        count events of domains, without samples\n"
    "  report      where the time went: by domain, mode, object and function\n"
    "  script      the samples one by one\n"
    "  flamegraph  an interactive picture of the call chains\n"
    "  help CMD    options and examples of a command\n"
    "\n"
    "First steps, as root in dom0:\n"
    "  pvperf doctor                        can this host be profiled?\n"
    "  pvperf record -d web --duration 10   profile the domain 'web'\n"
    "  pvperf report                        and look at it\n"
    "\n"
    "pvperf --version prints the version. A capture is a perf.data file: perf\n"
    "report and perf script read it as well.\n";

static const char doctor_help[] =
    "usage: pvperf doctor [OPTIONS]\n"
    "\n"
    "Checks step by step whether this host can be profiled: Xen, privilege, the\n"
    "hypercall, counters and who holds them, memory for rings, the daemon, symbols.\n"
    "One line each: 'ok', 'missing' (works without it, but less well) or 'problem'\n"
    "(with what to do). Exit status 0 if profiling will work, else 1.\n"
    "\n"
    "  --xen-syms FILE   Xen's symbols\n"
    "  --socket PATH     socket of pvperfd\n"
    "  --json            the same for programs\n"
    "\n"
    "Examples:\n"
    "  pvperf doctor\n"
    "  pvperf doctor && pvperf record --duration 5\n";

static const char list_help[] =
    "usage: pvperf list [domains|events] [OPTIONS]\n"
    "\n"
    "  domains   id, name, UUID, virtual CPUs and state of each domain\n"
    "  events    what can be sampled here, and what cannot and why\n"
    "\n"
    "Without an argument: both.\n"
    "\n"
    "  --json            the same for programs\n"
    "  --socket PATH     socket of pvperfd\n"
    "\n"
    "Examples:\n"
    "  pvperf list domains\n"
    "  pvperf list events\n";

static const char record_help[] =
    "usage: pvperf record [OPTIONS] [-- COMMAND...]\n"
    "\n"
    "Takes samples until Ctrl-C, until --duration is over or until COMMAND (run in\n"
    "dom0) ends, and writes them to a capture file.\n"
    "\n"
    "What:\n"
    "  -e, --event EVENT[:MODES]  sample this event; may be repeated (up to 8). MODES\n"
    "                     are letters of u (user), k (kernel), h (hypervisor), i\n"
    "                     (idle). Default: cycles with a PMU, else timer\n"
    "  -F, --freq FREQ    samples a second and CPU (default 999)\n"
    "  -c, --period PERIOD  or one sample each PERIOD events (timer: nanoseconds)\n"
    "  -g, --call-graph   record call chains as well\n"
    "Where:\n"
    "  -a, --all          everything: all domains, Xen, idle (default)\n"
    "  -d, --domain DOMAIN[,DOMAIN...]  only these, by name, id or UUID; may be\n"
    "                     repeated\n"
    "  --xen              with -d: also Xen when it works for others\n"
    "  --idle             with -d: also idle CPUs\n"
    "How:\n"
    "  -o, --output FILE  capture file (default pvperf.data; an old one is kept as\n"
    "                     FILE.old)\n"
    "  --duration SECS    stop after so many seconds (0.5, 10, 2m)\n"
    "  -m, --ring-pages PAGES  buffer of each virtual CPU, a power of two (default 16)\n"
    "  --kernel DOMAIN=FILE  kernel of a domain (vmlinux, vmlinuz, System.map)\n"
    "  --program DOMAIN=FILE[@BASE]  a program in a domain; BASE is its load address\n"
    "                     (hexadecimal) if it is position independent\n"
    "  --xen-syms FILE    Xen's symbols\n"
    "  --socket PATH      socket of pvperfd\n"
    "  -q, --quiet        only errors and losses\n"
    "\n"
    "Examples:\n"
    "  pvperf record --duration 10                    the whole host, ten seconds\n"
    "  pvperf record -d web -g -- sleep 30            one domain with call chains\n"
    "  pvperf record -d web,db --xen -F 4000          two domains and Xen\n"
    "  pvperf record -e cycles:h -e cache-misses      where Xen spends its cycles\n"
    "  pvperf record -d web --kernel web=/srv/vmlinux\n";

static const char stat_help[] =
    "usage: pvperf stat [OPTIONS] [-- COMMAND...]\n"
    "\n"
    "Counts events of domains until Ctrl-C, until --duration is over or until COMMAND\n"
    "(run in dom0) ends, and prints the sums. It takes no samples. Counts of PV domains\n"
    "are exact, also when they share a CPU or move to another.\n"
    "\n"
    "  -e, --event EVENT[:MODES][,EVENT...]  count this event; may be repeated (up to "
    "8).\n"
    "                     MODES are letters of u (user), k (kernel), h (hypervisor),\n"
    "                     i (idle); default: all. u or k alone do not go with h or i\n"
    "  -d, --domain DOMAIN[,DOMAIN...]  only these, by name, id or UUID\n"
    "  -a, --all          all domains, and the rest: idle CPUs (default)\n"
    "  -I, --interval SECS  print what came every so many seconds\n"
    "  --duration SECS    stop after so many seconds (0.5, 10, 2m)\n"
    "  --per-vcpu         a line for each virtual CPU\n"
    "  --json             one JSON object a line\n"
    "  --socket PATH      socket of pvperfd\n"
    "\n"
    "If there are more events than counters they take turns: '~' marks a count that is\n"
    "an estimate, COUNTED the part of the time in which the event was counted.\n"
    "\n"
    "Examples:\n"
    "  pvperf stat -d web --duration 10\n"
    "  pvperf stat -e instructions:u,instructions:k,instructions:h -d web -I 1\n"
    "  pvperf stat -a -e cycles -- xl create web.cfg\n";

#define CAPTURE_OPTIONS "  -i, --input FILE   capture file (default pvperf.data)\n"
#define FILTER_OPTIONS                                                            \
    "  -d, --domain DOMAIN[,DOMAIN...]  only these domains\n"                     \
    "  --mode MODE[,MODE...]  only these modes: user, kernel, hypervisor, idle\n" \
    "  --event EVENT      only this event\n"
#define SYMBOL_OPTIONS                                                                  \
    "  --kernel DOMAIN=FILE  kernel of a domain (vmlinux, vmlinuz, System.map)\n"       \
    "  --program DOMAIN=FILE[@BASE]  a program in a domain; BASE is its load address\n" \
    "                     (hexadecimal) if it is position independent\n"                \
    "  --xen-syms FILE    Xen's symbols\n"                                              \
    "  --symfs DIR        look for the files that the capture names below DIR\n"

static const char report_help[] =
    "usage: pvperf report [OPTIONS]\n"
    "\n"
    "Prints where the samples of a capture fell: shares by domain, by mode, by object\n"
    "and by function. Losses, if any, are told.\n"
    "\n" CAPTURE_OPTIONS FILTER_OPTIONS
    "  --limit N          functions shown (default 30)\n"
    "  --sort KEY         weight (default) or name\n" SYMBOL_OPTIONS
    "Instead of the report, as a plain table:\n"
    "  --counts           overflows, recorded, lost, filtered and throttled samples of\n"
    "                     each event; time that it was wanted and had a counter\n"
    "  --lost             each loss: how many, of what, where and when\n"
    "  --objects          files with symbols that the capture refers to\n"
    "\n"
    "Examples:\n"
    "  pvperf report\n"
    "  pvperf report -d web --mode kernel --limit 100\n"
    "  pvperf report -i old.data --kernel web=/srv/vmlinux\n";

static const char script_help[] =
    "usage: pvperf script [OPTIONS]\n"
    "\n"
    "Prints the samples of a capture in the order of time, one line each: time,\n"
    "domain/vCPU, physical CPU, event, mode, address, symbol+offset (object); the\n"
    "call chain follows, indented, innermost frame first. '~' after the mode: the\n"
    "address is where the CPU was a little later.\n"
    "\n" CAPTURE_OPTIONS FILTER_OPTIONS SYMBOL_OPTIONS
    "  --fields LIST      print these instead, one word each, no chains: time, domain,\n"
    "                     vcpu, cpu, event, mode, ip, symbol, offset, object, pt, tag,\n"
    "                     period, skid\n"
    "\n"
    "Examples:\n"
    "  pvperf script | head\n"
    "  pvperf script --fields time,domain,symbol\n"
    "  pvperf script -d web --mode user | grep main\n";

static const char flamegraph_help[] =
    "usage: pvperf flamegraph [OPTIONS]\n"
    "\n"
    "Draws a capture as a flame graph, one file without outside resources. Captures\n"
    "made with 'pvperf record -g' show call chains.\n"
    "\n" CAPTURE_OPTIONS
    "  -o, --output FILE  FILE.svg, FILE.html, or FILE.folded for folded stacks as\n"
    "                     text; '-' prints folded stacks (default pvperf.svg)\n"
    "  --title TEXT       title of the picture\n" FILTER_OPTIONS SYMBOL_OPTIONS "\n"
    "Examples:\n"
    "  pvperf flamegraph\n"
    "  pvperf flamegraph -o web.html -d web\n"
    "  pvperf flamegraph -o - | sort | head\n";

static const struct {
    const char *command;
    const char *text;
} pages[] = {
    {"doctor", doctor_help},         {"list", list_help},
    {"record", record_help},         {"stat", stat_help},
    {"report", report_help},         {"script", script_help},
    {"flamegraph", flamegraph_help}, {"help", main_help},
};

int help_print(FILE *out, const char *command)
{
    size_t i;

    if (!command) {
        fputs(main_help, out);
        return 0;
    }
    for (i = 0; i < sizeof(pages) / sizeof(pages[0]); i++) {
        if (!strcmp(pages[i].command, command)) {
            fputs(pages[i].text, out);
            return 0;
        }
    }
    return -1;
}
