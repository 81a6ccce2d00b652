#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""HTTP requests of a trace against what servers and clients say.

    net_http.py log TRACE ACCESS_LOG WORKERS PORT...   the server's side, by nginx's log (netlab.sh)
    net_http.py pairs TRACE WORKERS PORT...            both sides of each request agree
    net_http.py count TRACE PID NAME N                 PID has made N whole requests of this name
    net_http.py names TRACE PID NAME...                PID's requests are these, in their order
    net_http.py request TRACE PID NAME ARG=VALUE...    PID has made one of this name, and it has these
    net_http.py arrows TRACE PID WORKERS               PID's requests have arrows from thread to thread and back
    net_http.py stacks TRACE PID WORKERS               calls that have sent and received are on stacks
    net_http.py unix TRACE PID PATH N                  PID's connection to PATH, N bytes received, is over
    net_http.py none TRACE PID                     PID has made no request with a method
    net_http.py chain TRACE PROXY N                    PROXY's requests lie within those it serves
    net_http.py received TRACE PID BYTES               so many are counted of PID
    net_http.py moved TRACE PID                        PID's bytes are those of its requests, and no others
    net_http.py numbered TRACE PID WORKERS             of /n/1, /n/2, ... none is missing from the first seen on
    net_http.py late TRACE WORKERS PORT PATH           HTTP/2 joined late: marked, and no name but PATH

