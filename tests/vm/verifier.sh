# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# verifier.sh - does the verifier of this machine's kernel take all of our programs? After lib.sh.

"$O/tests/tools/bpf_verify" -v "$O"/bpf/*.linked.o >"$T/verify"
status=$?
sed 's/^/  /' "$T/verify"
check "the verifier takes every program" [ $status = 0 ]
