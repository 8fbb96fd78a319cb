package local_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"furrow/tables/azuretest"

	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"
)

func openTable(t *testing.T, a azuretest.Account, name string) (*aztables.Client, error) {
	table := a.Tables(t).NewClient(name)
	return table, ignore(done(table.CreateTable(t.Context(), nil)), "TableAlreadyExists")
}

// ignore drops an error of that code.
func ignore(err error, code string) error {
	if err != nil && strings.Contains(err.Error(), code) {
		return nil
	}
	return err
}

// row is a row whose content follows from its key.
func row(partition, key string, version int) []byte {
	b, err := json.Marshal(map[string]any{"PartitionKey": partition, "RowKey": key, "Version": version,
		"Content": strings.Repeat(fmt.Sprint(partition, key, version, " "), 10)})
	if err != nil {
		panic(err)
	}
	return b
}

// rows reads a partition as a map from row key to version, checking contents.
func rows(ctx context.Context, c *aztables.Client, partition string) (map[string]int, error) {
	found := map[string]int{}
	filter := "PartitionKey eq '" + partition + "'"
	pages := c.NewListEntitiesPager(&aztables.ListEntitiesOptions{Filter: &filter})
	for pages.More() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		for _, e := range page.Entities {
			var got struct {
				RowKey, Content string
				Version         int
			}
			if err := json.Unmarshal(e, &got); err != nil {
				return nil, err
			}
			if want := strings.Repeat(fmt.Sprint(partition, got.RowKey, got.Version, " "), 10); got.Content != want {
				return nil, fmt.Errorf("row %s/%s holds %q, want %q", partition, got.RowKey, got.Content, want)
			}
			found[got.RowKey] = got.Version
		}
	}
	return found, nil
}

// rowLoad inserts rows, and counts them in one that it replaces.
type rowLoad struct {
	worker      int
	table       *aztables.Client
	tried       int // inserts
	acked       []string
	counter     int // the last acknowledged
	counterNext int // the last tried
}

func (l *rowLoad) partition() string { return fmt.Sprint("rows", l.worker) }

func (l *rowLoad) prepare(t *testing.T, a azuretest.Account) (err error) {
	l.table, err = openTable(t, a, fmt.Sprint("rows", l.worker%2))
	return err
}

func (l *rowLoad) step(ctx context.Context) error {
	l.tried++
	key := fmt.Sprintf("%08d", l.tried)
	if _, err := l.table.AddEntity(ctx, row(l.partition(), key, l.tried), nil); err != nil {
		return err
	}
	l.acked = append(l.acked, key)
	l.counterNext = l.tried
	if _, err := l.table.UpsertEntity(ctx, row(l.partition(), "counter", l.tried),
		&aztables.UpsertEntityOptions{UpdateMode: aztables.UpdateModeReplace}); err != nil {
		return err
	}
	l.counter = l.tried
	return nil
}

func (l *rowLoad) verify(ctx context.Context) error {
	found, err := rows(ctx, l.table, l.partition())
	if err != nil {
		return err
	}
	for _, key := range l.acked {
		if _, ok := found[key]; !ok {
			return fmt.Errorf("row %s/%s was acknowledged and is gone", l.partition(), key)
		}
	}
	v := found["counter"]
	if v != l.counter && v != l.counterNext {
		return fmt.Errorf("the counter of %s is %d, acknowledged were %d, tried %d", l.partition(), v, l.counter,
			l.counterNext)
	}
	l.counter, l.counterNext = v, v // seen now, whether it was acknowledged or not
	return nil
}

// perTransaction is how many rows a transaction inserts.
const perTransaction = 20

// transactionLoad inserts rows by transactions, each with a count of them.
type transactionLoad struct {
	worker int
	table  *aztables.Client
	tried  int
	acked  map[int]bool
}

func (l *transactionLoad) partition() string { return fmt.Sprint("transactions", l.worker) }

func (l *transactionLoad) prepare(t *testing.T, a azuretest.Account) (err error) {
	l.table, err = openTable(t, a, "transactions")
	return err
}

func (l *transactionLoad) step(ctx context.Context) error {
	l.tried++
	var actions []aztables.TransactionAction
	for i := range perTransaction {
		actions = append(actions, aztables.TransactionAction{ActionType: aztables.TransactionTypeAdd,
			Entity: row(l.partition(), fmt.Sprintf("%08d-%02d", l.tried, i), l.tried)})
	}
	actions = append(actions, aztables.TransactionAction{ActionType: aztables.TransactionTypeInsertReplace,
		Entity: row(l.partition(), "counter", l.tried)})
	if _, err := l.table.SubmitTransaction(ctx, actions, nil); err != nil {
		return err
	}
	if l.acked == nil {
		l.acked = map[int]bool{}
	}
	l.acked[l.tried] = true
	return nil
}

func (l *transactionLoad) verify(ctx context.Context) error {
	found, err := rows(ctx, l.table, l.partition())
	if err != nil {
		return err
	}
	count, last := map[int]int{}, 0
	for key, version := range found {
		if key != "counter" {
			count[version]++
			last = max(last, version)
		}
	}
	for n := 1; n <= l.tried; n++ {
		if c := count[n]; c != perTransaction && (c != 0 || l.acked[n]) {
			return fmt.Errorf("transaction %d of %s has %d of %d rows (acknowledged: %v)", n, l.partition(), c,
				perTransaction, l.acked[n])
		}
	}
	if found["counter"] != last {
		return fmt.Errorf("the counter of %s is %d, its last transaction %d", l.partition(), found["counter"], last)
	}
	return nil
}