WORKERS: pids with "," between them.
"""
import collections
import sys

from nettrace import Verdict, load

verdict = Verdict()


def pids(text):
    return {int(p) for p in text.split(",")}


def served(trace, workers, ports):
    return [
        r
        for r in trace.requests(side="server")
        if r.pid in workers and r.get("local").rsplit(":", 1)[-1] in ports
    ]


def shown(target):
    """How a target is shown: a query is hidden."""
    path, question, _ = target.partition("?")
    return path + "?…" if question else path


def check_log(trace, log, workers, *ports):
    workers = pids(workers)
    entries = {}
    names = "pid connection nth addr port to method target status sent body length proto".split()
    with open(log, encoding="ascii") as f:
        for line in f:
            e = dict(zip(names, line.split()))
            if e["to"] in ports:
                key = f"{e['addr']}:{e['port']}" if ":" not in e["addr"] else f"[{e['addr']}]:{e['port']}"
                entries.setdefault(key, []).append(e)
    n = sum(len(v) for v in entries.values())
    found = 0
    seen = collections.defaultdict(list)
    for r in served(trace, workers, ports):
        seen[r.get("remote")].append(r)
    for remote, requests in seen.items():
        want = entries.get(remote, [])
        if not want:
            verdict.wrong("nobody came from", remote, requests[0])
            continue
        if want[0]["proto"] == "HTTP/2.0":  # streams end in any order
            found += compare_streams(want, requests)
        else:
            requests.sort(key=lambda r: r.number("index"))
            found += sum(compare(e, r) for e, r in zip(want, requests))
            if len(requests) > len(want):
                verdict.wrong(f"{remote}: {len(requests)} requests, the log has {len(want)}")
    verdict.share("requests of the log", found, n)
    for status in sorted({e["status"] for v in entries.values() for e in v}):
        want = sum(e["status"] == status for v in entries.values() for e in v)
        verdict.share(f"status {status}", sum(r.get("status") == status for v in seen.values() for r in v), want)


def compare(entry, request):
    """An entry of the log and a request of HTTP/1: the same to the byte."""
    pairs = [
        ("pid", str(request.pid), entry["pid"]),
        ("method", request.get("method"), entry["method"]),
        ("path", request.path, shown(entry["target"])),
        ("status", request.get("status"), entry["status"]),
        ("response_bytes", request.get("response_bytes"), entry["sent"]),
        ("request_bytes", request.get("request_bytes"), entry["length"]),
        ("proto", request.get("proto"), entry["proto"]),
    ]
    for what, seen, want in pairs:
        if seen != want:
            verdict.wrong(f"{what}: seen {seen!r}, the log has {want!r}: {request}")
            return 0
    verdict.check(request.whole(), "not whole:", request)
    return request.whole()


def compare_streams(entries, requests):
    def key(method, path, status, body):
        return method, path, status, body

    want = collections.Counter(key(e["method"], shown(e["target"]), e["status"], e["body"]) for e in entries)
    seen = collections.Counter(
        key(r.get("method"), r.path, r.get("status"), r.get("response_body", "0")) for r in requests if r.whole()
    )
    for k, n in (seen - want).items():
        verdict.wrong(f"{n} more than in the log of", k)
    for r in requests:
        verdict.equal("proto", r.get("proto"), "HTTP/2")
    return (seen & want).total()


def check_pairs(trace, workers, *ports):
    # To one who connects and says nothing a proxy answers, too.
    ours = [r for r in served(trace, pids(workers), ports) if r.number("request_bytes")]
    theirs = collections.defaultdict(list)
    for r in trace.requests(side="client"):
        theirs[r.get("local"), r.get("remote")].append(r)
    for requests in theirs.values():
        requests.sort(key=lambda r: r.number("index"))
    matched = whole = 0
    flows = collections.Counter(f for r in trace.requests() for f in r.flows)
    for r in ours:
        index = r.number("index")
        others = [o for o in theirs[r.get("remote"), r.get("local")] if o.number("index") == index]
        if len(others) != 1:
            verdict.wrong(f"{len(others)} clients' sides of", r)
            continue
        other = others[0]
        whole += other.whole() or bool(other.get("error"))
        for arg in ("error", "method", "url", "status", "response_bytes", "response_body", "request_bytes", "content_type"):
            if r.get(arg) != other.get(arg):
                verdict.wrong(f"{arg}: {other.get(arg)!r} at the client of", r)
        both = r.flows & other.flows
        if r.get("proto") in ("tunnel", "WebSocket"):  # what they carry has no beginning
            verdict.equal("proto", other.get("proto"), r.get("proto"))
            matched += 1
            continue
        verdict.check(both, "no flow between", other, "and", r)
        verdict.check(all(flows[f] == 2 for f in both), "a flow of several requests:", r)
        verdict.check(other.begin <= r.begin, "served before it was sent:", other, r)
        matched += bool(both)
    verdict.share("pairs with a flow", matched, len(ours))
    verdict.share("whole at the client", whole, len(ours))


def check_count(trace, pid, name, n):
    requests = [r for r in trace.requests(side="client") if r.pid == int(pid)]
    good = [r for r in requests if r.whole() and r.title() == name]
    verdict.share(f"{name} of {pid}", len(good), int(n))
    for r in requests:
        if r not in good:
            verdict.wrong(r)


def check_names(trace, pid, *names):
    requests = sorted((r for r in trace.requests(side="client") if r.pid == int(pid)), key=lambda r: r.begin)
    for r in requests:
        print(r)
    verdict.equal("requests", [r.title() for r in requests], list(names))


def check_request(trace, pid, name, *args):
    mine = [r for r in trace.requests(side="client") if r.pid == int(pid)]
    rows = [r for r in mine if r.title() == name]
    for r in rows or mine:
        print(r)
    verdict.equal(f"requests of {pid} called {name}", len(rows), 1)
    for r in rows:
        for arg in args:
            key, _, value = arg.partition("=")
            verdict.equal(key, r.get(key), value)
        # But for what has failed there is all of it.
        verdict.check(r.whole() or r.get("error"), "not whole:", r)


def check_arrows(trace, pid, workers):
    ends = collections.defaultdict(list)
    for i in trace.instants:
        for f in i.flows:
            ends[f].append((i.name, i.pid))
    served = {f: r for r in trace.requests(side="server") for f in r.flows}
    mine = [r for r in trace.requests(side="client") if r.pid == int(pid)]
    good = 0
    for r in mine:
        other = [served[f] for f in r.flows if f in served]
        seen = sorted(e for f in r.flows for e in ends[f])
        whose = other[0].pid if other else 0
        want = [("request received", whose), ("request sent", r.pid), ("response received", r.pid),
                ("response sent", whose)]
        good += seen == want and whose in pids(workers)
        verdict.check(seen == want, "arrows:", seen, r)
    verdict.share("requests with all their arrows", good, len(mine))


def check_stacks(trace, pid, workers):
    calls = {"sent": {"write", "writev", "send", "sendto", "sendmsg", "__send"},
             "received": {"read", "readv", "recv", "recvfrom", "recvmsg", "__recv"}}
    for whose in {int(pid)}, pids(workers):
        for what, names in calls.items():
            stacks = [i.stack for i in trace.instants if i.category == "net" and i.pid in whose
                      and i.name.endswith(" " + what) and i.stack != "-"]
            print(len(stacks), "stacks of", whose, what, stacks[:1])
            verdict.check(stacks, "no stack of", whose, what)
            for s in stacks:
                functions = s.split(";")
                verdict.check(len(functions) > 3 and functions[-1] in names, what, "by", s)


def check_unix(trace, pid, path, n):
    rows = [c for c in trace.of("unix", side="client") if c.pid == int(pid) and c.get("remote") == path]
    verdict.equal("connections", len(rows), 1)
    for c in rows:
        print(c)
        verdict.equal("bytes received", c.get("bytes_received"), n)
        verdict.check(not c.true("unfinished"), "it is not over:", c)


def check_none(trace, pid):
    for r in trace.requests(side="client"):
        # What begins as a request may well be shown as one that never ended.
        verdict.check(r.pid != int(pid) or not r.whole() or r.number("status") >= 400, "made up:", r)


def check_chain(trace, proxy, n):
    ends = {"client": [], "server": []}
    for r in trace.requests():
        # To one who connects and says nothing a proxy answers, too.
        if r.pid == int(proxy) and r.whole() and r.get("method"):
            ends[r.get("side")].append(r)
    for side, requests in ends.items():
        verdict.share(f"whole requests of the proxy, its {side}'s side", len(requests), int(n))
    # Each has one around it, and no two the same: of those that could be, who ends first.
    left = sorted(ends["server"], key=lambda r: r.end)
    for r in sorted(ends["client"], key=lambda r: r.begin):
        around = next((o for o in left if o.begin <= r.begin and r.end <= o.end and o.path == r.path), None)
        if around:
            left.remove(around)
        else:
            verdict.wrong("nobody has asked for", r)


def check_received(trace, pid, n):
    verdict.equal("received", trace.counted(int(pid), "net received"), float(n))


def check_moved(trace, pid):
    requests = [r for r in trace.requests() if r.pid == int(pid)]
    verdict.check(requests, "no requests")
    for counter, of_client, of_server in (
        ("net received", "response_bytes", "request_bytes"),
        ("net sent", "request_bytes", "response_bytes"),
    ):
        n = sum(r.number(of_client if r.get("side") == "client" else of_server) for r in requests)
        verdict.equal(counter, trace.counted(int(pid), counter), float(n))


def check_numbered(trace, pid, workers):
    for side, whose in (("client", {int(pid)}), ("server", pids(workers))):
        numbers = []
        late = 0
        for r in trace.requests(side=side):
            if r.pid in whose and r.path.startswith("/n/"):
                if r.whole():
                    numbers.append(int(r.path[3:]))
                late += r.true("joined_late")
        numbers.sort()
        # What was under way at the beginning has no head, at the end no answer.
        verdict.check(len(numbers) > 20, side, "few requests:", len(numbers))
        verdict.equal(f"{side}'s", numbers, list(range(numbers[0], numbers[-1] + 1)) if numbers else [])
        print(side, "from", numbers[:1], "to", numbers[-1:])


def check_late(trace, workers, port, path):
    late = [r for r in served(trace, pids(workers), (port,)) if r.true("joined_late")]
    verdict.check(len(late) > 20, "few requests joined late:", len(late))
    for r in late:
        verdict.check(r.path in ("", path), "a wrong name:", r)
        verdict.equal("proto", r.get("proto"), "HTTP/2")


command, path, *rest = sys.argv[1:]
globals()["check_" + command](load(path), *rest)
verdict.end()
