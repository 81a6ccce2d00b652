#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What a trace says of GPUs against what the programs of tests/vm/prog say they did
(DID) and what tracefs has seen (ORACLE).

    gpu_check.py ioctls TRACE DID          slices in order, names, results
    gpu_check.py same-ioctls DID ORACLE    as many calls
    gpu_check.py jobs TRACE DID            each job on its ring, in order, from its ioctl
    gpu_check.py two-gpus TRACE DID DID    each on a device of its own
    gpu_check.py frames TRACE DID          each flip, and which were late
    gpu_check.py oracle-jobs DID ORACLE    the scheduler ran these jobs, on these rings
    gpu_check.py oracle-flips DID ORACLE   vblanks were delivered for these flips
    gpu_check.py virgl TRACE ORACLE        EXECBUFFER of virtio_gpu, called by Mesa
    gpu_check.py flood TRACE DID           all calls are there, or some and a loss
    gpu_check.py counters TRACE DID        of one engine of fakegpu
    gpu_check.py memory TRACE ORACLE       what gpu_mem:gpu_mem_total says, each time

Exits with 1 and says what differs.
"""
import errno
import os
import re
import struct
import sys
from collections import namedtuple

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../integration"))
from wire import fields, packed, packets  # noqa: E402


def differs(text):
    raise SystemExit(text)


def expect_equal(what, want, got):
    if want != got:
        differs(f"{what}: expected {want}, got {got}")


# ---- what was done ----


class Did:
    """What a program printed: ioctls as (name, result), jobs as (ring, context, seqno)."""

    def __init__(self, path):
        self.ioctls, self.jobs, self.flips = [], [], []
        self.flood = 0
        self.waits = []  # of each wait the fences
        self.busy = {}  # engine -> ns
        with open(path) as f:
            for line in f:
                word = line.split()
                if word[0] == "ioctl":
                    self.ioctls.append((word[1], int(word[2])))
                elif word[0] == "job":
                    self.jobs.append((word[1], *map(int, word[2].split(":"))))
                elif word[0] == "flip":
                    self.flips.append((int(word[1]), word[2] == "late"))
                elif word[0] == "waits":
                    self.waits.append(word[1:])
                elif word[0] == "busy":
                    self.busy[word[1]] = int(word[2])
                elif word[0] == "flood":
                    self.flood += int(word[1])


ORACLE_LINE = re.compile(r"\s*(.*)-(\d+)\s+\[(\d+)\] \S+ +([0-9.]+): (\w+)(?:\((.*)|: (.*)| -> (.*))")


class Oracle:
    """Events of tracefs as (pid, ns, name, text)."""

    def __init__(self, path):
        self.events = []
        with open(path) as f:
            for line in f:
                m = ORACLE_LINE.match(line)
                if not m:
                    differs(f"{path}: {line}")
                ns = round(float(m[4]) * 1e9)
                self.events.append((int(m[2]), ns, m[5], m[6] or m[7] or m[8] or "", m[1]))

    def named(self, name):
        return [e for e in self.events if e[2] == name]


# ---- what the trace says ----


def signed(value):
    return value - (1 << 64) if value >= 1 << 63 else value


Track = namedtuple("Track", "name parent tid pid")


class Slice:
    def __init__(self, track, begin, name, category, args, submits, waited, stack):
        self.track, self.begin, self.end = track, begin, None
        self.stack = stack  # has one
        self.name, self.category, self.args = name, category, args
        self.submits, self.waited = submits, waited  # ids of jobs


# Where a GPU has worked on a job; `fence` is "CONTEXT:SEQNO".
Job = namedtuple("Job", "id begin end gpu ring fence")


class Trace:
    def __init__(self, path):
        self.names = {}  # (sequence, kind, iid) -> text
        self.tracks = {}  # uuid -> (name, parent, tid)
        self.open = {}  # track -> slices
        self.slices = []
        self.counters = {}  # track -> [(ns, value)]
        self.gpus, self.jobs = [], []
        self.attributes = {}  # name -> number
        with open(path, "rb") as f:
            for packet in packets(f.read()):
                self.packet(packet)
        self.slices.sort(key=lambda s: s.begin)
        self.jobs.sort(key=lambda j: j.begin)

    def packet(self, packet):
        get = dict(packet)
        sequence = get.get(10)
        for kind, entry in fields(get.get(12, b"")):
            if kind in (1, 2, 3, 17, 24):
                interned = dict(fields(entry))
                self.names[sequence, kind, interned[1]] = interned[2].decode(errors="replace")
        if 60 in get:
            track = dict(fields(get[60]))
            tid = dict(fields(track[4]))[2] if 4 in track else None
            pid = dict(fields(track[3]))[1] if 3 in track else None
            self.tracks[track[1]] = Track(track.get(2, b"").decode(), track.get(5), tid, pid)
        for _, value in fields(get.get(126, b"")):
            attribute = dict(fields(value))
            self.attributes[attribute[1].decode()] = attribute.get(2)
        if 128 in get:
            self.gpus = [dict(fields(gpu))[1].decode() for _, gpu in fields(get[128])]
        if 53 in get:
            self.job(sequence, get[8], list(fields(get[53])))
        if 11 in get:
            self.event(sequence, get[8], list(fields(get[11])))

    def event(self, sequence, time, event):
        get = dict(event)
        track = get.get(11)
        if get[9] == 1:
            name = self.names.get((sequence, 2, get.get(10))) or get.get(23, b"").decode()
            category = self.names.get((sequence, 1, get.get(3)), "-")
            args = dict(self.arg(sequence, v) for n, v in event if n == 4)
            jobs = {1: [], 2: []}  # submitted, waited for
            for number, value in fields(get.get(3000, b"")):
                jobs[number] += packed(value) if isinstance(value, bytes) else [value]
            slice = Slice(track, time, name, category, args, jobs[1], jobs[2], bool(get.get(56)))
            self.open.setdefault(track, []).append(slice)
            self.slices.append(slice)
        elif get[9] == 2 and self.open.get(track):
            self.open[track].pop().end = time
        elif get[9] == 4:
            value = get[30] if 30 in get else struct.unpack("<d", get[44].to_bytes(8, "little"))[0]
            self.counters.setdefault(track, []).append((time, value))

    def job(self, sequence, time, event):
        get = dict(event)
        extra = [dict(fields(v)) for n, v in event if n == 6]
        extra = {e[1].decode(): e[2].decode() for e in extra}
        ring = self.names[sequence, 24, get[13]]
        gpu = self.gpus[get.get(11, 0)]
        self.jobs.append(Job(get[1], time, time + get[2], gpu, ring, extra["fence"]))

    def arg(self, sequence, data):
        get = dict(fields(data))
        name = get[10].decode() if 10 in get else self.names[sequence, 3, get[1]]
        if 6 in get:
            return name, get[6].decode()
        if 2 in get:
            return name, bool(get[2])
        return name, signed(get.get(4, get.get(3, get.get(7, 0))))

    def tid(self, slice):
        return self.tracks[slice.track].tid if slice.track in self.tracks else None

    def ioctls(self):
        return [s for s in self.slices if s.category == "gpu" and self.tid(s)]


# ---- ioctls ----


def is_named(name, wanted):
    """The name of a slice is that of the ioctl; a driver's own may be a number."""
    if wanted == "DRM_IOCTL_FAKEGPU_SUBMIT":
        wanted = "0x40"
    wanted = wanted.removeprefix("DRM_IOCTL_").removeprefix("DMA_BUF_IOCTL_")
    return re.search(rf"(^|[^A-Z0-9]){wanted}($|[^A-Za-z0-9_])", name)


