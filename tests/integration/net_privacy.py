#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Looks for secrets where none may be. SECRET: a file with what all of them contain.

    net_privacy.py there TRACE PATH...          requests for these are in the trace, whole, at both ends
    net_privacy.py absent TRACE SECRET          the secret is not, nowhere in any packet
    net_privacy.py memory PID SECRET            not in the writable memory of a process or its children,
                                                but for what is shared with the kernel (rings)
    net_privacy.py keys TRACE SECRET PATH       the secret is not, but requests for PATH are
    net_privacy.py hashed TRACE SECRET NAME PATH
                                                neither are secret, NAME and PATH, but requests are
    net_privacy.py kept TRACE SECRET            the secret is in queries, and nowhere else
"""
import os
import re
import sys

from nettrace import Verdict, load
from wire import packets

verdict = Verdict()


def read_secret(path):
    with open(path, "rb") as f:
        return f.read().strip()


def contents(path):
    """All there is in a trace, blocks inflated, as the bytes of each field."""
    with open(path, "rb") as f:
        for packet in packets(f.read()):
            for _, value in packet:
                if isinstance(value, bytes):
                    yield value


def around(data, at):
    return data[max(0, at - 40) : at + 40]


def check_there(path, *pages):
    trace = load(path)
    for page in pages:
        for side in ("client", "server"):
            rows = [r for r in trace.requests(side=side) if r.path.split("?")[0] == page and r.whole()]
            verdict.check(rows, f"no request for {page}, side {side}")
            for r in rows:
                verdict.equal("path", r.path, page + "?…")


def absent(path, *texts):
    size = 0
    for value in contents(path):
        size += len(value)
        for text in texts:
            at = value.find(text)
            if at >= 0:
                verdict.wrong(around(value, at))
    print(f"{size} bytes looked through")
    verdict.check(size > 1000, "the trace is empty")


def check_absent(path, secret):
    absent(path, read_secret(secret))


def family(pid):
    pids = [pid]
    for parent in pids:
        for task in os.listdir(f"/proc/{parent}/task"):
            with open(f"/proc/{parent}/task/{task}/children", encoding="ascii") as f:
                pids += [int(p) for p in f.read().split()]
    return pids


def check_memory(pid, secret):
    secret = read_secret(secret)
    total = 0
    for p in family(int(pid)):
        with open(f"/proc/{p}/maps", encoding="utf-8") as maps, open(f"/proc/{p}/mem", "rb", 0) as mem:
            for line in maps:
                begin, end, access, what = re.match(r"(\w+)-(\w+) (\S+) \S+ \S+ \S+ *(.*)", line).groups()
                begin, size = int(begin, 16), int(end, 16) - int(begin, 16)
                if "rw" not in access or "bpf" in what or "perf_event" in what or size > 1 << 32:
                    continue
                total += look_through(mem, begin, size, secret, f"{p} {what}")
    print(f"{total} bytes looked through")
    verdict.check(total > 100000, "hardly any memory was read")


def look_through(mem, begin, size, secret, what):
    step, done = 1 << 20, 0
    while done < size:
        try:
            mem.seek(begin + done)
            # Across the border of two steps, too.
            data = mem.read(min(step + len(secret), size - done))
        except OSError:
            data = b""
        for found in re.finditer(re.escape(secret), data):
            verdict.wrong(f"{what} at {begin + done + found.start():x}:", around(data, found.start()))
        done += step
    return size


def check_keys(path, secret, page):
    absent(path, read_secret(secret))
    rows = [r for r in load(path).requests() if r.path == page]
    verdict.check(rows, f"no request for {page}")


def check_hashed(path, secret, name, page):
    absent(path, read_secret(secret), name.encode(), page.encode())
    rows = [r for r in load(path).requests() if r.get("method") == "POST" and r.whole()]
    verdict.check(rows, "no request")


def check_kept(path, secret):
    secret = read_secret(secret).decode()
    rows = [r for r in load(path).requests() if f"?token=QUERY-{secret}&user=QUERY-{secret}" in r.get("url")]
    verdict.check(rows, "no request with its query")
    for value in contents(path):
        for found in re.finditer(rb"[A-Z]+-" + secret.encode(), value):
            verdict.check(found.group().startswith(b"QUERY-"), around(value, found.start()))


command, *rest = sys.argv[1:]
globals()["check_" + command](*rest)
verdict.end()
