#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Programs that are over before the recording is, each a file of its own that is
# deleted while it runs: their samples carry the name of their function.
# timeout: 300
. "$(dirname "$0")/lib.sh"

COPIES=200
command -v gcc >/dev/null || skip "needs gcc"

# Each copy has a function of its own. One compile; the copies differ in a name of
# equal length, so their build id is the same: it is no proof of what is in a file.
cat >"$T/burner.c" <<'C'
#include <stdint.h>
#include <time.h>
#define MS 100

__attribute__((noinline)) uint64_t burner_0000000(uint64_t x)
{
	for (volatile int i = 0; i < 100000; i++)
		x = x * 6364136223846793005u + (uint64_t)i;
	return x;
}

int main(void)
{
	struct timespec ts;
	uint64_t x = 1;

	do {
		x = burner_0000000(x);
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	} while (ts.tv_sec * 1000 + ts.tv_nsec / 1000000 < MS);
	return x == 42;
}
C
gcc -O1 -fno-omit-frame-pointer -o "$T/burner" "$T/burner.c" || {
	fail "the program compiles"
	exit 1
}
for ((i = 1; i <= COPIES; i++)); do
	sed "s/burner_0000000/burner_$(printf %07d $i)/g" "$T/burner" >"$T/b$i"
	chmod +x "$T/b$i"
done

# Deletes the file as soon as it is what runs: until exec is done it is this shell.
run_four() { # FIRST
	local i pids=()
	for ((i = $1; i < $1 + 4; i++)); do
		"$T/b$i" &
		pids+=($!)
	done
	for ((i = 0; i < 4; i++)); do
		until [ "/proc/${pids[i]}/exe" -ef "$T/b$(($1 + i))" ] || gone "${pids[i]}"; do :; done
		rm -f "$T/b$(($1 + i))"
	done
	wait "${pids[@]}"
}

start_tracerd
"$O/tracectl" --socket "$SOCKET" record --sources cpu -o "$T/a.perfetto-trace" 2>"$T/err" &
record=$!
lib_pids+=("$record")
wait_for 20 sh -c "'$O/tracectl' --socket '$SOCKET' status --json | grep -q '\"sessions\":\[{'" ||
	fail "the recording starts"
for ((i = 1; i <= COPIES; i += 4)); do
	run_four $i
done
kill -INT $record
wait $record
status=$?
check "the recording is complete (status $status)" [ $status = 0 -o $status = 3 ]
check "the trace is good" "$O/tracectl" check "$T/a.perfetto-trace"

# Of the user code of these programs (not of ld.so before it): whose name does it have?
python3 "$SRC/tests/integration/named.py" "$T/a.perfetto-trace" '^b[0-9]+$' '^burner_[0-9]{7}$' >"$T/share"
cat "$T/share"
check "95 % of the samples carry the function's name" \
	awk '{ exit !($1 >= 0.95 * $2 && $2 > 200) }' "$T/share"
check "each in its own process" awk '{ exit !($3 >= 190) }' "$T/share"
