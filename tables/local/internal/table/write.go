package table

import (
	"cmp"
	"net/http"

	"furrow/tables/local/internal/auth"
	"furrow/tables/local/internal/entity"
	"furrow/tables/local/internal/store"
	"furrow/tables/local/internal/wire"
)

// entityKey returns the store's key of a row. Keys contain no control characters, so
// a zero ends the partition key, and the order is by partition, then row.
func entityKey(id store.ID, partition, row string) []byte {
	k := append(id.Key(store.PrefixEntity), partition...)
	return append(append(k, 0), row...)
}

// write executes a single write.
func (s *Service) write(w http.ResponseWriter, r *wire.Request, g *auth.Grant, p target) error {
	l, err := level(r)
	if err != nil {
		return err
	}
	op, err := parseOperation(r.Method, p, r.Header,
		func() (*entity.Body, error) {
			body, err := r.ReadBody(maxBody)
			if err != nil {
				return nil, err
			}
			return entity.Parse(body)
		})
	if err != nil {
		return err
	}
	if err := op.authorize(g); err != nil {
		return err
	}
	results, _, err := s.apply(r, g, []*operation{op})
	if err != nil {
		return err
	}
	result := results[0]
	h := w.Header()
	if op.kind != remove {
		wire.Set(h, "ETag", entity.ETag(result.Timestamp()))
	}
	if op.kind != insert {
		return wire.Empty(w, http.StatusNoContent)
	}
	location := r.Base() + "/" + entity.EntityPath(op.table, op.partition, op.row)
	wire.Set(h, "Location", location)
	op.preference.apply(h)
	if op.preference == returnNoContent {
		wire.Set(h, "DataServiceId", location)
		return wire.Empty(w, http.StatusNoContent)
	}
	render := entity.Renderer{Level: l, Base: r.Base(), Table: op.table}
	return answer(w, http.StatusCreated, l, render.Append(nil, op.partition, op.row, result, true))
}

// apply executes operations on one partition of one table, all or none. It returns
// the new rows, or the index of the operation that failed. A row's Timestamp is the time
// at which it is applied: readers rely on it that no row appears long after its Timestamp.
//
// It waits for the disk even after a failure: "it exists already" tells a client
// that repeats a request that the first one was done.
func (s *Service) apply(r *wire.Request, g *auth.Grant, ops []*operation) (
	rows []entity.Stored, failed int, err error) {
	rows, failed, wait, err := s.applied(r, g, ops)
	if wait != nil {
		err = cmp.Or(wait(), err)
	}
	return rows, failed, err
}

// applied is the part of apply that holds locks. It returns no wait function if it refuses before it reads.
func (s *Service) applied(r *wire.Request, g *auth.Grant, ops []*operation) (
	rows []entity.Stored, failed int, wait func() error, err error) {
	s.schema.RLock()
	defer s.schema.RUnlock()
	m, err := s.find(ops[0].table)
	if err != nil {
		return nil, 0, nil, err
	}
	if err := g.Recheck(m.Policies, r.Clock()); err != nil {
		return nil, 0, nil, err
	}
	partition := entityKey(m.ID, ops[0].partition, "")
	if err := r.Count(string(partition), len(ops)); err != nil {
		return nil, 0, nil, err
	}
	if !g.Owner {
		if err := s.pace.countWrite(string(partition), r.Clock(), written{len(ops), r.BodySize}); err != nil {
			return nil, 0, nil, err
		}
	}
	defer s.locks.Lock(partition)()
	b := s.store.Batch()
	if !g.Owner {
		s.knowEnd(partition, ops[0].row)
	}
	if rows, failed, err = s.stage(b, r, m, ops); err != nil {
		return nil, failed, s.store.Barrier, cmp.Or(b.Drop(), err)
	}
	before, rising := s.ends.raise(partition, ops)
	wait = s.store.Apply(b)
	if rising && b.Err() == nil {
		s.ends.settle(partition, before, ops, rows)
	}
	return rows, 0, wait, nil
}

func (s *Service) stage(b *store.Batch, r *wire.Request, m *meta, ops []*operation) (
	rows []entity.Stored, failed int, err error) {
	keys := make([][]byte, len(ops))
	for i, op := range ops {
		keys[i] = entityKey(m.ID, op.partition, op.row)
	}
	olds, err := s.olds(keys, ops)
	if err != nil {
		return nil, 0, err
	}
	rows = make([]entity.Stored, len(ops))
	for i, op := range ops {
		if rows[i], err = s.next(r, op, olds[i]); err != nil {
			return nil, i, err
		}
		if op.kind == remove {
			b.Delete(keys[i])
			continue
		}
		b.Set(keys[i], rows[i])
	}
	return rows, 0, nil
}

// olds returns the rows that operations on one partition find, nil for a missing one. It looks for none where all rows
// are new ones at the end of the partition, as those of devices are.
func (s *Service) olds(keys [][]byte, ops []*operation) ([][]byte, error) {
	partition := keys[0][:len(keys[0])-len(ops[0].row)]
	for _, op := range ops {
		if !s.ends.before(partition, []byte(op.row)) {
			return s.store.GetAll(keys)
		}
	}
	return make([][]byte, len(ops)), nil
}

// next returns the row after op, or the reason why op is refused. old is nil if there
// is no row.
func (s *Service) next(r *wire.Request, op *operation, old entity.Stored) (entity.Stored, error) {
	found, before := old != nil, int64(0)
	if found {
		if err := old.Check(); err != nil {
			return nil, err
		}
		before = old.Timestamp()
	}
	switch {
	case op.kind == insert && found:
		return nil, &wire.Error{Status: 409, Code: "EntityAlreadyExists",
			Message: "The specified entity already exists."}
	case op.ifMatch != "" && !found:
		return nil, errNotFound
	case op.ifMatch != "" && op.ifMatch != "*" && op.ifMatch != entity.ETag(before):
		return nil, &wire.Error{Status: 412, Code: "UpdateConditionNotSatisfied",
			Message: "The update condition specified in the request was not satisfied."}
	case op.kind == remove:
		return nil, nil
	}
	e := entity.Entity{Timestamp: s.store.Clock.Tick(r.Clock(), before), Properties: op.properties}
	if found && (op.kind == merge || op.kind == insertOrMerge) {
		e.Properties = old.Merge(op.properties)
	}
	if err := e.Check(op.partition, op.row); err != nil {
		return nil, err
	}
	return e.Append(nil), nil
}
