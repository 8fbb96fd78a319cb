package tables

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A Query selects rows. The zero Query selects all.
type Query struct {
	Range  Range
	Filter string       // an additional OData expression; storage reads the rows that it rejects
	Select []string     // properties besides the keys; none means all
	Size   int          // rows in a page, 1 to 1,000; 0 means 1,000
	From   Continuation // a Page's Next, to continue after that page
}

// A Continuation is an opaque position of a query.
type Continuation struct{ PartitionKey, RowKey string }

// A Page has the rows of one request. An empty page need not be the last one: storage has
// limits besides the size.
type Page struct {
	Rows []Entity
	Next Continuation // zero on the last page
	Time time.Time    // of the service, to the second
}

// Rows yields pages in the order of the keys. An error ends it; the last page's Next is
// where to continue.
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

// DatedRows is Rows for those who go by the time of the service: a page without it is ErrNoDate.
func (t *Table) DatedRows(ctx context.Context, q Query) iter.Seq2[Page, error] {
	return func(yield func(Page, error) bool) {
		for p, err := range t.Rows(ctx, q) {
			if err == nil && p.Time.IsZero() {
				err = ErrNoDate
			}
			if !yield(p, err) || err != nil {
				return
			}
		}
	}
}

// Entities yields the rows of all pages. A table that does not exist has none.
func (t *Table) Entities(ctx context.Context, q Query) iter.Seq2[Entity, error] {
	return func(yield func(Entity, error) bool) {
		for page, err := range t.Rows(ctx, q) {
			if errors.Is(err, ErrNoTable) {
				return
			}
			if err != nil {
				yield(Entity{}, err)
				return
			}
			for _, e := range page.Rows {
				if !yield(e, nil) {
					return
				}
			}
		}
	}
}

// First returns the first row; false where there is none. It asks for one row.
func (t *Table) First(ctx context.Context, q Query) (e Entity, found bool, err error) {
	q.Size = 1
	for e, err := range t.Entities(ctx, q) {
		return e, err == nil, err
	}
	return Entity{}, false, nil
}

func (t *Table) page(ctx context.Context, q Query, from Continuation) (Page, error) {
	into := t.pages.Get().(*bytes.Buffer)
	defer t.pages.Put(into) // rows share no memory with it
	c := &call{kind: KindQuery, table: t.Name, into: into}
	r := request{method: http.MethodGet, path: "/" + t.Name + "()", query: q.encode(from)}
	if err := t.sender.send(ctx, c, r); err != nil {
		return Page{}, named(err)
	}
	rows, err := decodePage(c.answer)
	next := Continuation{c.header.Get("x-ms-continuation-NextPartitionKey"), c.header.Get("x-ms-continuation-NextRowKey")}
	return Page{Rows: rows, Next: next, Time: dateOf(c.header)}, err
}

// encode returns the query of the URL that options stand for.
func (q Query) encode(from Continuation) string {
	var b strings.Builder
	add := func(name, value string) {
		if b.Len() > 0 {
			b.WriteByte('&')
		}
		b.WriteString(name)
		b.WriteString(url.QueryEscape(value))
	}
	if f := q.filter(); f != "" {
		add("$filter=", f)
	}
	if len(q.Select) > 0 {
		add("$select=", q.selected())
	}
	if q.Size > 0 {
		add("$top=", strconv.Itoa(min(q.Size, 1000)))
	}
	if from.PartitionKey != "" {
		add("NextPartitionKey=", from.PartitionKey)
	}
	if from.RowKey != "" {
		add("NextRowKey=", from.RowKey)
	}
	return b.String()
}

func (q Query) selected() string {
	return strings.Join(slices.Concat([]string{"PartitionKey", "RowKey"}, q.Select), ",")
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
