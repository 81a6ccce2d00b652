#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""DNS queries and connections of a trace against what was asked for.

    net_dns.py query TRACE PID TYPE NAME RCODE ANSWERS [ARG=VALUE...]
                 PID has asked this, once: ANSWERS are some of the row's, with "," between them;
                 "" there are none
    net_dns.py error TRACE PID TYPE NAME ERROR      PID has asked this, and the resolver could not answer
    net_dns.py truncated TRACE PID TYPE NAME        once by UDP, truncated, and again by TCP
    net_dns.py waited TRACE PID TYPE NAME SERVER SERVER    the first has not answered, then the second has
    net_dns.py served TRACE PID TYPE NAME RCODE     PID has answered it while somebody asked
    net_dns.py whose TRACE LINES                    "query PID NAME" of LINES and no others
    net_dns.py all TRACE PID LOG                    every query of dnsmasq's log is PID's
    net_dns.py lookup TRACE PID NAME                getaddrinfo() is on PID's thread
    net_dns.py named TRACE PID NAME PORT            PID's connection has got NAME from DNS
    net_dns.py connect TRACE PID REMOTE ERROR       a connect() that failed
    net_dns.py connected TRACE PID REMOTE           one that did not, with its phases
    net_dns.py given_up TRACE PID REMOTE            one whose process has ended before it was answered
