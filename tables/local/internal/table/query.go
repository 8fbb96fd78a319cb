package table

import (
	"bytes"
	"net/http"
	"slices"
	"strings"
	"time"

	"furrow/tables/local/internal/auth"
	"furrow/tables/local/internal/entity"
	"furrow/tables/local/internal/odata"
	"furrow/tables/local/internal/store"
	"furrow/tables/local/internal/wire"
)

// maxTerms is how many properties $select may name.
const maxTerms = 255

// reading returns what Get Entity and Query Entities need: the table, and how to
// render its rows.
func (s *Service) reading(r *wire.Request, at target) (*meta, *entity.Renderer, error) {
	l, err := level(r)
	if err != nil {
		return nil, nil, err
	}
	m, err := s.lookup(at.table)
	if err != nil {
		return nil, nil, err
	}
	render := &entity.Renderer{Level: l, Base: r.Base(), Table: at.table}
	render.Select, err = selectOf(r)
	return m, render, err
}

func selectOf(r *wire.Request) ([]string, error) {
	text := strings.TrimSpace(r.Query.Get("$select"))
	if text == "" || text == "*" {
		return nil, nil
	}
	names, seen := []string{}, map[string]bool{}
	for name := range strings.SplitSeq(text, ",") {
		if name = strings.TrimSpace(name); name == "*" {
			return nil, nil
		}
		if seen[name] {
			continue
		}
		if seen[name] = true; len(names) == maxTerms {
			return nil, wire.BadQuery("$select", text[:64]+"…", "It names more than 255 properties.")
		}
		names = append(names, name)
	}
	return names, nil
}

func topOf(r *wire.Request) (int, error) {
	top, err := r.IntQuery("$top", 0, maxRows, maxRows)
	if err != nil {
		return 0, entity.Invalid("The value of $top must be a whole number from 0 to 1000.")
	}
	return top, nil
}

func (s *Service) get(w http.ResponseWriter, r *wire.Request, g *auth.Grant, p target) error {
	m, render, err := s.reading(r, p)
	if err != nil {
		return err
	}
	if !g.Owner && !g.Range.Contains(auth.Key{Partition: p.partition, Row: p.row}) {
		return errNotFound // for a SAS, nothing exists outside its range
	}
	if err := r.Count(string(entityKey(m.ID, p.partition, "")), 1); err != nil {
		return err
	}
	value, found, err := s.store.Get(entityKey(m.ID, p.partition, p.row))
	if err != nil {
		return err
	}
	if !found {
		return errNotFound
	}
	row := entity.Stored(value)
	if err := row.Check(); err != nil {
		return err
	}
	wire.Set(w.Header(), "ETag", entity.ETag(row.Timestamp()))
	return answer(w, http.StatusOK, render.Level, render.Append(nil, p.partition, p.row, row, true))
}

func (s *Service) query(w http.ResponseWriter, r *wire.Request, g *auth.Grant, at target) error {
	m, render, err := s.reading(r, at)
	if err != nil {
		return err
	}
	filter, err := odata.Parse(r.Query.Get("$filter"))
	if err != nil {
		return err
	}
	top, err := topOf(r)
	if err != nil {
		return err
	}
	lower, upper, empty, err := s.span(r, g, m, odata.KeysOf(filter))
	if err != nil {
		return err
	}
	page := &page{filter: filter, top: top, render: render, start: time.Now()}
	buffer := s.pages.Get().(*[]byte)
	defer func() { s.keep(buffer, page.body) }()
	page.body = (*buffer)[:0]
	if render.Level != entity.NoMetadata {
		page.body = wire.AppendString(append(page.body, `{"odata.metadata":`...),
			render.Base+"/$metadata#"+render.Table)
		page.body = append(page.body, `,"value":[`...)
	} else {
		page.body = append(page.body, `{"value":[`...)
	}
	if !empty && top > 0 {
		if err := s.look(page, lower, upper); err != nil {
			return err
		}
	}
	if page.more {
		wire.Set(w.Header(), "x-ms-continuation-NextPartitionKey", encodeToken(page.next.Partition))
		wire.Set(w.Header(), "x-ms-continuation-NextRowKey", encodeToken(page.next.Row))
	}
	page.body = append(page.body, "]}"...)
	return answer(w, http.StatusOK, render.Level, page.body)
}

