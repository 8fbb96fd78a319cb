package answers

import (
	"mime"
	"strconv"
	"strings"
)

// A Format is how rows are written.
type Format string

// All formats.
const (
	Table Format = "table" // for people: aligned
	JSON  Format = "json"  // one object that has all rows
	JSONL Format = "jsonl" // an object per row and line
	CSV   Format = "csv"
	Arrow Format = "arrow" // an IPC stream
)

// ForPrograms returns the names of the formats of /v1, which programs read.
func ForPrograms() []string { return []string{string(JSON), string(JSONL), string(CSV), string(Arrow)} }

// MediaType returns the Content-Type of an answer.
func (f Format) MediaType() string {
	return map[Format]string{JSON: "application/json", JSONL: "application/x-ndjson", CSV: "text/csv; charset=utf-8",
		Arrow: "application/vnd.apache.arrow.stream"}[f]
}

// mediaTypes are what clients ask for.
func mediaTypes() map[string]Format {
	return map[string]Format{"application/json": JSON, "application/*": JSON, "*/*": JSON, "application/x-ndjson": JSONL,
		"application/jsonl": JSONL, "text/csv": CSV, "text/*": CSV, "application/vnd.apache.arrow.stream": Arrow}
}

// Accepted returns the format that an Accept header prefers: the first of those with the greatest q. It is JSON where
// the header is empty or names no format.
func Accepted(header string) Format {
	best, weight := JSON, 0.0
	for part := range strings.SplitSeq(header, ",") {
		name, params, err := mime.ParseMediaType(part)
		f, known := mediaTypes()[name]
		if err != nil || !known {
			continue
		}
		q := 1.0
		if text, has := params["q"]; has {
			if q, err = strconv.ParseFloat(text, 64); err != nil {
				continue
			}
		}
		if q > weight {
			best, weight = f, q
		}
	}
	return best
}
