package query

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"furrow/tables"
	"furrow/tables/azuretest/must"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
)

// endless answers every request with one row, or more, and a continuation token, and counts requests.
type endless struct {
	n    atomic.Int64
	rows int // zero: 1
}

func (s *endless) Do(r *http.Request) (*http.Response, error) {
	n := s.n.Add(1)
	w := httptest.NewRecorder()
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("x-ms-continuation-NextPartitionKey", "p")
	w.Header().Set("x-ms-continuation-NextRowKey", "r")
	row := fmt.Sprintf(`{"PartitionKey":%q,"RowKey":"%d"}`, r.URL.Query().Get("$filter"), n)
	for i := range s.rows {
		if row += ","; i == 0 {
			row = ""
		}
		row += fmt.Sprintf(`{"PartitionKey":"p","RowKey":"%d"}`, i)
	}
	fmt.Fprintf(w, `{"value":[%s]}`, row)
	answer := w.Result()
	answer.Request = r
	return answer, nil
}

func (s *endless) table(t *testing.T) *tables.Table {
	t.Helper()
	c, err := tables.Connect(tables.Config{Account: tables.Account{Name: "a", SAS: "sig=x", Table: "http://a.test"},
		Transport: s, Retry: policy.RetryOptions{MaxRetries: -1}})
	must.Succeed(t, err)
	return c.Table("readings")
}

func ranges(table *tables.Table, n int) iter.Seq2[read, error] {
	return func(yield func(read, error) bool) {
		for i := range n {
			if !yield(read{table: table, query: tables.Query{Range: tables.Partition(fmt.Sprint("d", i))}}, nil) {
				return
			}
		}
	}
}

// TestSlowReaderHoldsAFewPagesOfAnEndlessAnswer proves that memory is bounded.
func TestSlowReaderHoldsAFewPagesOfAnEndlessAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		storage := &endless{}
		n := 0
		for _, err := range inOrder(t.Context(), sources(ranges(storage.table(t), 1000), plain), false) {
			must.Succeed(t, err)
			time.Sleep(time.Hour)
			if n++; n == 20 {
				break
			}
		}
		if got := storage.n.Load(); got > 20+2*atOnce {
			t.Errorf("%d pages were read when 20 were wanted", got)
		}
	})
}

// TestSlowReaderOfASearchHoldsAFewPages proves the same for a search that leaves out nine rows of ten.
func TestSlowReaderOfASearchHoldsAFewPages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		storage := &endless{rows: 10}
		tenth := func(_ context.Context, _ read, rows iter.Seq2[tables.Entity, error]) iter.Seq2[tables.Entity, error] {
			return selected(rows, func(e *tables.Entity) (bool, error) { return e.RowKey == "0", nil })
		}
		n := 0
		for _, err := range inOrder(t.Context(), sources(ranges(storage.table(t), 1000), tenth), true) {
			must.Succeed(t, err)
			time.Sleep(time.Hour)
			if n++; n == 20 {
				break
			}
		}
		if got := storage.n.Load(); got > 20+3*10*atOnce || got < 20+10*(atOnce-1) {
			t.Errorf("%d pages were read when those of 20 records were wanted", got)
		}
	})
}

// TestSearchThatFindsNothingEndsWithItsContext: Ctrl-C ends a query that prints nothing.
func TestSearchThatFindsNothingEndsWithItsContext(t *testing.T) {
	storage := &endless{}
	ctx, cancel := context.WithCancel(t.Context())
	none := func(_ context.Context, _ read, rows iter.Seq2[tables.Entity, error]) iter.Seq2[tables.Entity, error] {
		return selected(rows, func(*tables.Entity) (bool, error) {
			if storage.n.Load() > 100 {
				cancel()
			}
			return false, nil
		})
	}
	var last error
	for _, err := range inOrder(ctx, sources(ranges(storage.table(t), 3), none), true) {
		last = err
	}
	if n := storage.n.Load(); !errors.Is(last, context.Canceled) || n > 110 {
		t.Errorf("after %d pages: %v", n, last)
	}
}

// TestCutRangeSaysThatThereIsMore reads two pages of each range.
func TestCutRangeSaysThatThereIsMore(t *testing.T) {
	storage := &endless{}
	var reads iter.Seq2[read, error] = func(yield func(read, error) bool) {
		for r := range ranges(storage.table(t), 3) {
			if r.pages = 2; !yield(r, nil) {
				return
			}
		}
	}
	rows, cut := 0, 0
	for e, err := range inOrder(t.Context(), sources(reads, plain), false) {
		if errors.Is(err, ErrMore) {
			cut++
		} else if rows++; err != nil || !strings.Contains(e.PartitionKey, fmt.Sprintf("'d%d'", cut)) {
			t.Fatalf("after %d ranges: %+v, %v", cut, e, err)
		}
	}
	if rows != 6 || cut != 3 || storage.n.Load() != 6 {
		t.Errorf("%d rows of %d cut ranges, in %d requests", rows, cut, storage.n.Load())
	}
}

func TestErrorOfARangeEndsTheRead(t *testing.T) {
	broken := errors.New("broken")
	storage := &endless{}
	var reads iter.Seq2[read, error] = func(yield func(read, error) bool) { yield(read{}, broken) }
	for _, err := range inOrder(t.Context(), sources(reads, plain), false) {
		if !errors.Is(err, broken) {
			t.Errorf("the error is %v", err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var last error
	for _, err := range inOrder(ctx, sources(ranges(storage.table(t), 3), plain), false) {
		cancel()
		last = err
	}
	if !errors.Is(last, context.Canceled) {
		t.Errorf("a canceled read ends with %v", last)
	}
}
