#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Names, inlined functions and source lines of a program, whole and stripped, in
# the trace; addr2line is the witness.

# A place that nobody but root may write to: debug files elsewhere are not believed.
export TMPDIR=/var/lib
. "$(dirname "$0")/lib.sh"

need addr2line binutils
prog=$O/tests/integration/prog/inlined

# Records PROGRAM for two seconds into $T/NAME.
record() { # PROGRAM NAME
	local pid
	spawn "$1"
	pid=$!
	tracectl record --duration 2s --sources cpu -p $pid -o "$T/$2" 2>"$T/err"
	kill $pid
	wait $pid 2>/dev/null
}

# Every address has the frames that addr2line tells of FILE.
same_frames() { # TRACE PATH FILE
	"$SRC/tests/integration/lines.py" "$1" "$2\$" >"$T/ours" || return 1
	[ -s "$T/ours" ] || { echo "no lines"; return 1; }
	cut -d' ' -f1 "$T/ours" | while read -r address; do
		printf '%s ' "$address"
		addr2line -s -f -i -e "$3" "$address" |
			sed 's/ (discriminator.*//; s/^??:[?0]$/:0/' |
			paste -d' ' - - | paste -sd';'
	done >"$T/theirs"
	diff "$T/ours" "$T/theirs"
}

# Nearly all samples of the process are in FUNCTION: some are in the kernel, or at its start.
mostly_in() { # TRACE PROCESS FUNCTION
	local named total
	read -r named total _ < <("$SRC/tests/integration/named.py" "$1" "$2" "$3")
	echo "$named of $total"
	[ "$total" -gt 0 ] && [ $((named * 10)) -ge $((total * 9)) ]
}

echo "# a program with all it was built with"
record "$prog" whole
check "the trace is good" "$O/tracectl" check "$T/whole"
check "its functions have names" mostly_in "$T/whole" inlined '^hidden$'
check "inlined functions and lines are those of addr2line" \
	same_frames "$T/whole" inlined "$prog"
check "some are three functions deep" \
	grep -q '^0x[0-9a-f]* innermost [^;]*;middle [^;]*;hidden [^;]*$' "$T/ours"

echo "# two copies under one name, as in two containers"
mkdir -p "$T/one" "$T/two" "$T/mnt"
cp "$prog" "$T/one/inlined" && cp "$prog" "$T/two/inlined"
for copy in one two; do
	spawn unshare -m sh -c "mount --bind '$T/$copy' '$T/mnt' && exec '$T/mnt/inlined'"
	pids="${pids-}${pids+,}$!"
done
tracectl record --duration 2s --sources cpu -p "$pids" -o "$T/copies" 2>"$T/err"
kill ${pids//,/ }
check "the trace is good" "$O/tracectl" check "$T/copies"
check "each line is said once" same_frames "$T/copies" mnt/inlined "$prog"

echo "# stripped, with a debug file beside it"
mkdir -p "$T/bin/.debug"
objcopy --only-keep-debug "$prog" "$T/bin/.debug/inlined.debug"
strip -o "$T/bin/inlined" "$prog"
(cd "$T/bin/.debug" && objcopy --add-gnu-debuglink=inlined.debug ../inlined)
record "$T/bin/inlined" stripped
check "the trace is good" "$O/tracectl" check "$T/stripped"
check "its functions have the names of the debug file" mostly_in "$T/stripped" inlined '^hidden$'
check "inlined functions and lines are there" same_frames "$T/stripped" inlined "$prog"

echo "# stripped, and the debug file is another program's"
(cd "$T/bin" && objcopy --only-keep-debug /bin/ls .debug/inlined.debug)
strip -o "$T/bin/inlined.new" "$prog"
(cd "$T/bin/.debug" && objcopy --add-gnu-debuglink=inlined.debug ../inlined.new)
mv "$T/bin/inlined.new" "$T/bin/inlined"
record "$T/bin/inlined" foreign
check "the trace is good" "$O/tracectl" check "$T/foreign"
check "its functions read like offsets" mostly_in "$T/foreign" inlined '^\[inlined\+0x[0-9a-f]+\]$'
check "there are no lines" sh -c "[ -z \"\$('$SRC/tests/integration/lines.py' '$T/foreign' inlined)\" ]"

echo "# with a daemon that stays"
start_tracerd
record "$prog" daemon
check "inlined functions and lines are those of addr2line" \
	same_frames "$T/daemon" inlined "$prog"
check "nothing of that is left when nobody records" wait_for 5 sh -c "! pgrep -P $DAEMON -x tracer-lines"
stop_tracerd
SOCKET=

echo "# DWARF that makes no sense"
cp "$prog" "$T/bin/inlined"
head -c 20000 /dev/urandom >"$T/junk"
objcopy --remove-section=.debug_abbrev --update-section .debug_info="$T/junk" "$T/bin/inlined" 2>/dev/null
record "$T/bin/inlined" broken
check "the recording does not suffer" "$O/tracectl" check "$T/broken"
check "its functions have names" mostly_in "$T/broken" inlined '^hidden$'

echo "# afterwards: the debug file comes from a server"
strip -o "$T/bin/inlined" "$prog"
record "$T/bin/inlined" late
objcopy --only-keep-debug "$prog" "$T/served"
mkdir "$T/path"
# In place of elfutils' own: has one file, and says where.
cat >"$T/path/debuginfod-find" <<END
#!/bin/sh
[ "\$1 \$2" = "debuginfo $(readelf -n "$prog" | sed -n 's/.*Build ID: //p')" ] && echo "$T/served"
END
chmod +x "$T/path/debuginfod-find"
symbolize() { # OPTIONS FILE
	PATH=$T/path:$PATH DEBUGINFOD_URLS=http://nowhere.invalid \
		timeout 60 "$O/tracectl" symbolize "$@"
}
has_status() { # STATUS COMMAND...
	local status
	"${@:2}"
	status=$?
	[ $status = "$1" ] || { echo "exit status $status"; return 1; }
}
check "before, its functions read like offsets" \
	mostly_in "$T/late" inlined '^\[inlined\+0x[0-9a-f]+\]$'
cp "$T/late" "$T/copy"
check "a dry run says what there is" symbolize --dry-run --debuginfod "$T/late"
check "and changes nothing" cmp "$T/late" "$T/copy"
check "lines are added" symbolize --debuginfod "$T/late"
check "the trace is good" "$O/tracectl" check "$T/late"
check "they are those of addr2line" same_frames "$T/late" inlined "$prog"
check "the report has the functions" sh -c "'$O/tracectl' report '$T/late' | grep -q innermost"
cp "$T/late" "$T/copy"
check "a second time there is nothing to add" has_status 1 symbolize --debuginfod "$T/late"
check "and nothing is added" cmp "$T/late" "$T/copy"
head -c $(($(stat -c %s "$T/copy") - 10)) "$T/copy" >"$T/cut"
check "a trace that was cut is refused" has_status 2 symbolize --debuginfod "$T/cut"
check "without a server --debuginfod makes no sense" \
	has_status 2 env -u DEBUGINFOD_URLS "$O/tracectl" symbolize --debuginfod "$T/late"
