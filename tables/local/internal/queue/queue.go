package queue

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"sync"

	"furrow/tables/local/internal/auth"
	"furrow/tables/local/internal/store"
	"furrow/tables/local/internal/wire"
)

// A queue is the state of a queue in memory.
type queue struct {
	mu     sync.Mutex
	record record // replaced, never changed
	tally  tally
	head   place // the index has no live key before it
	gone   bool  // deleted since it was found
}

// A record is the stored record of a queue.
type record struct {
	ID       store.ID
	Name     string
	Metadata map[string]string `json:",omitempty"`
	Policies []auth.Policy     `json:",omitempty"`
}

func recordKey(name string) []byte { return append([]byte{store.PrefixQueue}, name...) }

// putRecord applies b with a queue's record.
func (s *Service) putRecord(b *store.Batch, c record) (wait func() error, err error) {
	value, err := json.Marshal(c)
	if err != nil {
		return nil, err
	}
	b.Set(recordKey(c.Name), value)
	return s.store.Apply(b), nil
}

// load reads the records and tallies of all queues.
func (s *Service) load() error {
	for r, err := range store.Records[record](s.store, recordKey(""), []byte{store.PrefixQueue + 1}) {
		if err != nil {
			return err
		}
		q := &queue{record: *r}
		value, found, err := s.store.Get(r.ID.Key(store.PrefixTally))
		if err != nil {
			return err
		}
		if found {
			last, err := q.tally.decode(value)
			if err != nil {
				return fmt.Errorf("tally of queue %s: %w", r.Name, err)
			}
			s.clock.resume(last)
		}
		s.queues[r.Name] = q
	}
	return nil
}

// create creates a queue. Creating it again with the same metadata is no error.
func (s *Service) create(w http.ResponseWriter, r *wire.Request, _ *auth.Grant, at path) error {
	metadata, err := r.ParseMetadata()
	if err != nil {
		return err
	}
	wait, status, err := s.add(at.queue, metadata)
	if err := cmp.Or(wait(), err); err != nil {
		return err
	}
	return wire.Empty(w, status)
}

func (s *Service) add(name string, metadata map[string]string) (wait func() error, status int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if q, exists := s.queues[name]; exists {
		q.mu.Lock()
		defer q.mu.Unlock()
		if maps.Equal(q.record.Metadata, metadata) {
			return s.store.Barrier, http.StatusNoContent, nil
		}
		return s.store.Barrier, 0, errQueueExists
	}
	if err := s.store.Room.Check(true); err != nil { // what exists takes no room
		return s.store.Barrier, 0, err
	}
	b := s.store.Batch()
	id, err := s.store.NewID(b, store.PrefixQueue)
	if err != nil {
		return b.Drop, 0, err
	}
	q := &queue{record: record{ID: id, Name: name, Metadata: metadata}}
	wait, err = s.putRecord(b, q.record)
	if err != nil {
		return b.Drop, 0, err
	}
	s.queues[name] = q
	return wait, http.StatusCreated, nil
}

// delete deletes a queue. Its name is free at once; on Azure it is reserved for half a
// minute (409 QueueBeingDeleted).
func (s *Service) delete(w http.ResponseWriter, r *wire.Request, _ *auth.Grant, at path) error {
	wait, err := s.drop(at.queue)
	if err := cmp.Or(wait(), err); err != nil {
		return err
	}
	return wire.Empty(w, http.StatusNoContent)
}

func (s *Service) drop(name string) (wait func() error, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	q, ok := s.queues[name]
	if !ok {
		return s.store.Barrier, errQueueNotFound
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	b := s.store.Batch()
	b.Delete(recordKey(name))
	b.Delete(q.record.ID.Key(store.PrefixTally))
	deleteMessages(b, q.record.ID)
	q.gone = true
	delete(s.queues, name)
	return s.store.Apply(b), nil
}

// deleteMessages deletes all messages of a queue by ranges of keys.
func deleteMessages(b *store.Batch, id store.ID) {
	for _, prefix := range []byte{store.PrefixMessage, store.PrefixText, store.PrefixVisible} {
		keys := id.Key(prefix)
		b.DeleteRange(keys, store.After(keys))
	}
}

func (s *Service) getACL(w http.ResponseWriter, r *wire.Request, _ *auth.Grant, at path) error {
	var policies []auth.Policy
	err := s.with(at.queue, func(q *queue) (func() error, error) {
		policies = q.record.Policies
		return nil, nil
	})
	if err != nil {
		return err
	}
	return wire.XML(w, http.StatusOK, auth.FormatPolicies(policies))
}

// setACL replaces the stored access policies. The change is in force when it is
// answered; on Azure it takes up to 30 s.
func (s *Service) setACL(w http.ResponseWriter, r *wire.Request, _ *auth.Grant, at path) error {
	policies, err := auth.ReadPolicies(r, "raup")
	if err != nil {
		return err
	}
	if err := s.edit(at.queue, func(c *record) { c.Policies = policies }); err != nil {
		return err
	}
	return wire.Empty(w, http.StatusNoContent)
}

// Errors of the Queue service
// (learn.microsoft.com/rest/api/storageservices/queue-service-error-codes).
var (
	errQueueNotFound = &wire.Error{Status: http.StatusNotFound, Code: "QueueNotFound",
		Message: "The specified queue does not exist."}
	errQueueExists = &wire.Error{Status: http.StatusConflict, Code: "QueueAlreadyExists",
		Message: "The specified queue already exists."}
	errMessageNotFound = &wire.Error{Status: http.StatusNotFound, Code: "MessageNotFound",
		Message: "The specified message does not exist."}
	errReceipt = &wire.Error{Status: http.StatusBadRequest, Code: "PopReceiptMismatch",
		Message: "The specified pop receipt did not match the pop receipt for a dequeued message."}
)
