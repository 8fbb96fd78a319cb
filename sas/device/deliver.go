package device

import (
	"context"
	"errors"
	"net/http"
	"time"

	"furrow/tables"
	"furrow/tables/service"
)

// deliver sends the first rows of the batch, as many as fit a transaction, and handles the
// response.
func (s *sender) deliver(ctx context.Context) error {
	ops, err := s.operations()
	if err != nil {
		return err
	}
	n := len(ops)
	o := s.insert(ctx, ops)
	switch {
	case o.result == stored, o.result == exists && (s.whole || n == 1):
		// Keys are unique per reading, so the existing row is this reading; and a transaction
		// stores all rows or none.
		s.markStored(0, n)
	case o.result == exists && o.row >= 0:
		s.markStored(o.row, o.row+1)
	case o.result == rejected && (o.row >= 0 || n == 1):
		s.setAside(max(o.row, 0), Rejected, o.err)
		s.clearFailures()
	case o.result == exists, o.result == rejected:
		s.alone, s.whole = true, false
	case o.result == denied:
		return s.discardToken(o.err)
	default:
		return o.err
	}
	return nil
}

// operations returns the inserts of the next transaction. Their readings stay in the batch, and
// readings beyond the size of a transaction leave it.
func (s *sender) operations() ([]tables.Op, error) {
	ops := make([]tables.Op, len(s.batch))
	for i, e := range s.batch {
		key, _ := e.key()
		row := e.Row
		row.PartitionKey, row.RowKey = s.token.partition, key.String()
		ops[i] = tables.Insert(row)
	}
	groups, err := tables.Cut(ops)
	if err != nil {
		return nil, err
	}
	ops = groups[0]
	s.batch = s.batch[:len(ops)]
	if s.alone {
		ops = ops[:1]
	}
	for _, e := range s.batch[:len(ops)] {
		e.tried = true
	}
	return ops, nil
}

// markStored removes stored entries.
func (s *sender) markStored(from, to int) {
	acks := int64(0)
	for _, e := range s.batch[from:to] {
		if e.acknowledges() {
			acks++
		}
		if key, ok := e.key(); ok {
			s.noteStored(key.Ticks)
		}
	}
	s.count(func(s *Stats) {
		s.Stored += int64(to-from) - acks
		s.Acks.Stored += acks
	})
	s.remove(from, to)
	s.refused, s.denied = 0, false
	s.clearFailures()
}

// discardToken handles a token that storage refuses. The first time a new one is requested at
// once, since the old one's policy may be gone. After that, the error makes the sender pause.
func (s *sender) discardToken(err error) error {
	s.token = nil
	if s.refused++; s.refused == 1 {
		return nil
	}
	s.reportDenied(err)
	return err
}

// A result is what a response of storage says about rows.
type result int

const (
	unknown  result = iota // no response, or one that does not tell
	stored                 // all rows are stored
	exists                 // a row already exists
	rejected               // a row is invalid
	denied                 // the token is not accepted
)

// An outcome is the result of a request.
type outcome struct {
	result result
	row    int // the row concerned; -1 if unknown
	err    error
}

// insert adds rows, several of them in one transaction.
func (s *sender) insert(ctx context.Context, ops []tables.Op) outcome {
	size := 0
	for _, op := range ops {
		size += op.Entity.Size()
	}
	ctx, cancel := context.WithTimeoutCause(ctx, patience+time.Duration(size)*time.Second/slowest, errSlow)
	defer cancel()
	var err error
	if len(ops) == 1 {
		_, err = s.token.table.Do(ctx, ops[0])
	} else {
		_, err = s.token.table.Submit(ctx, ops)
	}
	return judge(err)
}

// judge interprets an error of storage about one row or a transaction.
func judge(err error) outcome {
	o := outcome{row: -1, err: err}
	if t, ok := errors.AsType[*tables.TransactionError](err); ok {
		o.row = t.Index
	}
	f, ok := errors.AsType[*service.Failure](err)
	if !ok {
		if err == nil {
			o.result = stored
		}
		return o
	}
	o.err = &Refusal{By: storage, Status: f.Status, Code: f.Code, Detail: clip(f.Message), RequestID: f.Request,
		wait: retryAfter(f.Response.Header)}
	switch {
	case f.Status == http.StatusConflict && f.Code == "EntityAlreadyExists":
		o.result = exists
	case f.Status == http.StatusRequestEntityTooLarge,
		f.Status == http.StatusBadRequest && f.Code != "" && !ofRequest(f.Code):
		o.result = rejected
	case f.Status == http.StatusBadRequest && f.Code != "", f.Status == http.StatusUnauthorized,
		f.Status == http.StatusForbidden, f.Status == http.StatusNotFound:
		o.result = denied
	}
	return o
}

// ofRequest reports whether the code of a 400 concerns the request or its token, so that
// every row would fail.
// learn.microsoft.com: "Common REST API error codes".
func ofRequest(code string) bool {
	switch code {
	case "AuthenticationFailed", "InvalidAuthenticationInfo", "InvalidHeaderValue", "InvalidQueryParameterValue",
		"InvalidResourceName", "InvalidUri", "MissingRequiredHeader", "MissingRequiredQueryParameter",
		"OutOfRangeQueryParameterValue", "UnsupportedHeader", "UnsupportedHttpVerb", "UnsupportedQueryParameter":
		return true
	}
	return false
}
