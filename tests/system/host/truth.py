#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Hold a profile against the exact histogram of the same run.

    truth.py OUT

OUT/samples.txt has mode, address and period of each sample, OUT/pmu-truth what
the emulator says retired where while the counter ran. Both are put into the
same bins: functions of Xen, of the kernel, of the guest's program; pages for
the rest of user mode.

The overlap is the sum over all bins of the smaller of the two shares. With n
independent samples and true shares p it is expected to be at least
    1 - sum(sqrt(p (1 - p) / n)) / 2
(since the mean of |x - p| is at most its standard deviation), and it falls
below that by more than sqrt(ln(1 / a) / (2 n)) with a probability of at most a
(McDiarmid's inequality: one sample moves it by at most 1/n). a is 1e-6 here.

No sample can fall between the NMI and the place where its handler stops the
counters, nor from where they run again to the return: that code is left out on
both sides, and its share is told.
"""
import bisect
import collections
import math
import os
import subprocess
import sys

ALPHA = 1e-6
KERNEL = 1 << 63
# The way to and from the handler.
BLIND = ("handle_ist_exception", "clear_bhb_loops", "do_nmi", "nmi", "restore_all_xen",
         "apic_wait_icr_idle", "send_IPI_self", "send_IPI_self_legacy")
BLIND_PREFIX = ("pvp_", "pvperf_", "intel_", "amd_", "nmi_")
FAILED = []


def result(good, text):
    print("%s - %s" % ("ok" if good else "not ok", text))
    if not good:
        FAILED.append(text)


class Symbols:
    """Functions of an ELF file by address."""

    def __init__(self, path):
        text = subprocess.run(["nm", "-n", path], stdout=subprocess.PIPE, text=True,
                              check=True).stdout
        self.starts, self.names = [], []
        for line in text.splitlines():
            words = line.split()
            # Xen's own labels of local code count as code of their function.
            if len(words) == 3 and words[1] in "tTwW" and not words[2].startswith("."):
                self.starts.append(int(words[0], 16))
                self.names.append(words[2])

    def find(self, address):
        at = bisect.bisect_right(self.starts, address) - 1
        return self.names[at] if at >= 0 else "[before]"


def find_file(top, start):
    for directory, _, files in os.walk(top):
        for name in files:
            if name.startswith(start):
                return os.path.join(directory, name)
    raise SystemExit("not ok - no file %s* below %s" % (start, top))


class Bins:
    def __init__(self, out):
        symfs = os.path.join(out, "symfs")
        self.xen = Symbols(find_file(symfs, "xen-syms"))
        self.kernel = Symbols(find_file(symfs, "vmlinux"))
        self.program = Symbols(os.path.join(out, "truthmix"))

    def of(self, in_xen, address):
        if in_xen:
            return "xen " + self.xen.find(address)
        if address >= KERNEL:
            return "kernel " + self.kernel.find(address)
        if address < self.program.starts[-1] + 4096:
            return "user " + self.program.find(address)
        return "user page %x" % (address >> 12)


def is_blind(name):
    where, function = name.split(" ", 1)
    return where == "xen" and (function in BLIND or function.startswith(BLIND_PREFIX))


def read_samples(path, bins):
    found = collections.Counter()
    with open(path, encoding="ascii") as file:
        for line in file:
            mode, address, _ = line.split()
            found[bins.of(mode in ("hypervisor", "idle"), int(address, 16))] += 1
    return found


def read_truth(path, bins):
    found = collections.Counter()
    with open(path, encoding="ascii") as file:
        for line in file:
            _, _, cpl, _, address, insns = line.split()
            found[bins.of(cpl == "0", int(address, 16))] += int(insns)
    return found


def overlap(samples, truth, what):
    """The overlap of those bins that @what lets pass, and its bound."""
    samples = {k: v for k, v in samples.items() if what(k)}
    truth = {k: v for k, v in truth.items() if what(k)}
    n, insns = sum(samples.values()), sum(truth.values())
    got = sum(min(v / insns, samples.get(k, 0) / n) for k, v in truth.items())
    loss = sum(math.sqrt(v / insns * (1 - v / insns) / n) for v in truth.values()) / 2
    return got, 1 - loss - math.sqrt(math.log(1 / ALPHA) / (2 * n)), n, insns


def main():
    out = sys.argv[1]
    bins = Bins(out)
    samples = read_samples(os.path.join(out, "samples.txt"), bins)
    truth = read_truth(os.path.join(out, "pmu-truth"), bins)
    blind = sum(v for k, v in truth.items() if is_blind(k)) / sum(truth.values())
    print("  # blind: %.2f %% of the instructions are on the way to the handler and back"
          % (100 * blind))
    for name, what in (("everything", lambda k: True),
                       ("Xen", lambda k: k.startswith("xen ")),
                       ("kernels", lambda k: k.startswith("kernel ")),
                       ("programs", lambda k: k.startswith("user "))):
        got, least, n, insns = overlap(samples, truth,
                                       lambda k, w=what: w(k) and not is_blind(k))
        text = "%s: overlap %.4f, at least %.4f (%d samples, %d instructions)" % (
            name, got, least, n, insns)
        result(got >= least, text)
    shown = sorted(truth, key=truth.get, reverse=True)[:12]
    n, insns = sum(samples.values()), sum(truth.values())
    for name in shown:
        print("  # %6.2f %% sampled, %6.2f %% true: %s"
              % (100 * samples[name] / n, 100 * truth[name] / insns, name))
    return 1 if FAILED else 0


if __name__ == "__main__":
    sys.exit(main())
