#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""TLS handshakes of a trace against what nginx says they were.

    net_tls.py clients TRACE ACCESS_LOG CIPHERS CLIENTS WORKERS
                           CLIENTS: lines PID, ALPN offered, server's name, how many, what it is;
                           CIPHERS: of `openssl ciphers -stdname`
    net_tls.py turns TRACE CLIENTS              each has at least one exchange after its handshake
    net_tls.py alert TRACE PID REMOTE ALERT     a handshake that has failed
    net_tls.py no_tls TRACE PID                 the other end's answer was no TLS
    net_tls.py handshake TRACE PID VERSION      PID has made one, of this version
    net_tls.py many TRACE PID WORKERS N         N handshakes, all of them at both ends
"""
import sys

from nettrace import Verdict, load

verdict = Verdict()

ARGS = ("tls_version", "tls_cipher", "sni", "alpn", "alpn_offered", "tls_resumed", "tls_alert")


def handshake(connection):
    return {a: connection.get(a) for a in ARGS}


def read_clients(path):
    with open(path, encoding="utf-8") as f:
        for line in f:
            yield line.rstrip("\n").split("\t")


def tls_of(trace, pid):
    rows = [c for c in trace.connections(side="client") if c.pid == int(pid) and c.get("tls_version")]
    return sorted(rows, key=lambda c: c.begin)


def port(address):
    return address.rsplit(":", 1)[-1]


# A client's port comes again when it connects to another of the server's.
def ends_at_client(connection):
    return connection.get("local"), port(connection.get("remote"))


def ends_at_server(connection):
    return connection.get("remote"), port(connection.get("local"))


def read_log(path):
    names = "version cipher sni reused alpn".split()
    entries = {}
    with open(path, encoding="ascii") as f:
        for line in f:
            fields = line.split()
            address = f"[{fields[3]}]" if ":" in fields[3] else fields[3]
            entries[f"{address}:{fields[4]}", fields[5]] = dict(zip(names, fields[13:]))
    return entries


def of_workers(trace, workers):
    workers = {int(p) for p in workers.split(",")}
    return {ends_at_server(c): c for c in trace.connections(side="server") if c.pid in workers}


def check_clients(trace, log, ciphers, clients, workers):
    entries = read_log(log)
    with open(ciphers, encoding="ascii") as f:
        standard = {line.split()[2]: line.split()[0] for line in f if " - " in line}
    servers = of_workers(trace, workers)
    good = total = 0
    for pid, offer, sni, n, what in read_clients(clients):
        rows = tls_of(trace, pid)
        total += int(n)
        verdict.equal(f"handshakes of {what}", len(rows), int(n))
        for c in rows:
            before = verdict.n
            entry = entries.get(ends_at_client(c))
            if not entry:
                verdict.wrong("nginx knows nothing of", c)
                continue
            compare(c, what, offer, sni, entry, standard)
            other = servers.get(ends_at_client(c))
            if other:
                verdict.equal(f"the server's side of {what}", handshake(other), handshake(c))
                verdict.check(c.flows & other.flows or not c.flows, "no flow:", c, other)
            else:
                verdict.wrong("no server's side of", what)
            good += verdict.n == before
    verdict.share("handshakes", good, total)


def compare(connection, what, offer, sni, entry, standard):
    c = connection
    verdict.equal(f"{what}: version", c.get("tls_version").replace(" ", "v"), entry["version"])
    verdict.equal(f"{what}: cipher", c.get("tls_cipher"), standard.get(entry["cipher"], entry["cipher"]))
    verdict.equal(f"{what}: sni", c.get("sni"), sni)
    verdict.equal(f"{what}: nginx's sni", entry["sni"], sni or "-")
    verdict.equal(f"{what}: offer", c.get("alpn_offered"), offer)
    verdict.equal(f"{what}: resumed", c.true("tls_resumed"), entry["reused"] == "r")
    if c.get("tls_version") == "TLS 1.2":
        verdict.equal(f"{what}: alpn", c.get("alpn"), entry["alpn"].replace("-", "", 1) if entry["alpn"] == "-"
                      else entry["alpn"])
    verdict.equal(f"{what}: alert", c.get("tls_alert"), "")
    phases = [s for s in c.inside if s.name == "TLS"]
    verdict.equal(f"{what}: phases", len(phases), 1)
    for s in phases:
        verdict.check(s.end is not None and c.begin < s.begin < s.end <= c.end, "when:", c)


def check_turns(trace, clients):
    for pid, _, _, n, what in read_clients(clients):
        turns = [s for s in trace.of("tls") if s.pid == int(pid) and s.name == "TLS exchange"]
        verdict.check(len(turns) >= int(n), f"exchanges of {what}: {len(turns)}")
        for s in turns:
            verdict.check(s.number("response_bytes") > 0, f"{what}: no answer:", s)


def check_alert(trace, pid, remote, alert):
    rows = [c for c in trace.connections() if c.pid == int(pid) and c.get("remote") == remote]
    for c in rows:
        print(c)
    verdict.equal("connections", len(rows), 1)
    for c in rows:
        verdict.equal("tls_alert", c.get("tls_alert"), alert)


def check_no_tls(trace, pid):
    rows = [c for c in trace.connections() if c.pid == int(pid)]
    for c in rows:
        print(c)
        verdict.equal("tls_version", c.get("tls_version"), "")
    verdict.check(rows, "no connection")


def check_handshake(trace, pid, version):
    rows = tls_of(trace, pid)
    verdict.equal("versions", [c.get("tls_version") for c in rows], [version])
    for c in rows:
        verdict.check("TLS" in c.phases(), "no phase:", c)


def check_many(trace, pid, workers, n):
    rows = tls_of(trace, pid)
    verdict.share("the client's", len(rows), int(n))
    theirs = of_workers(trace, workers)
    both = 0
    for c in rows:
        other = theirs.get(ends_at_client(c))
        both += bool(other) and handshake(other) == handshake(c)
    verdict.share("the same at both ends", both, int(n))


command, path, *rest = sys.argv[1:]
globals()["check_" + command](load(path), *rest)
verdict.end()
