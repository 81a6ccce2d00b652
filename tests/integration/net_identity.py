#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Whose connections and requests are, against what prog/netclient says it did.

    net_identity.py requests TRACE LINES        each "request" is its thread's; those of a port share a connection
    net_identity.py uring TRACE LINES           several requests of one page, all whole, by one process
    net_identity.py bytes TRACE LINES           the counters of each process are its requests' bytes
    net_identity.py connections TRACE LINES     each "connection" is there once, within its times
    net_identity.py twins TRACE LINES NETNS LINES NETNS
                                                the requests of two namespaces with the same addresses;
                                                NETNS: the servers'
    net_identity.py contained TRACE PID NAME    PID's connection has this container, and no other has one
    net_identity.py counters TRACE PID          of PID's connection there are round trips and windows
    net_identity.py idle TRACE PID WORKERS      a connection that begins before and ends after
    net_identity.py reset TRACE PID WORKERS     a connection that PID has reset
    net_identity.py drops TRACE PID REASON      packets for PID's connection are dropped
    net_identity.py why TRACE                   each reset that was sent has a reason
    net_identity.py reset_request TRACE PID SERVER PATH
                                                a request whose server has reset the connection
"""
import collections
import sys

from nettrace import Verdict, load

verdict = Verdict()


def lines(path, kind):
    with open(path, encoding="ascii") as f:
        return [line.split()[1:] for line in f if line.startswith(kind + " ")]


def port(address):
    return address.rsplit(":", 1)[-1]


def client_requests(trace, local_port):
    return [r for r in trace.requests(side="client") if port(r.get("local")) == local_port]


def check_requests(trace, path):
    want = lines(path, "request")
    verdict.check(want, "nothing was asked")
    connections = collections.defaultdict(set)
    sent = [i for i in trace.instants if i.category == "net" and i.name == "request sent"]
    for pid, tid, local, page in want:
        rows = [r for r in client_requests(trace, local) if r.path == page]
        verdict.equal(f"requests for {page} from port {local}", len(rows), 1)
        for r in rows:
            print(r)
            connections[local].add(r.get("connection"))
            verdict.equal(f"thread of {page}", r.get("thread"), tid)
            mine = [i for i in sent if i.flows & r.flows]
            verdict.equal(f"threads that have sent {page}", [(i.pid, i.tid) for i in mine], [(int(pid), int(tid))])
    for local, cookies in connections.items():
        verdict.equal(f"connections of port {local}", len(cookies), 1)
        # Others may have had the port, before or after.
        rows = [c for c in trace.connections(side="client") if c.get("connection") in cookies]
        verdict.equal(f"rows of port {local}", len(rows), 1)


def check_uring(trace, path):
    want = lines(path, "request")
    verdict.check(want, "nothing was asked")
    for pid, _, local, page in want[:1]:
        rows = [r for r in trace.requests(side="client") if r.path == page]
        for r in rows:
            print(r)
        verdict.equal("requests", len(rows), len(want))
        for r in rows:
            verdict.check(r.whole(), "not whole:", r)
            verdict.equal("process", r.pid, int(pid))
            verdict.equal("thread's process", r.get("thread"), pid)
            verdict.equal("port", port(r.get("local")), local)
            served = [o for o in trace.requests(side="server") if o.flows & r.flows]
            verdict.equal("servers' sides", [o.path for o in served], [page])


def check_bytes(trace, path):
    sent = collections.Counter()
    received = collections.Counter()
    for pid, _, local, page in lines(path, "request"):
        for r in client_requests(trace, local):
            if r.path == page:
                sent[int(pid)] += r.number("request_bytes")
                received[int(pid)] += r.number("response_bytes")
    for pid, n in sent.items():
        # The one that passes a socket on sends a byte on a UNIX socket.
        seen = trace.counted(pid, "net sent")
        verdict.check(seen is not None and n <= seen <= n + 1, f"sent by {pid}: {seen}, its requests are {n}")
        seen = trace.counted(pid, "net received")
        verdict.check(
            seen is not None and received[pid] <= seen <= received[pid] + 1,
            f"received by {pid}: {seen}, its answers are {received[pid]}",
        )


def check_connections(trace, path):
    want = lines(path, "connection")
    rows = collections.defaultdict(list)
    pids = {int(w[0]) for w in want}
    for c in trace.connections(side="client"):
        if c.pid in pids:
            rows[port(c.get("local")), port(c.get("remote"))].append(c)
    cookies = {c.get("connection") for v in rows.values() for c in v}
    verdict.equal("distinct connections", len(cookies), len(want))
    good = 0
    for _, local, remote, _, begin, end in want:
        # A port may come again: the times say which one it is.
        mine = [c for c in rows[local, remote] if int(begin) <= c.begin <= int(end)]
        if len(mine) != 1:
            verdict.wrong(f"{len(mine)} connections from {local} to {remote} at {begin}")
            continue
        good += 1
        c = mine[0]
        verdict.check(c.end is not None and c.end >= c.begin, "does not end:", c)
        verdict.equal("error", c.get("error"), "")
    verdict.share("connections", good, len(want))


def check_twins(trace, *args):
    for path, netns in (args[:2], args[2:]):
        (pid, tid, local, page), = lines(path, "request")
        mine = [r for r in client_requests(trace, local) if r.pid == int(pid)]
        verdict.equal(f"requests of {pid}", [r.path for r in mine], [page])
        for r in mine:
            print(r)
            verdict.equal("thread", r.get("thread"), tid)
            served = [o for o in trace.requests(side="server") if o.flows & r.flows]
            verdict.equal(f"servers' sides of {page}", [o.path for o in served], [page])
            for o in served:
                print(o)
                rows = [c for c in trace.connections(connection=o.get("connection"))]
                verdict.equal("the server's namespace", [c.get("netns") for c in rows], [netns])


def check_contained(trace, pid, name):
    rows = [c for c in trace.connections(side="client") if c.get("container")]
    for c in rows:
        print(c)
    verdict.equal("in a container", [(c.pid, c.get("container")) for c in rows], [(int(pid), name)])


def check_counters(trace, pid):
    for name, most in ("rtt", 1e6), ("cwnd", 1e5):
        values = [v[2] for v in trace.values if v[1].pid == int(pid) and v[1].name == name]
        print(name, len(values), values[:5])
        verdict.check(values, "no values of", name)
        verdict.check(all(0 < v < most for v in values), "no such thing as", name, values)
    for c in [c for c in trace.connections(side="client") if c.pid == int(pid)]:
        verdict.check(0 < c.number("rtt_us") < 1e6 and c.number("cwnd") > 0, "at its end:", c)


def check_idle(trace, pid, workers):
    ends = {c.get("local") for c in trace.connections(side="client") if c.pid == int(pid)}
    for side, pids in (("client", {int(pid)}), ("server", {int(p) for p in workers.split(",")})):
        rows = [c for c in trace.connections(side=side) if c.pid in pids and c.true("before")
                and (side == "client" or c.get("remote") in ends)]
        for c in rows:
            print(c)
        verdict.equal(f"{side}'s", len(rows), 1)
        for c in rows:
            verdict.check(c.true("unfinished"), "has ended:", c)


def instants_of(trace, connection, name):
    track = connection.track
    return [
        i for i in trace.instants if i.track is track and i.name == name
        and connection.begin <= i.begin <= (connection.end or i.begin)
    ]


def check_reset(trace, pid, workers):
    mine = [c for c in trace.connections(side="client") if c.pid == int(pid)]
    verdict.equal("connections", len(mine), 1)
    for c in mine:
        print(c)
        verdict.equal("resets sent", len(instants_of(trace, c, "reset sent")), 1)
        others = [
            o for o in trace.connections(side="server")
            if o.get("remote") == c.get("local") and o.get("local") == c.get("remote")
            and str(o.pid) in workers.split(",")
        ]
        verdict.equal("the other end", len(others), 1)
        for o in others:
            print(o)
            verdict.equal("resets received", len(instants_of(trace, o, "reset received")), 1)


def check_drops(trace, pid, reason):
    for c in [c for c in trace.connections(side="server") if c.pid == int(pid)]:
        reasons = {i.get("reason") for i in instants_of(trace, c, "drop")}
        verdict.equal("reasons", reasons, {reason})
        return
    verdict.wrong("no connection of", pid)


def check_why(trace):
    sent = [i for i in trace.instants if i.category == "tcp" and i.name == "reset sent"]
    verdict.check(sent, "nobody has reset anything")
    for i in sent:
        verdict.check(i.get("reason"), "no reason:", i)


def check_reset_request(trace, pid, server, path):
    for side, whose, what in (("client", pid, "reset received"), ("server", server, "reset sent")):
        mine = [r for r in trace.requests(side=side) if r.pid == int(whose) and r.path == path]
        verdict.equal(f"{side}'s requests", len(mine), 1)
        for r in mine:
            print(r)
            verdict.equal("status", r.get("status"), "")
            verdict.equal("name", r.title(), f"GET {path} reset")
            verdict.check(r.get("error"), "no error")
            for c in trace.connections(connection=r.get("connection")):
                verdict.equal(what, len(instants_of(trace, c, what)), 1)


command, path, *rest = sys.argv[1:]
globals()["check_" + command](load(path), *rest)
verdict.end()
