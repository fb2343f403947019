# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# Shared by the scripts of the lab: messages, the tables, the cache. The sourcing script has set $here to this
# folder.

# shellcheck disable=SC2154
KERNELS=$here/kernels.tsv
# shellcheck disable=SC2034
TOPOLOGIES=$here/topologies.tsv
ARCHES=$here/arches.tsv
# shellcheck disable=SC2034
LAB_CACHE=${SENDPATH_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/sendpath}/lab

# The status that means "cannot be done here"; test runners treat it as a skip.
SKIP=77

say() {
	echo "${0##*/}: $*" >&2
}

cannot() {
	say "$*"
	exit $SKIP
}

# need TOOL:PACKAGE...: reports all missing tools in one line. A TOOL with a slash is a file.
need() {
	local pair tool missing=()
	for pair; do
		tool=${pair%:*}
		if [[ $tool == */* ]]; then
			[[ -e $tool ]] || missing+=("${pair##*:}")
		else
			PATH=$PATH:/usr/sbin:/sbin command -v "$tool" >/dev/null || missing+=("${pair##*:}")
		fi
	done
	((${#missing[@]} == 0)) || cannot "missing; install with: apt-get install ${missing[*]}"
}

# work_beside DEST: waits until no other run makes DEST, then sets tmp to an empty folder beside it, which is removed
# when the script ends. If it had to wait, DEST exists afterwards, unless the other run failed.
work_beside() {
	local folder=${1%/*} name=${1##*/}
	mkdir -p "$folder"
	exec {lock}>"$folder/.lock-$name"
	flock "$lock"
	# Removes the remains of a killed run.
	rm -rf "$folder/.tmp-$name."*
	tmp=$(mktemp -d "$folder/.tmp-$name.XXXXXX")
	trap 'rm -rf "$tmp"' EXIT
	trap 'exit 130' INT
	trap 'exit 143' TERM
	chmod 755 "$tmp"
}

# table_field TABLE NAME COLUMN: prints a cell, or nothing. The last comment line of a table names its columns.
table_field() {
	awk -F '\t' -v name="$2" -v column="$3" '
		/^#/ { sub(/^# /, ""); for (i = 1; i <= NF; i++) at[$i] = i; next }
		$1 == name { print $(at[column]); exit }' "$1"
}

# table_columns TABLE COLUMN...: prints these columns of every row, aligned.
table_columns() {
	local table=$1
	shift
	awk -F '\t' -v wanted="$*" '
		/^#/ { sub(/^# /, ""); for (i = 1; i <= NF; i++) at[$i] = i; next }
		{
			line = " "
			n = split(wanted, column, " ")
			for (i = 1; i <= n; i++)
				line = line sprintf(i < n ? " %-14s" : " %s", $(at[column[i]]))
			print line
		}' "$table"
}

kernel_field() {
	table_field "$KERNELS" "$1" "$2"
}

arch_field() {
	table_field "$ARCHES" "$1" "$2"
}

# Returns whether a guest has another architecture. Such a guest cannot run this machine's programs, and has its own
# root file system.
is_foreign() {
	[[ $1 != "$(dpkg --print-architecture)" ]]
}

unknown() {
	say "no $1 named $2; there are: $(grep -v '^#' "$3" | cut -f1 | paste -sd ' ')"
	exit 2
}
