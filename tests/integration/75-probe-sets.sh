#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The sets of probes, on real programs: garbage collections of CPython, OpenJDK and node are as
# many as those tell themselves; statements of SQLite and PostgreSQL, what OpenSSL sends,
# blocks of libc and waits for mutexes are what was asked for.
# timeout: 300

. "$(dirname "$0")/lib.sh"

need gcc
need curl
python=/usr/bin/python3 # Debian's: others have no probes
[ -x $python ] || skip "$python is not there (Debian: python3)"
export TRACER_PROBES=$SRC/daemon/probes
start_tracerd

# "NAME ARG=VALUE..." of what probes have said, in time.
probe_lines() { # TRACE
	"$O/tests/tools/slicedump" "$1" | awk -F '\t' '
		$1 == "event" && $3 != "end" && $5 == "probe" {
			line = $2 " " $6
			for (i = 9; i <= NF; i++) line = line " " $i
			print line
		}' | sort -n | cut -d' ' -f2-
}

record() { # SETS COMMAND...: what they say is in $T/seen
	local sets=$1
	shift
	tracectl record -q -f -s proc,probes -o "$T/sets.trace" --probe-set "$sets" -- "$@" >"$T/out" 2>"$T/err" || {
		cat "$T/err"
		return 1
	}
	probe_lines "$T/sets.trace" >"$T/seen"
	tracectl check -q "$T/sets.trace"
}

seen() { # N REGEXP: so many lines, exactly
	local n
	n=$(grep -cE "$2" "$T/seen")
	[ "$n" = "$1" ] && return
	echo "$n of $2, not $1"
	head -n 40 "$T/seen"
	return 1
}

# ---- CPython ----

cat >"$T/gc.py" <<'END'
import gc

told = []
gc.callbacks.append(lambda phase, info: told.append(info["collected"]) if phase == "stop" else None)
gc.disable()
for i in range(5):
    a = []
    a.append(a)
    del a
    gc.collect(i % 3)
print(" ".join(map(str, told)))
gc.callbacks.clear()
END
check "python-gc" record python-gc $python "$T/gc.py"
as_python_says() {
	[ "$(wc -w <"$T/out")" = 5 ] &&
		[ "$(grep -o 'collected=[0-9]*' "$T/seen" | cut -d= -f2 | grep -c .)" -ge 5 ] &&
		[ "$(grep python-gc "$T/seen" | sed 's/.*generation=\([0-9]*\) .*/\1/' | xargs | grep -c '0 1 2 0 1')" = 1 ]
}
check "collections of CPython are those that it tells of" as_python_says

cat >"$T/sql.py" <<'END'
import sqlite3

c = sqlite3.connect(":memory:")
c.execute("create table t(a)")
c.execute("insert into t values (1)")
print(c.execute("select a + 41 from t").fetchall()[0][0])
END
check "sqlite, python-functions" record sqlite,python-functions $python "$T/sql.py"
check "each statement is there" seen 1 '^sqlite-prepare.* sql=select a \+ 41 from t result=0$'
check "and its steps: a row, the end" eval "grep -q '^sqlite-step.* result=100$' '$T/seen' && grep -q '^sqlite-step.* result=101$' '$T/seen'"
check "so is the Python code that did it" seen 1 "^python-eval.*function=<module> file=$T/sql.py$"

# ---- OpenJDK ----

if command -v keytool >/dev/null; then
	# Where it is has to be known before the first one runs, which is soon over.
	jvm=$(readlink -f "$(command -v java)")
	jvm=$(find "${jvm%/bin/java}" -name libjvm.so | head -n 1)
	mkdir "$T/jvm"
	for set in jvm-gc jvm-methods; do
		sed "s,:libjvm.so:,:$jvm:," "$TRACER_PROBES/$set.probe" >"$T/jvm/$set.probe"
	done
	TRACER_PROBES=$T/jvm
	# What a key costs in a small heap.
	check "jvm-gc" record jvm-gc keytool -J-Xmx10m -J-XX:+UseSerialGC -J-Xlog:gc -genkeypair -alias a \
		-keyalg RSA -keysize 2048 -dname CN=a -keystore "$T/keys" -storepass secret -validity 1
	n=$(grep -c 'Pause' "$T/out")
	check "collections of OpenJDK are those that it logs ($n)" eval "[ $n -ge 3 ] && seen $n '^jvm-gc full='"
	check "with what its pools hold before and after" eval \
		"grep -qE '^jvm-pool collector=Copy pool=Eden Space before=[1-9][0-9]* after=0 ' '$T/seen'"
	"$O/tests/tools/slicedump" "$T/sets.trace" >"$T/dump"
	check "and counters of them" eval "grep -q '	jvm_old_generation$' '$T/dump' && grep -q '	jvm_eden$' '$T/dump'"
	check "jvm-methods" record jvm-methods java -XX:+ExtendedDTraceProbes -version
	check "its methods, when it was started for that" eval \
		"grep -qx 'jvm-method class=java/lang/System method=<clinit> signature=()V' '$T/seen' &&
		grep -q '^jvm-method class=java/lang/String[$]CaseInsensitiveComparator method=<init> ' '$T/seen'"
	TRACER_PROBES=$SRC/daemon/probes
else
	echo "# no OpenJDK (Debian: default-jre-headless)"
fi

# ---- node ----

