package roles

import (
	"errors"
	"net/http"
	"testing"

	"furrow/tables"
	"furrow/tables/azuretest/must"
	"furrow/tables/local"
	"furrow/tables/schema"
)

type transportFunc func(*http.Request) (*http.Response, error)

func (f transportFunc) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestEveryAnswerSaysWhetherTheDiskIsFull, and no answer says nothing.
func TestEveryAnswerSaysWhetherTheDiskIsFull(t *testing.T) {
	t.Parallel()
	var header http.Header
	unanswered := errors.New("no answer")
	transport := &http.Client{Transport: transportFunc(func(*http.Request) (*http.Response, error) {
		if header == nil {
			return nil, unanswered
		}
		return &http.Response{StatusCode: http.StatusOK, Header: header, Body: http.NoBody}, nil
	})}
	c := must.Have(Connect(tables.Account{Name: "furrow", Table: "http://localhost/furrow"}, schema.Names{}, transport))(t)
	full := http.Header{local.FullHeader: {"true"}}
	for i, step := range []struct {
		answer http.Header
		want   bool
	}{{http.Header{}, false}, {full, true}, {nil, true}, {http.Header{}, false}} {
		header = step.answer
		if _, err := c.HTTP.Get("http://localhost/furrow"); err != nil && !errors.Is(err, unanswered) {
			t.Fatal(err)
		}
		if got := c.DiskFull(); got != step.want {
			t.Errorf("after answer %d the disk is full: %v, want %v", i, got, step.want)
		}
	}
}
