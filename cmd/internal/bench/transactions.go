package bench

import (
	"context"

	"furrow/tables"
)

// perTransaction is the most that Azure takes.
const perTransaction = 100

// transactions go with the account's key: Azurite refuses a SAS for them.
func transactions() *workload {
	return &workload{
		name:  "transaction",
		about: "100 inserts into the client's own partition, all or none",
		rows:  perTransaction,
		prepare: func(ctx context.Context, e *endpoint, _ int) (operation, error) {
			table, err := e.newTable(ctx)
			if err != nil {
				return nil, err
			}
			fill, next := newFiller(), newCounters(e.clients)
			to := e.tables.Table(table)
			return func(ctx context.Context, client int, _ func()) error {
				return insertTogether(ctx, to, perTransaction, func() tables.Entity {
					n := next.of(client)
					return fill.entity(partition(client), rowKey(n), n, e.size)
				})
			}, nil
		},
	}
}

func insertTogether(ctx context.Context, to *tables.Table, rows int, row func() tables.Entity) error {
	ops := make([]tables.Op, rows)
	for i := range ops {
		ops[i] = tables.Insert(row())
	}
	_, err := to.Submit(ctx, ops)
	return err
}