if command -v node >/dev/null; then
	cat >"$T/gc.js" <<-'END'
		let kept = []
		for (let i = 0; i < 300000; i++) {
			kept.push({ i })
			if (kept.length > 50000) kept = []
		}
		gc()
	END
	check "node-gc" record node-gc node --expose-gc --trace-gc "$T/gc.js"
	n=$(grep -cE 'Scavenge|Mark' "$T/out")
	check "collections of node are those that it traces ($n)" eval "[ $n -ge 3 ] && seen $n '^node-gc reason='"
	"$O/tests/tools/slicedump" "$T/sets.trace" >"$T/dump"
	check "with how much is in its heap" eval "grep -q '	node_heap$' '$T/dump'"
else
	echo "# no node (Debian: nodejs)"
fi

# ---- OpenSSL ----

cat >"$T/server.py" <<END
import socket, ssl

c = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
c.load_cert_chain("$T/cert.pem", "$T/key.pem")
s = socket.create_server(("127.0.0.1", 0))
print(s.getsockname()[1], flush=True)
k = c.wrap_socket(s.accept()[0], server_side=True)
k.recv(4096)
k.sendall(b"HTTP/1.0 200 OK\r\n\r\n" + 981 * b"x")
k.close()
END
openssl req -x509 -newkey rsa:2048 -nodes -keyout "$T/key.pem" -out "$T/cert.pem" -days 1 -subj /CN=localhost 2>/dev/null
spawn $python "$T/server.py" >"$T/port"
wait_for 20 test -s "$T/port" || fail "a TLS server"
tracectl record -q -f -a -s proc,probes -o "$T/sets.trace" --probe-set openssl -- \
	curl -sk "https://127.0.0.1:$(cat "$T/port")/" >"$T/out" || fail "openssl"
probe_lines "$T/sets.trace" >"$T/seen"
check "the server has written what it has" seen 1 '^ssl-write-ex ssl=[0-9]+ bytes=1000 result=1$'
check "the client has read it, after a handshake" eval \
	"grep -qE '^ssl-handshake .*result=1$' '$T/seen' && grep -qE '^ssl-read .* result=1000$' '$T/seen'"

# ---- libc ----

cat >"$T/libc.c" <<'END'
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
void *volatile block;

static void *run(void *unused)
{
	for (int i = 0; i < 20; i++) {
		pthread_mutex_lock(&lock);
		usleep(5000);
		block = malloc(12345);
		free(block);
		pthread_mutex_unlock(&lock);
		usleep(100);
	}
	return unused;
}

int main(void)
{
	pthread_t threads[2];

	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, run, NULL);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
END
gcc -O1 -pthread -o "$T/libc" "$T/libc.c"
# Everybody's blocks and mutexes would be too many: the program has a libc of its own.
mkdir "$T/lib"
cp "$(ldd "$T/libc" | awk '$1 == "libc.so.6" { print $3 }')" "$T/lib/libc.so.6"
cat "$SRC/daemon/probes/libc-malloc.probe" "$SRC/daemon/probes/pthread-waits.probe" |
	sed "s,:libc.so.6:,:$T/lib/libc.so.6:," >"$T/libc.probe"
check "libc-malloc, pthread-waits" tracectl record -q -f -s proc,probes -o "$T/sets.trace" --probe-file "$T/libc.probe" -- \
	env LD_LIBRARY_PATH="$T/lib" "$T/libc"
probe_lines "$T/sets.trace" >"$T/seen"
check "a block's size, when it is asked for and given back" eval \
	"grep -q '^malloc size=12345' '$T/seen' && grep -qE '^free block=[0-9]+ size=12368' '$T/seen'"
waits() {
	local n
	n=$(grep -cE '^mutex-wait mutex=[0-9]+ owner=[1-9]' "$T/seen")
	echo "$n waits"
	[ "$n" -ge 10 ] && [ "$n" -le 40 ] && tracectl check "$T/sets.trace"
}
check "who waits for a mutex" waits

# ---- PostgreSQL ----

for bin in /usr/lib/postgresql/*/bin /var/lib/tracer-tests/usr/lib/postgresql/*/bin; do
	[ -x "$bin/postgres" ] && [ -x "$bin/initdb" ] && pg=$bin
done
if [ -n "${pg-}" ]; then
	# It does not run as root; one of its own, without a server, is enough.
	mkdir "$T/db" && chown nobody "$T/db" && chmod 755 "$T"
	as_nobody() { setpriv --reuid=nobody --clear-groups "$@"; }
	check "a database" as_nobody "$pg/initdb" -D "$T/db" -A trust -N -U postgres
	printf 'select 6 * 7 as answer\nselect 1/0\nselect 2\n' >"$T/queries"
	tracectl record -q -f -s proc,probes -o "$T/sets.trace" --probe-set postgresql -- \
		setpriv --reuid=nobody --clear-groups "$pg/postgres" --single -D "$T/db" postgres <"$T/queries" >"$T/out" 2>&1 ||
		fail "postgresql"
	probe_lines "$T/sets.trace" >"$T/seen"
	check "it has answered" grep -q 'answer = "42"' "$T/out"
	check "its queries are there, the one that failed unfinished" eval \
		"seen 1 '^query sql=select 6 \* 7 as answer' && seen 1 '^query sql=select 1/0.* unfinished=true' && seen 1 '^query sql=select 2[^=]*$'"
	check "with their parts" eval "grep -q '^query-parse' '$T/seen' && grep -q '^query-plan' '$T/seen' && grep -q '^query-execute' '$T/seen'"
	check "their trace keeps the rules" tracectl check "$T/sets.trace"
else
	echo "# no PostgreSQL (Debian: postgresql)"
fi

stop_tracerd
check "the daemon stops cleanly" test $? = 0
