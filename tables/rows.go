package tables

import (
	"context"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"
)

// A Query says which rows to read. The zero Query reads the whole table.
type Query struct {
	Range  Range
	Filter string       // an OData expression that must hold as well; storage reads what it rejects
	Select []string     // the properties wanted besides the keys; none means all
	Size   int          // rows in a page, 1 to 1,000; 0 means 1,000
	From   Continuation // a Page's Next, to go on after that page
}

// A Continuation is where storage goes on; its content is the service's own.
type Continuation struct{ PartitionKey, RowKey string }

// A Page is what one request read. It may be empty and not the last: storage
// stops at its own limits, not only at the size asked for.
type Page struct {
	Rows []Entity
	Next Continuation // zero on the last page
	Time time.Time    // of the service, in seconds
}

// Rows reads pages, in the order of the keys, until the rows or the caller
// end. An error ends them, too; the last page's Next says where to go on.
func (t *Table) Rows(ctx context.Context, q Query) iter.Seq2[Page, error] {
	return func(yield func(Page, error) bool) {
		for next := q.From; ; {
			p, err := t.page(ctx, q, next)
			if err != nil {
				yield(Page{}, t.failed(KindQuery, q.filter(), err))
				return
			}
			if !yield(p, nil) || p.Next == (Continuation{}) {
				return
			}
			next = p.Next
		}
	}
}

func (t *Table) page(ctx context.Context, q Query, from Continuation) (Page, error) {
	c := &call{kind: KindQuery, table: t.Name}
	answer, err := t.client.NewListEntitiesPager(q.options(from)).NextPage(c.within(ctx))
	if err != nil {
		return Page{}, named(err)
	}
	rows, err := decodePage(c.answer)
	next := Continuation{value(answer.NextPartitionKey), value(answer.NextRowKey)}
	return Page{Rows: rows, Next: next, Time: c.date()}, err
}

func (q Query) options(from Continuation) *aztables.ListEntitiesOptions {
	o := &aztables.ListEntitiesOptions{}
	if f := q.filter(); f != "" {
		o.Filter = &f
	}
	if q.Size > 0 {
		o.Top = to.Ptr(int32(min(q.Size, 1000)))
	}
	if len(q.Select) > 0 {
		wanted := slices.Concat([]string{"PartitionKey", "RowKey"}, q.Select)
		o.Select = to.Ptr(strings.Join(wanted, ","))
	}
	if from.PartitionKey != "" {
		o.NextPartitionKey = &from.PartitionKey
	}
	if from.RowKey != "" {
		o.NextRowKey = &from.RowKey
	}
	return o
}

func (q Query) filter() string {
	keys := q.Range.Filter()
	switch {
	case q.Filter == "":
		return keys
	case keys == "":
		return q.Filter
	}
	return keys + " and (" + q.Filter + ")"
}

func value(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
