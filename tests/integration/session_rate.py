#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
session_rate.py - samples per second of a thread's own CPU time.

    session_rate.py MARKS SAMPLES PID HZ [PERCENT]

MARKS are lines of BOOTTIME and CPU time (prog/busy_marks.c), SAMPLES those of tracedump.
Counted from the first mark after the first sample to the last one before the last sample,
so it does not matter when the recording began, and who else had the CPU. Fails when the
rate is off by more than PERCENT (1), or a sample is of another event.
"""
import sys
from bisect import bisect_right

marks_file, samples_file, pid, hz = sys.argv[1:5]
percent = float(sys.argv[5]) if len(sys.argv) > 5 else 1.0
marks = [tuple(map(int, line.split())) for line in open(marks_file) if line.endswith("\n")]
samples = [line.split("\t") for line in open(samples_file)]

events = {s[5] for s in samples}
if events != {f"cpu-clock {hz} Hz"}:
    sys.exit(f"samples of {sorted(events)}, not of cpu-clock {hz} Hz")
times = sorted(int(s[0]) for s in samples if s[1] == pid)
if len(times) < 2:
    sys.exit(f"{len(times)} samples of process {pid}")
inside = [m for m in marks if times[0] <= m[0] <= times[-1]]
if len(inside) < 2:
    sys.exit("no marks while it was recorded")
n = bisect_right(times, inside[-1][0]) - bisect_right(times, inside[0][0])
cpu_s = (inside[-1][1] - inside[0][1]) / 1e9
wall_s = (inside[-1][0] - inside[0][0]) / 1e9
off = 100 * (n / cpu_s / int(hz) - 1)
print(f"{n} samples in {cpu_s:.3f} s of CPU time ({100 * cpu_s / wall_s:.1f} % of a CPU): "
      f"{n / cpu_s:.1f} a second, {off:+.2f} %")
sys.exit(f"off by more than {percent} %" if abs(off) > percent else 0)
