package queue

import (
	"net/http"
	"strconv"

	"furrow/tables/local/internal/auth"
	"furrow/tables/local/internal/wire"
)

// getMetadata answers with the metadata and the number of messages, including
// invisible ones.
func (s *Service) getMetadata(w http.ResponseWriter, r *wire.Request, _ *auth.Grant, at path) error {
	var metadata map[string]string
	var count int64
	err := s.with(at.queue, func(q *queue) (func() error, error) {
		metadata, count = q.record.Metadata, q.tally.count
		return nil, nil
	})
	if err != nil {
		return err
	}
	wire.SetMetadata(w.Header(), metadata)
	wire.Set(w.Header(), "x-ms-approximate-messages-count", strconv.FormatInt(count, 10))
	return wire.Empty(w, http.StatusOK)
}

// setMetadata replaces all metadata.
func (s *Service) setMetadata(w http.ResponseWriter, r *wire.Request, _ *auth.Grant, at path) error {
	metadata, err := r.ParseMetadata()
	if err != nil {
		return err
	}
	if err := s.edit(at.queue, func(c *record) { c.Metadata = metadata }); err != nil {
		return err
	}
	return wire.Empty(w, http.StatusNoContent)
}

// edit changes a queue's record.
func (s *Service) edit(name string, change func(*record)) error {
	return s.with(name, func(q *queue) (func() error, error) {
		changed := q.record
		change(&changed)
		b := s.store.Batch()
		wait, err := s.putRecord(b, changed)
		if err != nil {
			return b.Drop, err
		}
		q.record = changed
		return wait, nil
	})
}
