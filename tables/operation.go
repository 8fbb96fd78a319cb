package tables

import (
	"context"
	"time"

	"furrow/tables/service"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
)

// A Kind is what an operation does.
type Kind uint8

const (
	KindInsert Kind = iota + 1
	KindInsertOrReplace
	KindInsertOrMerge
	KindReplace
	KindMerge
	KindDelete
	KindGet
	KindQuery
	KindTransaction
	KindCreateTable
	KindDeleteTable
	KindGetPolicies
	KindSetPolicies
	kinds
)

func (k Kind) String() string {
	return [...]string{"none", "insert", "insert or replace", "insert or merge", "replace", "merge", "delete",
		"get", "query", "transaction", "create table", "delete table", "get policies", "set policies"}[k]
}

// An Operation is one request as it was answered; a retry is one more, as it is
// on the bill.
type Operation struct {
	Kind   Kind
	Table  string
	Rows   int           // entities in the request: of a transaction, how many operations it has
	Status int           // of the answer; 0 when there was none
	Took   time.Duration // until the whole answer was there
}

// A Counter counts operations by kind. Its Count is made for Config.OnOperation;
// the zero Counter is ready, and safe for concurrent use.
type Counter struct{ counts service.Counts[Kind] }

// Count counts one operation.
func (c *Counter) Count(_ context.Context, o Operation) { c.counts.Add(o.Kind) }

// Counts are the counts of every kind that has occurred.
func (c *Counter) Counts() map[Kind]int64 { return c.counts.Map() }

// observe tells on about every try of every operation.
func observe(on func(context.Context, Operation)) policy.Policy {
	return service.Observe[*call](func(ctx context.Context, c *call, t service.Try) {
		on(ctx, Operation{Kind: c.kind, Table: c.table, Rows: c.rows, Status: t.Status, Took: t.Took})
	})
}
