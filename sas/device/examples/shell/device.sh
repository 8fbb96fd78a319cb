#!/bin/sh
# A device that takes a reading now and then and stores it with Furrow: for Linux with any POSIX
# shell, curl and openssl.
#
# It reads device.conf, and keeps each reading that is not stored yet as a file of the folder
# readings, so that a restart loses nothing. The name of the file is the row key.
set -u

limit=1000  # readings kept while nothing can be sent; above it the oldest are dropped
timeout=10  # seconds to wait for a response
longest=300 # seconds between two attempts, at most

# Prints the values of one reading. Put your sensors here.
read_sensors() { printf '"temperature":%d.%d' "$((20 + $(random) % 4))" "$(($(random) % 10))"; }

# Says whether the workers have to look at this reading in their next run, not only when they expect one.
is_urgent() {
	set -- "${1#*'"temperature":'}"
	[ "${1%%.*}" -gt 60 ]
}

eval "$(tr -d '\r' < device.conf)" # endpoint, device, enrollment, key, and perhaps ca and every
[ -z "${ca-}" ] || export CURL_CA_BUNDLE="$ca"
key=$(printf '%s' "$key" | openssl base64 -d -A | od -An -v -tx1 | tr -d ' \n')
boot=$(od -An -N4 -tx1 /dev/urandom | tr -d ' ') number=0
zero='' token='' urgent='' fails=0 refused=0
umask 077 && mkdir -p readings

random() { od -An -N2 -tu2 /dev/urandom | tr -d ' '; }

