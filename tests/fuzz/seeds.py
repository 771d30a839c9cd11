#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Write the small hand-made seeds below tests/fuzz/corpus.

The captures and the ELF file there were made with libpvperf and the linker.
"""
import os
import random
import struct

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "corpus")


def save(target, name, data):
    folder = os.path.join(TOP, target)
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, name), "wb") as out:
        out.write(data)


def rec(kind, words, event=0, mode=0, pcpu=0, flags=0):
    return struct.pack("<BBBBHH", kind, words, event, mode, pcpu, flags)


def context(domid=5, vcpu=0, base=0x1000, tag=0):
    return rec(2, 4) + struct.pack("<HHIQQ", domid, vcpu, 0, base, tag)


def sample(time, ip, period=None, chain=None, mode=0, event=0):
    body = struct.pack("<QQ", time, ip)
    flags = 0
    if period is not None:
        body += struct.pack("<Q", period)
        flags |= 1
    if chain is not None:
        xen, kernel, user = chain
        body += struct.pack("<HHHH", xen, kernel, user, 0)
        body += struct.pack("<%dQ" % sum(chain), *range(0x400000, 0x400000 + sum(chain)))
        flags |= 2
    return rec(1, 1 + len(body) // 8, event, mode, 1, flags) + body


def lost(count, event=0):
    return rec(3, 4, event) + struct.pack("<QQQ", count, 100, 200)


def pad(words):
    return rec(0, words) + bytes(8 * (words - 1))


RECORDS = (context() + sample(1000, 0x401000) + sample(2000, 0x401010, period=77) +
           sample(3000, 0xffffffff81000000, chain=(0, 3, 2), mode=1) + lost(12) +
           sample(4000, 0xffff82d040200000, period=5, chain=(4, 1, 1), mode=2) +
           pad(5) + context(0x7fff, 1, 0) + sample(5000, 0, mode=3))


def feeds(data, step=0):
    out = b"\x01"
    while data:
        part = data[:160]
        data = data[160:]
        out += struct.pack("<Bb", len(part) // 8, step) + part
    return out


def decoder():
    save("fuzz_decoder", "plain", feeds(RECORDS))
    save("fuzz_decoder", "gaps", feeds(RECORDS, 101))
    save("fuzz_decoder", "again", feeds(RECORDS, -101) * 2)


def consumer():
    positions = struct.pack("<QQ", len(RECORDS), 0) + struct.pack("<QQQQ", 0x100, 0, 8, 0)
    save("fuzz_consumer", "plain", bytes([0, 1, 0, 0, 0, 1, 0, 0]) + positions + RECORDS)
    save("fuzz_consumer", "larger", bytes([1, 1, 0, 1, 3, 0, 2, 1]) + positions +
         RECORDS * 8)


def frame(kind, body, tag=0):
    return bytes([kind - 128 if kind >= 128 else kind, tag]) + \
        struct.pack("<H", len(body)) + body


def client():
    ring = struct.pack("<QHHI", 3, 5, 0, 0) + bytes(range(16)) + b"web".ljust(128, b"\0")
    save("fuzz_client", "ring", frame(128, ring) + frame(131, b"") +
         frame(132, struct.pack("<II", 1, 1) + bytes(160)) + frame(129, struct.pack("<QQ", 3, 0) + RECORDS) +
         frame(130, struct.pack("<Q", 3)))
    save("fuzz_client", "notice", frame(135, b"the disk is full") +
         frame(133, struct.pack("<II", 2, 1) + bytes(8 * 32)) +
         frame(134, struct.pack("<II", 2, 1) + bytes(8 * 32)))


def daemon():
    def request(kind, body=b"", conn=0):
        return bytes([conn << 7 | (kind - 1), 1]) + struct.pack("<H", len(body)) + body

    event = struct.pack("<HBBIQQ", 0, 0, 15, 0, 0, 1000000)
    start = struct.pack("<BBBBI", 0, 0, 0, 1, 1) + b"fuzz".ljust(64, b"\0") + \
        event + bytes(7 * 24) + struct.pack("<H", 3)
    save("fuzz_daemon", "life", b"\0\0" + request(2) + request(3) + request(4, start) +
         request(6) + request(2, conn=1) + request(7) + request(8))
    save("fuzz_daemon", "two", b"\0\0" + request(4, start) + request(4, start, 1) +
         request(6) + request(6, conn=1) + request(5, bytes(16), 1) + request(8))


def symbols():
    text = ("ffffffff81000000 T _text\nffffffff81000100 t do_one [mod]\n"
            "ffffffff81000200 W two\nffffffff81001000 T _etext\n"
            "ffffffff82000000 D data\n")
    save("fuzz_symbols", "system_map", b"\x01" + text.encode())
    save("fuzz_symbols", "system_map_xen", b"\x00" + text.encode())


def hypercall():
    rng = random.Random(1)
    for n in range(4):
        save("fuzz_hypercall", "noise%d" % n,
             bytes(rng.randrange(256) for _ in range(3000)))


if __name__ == "__main__":
    decoder()
    consumer()
    client()
    daemon()
    symbols()
    hypercall()
