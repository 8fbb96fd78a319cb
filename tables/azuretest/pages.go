package azuretest

import (
	"fmt"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"
)

func numbered(n int) []string {
	s := make([]string, n)
	for i := range s {
		s[i] = fmt.Sprintf("%04d", i)
	}
	return s
}

// A page has at most 1,000 rows. Its token leads to the rest, with no row lost or doubled.
func (tables) PageIsAtMostAThousandRows(t *testing.T, a Account) {
	c := a.NewTable(t)
	insertAll(t, c, "p", numbered(1050))
	var sizes []int
	next := 0
	for page := range pagesOf(t, c.NewListEntitiesPager(filter("PartitionKey eq 'p'"))) {
		sizes = append(sizes, len(page.Entities))
		for _, b := range page.Entities {
			expect(t, a, "row", decoded(t, b).RowKey, fmt.Sprintf("%04d", next))
			next++
		}
	}
	expect(t, a, "page sizes", fmt.Sprint(sizes), "[1000 50]")
}

// $top limits a page, not the query. The last full page may have a token that leads to an
// empty page; that is not documented.
func (tables) TopIsPerPage(t *testing.T, a Account) {
	c := a.NewTable(t)
	insertAll(t, c, "p", numbered(10))
	rows := 0
	for page := range pagesOf(t, c.NewListEntitiesPager(&aztables.ListEntitiesOptions{Top: to.Ptr[int32](4)})) {
		expect(t, a, "page of at most 4", len(page.Entities) <= 4, true)
		rows += len(page.Entities)
	}
	expect(t, a, "rows", rows, 10)
}

// $top may be 0: the answer has no entities.
func (tables) TopOfZeroHasNoEntities(t *testing.T, a Account) {
	c := a.NewTable(t)
	insertAll(t, c, "p", numbered(3))
	pager := c.NewListEntitiesPager(&aztables.ListEntitiesOptions{Top: to.Ptr[int32](0)})
	page, err := pager.NextPage(t.Context())
	expect(t, a, "answer", answer(err), "ok")
	expect(t, a, "entities", len(page.Entities), 0)
	expect(t, a, "there is more", pager.More(), false, differs(Azurite, true, "never ends"))
}

// A $top above 1,000 is refused.
func (tables) TopBeyondAThousandIsRefused(t *testing.T, a Account) {
	c := a.NewTable(t)
	expect(t, a, "1000", outcome(query(t, c, &aztables.ListEntitiesOptions{Top: to.Ptr[int32](1000)})), "ok")
	expect(t, a, "1001", refusal(query(t, c, &aztables.ListEntitiesOptions{Top: to.Ptr[int32](1001)})),
		400, differs(Azurite, 0, "cuts $top down"))
}

// Another client with the same filter can use a token later.
func (tables) TokenWorksInAnotherPager(t *testing.T, a Account) {
	name := Name("t")
	c := a.MakeTable(t, name)
	insertAll(t, c, "p", numbered(10))
	o := &aztables.ListEntitiesOptions{Filter: to.Ptr("RowKey ge '0002'"), Top: to.Ptr[int32](3)}
	page := value(c.NewListEntitiesPager(o).NextPage(t.Context()))(t)
	o.NextPartitionKey, o.NextRowKey = page.NextPartitionKey, page.NextRowKey

	rows := value(query(t, a.Tables(t).NewClient(name), o))(t)
	expect(t, a, "rows left", len(rows), 5)
	expect(t, a, "first", rows[0].RowKey, "0005")
}

// A token leads into the next partition.
func (tables) TokenCrossesPartitions(t *testing.T, a Account) {
	c := a.NewTable(t)
	for _, pk := range []string{"a", "b", "c"} {
		insertAll(t, c, pk, numbered(2))
	}
	rows := value(query(t, c, &aztables.ListEntitiesOptions{Top: to.Ptr[int32](1)}))(t)
	got := ""
	for _, r := range rows {
		got += " " + r.PartitionKey + r.RowKey
	}
	expect(t, a, "rows", got, " a0000 a0001 b0000 b0001 c0000 c0001")
}

// A token is a position between rows: it stays valid when its row is deleted.
func (tables) TokenOutlivesItsRow(t *testing.T, a Account) {
	c := a.NewTable(t)
	insertAll(t, c, "p", numbered(6))
	p := c.NewListEntitiesPager(&aztables.ListEntitiesOptions{Top: to.Ptr[int32](2)})
	must(t, errOf(p.NextPage(t.Context())))
	for _, rk := range []string{"0001", "0002"} {
		must(t, errOf(c.DeleteEntity(t.Context(), "p", rk, nil)))
	}
	got := ""
	for page := range pagesOf(t, p) {
		for _, b := range page.Entities {
			got += " " + decoded(t, b).RowKey
		}
	}
	expect(t, a, "rows after the deletion", got, " 0003 0004 0005")
}

// A page has at most 4 MiB, which bounds the memory of readers.
func (tables) PageIsBoundedInBytes(t *testing.T, a Account) {
	c := a.NewTable(t)
	large := props{}
	for i := range 8 {
		large[fmt.Sprintf("B%d", i)] = aztables.EDMBinary(make([]byte, 60<<10)) // 480 KiB, 640 KiB on the wire
	}
	const n = 12
	for i := range n {
		insert(t, c, "p", fmt.Sprintf("%02d", i), large)
	}
	rows, pages := 0, 0
	for page := range pagesOf(t, c.NewListEntitiesPager(nil)) {
		pages++
		rows += len(page.Entities)
	}
	expect(t, a, "rows", rows, n)
	expect(t, a, "in more than one page", pages > 1, true, differs(Azurite, false, "limits only the rows of a page"))
}
