#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What glibc and systemd-resolved say to each other, without either of them.

    resolved.py serve PATH                  answers as systemd-resolved does, until it is killed
    resolved.py ask PATH NAME [FAMILY]      asks for addresses as nss-resolve does, prints the answer
    resolved.py reverse PATH ADDRESS
    resolved.py connect PATH NAME PORT      asks, and connects to what it is told
"""
import ipaddress
import json
import os
import socket
import sys
import threading

ADDRESSES = {"www.test.lan": ["10.77.0.1", "fd77::1"], "v4.test.lan": ["10.77.0.1"]}
INTERFACE = "io.systemd.Resolve."
FAMILIES = {4: socket.AF_INET, 6: socket.AF_INET6}


def error(name, **parameters):
    return {"error": INTERFACE + name, "parameters": parameters}


def packed(address):
    return list(ipaddress.ip_address(address).packed)


def hostname(name, family=socket.AF_UNSPEC, **_):
    name = name.lower()
    if name not in ADDRESSES:
        return error("DNSError", rcode=3) if name.endswith(".test.lan") else error("NetworkDown")
    found = [ipaddress.ip_address(a) for a in ADDRESSES[name]]
    found = [a for a in found if family in (socket.AF_UNSPEC, FAMILIES[a.version])]
    if not found:
        return error("NoSuchResourceRecord")
    addresses = [{"ifindex": 2, "family": int(FAMILIES[a.version]), "address": list(a.packed)} for a in found]
    return {"parameters": {"addresses": addresses, "name": name, "flags": 1}}


def address(address, **_):
    names = [n for n, found in ADDRESSES.items() if address in map(packed, found)]
    return {"parameters": {"names": [{"ifindex": 2, "name": n} for n in names], "flags": 1}}


def answer(call):
    methods = {INTERFACE + "ResolveHostname": hostname, INTERFACE + "ResolveAddress": address}
    method = methods.get(call["method"])
    return method(**call["parameters"]) if method else {"error": "org.varlink.service.MethodNotFound", "parameters": {}}


def messages(s):
    data = b""
    while True:
        more = s.recv(4096)
        if not more:
            return
        *whole, data = (data + more).split(b"\0")
        yield from map(json.loads, whole)


def send(s, message):
    s.sendall(json.dumps(message).encode() + b"\0")


def serve_one(s):
    for call in messages(s):
        send(s, answer(call))


def serve(path):
    s = socket.socket(socket.AF_UNIX)
    s.bind(path)
    s.listen()
    while True:
        threading.Thread(target=serve_one, args=[s.accept()[0]], daemon=True).start()


def call(path, method, **parameters):
    s = socket.socket(socket.AF_UNIX)
    s.connect(path)
    send(s, {"method": INTERFACE + method, "parameters": parameters})
    reply = next(messages(s))
    print(os.getpid(), reply)
    return reply


def ask(path, name, family="0"):
    return call(path, "ResolveHostname", name=name, family=int(family), flags=0)


def reverse(path, text):
    a = ipaddress.ip_address(text)
    call(path, "ResolveAddress", family=int(FAMILIES[a.version]), address=list(a.packed), ifindex=0, flags=0)


def connect(path, name, port):
    found = ask(path, name, str(int(socket.AF_INET)))["parameters"]["addresses"][0]["address"]
    socket.create_connection((str(ipaddress.ip_address(bytes(found))), int(port))).close()


{"serve": serve, "ask": ask, "reverse": reverse, "connect": connect}[sys.argv[1]](*sys.argv[2:])
