#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Retransmissions of a trace.

    net_loss.py retransmits TRACE WORKERS N     the servers' connections have N in all
    net_loss.py marks TRACE WORKERS             each connection that has some has a mark within its time
"""
import sys

from nettrace import Verdict, load

verdict = Verdict()
command, path, workers, *rest = sys.argv[1:]
trace = load(path)
pids = {int(p) for p in workers.split(",")}
rows = [c for c in trace.connections(side="server") if c.pid in pids]
verdict.check(rows, "no connection")
if command == "retransmits":
    for c in rows:
        print(c)
    verdict.equal("retransmissions", sum(c.number("retransmits") for c in rows), int(rest[0]))
else:
    marks = [i for i in trace.instants if i.name == "retransmit"]
    for c in rows:
        if c.number("retransmits"):
            mine = [i for i in marks if i.track is c.track and c.begin <= i.begin <= (c.end or i.begin)]
            verdict.check(mine, "no mark:", c)
verdict.end()
