#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""extract.py PREFIX DIRECTORY < ARCHIVE.tar.xz

The files right below PREFIX of an archive, whose top directory does not count, are
put into DIRECTORY. Ends after the last of them: an archive of the kernel's sources
takes a minute to read.
"""
import sys
import tarfile


def main():
    prefix, directory = sys.argv[1:]
    n = 0
    with tarfile.open(fileobj=sys.stdin.buffer, mode="r|xz") as archive:
        for member in archive:
            path = member.name.split("/", 1)[-1]
            if not path.startswith(prefix):
                if n:
                    break
                continue
            name = path[len(prefix) :]
            if member.isfile() and "/" not in name:
                with open(f"{directory}/{name}", "wb") as f:
                    f.write(archive.extractfile(member).read())
                n += 1
    if not n:
        raise SystemExit(f"nothing below {prefix}")


main()
