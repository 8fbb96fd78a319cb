package copying

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"slices"

	"furrow/tables"
)

// A Pass counts what was done for one table, or for the objects of the archive.
type Pass struct {
	Table   string `json:"table"`   // or the container of the archive
	Rows    int64  `json:"rows"`    // at the source; objects in the archive
	Written int64  `json:"written"` // that were missing or differed
	Deleted int64  `json:"deleted"` // that the source has no longer
	Renewed int64  `json:"-"`       // of the written ones, differed only in what the endpoint notes of tokens

	Readings bool `json:"-"` // rows of devices, which never change
}

// A pass makes one table at the destination equal to that at the source.
type pass struct {
	Pass
	to     *tables.Table
	insert bool // only insert what is missing: rows do not change
	own    bool // the destination may have rows of its own: none is deleted
	keep   func(tables.Entity) bool
	notes  []string                                         // properties that the endpoint writes with each token
	write  func(ctx context.Context, ops []tables.Op) error // a transaction
	ops    []tables.Op                                      // for one partition
}

// copyTable does one pass, and tells progress how far it is.
func (c *Copy) copyTable(ctx context.Context, table string, insert bool, progress func(Pass)) (Pass, error) {
	to := c.To.Table(table)
	p := &pass{Pass: Pass{Table: table, Readings: insert}, to: to, insert: insert, keep: c.keep(table),
		notes: c.notes(table)}
	p.write = func(ctx context.Context, ops []tables.Op) error {
		if insert && slices.ContainsFunc(ops, func(op tables.Op) bool { return op.Kind == tables.KindDelete }) {
			if err := c.unfinished(ctx); err != nil { // devices write there, and what they wrote would be lost
				return err
			}
		}
		_, err := to.Submit(ctx, ops)
		return err
	}
	progress(p.Pass)
	err := p.run(ctx, c.From.Table(table), progress)
	return p.Pass, err
}

// run compares the rows of both tables in their order.
func (p *pass) run(ctx context.Context, from *tables.Table, progress func(Pass)) error {
	if err := p.to.Create(ctx); err != nil {
		return err
	}
	source, stop := iter.Pull2(from.Entities(ctx, tables.Query{}))
	defer stop()
	there, end := iter.Pull2(p.to.Entities(ctx, tables.Query{}))
	defer end()
	s, more, err := p.next(source)
	if err != nil {
		return err
	}
	d, others, err := p.next(there)
	for err == nil && (more || others) {
		order := 0
		switch {
		case !others:
			order = -1
		case !more:
			order = 1
		default:
			order = cmp.Or(cmp.Compare(s.PartitionKey, d.PartitionKey), cmp.Compare(s.RowKey, d.RowKey))
		}
		if err = p.row(ctx, order, s, d); err != nil {
			break
		}
		if order <= 0 {
			if p.Rows++; p.Rows%1000 == 0 {
				progress(p.Pass)
			}
			s, more, err = p.next(source)
		}
		if order >= 0 && err == nil {
			d, others, err = p.next(there)
		}
	}
	if err == nil {
		err = p.flush(ctx)
	}
	return err
}

// next returns the next row of the fleet.
func (p *pass) next(rows func() (tables.Entity, error, bool)) (tables.Entity, bool, error) {
	for {
		e, err, more := rows()
		if !more || err != nil || p.keep == nil || p.keep(e) {
			return e, more, err
		}
	}
}

// row compares a row of the source with one of the destination: it comes before, is the same, or comes after.
func (p *pass) row(ctx context.Context, order int, s, d tables.Entity) error {
	switch {
	case order < 0 && p.insert:
		return p.add(ctx, tables.Insert(s))
	case order < 0:
		return p.add(ctx, tables.InsertOrReplace(s))
	case order == 0 && !p.insert && !equal(s, d, nil):
		if equal(s, d, p.notes) {
			p.Renewed++
		}
		return p.add(ctx, tables.InsertOrReplace(s))
	case order > 0 && !p.own:
		return p.add(ctx, tables.Delete(d.PartitionKey, d.RowKey, tables.AnyETag))
	}
	return nil
}

// equal compares properties, in any order, except some.
func equal(a, b tables.Entity, except []string) bool {
	return within(a, b, except) && within(b, a, except)
}

// within reports whether b has all properties of a, except some.
func within(a, b tables.Entity, except []string) bool {
	for _, p := range a.Properties {
		if b.Get(p.Name) != p.Value && !slices.Contains(except, p.Name) {
			return false
		}
	}
	return true
}

// add adds an operation to the transaction of its partition.
func (p *pass) add(ctx context.Context, op tables.Op) error {
	if op.Kind == tables.KindDelete {
		p.Deleted++
	} else {
		p.Written++
	}
	if n := len(p.ops); n == tables.MaxOps || n > 0 && p.ops[0].Entity.PartitionKey != op.Entity.PartitionKey {
		if err := p.flush(ctx); err != nil {
			return err
		}
	}
	p.ops = append(p.ops, op)
	return nil
}

// flush writes the operations. If another one has written a row meanwhile, it writes them one by one.
func (p *pass) flush(ctx context.Context) error {
	if len(p.ops) == 0 {
		return nil
	}
	groups, err := tables.Cut(p.ops)
	if err != nil {
		return err
	}
	p.ops = nil
	for _, g := range groups {
		err := p.write(ctx, g)
		if errors.Is(err, tables.ErrExists) || errors.Is(err, tables.ErrNotFound) {
			err = p.each(ctx, g)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// each writes rows one by one, but for those that are there and were to be inserted, or gone and were to be deleted.
func (p *pass) each(ctx context.Context, ops []tables.Op) error {
	for n, op := range ops {
		settled := tables.ErrExists
		if op.Kind == tables.KindDelete {
			settled = tables.ErrNotFound
		}
		if err := p.write(ctx, ops[n:n+1]); err != nil && !errors.Is(err, settled) {
			return err
		}
	}
	return nil
}
