package azuretest

import (
	"fmt"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"
)

// Rows are sorted by PartitionKey, then RowKey, by character: upper case before lower,
// 10 before 9.
func (tables) RowsComeInKeyOrder(t *testing.T, a Account) {
	c := a.NewTable(t)
	for _, k := range []string{"b/9", "a/b", "b/10", "B/x", "a/B", "a/-", "b/1", "a/a.b", "a/a", "a/a-b"} {
		insert(t, c, k[:1], k[2:], nil)
	}
	expect(t, a, "rows", keys(t, c, "RowKey ge ''"), "B/x a/- a/B a/a a/a-b a/a.b a/b b/1 b/10 b/9")
}

// Row keys are compared as text. Ticks of equal length are in time order.
func (tables) RangesAreOfText(t *testing.T, a Account) {
	c := a.NewTable(t)
	for _, rk := range []string{"0639001", "0639002", "0639002-b", "0639003", "0639010"} {
		insert(t, c, "p", rk, nil)
	}
	insert(t, c, "q", "0639002", nil)
	for f, want := range map[string]string{
		"RowKey gt '0639002' and RowKey le '0639003'": "p/0639002-b p/0639003",
		"RowKey ge '0639002' and RowKey lt '0639003'": "p/0639002 p/0639002-b",
		"RowKey gt '0639003'":                         "p/0639010",
		"RowKey eq '0639002'":                         "p/0639002",
	} {
		expect(t, a, f, keys(t, c, "PartitionKey eq 'p' and "+f), want)
	}
}

// The keys with a prefix are the range up to the prefix with its last character raised by one.
func (tables) PrefixIsARange(t *testing.T, a Account) {
	c := a.NewTable(t)
	for _, pk := range []string{"contoso", "contoso:a", "contoso:b:1", "contoso;", "contosp"} {
		insert(t, c, pk, "r", nil)
	}
	expect(t, a, "contoso:", keys(t, c, "PartitionKey ge 'contoso:' and PartitionKey lt 'contoso;'"),
		"contoso:a/r contoso:b:1/r")
}

// A query of one row finds the next partition, so a reader can step from partition to
// partition.
func (tables) NextPartitionIsOneQuery(t *testing.T, a Account) {
	c := a.NewTable(t)
	for _, pk := range []string{"2026-01", "2026-02", "2026-11"} {
		insertAll(t, c, pk, []string{"a", "b", "c"})
	}
	found, last := "", ""
	for {
		p := c.NewListEntitiesPager(&aztables.ListEntitiesOptions{Filter: to.Ptr("PartitionKey gt " + quoted(last)),
			Top: to.Ptr[int32](1)})
		page := value(p.NextPage(t.Context()))(t)
		if len(page.Entities) == 0 {
			break
		}
		e := decoded(t, page.Entities[0])
		found, last = found+" "+e.PartitionKey+"/"+e.RowKey, e.PartitionKey
	}
	expect(t, a, "first rows", found, " 2026-01/a 2026-02/a 2026-11/a")
}

// A query of a range without rows returns no rows and no error.
func (tables) EmptyRangeIsNoError(t *testing.T, a Account) {
	c := a.NewTable(t)
	insert(t, c, "p", "r", nil)
	expect(t, a, "empty partition", keys(t, c, "PartitionKey eq 'q'"), "")
	expect(t, a, "empty range", keys(t, c, "PartitionKey eq 'p' and RowKey gt 'r'"), "")
	expect(t, a, "upside-down range", keys(t, c, "PartitionKey eq 'p' and RowKey gt 'z' and RowKey lt 'a'"), "")
}

// $select returns only the properties that it names, and system properties only if named.
func (tables) SelectReturnsTheNamedProperties(t *testing.T, a Account) {
	c := a.NewTable(t)
	insert(t, c, "p", "r", props{"A": "1", "B": "2", "N": aztables.EDMInt64(5)})
	rows := value(query(t, c, &aztables.ListEntitiesOptions{Select: to.Ptr("RowKey,A,N")}))(t)
	expect(t, a, "rows", len(rows), 1)
	e := rows[0]
	expect(t, a, "keys", e.PartitionKey+"/"+e.RowKey, "/r")
	expect(t, a, "properties", fmt.Sprint(e.Properties), "map[A:1 N:5]")
}

// Each row of a query has its ETag, even if $select names only keys, so rows of a page
// can be updated without reading them again. (The reference says so for full metadata only.)
func (tables) RowsHaveETags(t *testing.T, a Account) {
	c := a.NewTable(t)
	insert(t, c, "p", "r", props{"A": "1"})
	_, etag := stored(t, c, "p", "r")
	for _, sel := range []*string{nil, to.Ptr("RowKey"), to.Ptr("A")} {
		rows := value(query(t, c, &aztables.ListEntitiesOptions{Select: sel}))(t)
		expect(t, a, "etag", rows[0].ETag, string(etag))
	}
}

// Every read after the answer to a write sees the write.
func (tables) ReadsSeeEarlierWrites(t *testing.T, a Account) {
	c := a.NewTable(t)
	for i := range 20 {
		rk := fmt.Sprintf("%02d", i)
		insert(t, c, "p", rk, nil)
		expect(t, a, "query after insert", keys(t, c, "PartitionKey eq 'p' and RowKey ge "+quoted(rk)), "p/"+rk)
		must(t, errOf(c.DeleteEntity(t.Context(), "p", rk, nil)))
		expect(t, a, "query after delete", keys(t, c, "PartitionKey eq 'p'"), "")
	}
}
