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
	return Stamped(answer, func(row string) (time.Time, error) {
		at, err := schema.ParseRowKey(row)
		return at.Ticks.Time(), err
	})
}

// Stamped has storage say of all rows of an answer that they were written at a time, which follows from their keys.
func Stamped(answer *http.Response, at func(row string) (time.Time, error)) (*http.Response, error) {
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
		written, err := at(e["RowKey"].(string))
		if err != nil {
			return nil, err
		}
		e["Timestamp"] = written.Format(time.RFC3339Nano)
	}
	text, err := json.Marshal(page)
	answer.Body, answer.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
	answer.Header.Del("Content-Length")
	return answer, err
}
