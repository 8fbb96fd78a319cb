package azuretest

import (
	"fmt"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"
)

// Rows come by PartitionKey, then RowKey, in the order of their characters, in
// whatever order they were put: upper case before lower, 10 before 9.
func (tables) RowsComeInKeyOrder(t *testing.T, a Account) {
	c := a.NewTable(t)
	for _, k := range []string{"b/9", "a/b", "b/10", "B/x", "a/B", "a/-", "b/1", "a/a.b", "a/a", "a/a-b"} {
		insert(t, c, k[:1], k[2:], nil)
	}
	expect(t, a, "rows", keys(t, c, "RowKey ge ''"), "B/x a/- a/B a/a a/a-b a/a.b a/b b/1 b/10 b/9")
}

// A range of row keys is a range of text; ticks of equal length are in time order.
func (tables) RangesAreOfText(t *testing.T, a Account) {
	c := a.NewTable(t)
	for _, rk := range []string{"0639000000000000001", "0639000000000000002", "0639000000000000002-b",
		"0639000000000000003", "0639000000000000010"} {
		insert(t, c, "p", rk, nil)
	}
	insert(t, c, "q", "0639000000000000002", nil)
	for f, want := range map[string]string{
		"RowKey gt '0639000000000000002' and RowKey le '0639000000000000003'": "p/0639000000000000002-b " +
			"p/0639000000000000003",
		"RowKey ge '0639000000000000002' and RowKey lt '0639000000000000003'": "p/0639000000000000002 " +
			"p/0639000000000000002-b",
		"RowKey gt '0639000000000000003'": "p/0639000000000000010",
		"RowKey eq '0639000000000000002'": "p/0639000000000000002",
	} {
		expect(t, a, f, keys(t, c, "PartitionKey eq 'p' and "+f), want)
	}
}

// A prefix is the range from it to its last character's successor.
func (tables) PrefixIsARange(t *testing.T, a Account) {
	c := a.NewTable(t)
	for _, pk := range []string{"contoso", "contoso:a", "contoso:b:1", "contoso;", "contosp"} {
		insert(t, c, pk, "r", nil)
	}
	expect(t, a, "contoso:", keys(t, c, "PartitionKey ge 'contoso:' and PartitionKey lt 'contoso;'"),
		"contoso:a/r contoso:b:1/r")
}

// The first row of the next partition is one row of a query, so that a reader
// can step from partition to partition.
func (tables) PartitionsCanBeSeeked(t *testing.T, a Account) {
	c := a.NewTable(t)
	for _, pk := range []string{"2026-01", "2026-02", "2026-11"} {
		insertAll(t, c, pk, []string{"a", "b", "c"}, nil)
	}
	found, last := "", ""
	for {
		p := c.NewListEntitiesPager(&aztables.ListEntitiesOptions{Filter: to.Ptr("PartitionKey gt " + quoted(last)),
			Top: to.Ptr[int32](1)})
		page, err := p.NextPage(t.Context())
		must(t, err)
		if len(page.Entities) == 0 {
			break
		}
		e := decoded(t, page.Entities[0])
		found, last = found+" "+e.PartitionKey+"/"+e.RowKey, e.PartitionKey
	}
	expect(t, a, "first rows", found, " 2026-01/a 2026-02/a 2026-11/a")
}

// A range without rows answers no rows, and no error, in a table that has others.
func (tables) EmptyRangeIsNoError(t *testing.T, a Account) {
	c := a.NewTable(t)
	insert(t, c, "p", "r", nil)
	expect(t, a, "empty partition", keys(t, c, "PartitionKey eq 'q'"), "")
	expect(t, a, "empty range", keys(t, c, "PartitionKey eq 'p' and RowKey gt 'r'"), "")
	expect(t, a, "upside-down range", keys(t, c, "PartitionKey eq 'p' and RowKey gt 'z' and RowKey lt 'a'"), "")
}

// $select sends the properties it names, and of the system's own only those.
func (tables) SelectGivesWhatItNames(t *testing.T, a Account) {
	c := a.NewTable(t)
	insert(t, c, "p", "r", props{"A": "1", "B": "2", "N": aztables.EDMInt64(5)})
	rows, err := query(t, c, &aztables.ListEntitiesOptions{Select: to.Ptr("RowKey,A,N")})
	must(t, err)
	expect(t, a, "rows", len(rows), 1)
	e := rows[0]
	expect(t, a, "keys", e.PartitionKey+"/"+e.RowKey, "/r")
	expect(t, a, "properties", fmt.Sprint(e.Properties), "map[A:1 N:5]")
}

// Each row of a query carries its ETag, also when $select leaves out all but
// the keys: a page can be read and then swapped without reading again. (The
// reference says so of full metadata only.)
func (tables) RowsCarryETags(t *testing.T, a Account) {
	c := a.NewTable(t)
	insert(t, c, "p", "r", props{"A": "1"})
	_, etag := stored(t, c, "p", "r")
	for _, sel := range []*string{nil, to.Ptr("RowKey"), to.Ptr("A")} {
		rows, err := query(t, c, &aztables.ListEntitiesOptions{Select: sel})
		must(t, err)
		expect(t, a, "etag", rows[0].ETag, string(etag))
	}
}

// A write that was answered is seen by every read that follows.
func (tables) WritesAreSeenAtOnce(t *testing.T, a Account) {
	c := a.NewTable(t)
	for i := range 20 {
		rk := fmt.Sprintf("%02d", i)
		insert(t, c, "p", rk, nil)
		expect(t, a, "query after insert", keys(t, c, "PartitionKey eq 'p' and RowKey ge "+quoted(rk)), "p/"+rk)
		must(t, errOf(c.DeleteEntity(t.Context(), "p", rk, nil)))
		expect(t, a, "query after delete", keys(t, c, "PartitionKey eq 'p'"), "")
	}
}
