package table

import (
	"encoding/base64"
	"strconv"
	"strings"
	"unicode/utf8"

	"furrow/tables/local/internal/wire"
)

// encodeToken encodes a key for a continuation header as the service does: a version,
// a length, and base64. Clients return it unchanged.
func encodeToken(key string) string {
	text := base64.URLEncoding.EncodeToString([]byte(key))
	return "1!" + strconv.Itoa(len(text)) + "!" + text
}

// decodeToken decodes a token. An empty one is the start.
func decodeToken(parameter, token string) (string, error) {
	if token == "" {
		return "", nil
	}
	parts := strings.SplitN(token, "!", 3)
	if len(parts) == 3 && parts[0] == "1" && parts[1] == strconv.Itoa(len(parts[2])) {
		if key, err := base64.URLEncoding.DecodeString(parts[2]); err == nil && utf8.Valid(key) {
			return string(key), nil
		}
	}
	return "", wire.BadQuery(parameter, token, "Not a continuation token of this service.")
}
