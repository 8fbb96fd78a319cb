package main

import (
	"encoding/hex"
	"fmt"
	"net/url"
	"strings"

	"furrow/sas"
	"furrow/tables/schema"
)

// firstReading returns a script that sends a device's first reading, for any POSIX shell with
// openssl, curl, date and sed. It proves the device's identity, gets a token, and adds a row to
// the device's partition. caFile is the certificate authority to trust if the system does not.
// The script never exits, because that would end a shell into which it is pasted.
func firstReading(device schema.DeviceID, enrollment schema.EnrollmentID, key sas.Key, endpoint, caFile string) string {
	resource := url.QueryEscape(string(enrollment) + "/registrations/" + string(device))
	return fmt.Sprintf(`device='%s'
key='%s' # the device's key in hexadecimal: a secret
endpoint='%s'
%s`, device, hex.EncodeToString(key), strings.TrimRight(endpoint, "/"), trusting(caFile)) + fmt.Sprintf(`
# Prove the device's identity, for the next hour.
sr='%s'
se=$(($(date +%%s) + 3600))
sig=$(printf '%%s\n%%s' "$sr" "$se" | openssl dgst -sha256 -mac HMAC -macopt "hexkey:$key" -binary | openssl base64 -A | sed 's/+/%%2B/g; s,/,%%2F,g; s/=/%%3D/g')
answer=$(curl -sS -X POST -H "Authorization: SharedAccessSignature sr=$sr&sig=$sig&se=$se" "$endpoint/v1/devices/$device/token")

# The response contains the table and the token.
table=$(printf '%%s' "$answer" | sed -n 's/.*"url" *: *"\([^"]*\)".*/\1/p')
token=$(printf '%%s' "$answer" | sed -n 's/.*"sas" *: *"\([^"]*\)".*/\1/p' | sed 's/\\u0026/\&/g')

# Send a reading. The row's key is the time in units of 100 ns since the year 1.
row=$(printf '%%019d' $((($(date +%%s) + 62135596800) * 10000000)))
if [ -n "$token" ]; then
  curl -sS -w 'storage responds %%{http_code}; 204 is success\n' -H 'Content-Type: application/json' -H 'Prefer: return-no-content' \
    -d "{\"PartitionKey\":\"$device\",\"RowKey\":\"$row\",\"temperature\":21.5}" "$table?$token"
else
  printf 'no token: %%s\n' "$answer" >&2
fi
`, resource)
}

// trusting makes curl trust an authority.
func trusting(caFile string) string {
	if caFile == "" {
		return ""
	}
	return "export CURL_CA_BUNDLE=" + quoted(caFile) + " # the certificate authority to trust\n"
}
