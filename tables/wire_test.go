package tables_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"furrow/tables/azuretest/must"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/google/uuid"

	"furrow/tables"
	"furrow/tables/azuretest"
	"furrow/tables/schema"
)

// storage returns the account in FURROW_TEST_STORAGE, a connection string, or an embedded
// server.
func storage(t testing.TB) tables.Account {
	t.Helper()
	text := os.Getenv("FURROW_TEST_STORAGE")
	if text == "" {
		text = azuretest.Local(t).ConnectionString()
	}
	account := must.Have(tables.ParseAccount(text))(t)
	return account
}

// connect returns a client with c. Without an account it uses storage.
func connect(t testing.TB, c tables.Config) *tables.Client {
	t.Helper()
	if c.Account == (tables.Account{}) {
		c.Account = storage(t)
	}
	client := must.Have(tables.Connect(c))(t)
	return client
}

// newTable creates a table, and deletes it when the test ends.
func newTable(t testing.TB, client *tables.Client) *tables.Table {
	t.Helper()
	table := client.Table("t" + strings.ReplaceAll(uuid.NewString(), "-", ""))
	must.Succeed(t, table.Create(t.Context()))
	t.Cleanup(func() {
		if err := table.Delete(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	return table
}

func do(t testing.TB, table *tables.Table, op tables.Op) tables.ETag {
	t.Helper()
	w := must.Have(table.Do(t.Context(), op))(t)
	return w.ETags[0]
}

func row(pk, rk string, properties ...tables.Property) tables.Entity {
	return tables.Entity{PartitionKey: pk, RowKey: rk, Properties: properties}
}

func number(i int32) tables.Property { return tables.Property{Name: "N", Value: tables.Int32(i)} }

func TestEntitiesAreReadAsWritten(t *testing.T) {
	table := newTable(t, connect(t, tables.Config{}))
	want := row("it's", "0639307630201234567-a!b|c d")
	for i, v := range []tables.Value{
		tables.String("78.8"), tables.String("it's \"é\" 😀\n"), tables.Boolean(true), tables.Boolean(false),
		tables.Int32(math.MinInt32), tables.Int64(1<<53 + 1), tables.Int64(math.MinInt64),
		tables.Double(21), tables.Double(-1.5), tables.Double(1e21),
		tables.Double(math.Inf(-1)), tables.Double(math.NaN()), tables.Binary([]byte{0, 1, 0xff}),
		tables.DateTime(639307630201234567), tables.GUID("c9da6455-213d-42c9-9a79-3e9149a57833"),
	} {
		want.Set(fmt.Sprintf("P%02d", i), v)
	}
	written := must.Have(table.Do(t.Context(), tables.Insert(want)))(t)
	got := must.Have(table.Get(t.Context(), want.PartitionKey, want.RowKey))(t)
	same(t, got, want)
	if got.ETag != written.ETags[0] || got.ETag == "" {
		t.Errorf("the insert returned ETag %s, the get %s", written.ETags[0], got.ETag)
	}
	if age := time.Since(got.Timestamp.Time()).Abs(); age > time.Minute {
		t.Errorf("Timestamp is %v", got.Timestamp.Time())
	}
	for _, e := range all(t, table, tables.Query{Range: tables.Partition("it's")}) {
		same(t, e, want)
		if e.ETag != got.ETag || e.Timestamp != got.Timestamp {
			t.Errorf("the query returned %s %v, the get %s %v", e.ETag, e.Timestamp, got.ETag, got.Timestamp)
		}
	}
}

func same(t *testing.T, got, want tables.Entity) {
	t.Helper()
	got.ETag, got.Timestamp = "", 0
	slices.SortFunc(got.Properties, func(a, b tables.Property) int { return strings.Compare(a.Name, b.Name) })
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func all(t testing.TB, table *tables.Table, q tables.Query) (rows []tables.Entity) {
	t.Helper()
	for page, err := range table.Rows(t.Context(), q) {
		must.Succeed(t, err)
		rows = append(rows, page.Rows...)
	}
	return rows
}

func TestVersionsGuardWrites(t *testing.T) {
	table, ctx := newTable(t, connect(t, tables.Config{})), t.Context()
	first := do(t, table, tables.Insert(row("p", "r", number(1))))
	_, err := table.Do(ctx, tables.Insert(row("p", "r", number(2))))
	named(t, err, tables.ErrExists, http.StatusConflict)
	if text := err.Error(); !strings.HasPrefix(text, `insert: table `+table.Name+
		` "p" "r": it exists already (EntityAlreadyExists, 409`) || strings.Contains(text, "\n") {
		t.Errorf("the error reads %s", text)
	}

	second := do(t, table, tables.Replace(row("p", "r", number(3)), first))
	for _, op := range []tables.Op{
		tables.Replace(row("p", "r", number(4)), first), tables.Merge(row("p", "r", number(4)), first),
		tables.Delete("p", "r", first),
	} {
		_, err := table.Do(ctx, op)
		named(t, err, tables.ErrConflict, http.StatusPreconditionFailed)
	}
	do(t, table, tables.Merge(row("p", "r", tables.Property{Name: "M", Value: tables.String("x")}), second))
	e, err := table.Get(ctx, "p", "r")
	if err != nil || e.Get("N") != tables.Int32(3) || e.Get("M") != tables.String("x") {
		t.Fatalf("after the merge: %+v, %v", e, err)
	}
	do(t, table, tables.InsertOrReplace(row("p", "r", number(5))))
	if e, err = table.Get(ctx, "p", "r"); err != nil || e.Get("N") != tables.Int32(5) || len(e.Properties) != 1 {
		t.Fatalf("after the upsert: %+v, %v", e, err)
	}
	do(t, table, tables.Delete("p", "r", e.ETag))
	for _, op := range []tables.Op{
		tables.Replace(row("p", "r"), e.ETag), tables.Merge(row("p", "r"), tables.AnyETag),
		tables.Delete("p", "r", tables.AnyETag),
	} {
		_, err := table.Do(ctx, op)
		named(t, err, tables.ErrNotFound, http.StatusNotFound)
	}
	_, err = table.Get(ctx, "p", "r")
	named(t, err, tables.ErrNotFound, http.StatusNotFound)
}

func named(t *testing.T, err, want error, status int) {
	t.Helper()
	re, ok := errors.AsType[*azcore.ResponseError](err)
	if !errors.Is(err, want) || !ok || re.StatusCode != status {
		t.Errorf("got %v, want %v under status %d", err, want, status)
	}
}

func TestMissingTableIsNotAMissingEntity(t *testing.T) {
	table := connect(t, tables.Config{}).Table("missing" + strings.ReplaceAll(uuid.NewString(), "-", ""))
	_, err := table.Do(t.Context(), tables.Insert(row("p", "r")))
	named(t, err, tables.ErrNoTable, http.StatusNotFound)
	for _, err := range table.Rows(t.Context(), tables.Query{}) {
		named(t, err, tables.ErrNoTable, http.StatusNotFound)
	}
	if err := table.Delete(t.Context()); err != nil {
		t.Errorf("deleting a missing table: %v", err)
	}
}

func TestCreateLeavesAnExistingTable(t *testing.T) {
	client := connect(t, tables.Config{})
	table := newTable(t, client)
	do(t, table, tables.Insert(row("p", "r")))
	must.Succeed(t, table.Create(t.Context()))
	if len(all(t, table, tables.Query{})) != 1 {
		t.Error("the second Create has emptied the table")
	}
	if err := client.Table("a-b").Create(t.Context()); err == nil || !strings.Contains(err.Error(), "'-'") {
		t.Errorf("table a-b: %v", err)
	}
}

func TestRangesReadTheRowsTheyContain(t *testing.T) {
	table := newTable(t, connect(t, tables.Config{}))
	var keys []tables.Entity
	for _, pk := range []string{"2026-10", "2026-11", "2026-11.03", "2026-12", "it's", "a:b", "a:b:c", "a:c", "A:b"} {
		for _, rk := range []string{"a!1", "a!2", "a-b!1", "b!1", "it's"} {
			keys = append(keys, row(pk, rk))
			do(t, table, tables.Insert(row(pk, rk)))
		}
	}
	prefix := must.Have(schema.IDsWithPrefix("a:"))(t)
	for _, r := range []tables.Range{
		{}, tables.Partition("2026-11"), tables.Partition("it's"), tables.PartitionsAfter("2026-11"),
		tables.PartitionsAfter(""), tables.RowsAfter("2026-11", "a!1", "b!1"), tables.RowsAfter("2026-11", "", "a!2"),
		tables.RowsAfter("2026-11", "a!2", ""), tables.RowsAfter("it's", "b!1", "it's"),
		tables.RowsBetween("a:b", "a-b!1", "b!1"), {Partitions: prefix},
		{Partitions: tables.Is("a:b"), Rows: schema.Buckets("a", "a")},
		{Partitions: tables.Is("a:b"), Rows: schema.Buckets("a", "a-b")},
	} {
		var want, got []string
		for _, k := range keys {
			if r.Partitions.Contains(k.PartitionKey) && r.Rows.Contains(k.RowKey) {
				want = append(want, k.PartitionKey+" "+k.RowKey)
			}
		}
		for _, e := range all(t, table, tables.Query{Range: r, Size: 3}) {
			got = append(got, e.PartitionKey+" "+e.RowKey)
		}
		if !slices.IsSorted(got) {
			t.Errorf("%s: the rows are not in the order of their keys: %v", r.Filter(), got)
		}
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s:\ngot  %v\nwant %v", r.Filter(), got, want)
		}
	}
}

func TestReadingContinuesAfterAPage(t *testing.T) {
	table := newTable(t, connect(t, tables.Config{}))
	var ops []tables.Op
	for i := range 10 {
		ops = append(ops, tables.Insert(row("p", fmt.Sprintf("%02d", i), number(int32(i%2)),
			tables.Property{Name: "M", Value: tables.Int64(5)})))
	}
	must.Have(table.Submit(t.Context(), ops))(t)
	q := tables.Query{Range: tables.RowsAfter("p", "00", "08"), Filter: "N eq 0 or N eq 7", Select: []string{"N"}, Size: 2}
	var got []string
	for pages := 0; ; pages++ {
		for page, err := range table.Rows(t.Context(), q) {
			must.Succeed(t, err)
			if age := time.Since(page.Time).Abs(); age > time.Minute {
				t.Errorf("the page is of %v", page.Time)
			}
			for _, e := range page.Rows {
				got = append(got, e.RowKey)
				if e.Get("N").Type() != tables.TypeInt32 || e.Get("M").Type() != tables.TypeNone || e.ETag == "" {
					t.Errorf("selected N: %+v", e)
				}
			}
			q.From = page.Next
			break // one page at a time, each by a new Rows
		}
		if q.From == (tables.Continuation{}) {
			break
		}
		if pages > 20 {
			t.Fatal("the pages do not end")
		}
	}
	if want := []string{"02", "04", "06", "08"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestTransactionReturnsTheNewVersions(t *testing.T) {
	table, ctx := newTable(t, connect(t, tables.Config{})), t.Context()
	for _, rk := range []string{"replace", "merge", "delete", "it's"} {
		do(t, table, tables.Insert(row("it's", rk, number(1))))
	}
	old := all(t, table, tables.Query{})
	versions := map[string]tables.ETag{}
	for _, e := range old {
		versions[e.RowKey] = e.ETag
	}
	written := must.Have(table.Submit(ctx, []tables.Op{
		tables.Insert(row("it's", "insert", tables.Property{Name: "D", Value: tables.Double(21)})),
		tables.Replace(row("it's", "replace", number(2)), versions["replace"]),
		tables.Merge(row("it's", "merge", number(2)), versions["merge"]),
		tables.Merge(row("it's", "it's", number(2)), versions["it's"]),
		tables.InsertOrReplace(row("it's", "ior", number(2))),
		tables.Delete("it's", "delete", versions["delete"]),
	}))(t)
	for i, rk := range []string{"insert", "replace", "merge", "it's", "ior"} {
		e := must.Have(table.Get(ctx, "it's", rk))(t)
		if e.ETag != written.ETags[i] || e.ETag == "" {
			t.Errorf("%s: the transaction returned %q, the get %q", rk, written.ETags[i], e.ETag)
		}
		if rk != "insert" && e.Get("N") != tables.Int32(2) || rk == "insert" && e.Get("D") != tables.Double(21) {
			t.Errorf("%s is %+v", rk, e.Properties)
		}
	}
	if written.ETags[5] != "" {
		t.Errorf("a deletion returned version %s", written.ETags[5])
	}
	if _, err := table.Get(ctx, "it's", "delete"); !errors.Is(err, tables.ErrNotFound) {
		t.Errorf("get of the deleted row: %v", err)
	}
}

func TestRefusedTransactionNamesItsOperation(t *testing.T) {
	table, ctx := newTable(t, connect(t, tables.Config{})), t.Context()
	version := do(t, table, tables.Insert(row("p", "there", number(1))))
	do(t, table, tables.Replace(row("p", "there", number(2)), version))
	for _, c := range []struct {
		op     tables.Op
		want   error
		status int
	}{
		{tables.Insert(row("p", "there")), tables.ErrExists, http.StatusConflict},
		{tables.Merge(row("p", "there"), version), tables.ErrConflict, http.StatusPreconditionFailed},
		{tables.Replace(row("p", "nowhere"), version), tables.ErrNotFound, http.StatusNotFound},
	} {
		_, err := table.Submit(ctx, []tables.Op{tables.Insert(row("p", "a")), tables.Insert(row("p", "b")), c.op,
			tables.Insert(row("p", "c"))})
		named(t, err, c.want, c.status)
		te, ok := errors.AsType[*tables.TransactionError](err)
		if !ok || te.Index != 2 || te.Op.Entity.RowKey != c.op.Entity.RowKey {
			t.Errorf("%s: %v", c.op.Kind, err)
		}
	}
	if rows := all(t, table, tables.Query{}); len(rows) != 1 {
		t.Errorf("refused transactions have left %d rows", len(rows)-1)
	}
}

func TestLargestTransactionsAreAccepted(t *testing.T) {
	table := newTable(t, connect(t, tables.Config{}))
	var ops []tables.Op
	for i := range 150 {
		ops = append(ops, tables.Insert(row("p", fmt.Sprintf("%03d", i),
			tables.Property{Name: "B", Value: tables.Binary(make([]byte, 60<<10))})))
	}
	groups := must.Have(tables.Cut(ops))(t)
	if len(groups) < 4 {
		t.Errorf("12 MB in base64 are cut into %d transactions", len(groups))
	}
	for _, group := range groups {
		must.Have(table.Submit(t.Context(), group))(t)
	}
	if rows := all(t, table, tables.Query{Select: []string{"PartitionKey"}}); len(rows) != len(ops) {
		t.Errorf("%d rows are there, want %d", len(rows), len(ops))
	}
}

func TestEveryOperationIsCounted(t *testing.T) {
	var counter tables.Counter
	type label struct{}
	var labels []any
	table := newTable(t, connect(t, tables.Config{OnOperation: func(ctx context.Context, o tables.Operation) {
		counter.Count(ctx, o)
		labels = append(labels, ctx.Value(label{}))
		if o.Status < 200 || o.Table == "" {
			t.Errorf("reported %+v", o)
		}
	}}))
	ctx := context.WithValue(t.Context(), label{}, "contoso")
	for _, op := range []tables.Op{
		tables.Insert(row("p", "r")), tables.Merge(row("p", "r"), tables.AnyETag),
		tables.Replace(row("p", "r"), tables.AnyETag),
		tables.InsertOrReplace(row("p", "r")), tables.Delete("p", "r", tables.AnyETag),
	} {
		must.Have(table.Do(ctx, op))(t)
	}
	must.Have(table.Submit(ctx, []tables.Op{tables.Insert(row("p", "1")), tables.Insert(row("p", "2"))}))(t)
	for range table.Rows(ctx, tables.Query{Size: 1}) {
	}
	if _, err := table.Get(ctx, "p", "3"); err == nil {
		t.Error("a row that was never written is there")
	}
	want := map[tables.Kind]int64{tables.KindCreateTable: 1, tables.KindInsert: 1, tables.KindMerge: 1,
		tables.KindReplace: 1, tables.KindInsertOrReplace: 1, tables.KindDelete: 1,
		tables.KindTransaction: 1, tables.KindQuery: 2, tables.KindGet: 1}
	got := counter.Counts()
	if got[tables.KindQuery] == 3 { // a server may end with an empty page
		got[tables.KindQuery] = 2
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("counted %v, want %v", got, want)
	}
	if labels[len(labels)-1] != "contoso" {
		t.Error("OnOperation did not get the caller's context")
	}
}