"""
import collections
import sys

from nettrace import Verdict, load

verdict = Verdict()


def queries(trace, side, pid, kind, name):
    rows = [q for q in trace.lookups(side=side, type=kind, name=name) if q.pid == int(pid)]
    verdict.equal(f"{side}'s queries of {pid} for {kind} {name}", len(rows), 1)
    for row in rows:
        print(row)
    return rows


def title(kind, name, rcode):
    return f"{kind} {name}" + (f" {rcode}" if rcode != "NOERROR" else "")


def check_query(trace, pid, kind, name, rcode, answers, *args):
    for q in queries(trace, "client", pid, kind, name):
        verdict.equal("name", q.name, title(kind, name, rcode if rcode else "no answer"))
        verdict.equal("rcode", q.get("rcode"), rcode)
        seen = set(q.get("answers").split(", ")) - {""}
        want = set(answers.split(",")) - {""}
        if want:
            verdict.check(want <= seen, "answers:", seen, "want", want)
        else:
            verdict.equal("answers", seen, set())
        verdict.check(q.end is not None and q.end > q.begin, "takes no time:", q)
        for arg in args:
            key, _, value = arg.partition("=")
            verdict.equal(key, q.get(key), value)


def check_error(trace, pid, kind, name, error):
    for q in queries(trace, "client", pid, kind, name):
        verdict.equal("name", q.name, f"{kind} {name} {error}")
        verdict.equal("error", q.get("error"), error)
        verdict.equal("rcode", q.get("rcode"), "")


def check_truncated(trace, pid, kind, name):
    rows = [q for q in trace.lookups(side="client", type=kind, name=name) if q.pid == int(pid)]
    for row in rows:
        print(row)
    rows.sort(key=lambda q: q.begin)
    verdict.equal("protocols", [q.get("proto") for q in rows], ["UDP", "TCP"])
    verdict.equal("truncated", [q.true("truncated") for q in rows], [True, False])


def check_waited(trace, pid, kind, name, first, second):
    rows = [q for q in trace.lookups(side="client", type=kind, name=name) if q.pid == int(pid)]
    rows.sort(key=lambda q: q.begin)
    for row in rows:
        print(row)
    verdict.equal("servers", [q.get("server") for q in rows], [first, second])
    verdict.equal("answers", [q.get("rcode") for q in rows], ["", "NOERROR"])
    if len(rows) == 2:
        verdict.equal("waited until", rows[0].end, rows[1].begin)


def check_served(trace, pid, kind, name, rcode):
    for q in queries(trace, "server", pid, kind, name):
        verdict.equal("name", q.name, title(kind, name, rcode))
        asked = [o for o in trace.lookups(side="client", type=kind, name=name) if o.begin <= q.begin <= o.end]
        verdict.equal("who asks meanwhile", len(asked), 1)
        verdict.check(q.get("remote").startswith(("10.77.0.2:", "[fd77::2]:")), "who it says has asked:", q)
        for o in asked:
            for size in ("request_bytes", "response_bytes"):
                verdict.check(o.number(size) > 20, f"{size} at the client:", o)
                verdict.equal(size, q.number(size), o.number(size))


def check_whose(trace, lines):
    want = collections.Counter()
    with open(lines, encoding="ascii") as f:
        for line in f:
            kind, *what = line.split()
            if kind == "query":
                want[int(what[0]), what[1]] += 1
    pids = {pid for pid, _ in want}
    seen = collections.Counter((q.pid, q.get("name")) for q in trace.lookups(side="client") if q.pid in pids)
    print(f"{want.total()} asked, {seen.total()} seen")
    verdict.check(want, "nobody asked")
    verdict.equal("not seen", dict(want - seen), {})
    verdict.equal("not asked", dict(seen - want), {})
    names = {name for _, name in want}
    for q in trace.lookups(side="client"):
        verdict.check(q.get("name") not in names or q.pid in pids, "a stranger's:", q)


def check_all(trace, pid, log):
    """Lines: "... query[AAAA] www.test.lan from 10.77.0.2"."""
    want = collections.Counter()
    with open(log, encoding="ascii", errors="replace") as f:
        for line in f:
            _, found, rest = line.partition(" query[")
            if found:
                kind, _, rest = rest.partition("] ")
                want[kind, rest.split()[0]] += 1
    seen = collections.Counter(
        (q.get("type"), q.get("name")) for q in trace.lookups(side="server") if q.pid == int(pid)
    )
    verdict.check(want, "nobody asked")
    verdict.equal("queries that were answered", seen, want)


def check_lookup(trace, pid, name):
    calls = [s for s in trace.slices if s.name == "getaddrinfo" and s.pid == int(pid)]
    for s in calls:
        print(s)
    mine = [s for s in calls if name in s.args.values()]
    verdict.equal("calls of getaddrinfo()", len(mine), 1)
    for s in mine:
        verdict.check(s.tid > 0, "not on a thread")
        asked = [q for q in trace.lookups(side="client") if q.pid == int(pid) and q.get("name") == name]
        verdict.check(asked, "it has asked nobody")
        for q in asked:
            verdict.check(s.begin <= q.begin and q.end <= s.end, "asks outside of it:", q)


def connections(trace, pid, name, remote):
    rows = [c for c in trace.connections(side="client") if c.pid == int(pid) and c.get("remote") == remote]
    for c in rows:
        print(c)
    rows = [c for c in rows if c.name == name]
    verdict.equal(f"{name} of {pid} to {remote}", len(rows), 1)
    return rows


def check_named(trace, pid, name, port):
    rows = [c for c in trace.connections(side="client") if c.pid == int(pid) and c.end is not None]
    for c in rows:
        print(c)
    verdict.check(rows, "no connection")
    for c in rows:
        verdict.equal("origin", c.origin, f"{name}:{port}")
        verdict.equal("name_from", c.get("name_from"), "dns")


def check_connect(trace, pid, remote, error):
    for c in connections(trace, pid, "connect failed " + error, remote):
        verdict.equal("error", c.get("error"), error)
        verdict.check(c.end is not None, "it does not end")


def check_connected(trace, pid, remote):
    for c in connections(trace, pid, "connection", remote):
        verdict.check("connect" in c.phases(), "no connect:", c.phases())
        verdict.check("established" in c.phases() or "TLS" in c.phases(), "not established:", c.phases())
        verdict.check("closing" in c.phases(), "not closed:", c.phases())
        verdict.equal("error", c.get("error"), "")
        verdict.check(not c.true("before") and not c.true("unfinished"), "not all of it:", c)


def check_given_up(trace, pid, remote):
    rows = [c for c in trace.connections(side="client") if c.pid == int(pid) and c.get("remote") == remote]
    for c in rows:
        print(c)
    verdict.equal("connections", len(rows), 1)
    for c in rows:
        verdict.check(c.end is not None, "it does not end")
        verdict.check("established" not in c.phases(), "it was never established:", c.phases())


command, path, *rest = sys.argv[1:]
globals()["check_" + command](load(path), *rest)
verdict.end()
