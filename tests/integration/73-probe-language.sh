#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# What expressions of probes mean where they run, in the kernel: arguments in all the ways that
# they are passed, members by the program's DWARF, also from a debug file, fields of
# tracepoints; and what is said to whoever makes a mistake.
# timeout: 120

. "$(dirname "$0")/lib.sh"

need python3
need objcopy binutils
prog=$O/tests/integration/prog/probed
start_tracerd

# Of one recording; its instants and slices end in $T/seen: "NAME ARG=VALUE..."
record() { # PROBE [COMMAND...]
	local probe=$1
	shift
	[ $# -gt 0 ] || set -- "$prog"
	tracectl record -q -f -s proc,probes --probe "$probe" -o "$T/one.trace" -- "$@" >"$T/out" 2>"$T/err" || {
		cat "$T/err"
		return 1
	}
	"$O/tests/tools/slicedump" "$T/one.trace" | awk -F '\t' '
		$1 == "event" && $3 != "end" && $5 == "probe" {
			line = $2 " " $6
			for (i = 9; i <= NF; i++) line = line " " $i
			print line
		}' | sort -n | cut -d' ' -f2- >"$T/seen"
}

says() { # PROBE LINE...: these are all
	local probe=$1
	shift
	record "$probe" && printf '%s\n' "$@" | diff -u - "$T/seen"
}

refused() { # PROBE TEXT: and the message says this
	if tracectl record -q -f -s probes --probe "$1" -o "$T/none.trace" -- "$prog" >"$T/out" 2>"$T/err"; then
		echo "it was taken"
		return 1
	fi
	cat "$T/err"
	grep -qF -- "$2" "$T/err"
}

# ---- values ----

check "members, arrays, bit fields, enums, strings" \
	says "p at uprobe:$prog:plain arg v=node->value arg n=node->next->name arg bits=node->low * 1000 + node->mid arg neg=node->negative arg w=node->cells[1].weights[1] arg blue=node->color == BLUE arg label=node->label arg byte=byte" \
	"p v=-11 n=second bits=5100 neg=-3 w=-5 blue=true label=one label byte=200"
check "arguments on the stack, variables of the program" \
	says "p at uprobe:$prog:plain arg how=how arg small=small arg stack=on_stack arg more=arg7 arg total=total arg first=first.name" \
	"p how=-3 small=-9 stack=70 more=80 total=4242 first=first"
check "structs that are passed as values" \
	says "p at uprobe:$prog:by_value arg a=pair.a arg b=pair.b arg w=wide.b arg m=mixed.n arg l=large.c arg after=after" \
	"p a=1 b=-2 w=-4 m=5 l=-8 after=9"
check "what functions return" \
	says "p at uprobe:$prog:returns_wide end uretprobe:$prog:returns_wide arg x=x arg a=retval.a arg b=retval.b" \
	"p x=44 a=44 b=-77"
check "arguments of USDT probes, with casts to the program's types" \
	says "p at usdt:$prog:probed:plain arg node=((struct node *)arg0)->next->value arg how=arg1 arg text=str(arg2)" \
	"p node=22 how=-3 text=hello"
check "variables at an instruction inside a function" \
	says "p at uprobe:$prog:inside+0x$(printf %x $((0x$(nm "$prog" | awk '$3 == "inside_spot" {print $1}') - 0x$(nm "$prog" | awk '$3 == "inside" {print $1}')))) arg square=square" \
	"p square=4"
check "a condition on what a pointer leads to" \
	says "p at uprobe:$prog:returns_pointer arg v=node->value if node->next && node->next->name == \"sec*\"" \
	"p v=-11"

# As a distribution does it.
id=$(readelf -n "$prog" | sed -n 's/.*Build ID: //p')
cp "$prog" "$T/stripped"
strip "$T/stripped"
cp "$T/stripped" "$T/later"
without() {
	refused "p at uprobe:$T/stripped:plain" "no function \"plain\"" &&
		refused "p at usdt:$T/stripped:probed:plain arg v=((struct node *)arg0)->value" "no debug information (DWARF)"
}
check "a stripped program has neither names nor types" without
debug=/usr/lib/debug/.build-id/${id:0:2}
mkdir -p "$debug"
objcopy --only-keep-debug "$prog" "$debug/${id:2}.debug"
with() {
	record "p at uprobe:$T/later:plain arg v=node->next->value" "$T/later" &&
		echo "p v=22" | diff -u - "$T/seen"
}
check "its debug file has both" with
rm -f "$debug/${id:2}.debug"
rmdir --ignore-fail-on-non-empty "$debug" "${debug%/*}"

tracepoint() {
	record "p at tracepoint:sched:sched_process_exec arg pid=pid arg tid=tid arg file=filename arg mine=pid == tid if filename == \"*probed\" || filename == \"$prog\"" &&
		grep -qE "^p pid=([0-9]+) tid=\1 file=$prog mine=true$" "$T/seen" || {
		cat "$T/seen"
		return 1
	}
}
check "fields of tracepoints" tracepoint

# ---- mistakes ----

check "a function that is not there" refused "p at uprobe:$prog:plian" "near it: plain"
check "a function that is chosen when a program starts" refused "p at uprobe:libc.so.6:memcpy" "(IFUNC)"
check "a member that is not there" refused "p at uprobe:$prog:plain arg v=node->valu" "near it: value"
check "a name that is not there" refused "p at uprobe:$prog:plain arg v=hwo" "near it: how"
check "a type that is not there" refused "p at uprobe:$prog:plain arg v=((struct nod *)arg0)->value" "no type \"nod\"; near it: node"
check "a USDT probe that is not there" refused "p at usdt:$prog:probed:plan" "near it: probed:plain"
check "a member of the kernel's that is not there" refused "p at tracepoint:sched:sched_switch arg a=((struct task_struct *)1)->com" "near it: comm"
check "a type of the kernel's that is not there" refused "p at tracepoint:sched:sched_switch arg a=((struct task_strukt *)1)->comm" "near it: task_struct"
check "a function of the kernel's that is not there" refused "p at fentry:vfs_raed" "near it: vfs_read"
check "a tracepoint that is not there" refused "p at tracepoint:sched:sched_swich" "near it: sched:sched_switch"
check "a field that is not there" refused "p at tracepoint:sched:sched_switch arg a=prev_pidd" "near it: prev_pid"
check "an argument that is not there" refused "p at uprobe:$prog:plain arg a=arg8" "has no arg8, but 8 arguments"
check "a place inside an instruction" refused "p at uprobe:$prog:coded+1" "inside the instruction"
# Go moves stacks: an address that the kernel has put there would lead it astray.
cat >"$T/go.c" <<'END'
__attribute__((section(".go.buildinfo"), used)) static const char mark[] = "go";
__attribute__((noinline)) int grow(int n) { return n + mark[0]; }
int main(int argc, char **argv) { (void)argv; return grow(argc) == 0; }
END
gcc -O1 -o "$T/goish" "$T/go.c"
check "a return of a program made by Go" refused "p at uretprobe:$T/goish:grow" "made by Go"
check "nor as the end of a slice" refused "p at uprobe:$T/goish:grow end uretprobe:$T/goish:grow" "made by Go"
check "its functions may be probed" tracectl record -q -s probes -o "$T/go.trace" \
	--probe "p at uprobe:$T/goish:grow" -- "$T/goish"
check "a place beyond the function" refused "p at uprobe:$prog:plain+100000" "has only"
check "an expression that is none" refused "p at uprobe:$prog:plain arg a=node->" "the name of a member is expected"
check "a number that is no pointer" refused "p at uprobe:$prog:plain arg a=*how" "no pointer"
check "floating-point arguments" refused "p at uprobe:$prog:by_value arg a=d" "a probe cannot read"
