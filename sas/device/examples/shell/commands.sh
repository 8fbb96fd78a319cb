#!/bin/sh
# Obeys the commands of a device once, with curl: for Linux with any POSIX shell and GNU sed.
#
#   furrow token oven-3 --json | sh commands.sh
#
# A device has the answer from the token endpoint instead. Without the right time, use that of the answer.
set -u

# Does what a command says, and prints the state to acknowledge: succeeded or failed.
obey() { # body
	printf 'obeying %s\n' "$1" >&2
	echo succeeded
}

answer=$(cat)
field() { printf '%s' "$answer" | sed -n 's/.*"'"$1"'" *: *"\{0,1\}\([^",}]*\).*/\1/p' | sed 's/\\u0026/\&/g'; }
device=$(field partitionKey) url=$(field commandsUrl)
[ "$url" ] || { echo 'the enrollment has no commands' >&2 && exit 1; }

# Other users of this machine can see arguments, and the URL has the token: it goes through a pipe.
with_url() { # URL, arguments
	printf 'url = "%s"\n' "$1" | (shift && curl -sS -f -K - -H 'Accept: application/json;odata=nometadata' \
		-H 'x-ms-version: 2019-02-02' "$@")
}

# Storage answers with what has not expired, also with what was obeyed already: keep the IDs of that.
rows=$(with_url "$url()?$(field commandsSas)" -G --data-urlencode "\$filter=PartitionKey eq '$device' and \
Expires gt datetime'$(date -u +%Y-%m-%dT%H:%M:%SZ)'" --data-urlencode '$select=PartitionKey,RowKey,Body') || exit 1
number=0
printf '%s\n' "$rows" | sed 's/{"PartitionKey"/\n&/g' | while read -r row; do
	id=$(printf '%s' "$row" | sed -n 's/.*"RowKey":"\([0-9]*-[^"]*\)".*/\1/p')
	[ "$id" ] || continue # the head, or the desired configuration
	body=$(printf '%s' "$row" | sed 's/.*"Body":"\(\([^"\\]\|\\.\)*\)".*/\1/; s/\\\(["\\/]\)/\1/g')
	state=$(obey "$body")
	number=$((number + 1))
	key=$(printf '%019d' $((($(date +%s) + 62135596800) * 10000000)))-ack.$number
	with_url "$(field url)?$(field sas)" -H 'Content-Type: application/json' -H 'Prefer: return-no-content' --data-raw \
		"{\"PartitionKey\":\"$device\",\"RowKey\":\"$key\",\"_ack\":\"{\\\"id\\\":\\\"$id\\\",\\\"state\\\":\\\"$state\\\"}\"}" ||
		exit 1
	echo "$state $id"
done
