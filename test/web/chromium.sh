#!/bin/sh
# chromium.sh prints where Chromium is. With the word install it installs the one of Debian where there
# is none. It fails where there is none in the end.
find_it() {
	for name in chromium chromium-browser google-chrome; do
		command -v "$name" && return
	done
	return 1
}

find_it && exit
[ "$1" = install ] || exit 1

as_root=
[ "$(id -u)" = 0 ] || as_root='sudo -n'
if command -v apt-get > /dev/null; then
	# Chromium needs a font, and nothing else that is merely recommended.
	# A machine without a network finds that out soon.
	$as_root apt-get -o Acquire::Retries=0 -o Acquire::http::Timeout=20 update && DEBIAN_FRONTEND=noninteractive \
		$as_root apt-get install -y --no-install-recommends chromium fonts-dejavu-core
fi
find_it && exit
echo 'FAILED: there is no Chromium here, and apt-get cannot install it.' \
	'Install chromium, chromium-browser or google-chrome, then run this again.' >&2
exit 1