# Quick ones that succeed are only counted, with the thread's next slice.
QUERIES = {
    "DRM_IOCTL_VERSION",
    "DRM_IOCTL_MODE_GETRESOURCES",
    "DRM_IOCTL_MODE_GETCONNECTOR",
    "DRM_IOCTL_VIRTGPU_GETPARAM",
}


def check_ioctl(slice, name, result):
    error = slice.args.get("error", 0)
    if error != (errno.errorcode[-result] if result < 0 else 0):
        differs(f"{name}: result {result} is shown as {slice.args}")
    if slice.end is None:
        differs(f"{name} does not end")


def skip_queries(did, n):
    """Takes the next n calls, which have no slice."""
    for _ in range(n):
        name, result = next(did, ("nothing", 0))
        if name not in QUERIES or result < 0:
            differs(f"{name}, result {result}, has no slice")


def check_ioctls(trace, did):
    trace, did = Trace(trace), Did(did)
    calls, left = iter(did.ioctls), len(did.ioctls)
    for slice in trace.ioctls():
        skipped = slice.args.get("queries_before", 0)
        skip_queries(calls, skipped)
        left -= skipped + 1
        name, result = next(calls, ("nothing", 0))
        if not is_named(slice.name, name):
            differs(f"{name} is shown as {slice.name}")
        check_ioctl(slice, name, result)
    skip_queries(calls, max(left, 0))


def check_same_ioctls(did, oracle):
    did, oracle = Did(did), Oracle(oracle)
    # DRM, dma-buf, sync_file; not a terminal's.
    got = [e for e in oracle.named("sys_ioctl") if re.search(r"cmd: \w{4}(64|62|3e)\w\w,", e[3])]
    expect_equal("number of ioctls", len(did.ioctls), len(got))