// maxKept is the size of the largest body whose memory later pages use.
const maxKept = 1 << 20

// keep gives the memory of a body that was sent to later pages.
func (s *Service) keep(buffer *[]byte, body []byte) {
	if cap(body) <= maxKept {
		*buffer = body
		s.pages.Put(buffer)
	}
}

// span returns the range of store keys that a query reads: the keys of its filter,
// within the range of its SAS, starting at its continuation token.
func (s *Service) span(r *wire.Request, g *auth.Grant, m *meta, keys odata.Keys) (
	lower, upper []byte, empty bool, err error) {
	lower, upper = keySpan(m.ID, keys)
	if !g.Owner {
		from, upto := grantSpan(m.ID, g.Range)
		lower, upper = later(lower, from), slices.MinFunc([][]byte{upper, upto}, bytes.Compare)
	}
	if r.Query.Has("NextPartitionKey") {
		partition, err := decodeToken("NextPartitionKey", r.Query.Get("NextPartitionKey"))
		if err != nil {
			return nil, nil, false, err
		}
		row, err := decodeToken("NextRowKey", r.Query.Get("NextRowKey"))
		if err != nil {
			return nil, nil, false, err
		}
		lower = later(lower, entityKey(m.ID, partition, row))
	}
	empty = keys.Partition.Empty || keys.Row.Empty || bytes.Compare(lower, upper) >= 0
	return lower, upper, empty, nil
}

// keySpan returns the range of store keys for the keys of a filter. Row keys narrow
// the range in a single partition; with several partitions, only its start.
func keySpan(id store.ID, keys odata.Keys) (lower, upper []byte) {
	table := id.Key(store.PrefixEntity)
	lower, upper = table, store.After(table)
	p, row := withoutNUL(keys.Partition), keys.Row
	if p.Low.Set {
		lower = entityKey(id, p.Low.Key, "")
		if p.Low.Open {
			lower = store.After(lower)
		} else if row.Low.Set {
			lower = afterRow(append(lower, row.Low.Key...), row.Low.Open)
		}
	}
	if p.High.Set {
		upper = entityKey(id, p.High.Key, "")
		if _, one := p.Point(); one && row.High.Set {
			upper = afterRow(append(upper, row.High.Key...), !row.High.Open)
		} else if !p.High.Open {
			upper = store.After(upper)
		}
	}
	return lower, upper
}

// withoutNUL returns the interval of the same partition keys whose bounds end before a NUL. No key has one, and in the
// store it ends a partition key.
func withoutNUL(i odata.Interval) odata.Interval {
	if key, _, found := strings.Cut(i.Low.Key, "\x00"); found {
		i.Low = odata.Bound{Key: key, Set: true, Open: true}
	}
	if key, _, found := strings.Cut(i.High.Key, "\x00"); found {
		i.High = odata.Bound{Key: key, Set: true}
	}
	return i
}

// afterRow returns key or, with behind, the next possible key.
func afterRow(key []byte, behind bool) []byte {
	if behind {
		return append(key, 0)
	}
	return key
}

func grantSpan(id store.ID, g auth.Range) (lower, upper []byte) {
	table := id.Key(store.PrefixEntity)
	lower, upper = table, store.After(table)
	if g.HasFrom {
		lower = entityKey(id, g.From.Partition, g.From.Row)
	}
	if g.HasTo && g.ToRow {
		upper = afterRow(entityKey(id, g.To.Partition, g.To.Row), true)
	} else if g.HasTo {
		upper = store.After(entityKey(id, g.To.Partition, ""))
	}
	return lower, upper
}

func later(a, b []byte) []byte { return slices.MaxFunc([][]byte{a, b}, bytes.Compare) }
