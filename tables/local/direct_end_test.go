package local

import (
	"context"
	"errors"
	"io"
	"net/http"
	"testing"

	"furrow/tables/azuretest/must"
)

// TestCutRequestHasNoAnswer ends a request's context before and within it, and cuts an answer off.
func TestCutRequestHasNoAnswer(t *testing.T) {
	for _, c := range []struct {
		when   string
		handle func(w http.ResponseWriter, end func())
		want   error
	}{
		{"never", func(w http.ResponseWriter, _ func()) { w.Write([]byte("whole")) }, nil},
		{"within", func(w http.ResponseWriter, end func()) { end(); w.Write([]byte("whole")) }, context.Canceled},
		{"before", func(http.ResponseWriter, func()) { t.Error("a request that had ended was served") }, context.Canceled},
		{"cut", func(w http.ResponseWriter, _ func()) {
			w.Write([]byte("half"))
			panic(http.ErrAbortHandler)
		}, io.ErrUnexpectedEOF},
	} {
		ctx, end := context.WithCancel(t.Context())
		defer end()
		if c.when == "before" {
			end()
		}
		d := &direct{handlers: map[string]http.Handler{"here:1": http.HandlerFunc(
			func(w http.ResponseWriter, _ *http.Request) { c.handle(w, end) })}}
		sent := &closing{}
		answer, err := d.RoundTrip(must.Have(http.NewRequestWithContext(ctx, "PUT", "http://here:1/x", sent))(t))
		if !errors.Is(err, c.want) || (err == nil) != (answer != nil) {
			t.Errorf("%s: %v, %v", c.when, answer, err)
		}
		if !sent.closed {
			t.Errorf("%s: the request's body is open", c.when)
		}
		if answer == nil {
			continue
		}
		if text := must.Have(io.ReadAll(answer.Body))(t); string(text) != "whole" || answer.StatusCode != http.StatusOK {
			t.Errorf("%s: %d %q", c.when, answer.StatusCode, text)
		}
		must.Succeed(t, answer.Body.Close())
		if _, err := answer.Body.Read(make([]byte, 1)); !errors.Is(err, http.ErrBodyReadAfterClose) {
			t.Errorf("%s: read after Close: %v", c.when, err)
		}
	}
}

type closing struct{ closed bool }

func (c *closing) Read([]byte) (int, error) { return 0, io.EOF }
func (c *closing) Close() error             { c.closed = true; return nil }
