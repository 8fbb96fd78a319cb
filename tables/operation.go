package tables

import (
	"context"

	"furrow/tables/service"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
)

// A Kind is the kind of an operation.
type Kind uint8

const (
	KindInsert Kind = iota + 1
	KindInsertOrReplace
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
	KindListTables
	KindDelegationKey
)

func (k Kind) String() string {
	return [...]string{"none", "insert", "insert or replace", "replace", "merge", "delete",
		"get", "query", "transaction", "create table", "delete table", "get policies", "set policies", "list tables",
		"get user delegation key"}[k]
}

// An Operation is one request and its answer. A retry is another Operation, because it is
// billed.
type Operation struct {
	Kind   Kind
	Table  string
	Status int // of the answer; 0 without one
}

// A Counter counts operations by kind; Count is meant for Config.OnOperation. The zero
// Counter is ready for use, and safe for concurrent use.
type Counter struct{ counts service.Counts[Kind] }

// Count counts one operation.
func (c *Counter) Count(_ context.Context, o Operation) { c.counts.Add(o.Kind) }

// Counts returns the counts of the kinds that have occurred.
func (c *Counter) Counts() map[Kind]int64 { return c.counts.Map() }

// observe returns a policy that calls on for every try of every operation.
func observe(on func(context.Context, Operation)) policy.Policy {
	return service.Observe[*call](func(ctx context.Context, c *call, t service.Try) {
		on(ctx, Operation{Kind: c.kind, Table: c.table, Status: t.Status})
	})
}