# Sets now to the uptime in ticks of 100 ns. Unlike date, it cannot be set.
uptime() {
	read -r now _ </proc/uptime
	now=${now%.*}${now#*.} && now=$((now * 100000))
}

# Prints the ticks since 0001-01-01 of a time such as 2026-11-21T15:00:00.123456Z. The 1 before each
# pair of digits is there because 08 would be octal.
ticks_of() {
	y=${1%%-*} rest=${1#*-} && m=$((1${rest%%-*} - 100)) rest=${rest#*-} && d=$((1${rest%%T*} - 100)) rest=${rest#*T}
	seconds=$(((1${rest%%:*} - 100) * 3600)) rest=${rest#*:} && seconds=$((seconds + (1${rest%%:*} - 100) * 60)) rest=${rest#*:}
	rest=${rest%Z} && seconds=$((seconds + 1${rest%%.*} - 100))
	[ "$m" -gt 2 ] || { y=$((y - 1)) && m=$((m + 12)); }
	days=$((365 * y + y / 4 - y / 100 + y / 400 + (153 * m - 457) / 5 + d - 307))
	echo "$(((days * 86400 + seconds) * 10000000))"
}

# Prints a member of a flat JSON object.
field() { printf '%s' "$answer" | sed -n 's/.*"'"$1"'" *: *"\{0,1\}\([^",}]*\).*/\1/p' | sed 's/\\u0026/\&/g'; }

escape() { sed 's/+/%2B/g; s,/,%2F,g; s/=/%3D/g; s/:/%3A/g'; }

forget() { # reading, why
	echo "$2 ${1#readings/}" "${3-}"
	rm -f "$1"
}

# A reading's row key is its identity: storage refuses a second row with the same key, so that sending
# a reading again is harmless. The key must never change once it may have been sent. Before the time
# is known, the name starts with + and the uptime instead.
take_reading() {
	set -- readings/[0-9]* readings/+* # oldest first
	[ -f "$1" ] || shift
	if [ $# -ge $limit ] && [ -f "$1" ]; then forget "$1" dropped 'the buffer is full'; fi
	uptime
	number=$((number + 1))
	if [ "$zero" ]; then at=$(printf '%019d' $((zero + now))); else at=$(printf '+%019d' "$now"); fi
	values=$(read_sensors)
	printf '%s' "$values" >reading.new && sync reading.new &&
		mv reading.new "readings/$at-$boot.$number" && sync readings || exit 1 # on disk, whatever happens next
	echo "kept $boot.$number"
	is_urgent "$values" || return 0
	urgent=yes
	[ $fails -gt 0 ] || attempt_at=0 # after a failure it waits all the same
}

# Gives the readings of this boot their keys, before any is sent.
learn_time() { # server's time, uptime
	zero=$(($(ticks_of "$1") - $2))
	for reading in readings/+*; do
		[ -f "$reading" ] || continue
		name=${reading#readings/+} && up=${name%%-*}
		mv "$reading" "readings/$(printf '%019d' "$((zero + ${up#"${up%%[!0]*}"}))")-${name#*-}"
	done
}

# post URL HEADER BODY sets status, wait (Retry-After) and answer. The URL goes through a pipe, because
# other users of this machine can see arguments, and it has the token.
post() {
	answer=$(printf 'url = "%s"\nheader = "%s"\n' "$1" "$2" | curl -sS -K - -m $timeout -X POST -D headers \
		-H 'Content-Type: application/json' -H 'Prefer: return-no-content' --data-raw "$3" -w '\n%{http_code}') ||
		answer='
0'
	status=${answer##*
} && answer=${answer%
*}
	wait=$(sed -n 's/^[Rr]etry-[Aa]fter: *\([0-9]\{1,4\}\).*/\1/p' headers 2>/dev/null)
	: >headers
}

# Sets proof, the header that proves who this is. The key itself never leaves the device, but openssl
# takes it as an argument: run this where nobody else can list processes.
prove() {
	if [ "$zero" ]; then uptime && expiry=$(((zero + now) / 10000000 - 62135596800 + 600)); else expiry=$(($(date +%s) + 600)); fi
	resource=$(printf '%s/registrations/%s' "$enrollment" "$device" | escape)
	signature=$(printf '%s\n%s' "$resource" "$expiry" | openssl dgst -sha256 -mac HMAC -macopt "hexkey:$key" -binary | openssl base64 -A | escape)
	proof="Authorization: SharedAccessSignature sr=$resource&sig=$signature&se=$expiry"
}

get_token() { # body
	for attempt in 1 2; do
		prove && uptime && sent=$now
		post "$endpoint/v1/devices/$device/token" "$proof" "${1-}"
		uptime
		code=$(field code)
		case $status$code in
		200* | *proof-expired | *proof-too-long)
			server=$(field serverTime) # a proxy's page has none
			[ -z "$server" ] || learn_time "$server" $(((sent + now) / 2))
			;;
		esac
		case $code in # the next proof uses the server's time
		proof-expired | proof-too-long) ;;
		*) break ;;
		esac
	done
	[ "$status" = 200 ] && [ "$(field sas)" ] || { echo "failed no token: $status $code" && return 1; }
	token=$(field sas) table=$(field url) partition=$(field partitionKey) earliest=$(field earliestRowKey) latest=$(field latestRowKey)
	every_send=$(field sendEvery)
	renew=$(($(ticks_of "$(field renewAfter)") - zero)) end=$(($(ticks_of "$(field expires)") - zero))
	renew=$((renew + (end - renew) / 131072 * $(random))) # random, so that a fleet does not renew together
	echo "token until $(field expires)"
}

# Sends the oldest reading.
deliver() { # reading
	row=${1#readings/}
	if [ "${row%%-*}" -lt "$earliest" ] || [ "${row%%-*}" -ge "$latest" ]; then
		forget "$1" dropped 'the token does not admit its time'
		return
	fi
	post "$table?$token" 'Accept: application/json;odata=nometadata' "{\"PartitionKey\":\"$partition\",\"RowKey\":\"$row\",$(cat "$1")}"
	case $status$answer in # a proxy that refuses has pages of its own, and knows no row
	201* | 204* | 409*'"odata.error"'*) # 409: an earlier attempt stored it
		forget "$1" stored
		fails=0 refused=0
		;;
	400*'"odata.error"'* | 413*) forget "$1" dropped "storage refuses it: $status" ;;
	401* | 403* | 404*) # this device or another one of its cohort was revoked
		token='' refused=$((refused + 1))
		[ $refused = 1 ] || { echo "failed not stored: $status" && return 1; }
		;;
	*) echo "failed not stored: $status" && return 1 ;;
	esac
}

# Does what is due. Sets pause to the milliseconds until the next attempt.
step() {
	uptime
	if [ -z "$token" ] || [ "$now" -gt "$renew" ]; then
		if ! get_token; then
			if [ -z "$token" ] || [ "$now" -gt "$end" ]; then back_off && return; fi
			renew=$((now + 600000000)) # the old one is good for a while
		fi
	fi
	set -- readings/[0-9]*
	if [ -f "$1" ]; then deliver "$1" || { back_off && return; }; fi
	pause=0
	set -- readings/[0-9]*
	[ ! -f "$1" ] || return 0
	if [ "$urgent" ]; then # what is urgent is stored: have the next run look at this device
		get_token '{"ring":true}' || { back_off && return; }
		urgent='' fails=0
	fi
	pause=$((every_send * 1000))
}

# A random part keeps devices that failed together from coming back together. A device that is revoked
# asks less and less, and sends what it kept once it is restored.
back_off() {
	most=$((1 << (fails < 9 ? fails : 9))) fails=$((fails + 1))
	[ $most -le $longest ] || most=$longest
	pause=$((${wait:-0} * 1000 + most * 500 + most * 500 * $(random) / 65536))
}

for reading in readings/+*; do
	[ ! -f "$reading" ] || forget "$reading" dropped 'its boot ended before the time was known'
done
uptime
reading_at=$now attempt_at=$now
while :; do
	uptime
	if [ "$now" -ge "$reading_at" ]; then
		take_reading
		reading_at=$((reading_at + ${every:-60} * 10000000))
	fi
	if [ "$now" -ge "$attempt_at" ]; then
		step
		uptime
		attempt_at=$((now + pause * 10000))
	fi
	uptime
	left=$(((reading_at < attempt_at ? reading_at : attempt_at) - now))
	if [ $left -gt 0 ]; then sleep "$((left / 10000000)).$(printf '%07d' $((left % 10000000)))"; fi
done
