package bench

import (
	"context"

	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"
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
			to := e.tables.NewClient(table)
			return func(ctx context.Context, client int, _ func()) error {
				return insertTogether(ctx, to, perTransaction, func() []byte {
					n := next.of(client)
					return fill.reading(partition(client), rowKey(n), n, e.size)
				})
			}, nil
		},
	}
}

func insertTogether(ctx context.Context, to *aztables.Client, rows int, row func() []byte) error {
	actions := make([]aztables.TransactionAction, rows)
	for i := range actions {
		actions[i] = aztables.TransactionAction{ActionType: aztables.TransactionTypeAdd, Entity: row()}
	}
	_, err := to.SubmitTransaction(ctx, actions, nil)
	return err
}
