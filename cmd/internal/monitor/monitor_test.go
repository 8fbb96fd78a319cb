package monitor

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"furrow/tables"
	"furrow/tables/azuretest/faults"
	"furrow/tables/azuretest/must"
)

// TestCanceledReadIsNoFailureOfStorage: a client has left, or enough was read. One that storage did not answer in time
// is a failure.
func TestCanceledReadIsNoFailureOfStorage(t *testing.T) {
	t.Parallel()
	m := New()
	asked := make(chan bool)
	silent := faults.Func(func(r *http.Request) (*http.Response, error) {
		asked <- true
		<-r.Context().Done()
		return nil, r.Context().Err()
	})
	client := must.Have(tables.Connect(tables.Config{OnOperation: m.CountTable, Transport: silent,
		Account: must.Have(tables.ParseAccount("AccountName=a;AccountKey=a2V5"))(t),
		Retry:   policy.RetryOptions{MaxRetries: -1}}))(t)
	read := func(ctx context.Context) {
		done := make(chan error)
		go func() {
			_, err := client.Table("x").Get(ctx, "p", "r")
			done <- err
		}()
		<-asked
		if ctx, is := ctx.(interface{ cancel() }); is {
			ctx.cancel()
		}
		if err := <-done; err == nil {
			t.Error("it was read")
		}
	}
	canceled, cancel := context.WithCancel(t.Context())
	read(cancelable{canceled, cancel})
	if n := testutil.ToFloat64(m.failures.WithLabelValues("table")); n != 0 {
		t.Errorf("%v failures of a read that was canceled", n)
	}
	late, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	read(late)
	if n := testutil.ToFloat64(m.failures.WithLabelValues("table")); n != 1 {
		t.Errorf("%v failures of a read that storage did not answer", n)
	}
	if n := testutil.ToFloat64(m.operations.WithLabelValues("table", "get")); n != 2 {
		t.Errorf("%v operations", n)
	}
}

// A cancelable context can be canceled by who has it.
type cancelable struct {
	context.Context
	end context.CancelFunc
}

func (c cancelable) cancel() { c.end() }
