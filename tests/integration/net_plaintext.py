#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Requests that were read in clear text from TLS libraries.

    net_plaintext.py clients TRACE ASKED        lines PID, path with query, local port or "-", links
    net_plaintext.py nobody TRACE TEXT          none has this in its URL
    net_plaintext.py lookups TRACE NAME         getaddrinfo() of it, of threads
    net_plaintext.py server TRACE ACCESS_LOG WORKERS QUERIES    those of nginx's log
    net_plaintext.py only TRACE PIDS            none of other processes
    net_plaintext.py one TRACE PID PATH         of a server
"""
import sys
from collections import Counter

from nettrace import Verdict, load

verdict = Verdict()


def port(address):
    return address.rpartition(":")[2]


def plain(trace, side):
    return [r for r in trace.requests(side=side) if r.true("tls")]


def check_clients(trace, asked):
    rows = plain(trace, "client")
    seen = {(r.pid, r.path): r for r in rows}
    count = Counter((r.pid, r.path) for r in rows)
    n = good = 0
    with open(asked, encoding="ascii") as f:
        for line in f:
            pid, path, local, links = line.rstrip("\n").split("\t")
            n += 1
            r = seen.get((int(pid), path))
            if not r or count[(int(pid), path)] != 1:
                verdict.wrong(f"{path} of {pid}: {count[(int(pid), path)]} times")
                continue
            before = verdict.n
            verdict.check(r.get("link") in links.split(","), path, "link", r.get("link"))
            verdict.check(r.number("status") == 200, path, str(r))
            verdict.check(r.get("host").startswith(("www.test.lan", "10.77.0.1")), path, "host", r.get("host"))
            verdict.check(port(r.get("remote")) in ("8443", "8444", "8445"), path, "remote", r.get("remote"))
            if local != "-":
                verdict.equal(f"{path}: local port", port(r.get("local")), local)
            good += verdict.n == before
    verdict.share("requests of clients", good, n, 1)
    whole = sum(1 for r in rows if r.whole())
    verdict.share("of which whole", whole, len(rows), 0.97)


def check_nobody(trace, text):
    verdict.check(len(trace.slices) > 0, "nothing is in the trace")
    for r in trace.requests():
        verdict.check(text not in r.get("url") or not r.true("tls"), "read:", str(r))


def check_lookups(trace, name):
    rows = [s for s in trace.of("dns") if s.name.startswith("getaddrinfo") and s.get("name") == name]
    verdict.check(rows, "no lookups")
    for s in rows:
        verdict.check(s.tid > 0 and s.end is not None and s.end > s.begin, str(s))
    print(f"{len(rows)} lookups")


def check_server(trace, log, workers, queries):
    pids = {int(p) for p in workers.split(",")}
    want, seen = Counter(), Counter()
    with open(log, encoding="ascii") as f:
        for line in f:
            fields = line.split()
            if fields[7].partition("?")[2] in queries.split(","):
                want[(int(fields[0]), fields[4], fields[7])] += 1
    for r in plain(trace, "server"):
        verdict.check(r.pid in pids, "of another process:", str(r))
        verdict.check(r.get("link") == "nested", "link:", str(r))
        if r.number("status") == 200:
            seen[(r.pid, port(r.get("remote")), r.path)] += 1
    verdict.share("requests of the server", (want & seen).total(), want.total(), 0.999)
    verdict.check(not seen - want, "more than there were:", (seen - want).most_common(3))


def check_only(trace, pids):
    for r in trace.requests():
        verdict.check(not r.true("tls") or str(r.pid) in pids.split(","), "read:", str(r))


def check_one(trace, pid, path):
    rows = [r for r in plain(trace, "server") if r.pid == int(pid)]
    verdict.equal("requests", [r.path for r in rows], [path])
    for r in rows:
        verdict.check(r.number("status") == 200, str(r))


what, path, *args = sys.argv[1:]
checks = {
    "clients": check_clients,
    "nobody": check_nobody,
    "lookups": check_lookups,
    "server": check_server,
    "only": check_only,
    "one": check_one,
}
checks[what](load(path), *args)
verdict.end()
