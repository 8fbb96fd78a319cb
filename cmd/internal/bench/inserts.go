package bench

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"furrow/sas"
)

// inserts are what devices do: each client adds rows to its own partition, with
// a token that can do nothing else.
func inserts() *workload {
	return &workload{
		name:  "insert",
		about: "one row, with a SAS that only adds to the client's own partition",
		null:  true,
		prepare: func(ctx context.Context, e *endpoint, _ int) (operation, error) {
			table, err := e.newTable(ctx)
			if err != nil {
				return nil, err
			}
			devices := make([]*aztables.Client, e.clients)
			for i := range devices {
				if devices[i], err = e.device(table, partition(i)); err != nil {
					return nil, err
				}
			}
			fill, next := newFiller(), newCounters(e.clients)
			return func(ctx context.Context, client int, _ func()) error {
				n := next.of(client)
				_, err := devices[client].AddEntity(ctx, fill.reading(partition(client), rowKey(n), n, e.size), nil)
				return err
			}, nil
		},
	}
}

// device is a client that can add rows to one partition, and nothing else.
func (e *endpoint) device(table, partition string) (*aztables.Client, error) {
	grant := sas.Grant{
		Table: table, Permissions: "a", Expiry: time.Now().Add(24 * time.Hour),
		StartPartition: partition, EndPartition: partition,
	}
	if strings.HasPrefix(e.account.Table, "http:") {
		grant.Protocol = sas.HTTPSAndHTTP
	}
	token, err := grant.Sign(e.account.Name, e.key)
	if err != nil {
		return nil, err
	}
	url := e.account.Table + "/" + table + "?" + token
	options := e.options
	options.PerCallPolicies = append(slices.Clip(options.PerCallPolicies), noContent{})
	return aztables.NewClientWithNoCredential(url, &aztables.ClientOptions{ClientOptions: options})
}

// noContent asks that an insert be not answered with the row, which aztables
// does for transactions only and a device has no use for.
type noContent struct{}

func (noContent) Do(r *policy.Request) (*http.Response, error) {
	r.Raw().Header.Set("Prefer", "return-no-content")
	return r.Next()
}

// counters give each client row keys that rise and never come back.
type counters []int64

func newCounters(clients int) counters {
	c := make(counters, clients)
	for i := range c {
		c[i] = ticksNow()
	}
	return c
}

func (c counters) of(client int) int64 {
	c[client]++
	return c[client]
}
