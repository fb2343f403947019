# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# Functions that get Debian packages of any suite and architecture by apt, which verifies their signatures, with a
# private configuration. They neither need nor change the machine's sources, lists, dpkg database or foreign
# architectures. Sourced after common.sh.

KEYRING=/usr/share/keyrings/debian-archive-keyring.gpg

need_apt() {
	need apt-get:apt dpkg:dpkg "$KEYRING:debian-archive-keyring" "$@"
}

# Returns the mirror of this machine's own sources; the last part of the address distinguishes the main and the security
# archive.
mirror_of() {
	local suite=$1 archive=debian found
	[[ $suite == *-security ]] && archive=debian-security
	# sed reads to the end, so that apt-get sees no closed pipe.
	found=$(apt-get --print-uris update 2>/dev/null |
		sed -n "s|^'\([^']*/$archive\)/dists/.*|\1|p") || true
	found=${found%%$'\n'*}
	echo "${found:-http://deb.debian.org/$archive}"
}

# private_apt TMP ARCH SUITES: writes a configuration that shares nothing but the proxy and transport settings with
# the machine's.
private_apt() {
	local tmp=$1 arch=$2 suite suites
	mkdir -p "$tmp"/apt/{lists/partial,archives/partial,etc,trusted,preferences,parts}
	: >"$tmp/apt/status"
	IFS=, read -ra suites <<<"$3"
	for suite in "${suites[@]}"; do
		echo "deb [signed-by=$KEYRING] $(mirror_of "$suite") $suite main"
	done >"$tmp/apt/etc/sources.list"
	# Check-Valid-Until: a slow mirror serves lists that have expired; those of sid expire after a week. The date
	# keeps an attacker from withholding updates. Signatures are still verified, and an old kernel in a guest does
	# no harm.
	cat >"$tmp/apt/apt.conf" <<-EOF
		APT::Architecture "$arch";
		#clear APT::Architectures;
		APT::Architectures "$arch";
		APT::Sandbox::User "$(id -un)";
		Acquire::Check-Valid-Until "false";
		Acquire::Languages "none";
		Acquire::Retries "3";
		Dir::Etc::sourcelist "$tmp/apt/etc/sources.list";
		Dir::Etc::sourceparts "$tmp/apt/parts";
		Dir::Etc::preferences "/dev/null";
		Dir::Etc::preferencesparts "$tmp/apt/preferences";
		Dir::State "$tmp/apt";
		Dir::State::lists "$tmp/apt/lists";
		Dir::State::status "$tmp/apt/status";
		Dir::Cache "$tmp/apt";
		#clear APT::Update::Post-Invoke;
		#clear APT::Update::Post-Invoke-Success;
		#clear DPkg::Post-Invoke;
	EOF
	export APT_CONFIG=$tmp/apt/apt.conf
}

# update_lists WHAT: updates the lists; WHAT is for the message.
update_lists() {
	local errors
	errors=$(apt-get -qq -o APT::Update::Error-Mode=any update 2>&1) ||
		cannot "apt cannot read the package lists of $1: ${errors%%$'\n'*}"
}
