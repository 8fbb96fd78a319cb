package jobstest

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"time"

	"furrow/tables/schema"
)

// Arrived has all readings of an answer have arrived at the time of their row keys.
func Arrived(answer *http.Response) (*http.Response, error) {
	if answer.StatusCode != http.StatusOK {
		return answer, nil
	}
	var page struct {
		Value []map[string]any `json:"value"`
	}
	err := json.NewDecoder(answer.Body).Decode(&page)
	if err != nil {
		return nil, err
	}
	for _, e := range page.Value {
		at, err := schema.ParseRowKey(e["RowKey"].(string))
		if err != nil {
			return nil, err
		}
		e["Timestamp"] = at.Ticks.Time().Format(time.RFC3339Nano)
	}
	text, err := json.Marshal(page)
	answer.Body, answer.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
	answer.Header.Del("Content-Length")
	return answer, err
}
