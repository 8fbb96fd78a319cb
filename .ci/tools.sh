# Functions that .ci/run and .ci/long share: what they install, and the servers that they
# start. Sourced by a script that has set $work, a directory that it removes at its end.

fail() { printf 'ci: %s\n' "$1" >&2; exit 1; }

# need ends the script where one of some commands is missing.
need() {
	local tool
	for tool in "$@"; do
		command -v "$tool" >/dev/null || fail "$tool is not on this machine; it is needed (node and npm run Azurite and the JavaScript SDKs)"
	done
}

# install PACKAGE COMMAND... has apt install a package unless one of the commands exists.
install() {
	local package=$1 name apt=apt-get
	for name in "${@:2}"; do
		! command -v "$name" >/dev/null || return 0
	done
	[ "$(id -u)" = 0 ] || apt='sudo apt-get'
	{ $apt update && DEBIAN_FRONTEND=noninteractive $apt install -y --no-install-recommends "$package"; } >"$work/install" 2>&1 ||
		{ cat "$work/install"; fail "$package could not be installed; the tests run it"; }
}

install_browser() { install chromium chromium chromium-browser google-chrome; }

# install_node FOLDER installs what the package-lock.json of a folder names.
install_node() { (cd "$1" && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error); }

# use_memory has tests keep their files in memory, where 4 GB of it can hold files and
# run programs. Most tests wait for the disk half of their time, and none depends on
# it: what a power cut leaves is tested on a simulated disk.
use_memory() {
	memory=$(mktemp -d /dev/shm/furrow.XXXXXX 2>/dev/null) || return 0
	if df -Pk "$memory" | awk 'NR == 2 { exit $4 < 4e6 }' && cp "$(type -P true)" "$memory" && "$memory/true" 2>/dev/null; then
		export GOTMPDIR=$work TMPDIR=$memory
		echo "in $memory"
	fi
}

# start_azurite runs Azurite in memory, on ports that the system chooses and with a key
# of its own, and sets the environment by which the tests find it. The check of API
# versions is off: the SDKs are newer than Azurite knows.
start_azurite() {
	install_node .ci/azurite
	local key log="$work/azurite.log" waited=0 service
	key=$(head -c 32 /dev/urandom | base64)
	: >"$log"
	export FURROW_AZURITE=$PWD/.ci/azurite/node_modules/azurite/dist/src/azurite.js # some tests run their own
	AZURITE_ACCOUNTS="furrowci:$key" node "$FURROW_AZURITE" \
		--inMemoryPersistence --skipApiVersionCheck --disableTelemetry --silent \
		--blobPort 0 --queuePort 0 --tablePort 0 >"$log" 2>&1 &
	azurite=$!
	until [ "$(grep -c 'successfully listening' "$log")" = 3 ]; do
		kill -0 "$azurite" 2>/dev/null && [ $((waited += 1)) -lt 600 ] || { cat "$log"; fail "Azurite did not start"; }
		sleep 0.1
	done
	export FURROW_TEST_STORAGE="AccountName=furrowci;AccountKey=$key"
	export FURROW_TEST_STORAGE_KIND=azurite
	for service in Blob Queue Table; do
		FURROW_TEST_STORAGE+=";${service}Endpoint=$(sed -n "s/.*Azurite $service service is successfully listening at //p" "$log")/furrowci"
	done
}

stop_azurite() {
	kill "$azurite" && wait "$azurite" || true
	azurite=
	unset FURROW_AZURITE FURROW_TEST_STORAGE FURROW_TEST_STORAGE_KIND
}

# sdk FILE... tries furrow storage with Azure's JavaScript SDKs, or with rclone. Without
# a file it runs all of .ci/clients.
sdk() {
	go build -o "$work/furrow" ./cmd/furrow
	install_node .ci/clients
	(cd .ci/clients && FURROW="$work/furrow" node --test "$@") >"$work/clients" 2>&1 || { cat "$work/clients"; return 1; }
	grep -E '^(#|ℹ) (tests|pass|fail) ' "$work/clients"
}
