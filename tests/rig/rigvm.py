# SPDX-License-Identifier: GPL-2.0-only
"""The machine under QEMU: its arguments, its channels, save and restore.

Saving: the guest's RAM is a file. While the machine boots, the file is mapped
shared and lies in memory; when dom0 is up, the machine is stopped, the state
of its devices goes to a second file (x-ignore-shared leaves the RAM out), and
both files go to the cache. A restore maps the RAM file privately: it is read
on demand and never written, so it takes about a second and any number of
machines can share it.
"""
import ctypes
import json
import os
import select
import shutil
import signal
import socket
import subprocess
import threading
import time

PAYLOAD_SIZE = 256 << 20
OUTPUT_SIZE = 1 << 30
CHANNELS = ("ctl", "out", "err")


class MachineError(Exception):
    """QEMU, or the machine's start, failed: one line for the user."""


def die_with_parent():
    """In QEMU's process, before it runs: no machine outlives its driver."""
    pr_set_pdeathsig = 1
    ctypes.CDLL(None).prctl(pr_set_pdeathsig, signal.SIGKILL)
    os.setsid()     # Ctrl-C is for the driver, which ends QEMU in good order


class Options:
    """What a saved machine depends on, apart from its files."""

    def __init__(self, args, xen_args):
        self.qemu = args.qemu
        self.cpu = args.cpu
        self.smp = args.smp
        self.mem = args.mem
        self.icount = args.icount
        self.xen_args = xen_args
        self.dom0_args = args.dom0_args

    def key(self):
        return json.dumps(vars(self), sort_keys=True)


class Channel:
    """A host side UNIX socket that QEMU connects to."""

    def __init__(self, directory, name):
        self.path = os.path.join(directory, name)
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(self.path)
        self.listener.listen(1)
        self.sock = None
        self.buffer = b""

    def accept(self, process):
        """Wait for QEMU to connect; it does so before it runs the guest."""
        for _ in range(300):
            if select.select([self.listener], [], [], 0.1)[0]:
                self.sock = self.listener.accept()[0]
                self.listener.close()
                return
            if process.poll() is not None:
                break
        raise MachineError("QEMU did not start; see qemu.log")

    def read_line(self, timeout):
        """The next line, or None when TIMEOUT passed; "" when QEMU is gone."""
        end = time.monotonic() + timeout
        while b"\n" not in self.buffer:
            left = end - time.monotonic()
            if left <= 0 or not select.select([self.sock], [], [], left)[0]:
                return None
            data = self.sock.recv(65536)
            if not data:
                return ""
            self.buffer += data
        line, self.buffer = self.buffer.split(b"\n", 1)
        return line.decode(errors="replace").strip() + "\n"

    def send(self, text):
        self.sock.sendall(text.encode())


class Qmp:
    """QEMU's control protocol, as much of it as the rig needs."""

    def __init__(self, channel):
        self.channel = channel
        self._answer(lambda m: "QMP" in m)
        self.call("qmp_capabilities")

    def _answer(self, wanted, timeout=60):
        end = time.monotonic() + timeout
        while True:
            line = self.channel.read_line(max(0, end - time.monotonic()))
            if not line:
                raise MachineError("QEMU does not answer; see qemu.log")
            message = json.loads(line)
            if wanted(message):
                return message

    def call(self, command, **arguments):
        self.channel.send(json.dumps({"execute": command, "arguments": arguments}))
        message = self._answer(lambda m: "return" in m or "error" in m)
        if "error" in message:
            raise MachineError("QEMU refused %s: %s"
                               % (command, message["error"]["desc"]))
        return message["return"]

    def ignore_shared(self):
        self.call("migrate-set-capabilities", capabilities=[
            {"capability": "x-ignore-shared", "state": True}])

    def wait_migration(self, timeout=120):
        end = time.monotonic() + timeout
        while time.monotonic() < end:
            state = self.call("query-migrate").get("status")
            if state == "completed":
                return
            if state in ("failed", "cancelled"):
                break
            time.sleep(0.05)
        raise MachineError("saving or restoring the machine failed; see qemu.log")


