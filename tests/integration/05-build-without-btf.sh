#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The build needs no BTF of the running kernel: a build machine may have none, and
# what is built is for other kernels than its own.
# timeout: 600
. "$(dirname "$0")/lib.sh"

cd "$SRC" || exit 1
# What the kernel says about itself is out of sight, and so is what was built before.
without_btf() {
	unshare --mount sh -c '
		mount --make-rprivate / || exit 77
		[ ! -d /sys/kernel/btf ] || mount -t tmpfs tmpfs /sys/kernel/btf || exit 77
		! [ -e /sys/kernel/btf/vmlinux ] || exit 77
		exec "$@"' sh "$@"
}
without_btf true || skip "cannot hide /sys/kernel/btf"

# Everything that clang compiles for the kernel, and the programs' skeletons.
check "BPF objects and skeletons build without /sys/kernel/btf/vmlinux" \
	without_btf make --no-print-directory O="$T/build" skeletons
for skel in bpf/*.bpf.c; do
	skel=$T/build/${skel%.bpf.c}.skel.h
	[ -s "$skel" ] || fail "${skel##*/} was made"
done