def check_flood(trace, did):
    trace, did = Trace(trace), Did(did)
    seen = sum("GEM_CLOSE" in s.name for s in trace.ioctls())
    source = "gpu" if "ledger.gpu.produced" in trace.attributes else "syscalls"
    lost = sum(trace.attributes[f"ledger.{source}.{what}"] for what in ("lost", "dropped", "malformed"))
    print(f"{did.flood} made, {seen} seen, {lost} lost")
    # What is lost may also be another event of that source. That its account is whole
    # is what `tracectl check` looks at.
    if not did.flood - lost <= seen <= did.flood:
        differs("the sum is another one")


def check_virgl(trace, oracle):
    trace, oracle = Trace(trace), Oracle(oracle)
    for number, name in (0x42, "VIRTGPU_EXECBUFFER"), (0xB0, "MODE_PAGE_FLIP"), (0xBC, "MODE_ATOMIC"):
        did = [e for e in oracle.named("sys_ioctl") if re.search(rf"cmd: \w{{4}}64{number:02x},", e[3])]
        got = [s for s in trace.ioctls() if re.search(rf"\b(DRM_IOCTL_)?{name}$", s.name)]
        expect_equal(name, len(did), len(got))
        if number == 0x42:
            submits = got
    if not submits or not all(s.args.get("size", 0) > 0 for s in submits):
        differs(f"EXECBUFFER: {[s.args for s in submits]}")
    if not all(s.stack for s in submits):
        differs("EXECBUFFER without a stack")
    paths = {name for (_, kind, _), name in trace.names.items() if kind == 17}
    if not any("virtio_gpu_dri" in path for path in paths):
        differs(f"no stack leads through Mesa: {sorted(paths)}")


# ---- jobs ----

RINGS = ("gfx", "compute", "copy")


LEAST_NS = {"gfx": 4000000, "compute": 2000000, "copy": 1000000}  # of `gputest jobs`


def check_jobs(trace, did):
    trace, did = Trace(trace), Did(did)
    submits = [s for s in trace.ioctls() if is_named(s.name, "DRM_IOCTL_FAKEGPU_SUBMIT")]
    submits = [s for s in submits if "error" not in s.args]
    expect_equal("ioctls that submit", len(did.jobs), len(submits))
    expect_equal("jobs", len(did.jobs), len(trace.jobs))
    before = None
    for (ring, context, seqno), submit in zip(did.jobs, submits):
        fence = f"{context}:{seqno}"
        found = [j for j in trace.jobs if j.fence == fence]
        expect_equal(f"jobs {fence}", 1, len(found))
        job = found[0]
        expect_equal(f"the ring of {fence}", ring, job.ring)
        expect_equal(f"what the ioctl of {fence} leads to", [job.id], submit.submits)
        if job.end - job.begin < LEAST_NS[ring]:
            differs(f"{fence} on {ring} took only {job.end - job.begin} ns")
        if submit.begin > job.begin:
            differs(f"{fence} on {ring} began before its ioctl")
        # The second waits for the first, the third for the second, we for the third.
        if before and before.end > job.begin:
            differs(f"{fence} on {ring} began before {before.fence} was done")
        before = job


def check_waits(trace, did):
    trace, did = Trace(trace), Did(did)
    ids = {job.fence: job.id for job in trace.jobs}
    waits = [s for s in trace.ioctls() if s.name.endswith("_WAIT")]
    expect_equal("waits", len(did.waits), len(waits))
    for fences, wait in zip(did.waits, waits):
        expect_equal(f"{wait.name} at {wait.begin}", sorted(ids[f] for f in fences), sorted(wait.waited))