class Machine:
    """One QEMU process. WORK is a private directory, LOG keeps its logs."""

    def __init__(self, options, files, work, log):
        self.options = options
        self.files = files
        self.work = work
        self.log = log
        self.console = os.path.join(log, "xen-console.log")
        self.payload = os.path.join(work, "payload.img")
        self.output = os.path.join(work, "output.img")
        self.truth = None   # file for where the counted instructions were
        self.marks = None   # file for totals that dom0 asks for
        self.process = None
        self.qmp = None
        self.channels = {}
        self.pumps = []
        for path, size in ((self.payload, PAYLOAD_SIZE), (self.output, OUTPUT_SIZE)):
            if not os.path.exists(path):
                with open(path, "wb") as file:
                    file.truncate(size)

    def _arguments(self, ram, share):
        o = self.options
        accel = ["-accel", "tcg"]
        if o.icount is not None:
            accel = ["-accel", "tcg,thread=single",
                     "-icount", "shift=%d,sleep=off" % o.icount, "-seed", "1"]
        # clock=vm: the machine's time of day stands still while it is saved.
        # Not in the saved machine's key: it changes nothing that the guest sees.
        cpu = o.cpu + (",pmu-truth=" + self.truth if self.truth else "")
        cpu += ",pmu-marks=" + self.marks if self.marks else ""
        args = [o.qemu, *accel, "-cpu", cpu, "-smp", str(o.smp),
                "-m", "%dM" % o.mem, "-machine", "pc,memory-backend=ram",
                "-object", "memory-backend-file,id=ram,size=%dM,mem-path=%s,share=%s"
                % (o.mem, ram, "on" if share else "off"),
                "-nodefaults", "-vga", "none", "-display", "none", "-no-reboot",
                "-rtc", "base=2026-01-01T00:00:00,clock=vm",
                "-kernel", self.files["xen"], "-append", o.xen_args,
                "-initrd", "%s %s,%s" % (self.files["kernel"], o.dom0_args,
                                         self.files["dom0"]),
                "-chardev", "file,id=xen,path=%s,append=on" % self.console,
                "-serial", "chardev:xen", "-device", "virtio-serial-pci"]
        for name in CHANNELS:
            args += ["-chardev", "socket,id=%s,path=%s/%s" % (name, self.work, name),
                     "-device", "virtserialport,chardev=%s,name=rig.%s" % (name, name)]
        for name, path in (("payload", self.payload), ("output", self.output)):
            args += ["-drive", "if=none,id=%s,format=raw,cache=unsafe,file=%s"
                     % (name, path), "-device", "virtio-blk-pci,drive=%s" % name]
        return args + ["-chardev", "socket,id=qmp,path=%s/qmp" % self.work,
                       "-mon", "chardev=qmp,mode=control"]

    def start(self, ram, share, incoming=False):
        for name in CHANNELS + ("qmp",):
            self.channels[name] = Channel(self.work, name)
        args = self._arguments(ram, share)
        if incoming:
            args += ["-incoming", "defer"]
        with open(os.path.join(self.log, "qemu.log"), "ab") as log:
            log.write((" ".join(args) + "\n").encode())
            log.flush()
            try:
                self.process = subprocess.Popen(args, stdin=subprocess.DEVNULL,
                                                stdout=log, stderr=log,
                                                preexec_fn=die_with_parent)
            except OSError as error:
                raise MachineError("cannot run %s: %s; run tests/rig/deps.sh"
                                   % (self.options.qemu, error.strerror)) from error
        for channel in self.channels.values():
            channel.accept(self.process)
        self.qmp = Qmp(self.channels["qmp"])

    def pump(self, name, stream):
        """Copy channel NAME to STREAM as it comes, until QEMU is gone."""
        def copy():
            while True:
                try:
                    data = self.channels[name].sock.recv(65536)
                except OSError:
                    return
                if not data:
                    return
                try:
                    stream.write(data)
                    stream.flush()
                except OSError:
                    pass    # our reader is gone; dom0 must not block for it
        thread = threading.Thread(target=copy, daemon=True)
        thread.start()
        self.pumps.append(thread)

    def save(self, state):
        self.qmp.call("stop")
        self.qmp.ignore_shared()
        self.qmp.call("migrate", uri="exec:cat >'%s'" % state)
        self.qmp.wait_migration()

    def restore(self, ram, state):
        self.start(ram, share=False, incoming=True)
        self.qmp.ignore_shared()
        self.qmp.call("migrate-incoming", uri="exec:cat '%s'" % state)
        self.qmp.wait_migration()
        self.qmp.call("cont")

    def alive(self):
        return self.process.poll() is None

    def stop(self):
        """End QEMU and let the pumps take what it still had to say."""
        if self.process is None:
            return
        try:
            self.qmp.call("quit")
            self.process.wait(60 if self.truth else 5)
        except (MachineError, AttributeError, OSError, subprocess.TimeoutExpired):
            self.process.kill()
            self.process.wait()
        for thread in self.pumps:
            thread.join(5)


def copy_sparse(descriptor, target):
    """cp leaves out what is zero: most of the RAM."""
    subprocess.run(["cp", "--sparse=always", "/proc/self/fd/%d" % descriptor, target],
                   check=True, pass_fds=[descriptor])


def room_for_ram(megabytes):
    """A directory for RAM while a machine boots: memory if it has the room."""
    try:
        if shutil.disk_usage("/dev/shm").free > (megabytes + 512) << 20:
            return "/dev/shm"
    except OSError:
        pass
    return None
