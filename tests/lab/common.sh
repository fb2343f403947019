# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# What the scripts of the lab share: messages, the tables, the cache.
# The sourcing script has set $here to this folder.

# shellcheck disable=SC2154
KERNELS=$here/kernels.tsv
# shellcheck disable=SC2034
TOPOLOGIES=$here/topologies.tsv
ARCHES=$here/arches.tsv
# shellcheck disable=SC2034
LAB_CACHE=${SENDPATH_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/sendpath}/lab

# "It cannot be done here": what test runners know as a skip.
SKIP=77

say() {
	echo "${0##*/}: $*" >&2
}

cannot() {
	say "$*"
	exit $SKIP
}

# need TOOL:PACKAGE...: name in one line all that is missing. A TOOL with a
# slash is a file.
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

# work_beside DEST: wait until no other run makes DEST, then set tmp to an empty
# folder beside it that goes when the script ends. Whoever waited finds DEST made.
work_beside() {
	local folder=${1%/*} name=${1##*/}
	mkdir -p "$folder"
	exec {lock}>"$folder/.lock-$name"
	flock "$lock"
	# What a killed run left.
	rm -rf "$folder/.tmp-$name."*
	tmp=$(mktemp -d "$folder/.tmp-$name.XXXXXX")
	trap 'rm -rf "$tmp"' EXIT
	trap 'exit 130' INT
	trap 'exit 143' TERM
	chmod 755 "$tmp"
}

# table_field TABLE NAME COLUMN: a cell, or nothing. The last comment line of a
# table names its columns.
table_field() {
	awk -F '\t' -v name="$2" -v column="$3" '
		/^#/ { sub(/^# /, ""); for (i = 1; i <= NF; i++) at[$i] = i; next }
		$1 == name { print $(at[column]); exit }' "$1"
}

# table_columns TABLE COLUMN...: those of every row, laid out for people.
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

# Guests of another architecture cannot run this machine's programs: they have a
# root file system of their own.
is_foreign() {
	[[ $1 != "$(dpkg --print-architecture)" ]]
}

unknown() {
	say "no $1 named $2; there are: $(grep -v '^#' "$3" | cut -f1 | paste -sd ' ')"
	exit 2
}
