#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Writes Chain.class, a Java program that knows what its stack must be.

    hotspot_class.py DIRECTORY

Runs as "java -cp DIRECTORY Chain MS". It needs no compiler, only what runs it. For
so many milliseconds main calls outer, which calls middle, that calls recurse, which
calls itself down to a depth of DEPTH, and inner, where the time is spent:

    main > outer > middle > recurse * DEPTH > inner

Every method has more bytecode than HotSpot inlines (FreqInlineSize is 325 bytes).
The format is that of Java 5 (version 49), the last one without stack maps.
"""
import struct
import sys

DEPTH = 6
TURNS = 20000

ACC_PUBLIC, ACC_STATIC, ACC_SUPER = 1, 8, 32

ICONST_0, ICONST_1 = 0x03, 0x04
LCONST_0, BIPUSH, SIPUSH, LDC = 0x09, 0x10, 0x11, 0x12
ILOAD_0, ILOAD_1 = 0x1A, 0x1B
LLOAD_1, ALOAD_0 = 0x1F, 0x2A
AALOAD = 0x32
ISTORE_0, ISTORE_1 = 0x3B, 0x3C
LSTORE_1 = 0x40
IADD, LADD, ISUB, LSUB = 0x60, 0x61, 0x64, 0x65
IMUL, LMUL = 0x68, 0x69
IINC, I2L, LCMP = 0x84, 0x85, 0x94
IFEQ, IFGE, IF_ICMPGE, GOTO = 0x99, 0x9C, 0xA2, 0xA7
IRETURN, RETURN = 0xAC, 0xB1
GETSTATIC, PUTSTATIC, INVOKESTATIC = 0xB2, 0xB3, 0xB8


class Pool:
    """The constant pool."""

    def __init__(self):
        self.entries = []

    def add(self, entry):
        if entry not in self.entries:
            self.entries.append(entry)
        return self.entries.index(entry) + 1

    def utf8(self, text):
        return self.add(b"\1" + struct.pack(">H", len(text)) + text.encode("ascii"))

    def class_(self, name):
        return self.add(b"\7" + struct.pack(">H", self.utf8(name)))

    def integer(self, value):
        return self.add(b"\3" + struct.pack(">i", value))

    def member(self, tag, class_name, name, descriptor):
        pair = self.add(b"\14" + struct.pack(">HH", self.utf8(name), self.utf8(descriptor)))
        return self.add(struct.pack(">BHH", tag, self.class_(class_name), pair))

    def method(self, class_name, name, descriptor):
        return self.member(10, class_name, name, descriptor)

    def field(self, class_name, name, descriptor):
        return self.member(9, class_name, name, descriptor)


class Code:
    """Bytecode; jumps are to marks."""

    def __init__(self):
        self.bytes, self.marks, self.jumps = bytearray(), {}, []

    def op(self, *codes):
        self.bytes += bytes(codes)

    def op2(self, code, operand):
        self.bytes += struct.pack(">BH", code, operand)

    def jump(self, code, mark):
        self.jumps.append((len(self.bytes), mark))
        self.op2(code, 0)

    def mark(self, name):
        self.marks[name] = len(self.bytes)

    def done(self):
        for at, mark in self.jumps:
            struct.pack_into(">h", self.bytes, at + 1, self.marks[mark] - at)
        return bytes(self.bytes)


def pad(code):
    """Arithmetic with the argument, some 400 bytes of it."""
    for _ in range(70):
        code.op(ILOAD_0, ICONST_1, IADD, ISTORE_0, IINC, 0, 3)


def calls(pool, name, descriptor, before):
    """A method that calls another one, and goes on when it is back."""
    code = Code()
    before(code)
    code.op2(INVOKESTATIC, pool.method("Chain", name, descriptor))
    code.op(ISTORE_0)
    pad(code)
    code.op(ILOAD_0, IRETURN)
    return code


def recurse(pool):
    code = Code()
    code.op(ILOAD_1, ICONST_1, ISUB, ISTORE_1, ILOAD_1)
    code.jump(IFEQ, "last")
    code.op(ILOAD_0, ILOAD_1)
    code.op2(INVOKESTATIC, pool.method("Chain", "recurse", "(II)I"))
    code.op(ISTORE_0)
    code.jump(GOTO, "end")
    code.mark("last")
    code.op(ILOAD_0)
    code.op2(INVOKESTATIC, pool.method("Chain", "inner", "(I)I"))
    code.op(ISTORE_0)
    code.mark("end")
    pad(code)
    code.op(ILOAD_0, IRETURN)
    return code


def inner(_pool):
    code = Code()
    code.op(ICONST_0, ISTORE_1)
    code.mark("loop")
    code.op(ILOAD_1)
    code.op2(SIPUSH, TURNS)
    code.jump(IF_ICMPGE, "end")
    code.op(ILOAD_0)
    code.op(BIPUSH, 31, IMUL, ILOAD_1, IADD, ISTORE_0)
    code.op(IINC, 1, 1)
    code.jump(GOTO, "loop")
    code.mark("end")
    pad(code)
    code.op(ILOAD_0, IRETURN)
    return code


def main_method(pool):
    now = pool.method("java/lang/System", "nanoTime", "()J")
    sink = pool.field("Chain", "sink", "I")
    code = Code()
    code.op(ALOAD_0, ICONST_0, AALOAD)
    code.op2(INVOKESTATIC, pool.method("java/lang/Long", "parseLong", "(Ljava/lang/String;)J"))
    code.op(LDC, pool.integer(1000000), I2L, LMUL)
    code.op2(INVOKESTATIC, now)
    code.op(LADD, LSTORE_1)
    code.mark("loop")
    code.op2(INVOKESTATIC, now)
    code.op(LLOAD_1, LSUB, LCONST_0, LCMP)
    code.jump(IFGE, "end")
    code.op2(GETSTATIC, sink)
    code.op2(INVOKESTATIC, pool.method("Chain", "outer", "(I)I"))
    code.op2(PUTSTATIC, sink)
    code.jump(GOTO, "loop")
    code.mark("end")
    code.op(RETURN)
    return code


def method_info(pool, name, descriptor, code):
    text = code.done()
    attribute = struct.pack(">HHI", 6, 4, len(text)) + text + struct.pack(">HH", 0, 0)
    return (
        struct.pack(">HHHH", ACC_PUBLIC | ACC_STATIC, pool.utf8(name), pool.utf8(descriptor), 1)
        + struct.pack(">HI", pool.utf8("Code"), len(attribute))
        + attribute
    )


def main():
    pool = Pool()
    this, parent = pool.class_("Chain"), pool.class_("java/lang/Object")
    methods = [
        method_info(pool, "main", "([Ljava/lang/String;)V", main_method(pool)),
        method_info(pool, "outer", "(I)I", calls(pool, "middle", "(I)I", lambda c: c.op(ILOAD_0))),
        method_info(
            pool,
            "middle",
            "(I)I",
            calls(pool, "recurse", "(II)I", lambda c: c.op(ILOAD_0, BIPUSH, DEPTH)),
        ),
        method_info(pool, "recurse", "(II)I", recurse(pool)),
        method_info(pool, "inner", "(I)I", inner(pool)),
    ]
    field = struct.pack(">HHHH", ACC_PUBLIC | ACC_STATIC, pool.utf8("sink"), pool.utf8("I"), 0)
    with open(sys.argv[1] + "/Chain.class", "wb") as f:
        f.write(struct.pack(">IHHH", 0xCAFEBABE, 0, 49, len(pool.entries) + 1))
        f.write(b"".join(pool.entries))
        f.write(struct.pack(">HHHHH", ACC_PUBLIC | ACC_SUPER, this, parent, 0, 1))
        f.write(field)
        f.write(struct.pack(">H", len(methods)) + b"".join(methods))
        f.write(struct.pack(">H", 0))


if __name__ == "__main__":
    main()