def check_two_gpus(trace, *dids):
    trace, gpus = Trace(trace), []
    for did in map(Did, dids):
        fences = {f"{context}:{seqno}" for _, context, seqno in did.jobs}
        jobs = [j for j in trace.jobs if j.fence in fences]
        for ring in RINGS:
            expect_equal(f"jobs on {ring}", len(did.jobs) // 3, sum(j.ring == ring for j in jobs))
        gpus.append({j.gpu for j in jobs})
    if any(len(g) != 1 for g in gpus) or gpus[0] == gpus[1]:
        differs(f"jobs of two devices are on {gpus}")


def oracle_jobs(oracle):
    """(ring, id) of what the scheduler ran, in order."""
    jobs = []
    for _, _, name, text, _ in oracle.events:
        if name in ("drm_run_job", "drm_sched_job_run"):
            jobs.append(re.search(r"ring=(\w+)", text)[1])
    return jobs


def check_oracle_jobs(did, oracle):
    did, oracle = Did(did), Oracle(oracle)
    got = oracle_jobs(oracle)
    for ring in RINGS:
        expect_equal(f"jobs on {ring}", sum(j[0] == ring for j in did.jobs), got.count(ring))
    done = len(oracle.named("drm_sched_process_job")) + len(oracle.named("drm_sched_job_done"))
    expect_equal("jobs that are done", len(did.jobs), done)
    # The scheduler's fences: context and number of the second of two are the job's.
    signaled = set()
    for _, _, name, text, _ in oracle.events:
        m = re.search(r"driver=drm_sched .*context=(\d+) seqno=(\d+)", text)
        if m and name == "dma_fence_signaled":
            signaled.add((int(m[1]), int(m[2])))
    for ring, context, seqno in did.jobs:
        if (context, seqno) not in signaled:
            differs(f"no fence {context}:{seqno} of {ring} was signaled")


# ---- flips ----


def check_oracle_flips(did, oracle):
    did, oracle = Did(did), Oracle(oracle)
    got = [e for e in oracle.named("drm_vblank_event_delivered") if "file=0000000000000000" not in e[3]]
    got = [e for e in got if "file=(null)" not in e[3]]
    expect_equal("vblanks that were delivered", len(did.flips), len(got))
    for (sequence, _), event in zip(did.flips, got):
        expect_equal("vblank", sequence, int(re.search(r"seq=(\d+)", event[3])[1]))
    for i, (sequence, late) in enumerate(did.flips):
        if late and i and sequence - did.flips[i - 1][0] < 3:
            differs(f"flip {i} is not late: {did.flips[i - 1][0]}, {sequence}")


# ---- counters ----


def counters_of(trace, owned):
    """name -> [(ns, value)] of a fakegpu: of a process, or of the device."""
    found = {}
    for uuid, values in trace.counters.items():
        name, group, _, _ = trace.tracks[uuid]
        if group not in trace.tracks or not trace.tracks[group].name.startswith("GPU fakegpu fakegpu"):
            continue
        parent = trace.tracks.get(trace.tracks[group].parent)
        if bool(parent and parent.pid) == owned:
            if name in found:
                differs(f"{name} is there twice")
            found[name] = values
    return found


def check_counters(trace, did):
    trace, did = Trace(trace), Did(did)
    process, device = counters_of(trace, True), counters_of(trace, False)
    expect_equal("counters of the process", ["gfx busy", "memory vram"], sorted(process))
    expect_equal("memory", {1 << 20}, {v for _, v in process["memory vram"] if v})
    for what in process, device:
        values = what["gfx busy"]
        if not any(v for _, v in values) or any(not 0 <= v <= 100 for _, v in values):
            differs(f"gfx busy: {values}")
        # Each is of the second before it; a machine that stands still makes that imprecise.
        used = sum(v / 100 * (t - before) for (before, _), (t, v) in zip(values, values[1:]))
        if used > 3 * did.busy["gfx"]:
            differs(f"{used} ns of {did.busy['gfx']}")


def check_memory(trace, oracle):
    trace, oracle = Trace(trace), Oracle(oracle)
    did, got = {}, {}
    for event in oracle.named("gpu_mem_total"):
        gpu, pid, size = map(int, re.search(r"gpu_id=(\d+) pid=(\d+) size=(\d+)", event[3]).groups())
        did.setdefault((gpu, pid), []).append(size)
    for uuid, values in trace.counters.items():
        name, group, _, _ = trace.tracks[uuid]
        if group not in trace.tracks or trace.tracks[group].name != "GPU memory":
            continue
        parent = trace.tracks.get(trace.tracks[group].parent)
        gpu = int(re.fullmatch(r"gpu_id (\d+)", name)[1])
        got[gpu, parent.pid if parent else 0] = [value for _, value in values]
    if not any(pid and any(sizes) for (_, pid), sizes in did.items()):
        differs(f"no process had memory: {did}")
    expect_equal("memory by GPU and process", did, got)


def check_frames(trace, did):
    trace, did = Trace(trace), Did(did)
    frames = [s for s in trace.slices if s.category == "frame" and s.name.startswith("frame")]
    if abs(len(frames) - len(did.flips)) > 1:
        differs(f"{len(did.flips)} flips, {len(frames)} frames")
    by_seq = {f.args.get("seq"): f for f in frames}
    for sequence, late in did.flips:
        if not late:
            continue
        frame = by_seq.get(sequence)
        if not frame or frame.name != "frame late":
            differs(f"flip {sequence} is late, but shown as {frame.name if frame else 'nothing'}")


def main():
    command, *args = sys.argv[1:]
    {
        "ioctls": check_ioctls,
        "same-ioctls": check_same_ioctls,
        "flood": check_flood,
        "counters": check_counters,
        "memory": check_memory,
        "virgl": check_virgl,
        "jobs": check_jobs,
        "waits": check_waits,
        "two-gpus": check_two_gpus,
        "frames": check_frames,
        "oracle-jobs": check_oracle_jobs,
        "oracle-flips": check_oracle_flips,
    }[command](*args)


main()
