#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# What is installed, and that the unit is as tight as it is meant to be.
. "$(dirname "$0")/lib.sh"
cd "$SRC" || exit 1

make_install() { # TARGET
	make --no-print-directory O="$O" DESTDIR="$T/root" PREFIX=/usr "$1"
}

# Nothing may need to be built: root would own it.
check "make install puts everything under DESTDIR" make_install install
for file in usr/sbin/tracerd usr/bin/tracectl usr/share/man/man1/tracectl.1 \
	usr/share/man/man8/tracerd.8 etc/tracer/tracerd.conf usr/lib/systemd/system/tracer.service \
	usr/lib/systemd/system/tracer.socket usr/lib/sysusers.d/tracer.conf \
	usr/share/tracer/probes/libc-malloc.probe usr/share/tracer/probes/python-gc.probe; do
	check "/$file is installed" test -s "$T/root/$file"
done
check "no placeholder is left in the unit" sh -c "! grep @SBINDIR@ '$T'/root/usr/lib/systemd/system/*"

# The man pages know every option that the programs know.
options_in_man() { # PAGE PROGRAM ARGS...
	local option missing=
	for option in $("${@:2}" --help | grep -oE '^ +(-[a-zA-Z], )?--[a-z-]+' | grep -oE '[-]-[a-z-]+'); do
		grep -q -- "^\.It.* Fl -${option#--}\( \|$\)" "$1" || missing="$missing $option"
	done
	[ -z "$missing" ] || echo "not in ${1##*/}:$missing"
	[ -z "$missing" ]
}
check "tracerd(8) has all options" options_in_man daemon/tracerd.8 "$O/tracerd"
check "tracectl(1) has all options" options_in_man cli/tracectl.1 "$O/tracectl"
for command in record status check; do
	check "tracectl(1) has all options of $command" options_in_man cli/tracectl.1 \
		"$O/tracectl" $command
done
check "tracectl(1) has all sources" sh -c "
	'$O/tracectl' --private status | sed -n 's/^  \([a-z]*\) *\(on\|idle\|off\) .*/\1/p' >'$T/sources'
	[ -s '$T/sources' ] && while read -r source; do
		grep -q \"^\.It Li \$source\$\" cli/tracectl.1 || { echo \"\$source\"; exit 1; }
	done <'$T/sources'"

if command -v systemd-analyze >/dev/null; then
	units=$T/root/usr/lib/systemd/system
	# The paths are looked for in the root file system, man pages by man.
	mkdir "$T/units"
	sed -e "s|^ExecStart=|&$T/root|" -e /^Documentation/d "$units/tracer.service" \
		>"$T/units/tracer.service"
	sed /^Documentation/d "$units/tracer.socket" >"$T/units/tracer.socket"
	verify() {
		out=$(systemd-analyze verify "$T/units/tracer.service" "$T/units/tracer.socket" 2>&1)
		status=$?
		echo "$out"
		# It also warns about what it passes over.
		[ $status = 0 ] && [ -z "$out" ]
	}
	check "systemd finds nothing to complain about in the units" verify
	check "the unit's exposure is at most 2 of 10" systemd-analyze security --offline=yes \
		--no-pager --threshold=20 "$T/units/tracer.service"
else
	echo "skip - systemd-analyze is not installed"
fi

# A default that the file shows and the daemon does not know would keep it from starting.
# Triggers have no defaults.
sed '/^#\[trigger/,$d; s/^#\([a-z_]* = \)/\1/' systemd/tracerd.conf >"$T/tracerd.conf"
n=$(grep -c '^[a-z_]* = ' "$T/tracerd.conf")
check "tracerd.conf shows defaults" [ "$n" -ge 4 ]
start_tracerd --config "$T/tracerd.conf"
ok "the daemon starts with every one of them"
check "and ends when asked" stop_tracerd

# What an administrator has written is theirs.
echo "[flight]" >>"$T/root/etc/tracer/tracerd.conf"
cp "$T/root/etc/tracer/tracerd.conf" "$T/changed.conf"
check "make install once more succeeds" make_install install
check "and leaves a tracerd.conf that was changed" \
	cmp "$T/changed.conf" "$T/root/etc/tracer/tracerd.conf"
make_install uninstall >"$T/uninstall"
check "so does make uninstall, which says so" grep -q "KEEP .*/tracerd.conf" "$T/uninstall"
check "there it is" cmp "$T/changed.conf" "$T/root/etc/tracer/tracerd.conf"
cp systemd/tracerd.conf "$T/root/etc/tracer/tracerd.conf"
check "make uninstall succeeds" make_install uninstall
left=$(find "$T/root" ! -type d; find "$T/root" -type d -name '*tracer*')
if [ -z "$left" ]; then
	ok "make uninstall leaves nothing of ours"
else
	fail "make uninstall leaves $left"
fi

# With what a minimal Debian has: make, and what it calls.
mkdir "$T/bin"
for program in make sh sed awk nproc uname pkg-config find; do
	path=$(command -v $program) && ln -s "$path" "$T/bin/$program"
done
help_lists() {
	PATH=$T/bin make --no-print-directory help | grep -q '^  make record  *install what is missing'
}
check "make help needs nothing else than make" help_lists
