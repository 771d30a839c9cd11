# SPDX-License-Identifier: GPL-2.0-only
"""Find what should not be in a log: crashes, warnings, stalls.

Every hit fails the run, but for lines that a pattern of allow.list matches
(one regular expression a line; '#' starts a comment line).
"""
import os
import re

BAD = re.compile("|".join((
    r"Panic on CPU", r"FATAL (PAGE FAULT|TRAP)", r"Xen (BUG|WARN) at",
    r"Assertion '.*' failed", r"\bASSERT\b", r"Xen call trace",
    r"UBSAN:", r"Domain \d+ .*crashed", r"domain_crash", r"Dom0 crashed",
    r"Watchdog timer (detects|fired)", r"Kernel panic", r"\bWARNING:", r"\bBUG:",
    r"kernel BUG at", r"\bOops\b", r"Call Trace:", r"general protection fault",
    r"rcu.*(stall|starved)", r"(soft|hard) lockup", r"blocked for more than",
    r"Unhandled (page )?fault", r"list_(add|del) corruption", r"segfault at",
    r"Out of memory", r"oom-kill", r"clocksource: .*unstable",
    r"KASAN|KCSAN|lockdep",
)))

XEN_CRASH = re.compile(r"^\(XEN\).*(Panic on CPU|FATAL TRAP|FATAL PAGE FAULT|"
                       r"Watchdog timer detects)")
DOM0_CRASH = re.compile(r"^(?!\(d\d+\))(.*Kernel panic - not syncing|"
                        r".*Hardware Dom0 (crashed|halted)|.*Domain 0 crashed)")


def load_allowed(path, extra):
    patterns = list(extra)
    with open(path, encoding="utf-8") as file:
        for line in file:
            line = line.strip()
            if line and not line.startswith("#"):
                patterns.append(line)
    return [re.compile(pattern) for pattern in patterns]


def scan_text(name, text, allowed):
    hits = []
    for number, line in enumerate(text.splitlines(), 1):
        if BAD.search(line) and not any(a.search(line) for a in allowed):
            hits.append("%s:%d: %s" % (name, number, line.strip()))
    return hits


def scan(directory, allowed):
    """All hits in the consoles and kernel logs of one run."""
    hits = []
    for name in sorted(os.listdir(directory)):
        if name in ("xen-console.log", "dom0-dmesg.txt") or \
                (name.startswith("guest-") and name.endswith(".log")):
            with open(os.path.join(directory, name), errors="replace") as file:
                hits += scan_text(name, file.read(), allowed)
    return hits


def crash(text):
    """"Xen", "dom0" or None: who crashed, by Xen's console."""
    for line in text.splitlines():
        if XEN_CRASH.search(line):
            return "Xen"
        if DOM0_CRASH.search(line):
            return "dom0"
    return None
