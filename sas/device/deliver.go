package device

import (
	"context"
	"fmt"
	"net/http"
)

// deliver sends the batch once and handles the response.
func (s *sender) deliver(ctx context.Context) error {
	n := len(s.batch)
	if s.alone {
		n = 1
	}
	rows := make([]row, n)
	for i, e := range s.batch[:n] {
		key, _ := e.key()
		rows[i] = row{key.String(), e.body}
		e.tried = true
	}
	o := s.insert(ctx, s.token, rows)
	switch {
	case o.verdict == stored, o.verdict == exists && (s.whole || n == 1):
		// Keys are unique per reading, so the existing row is this reading; and a transaction
		// stores all rows or none.
		s.markStored(0, n)
	case o.verdict == exists && o.index >= 0:
		s.markStored(o.index, o.index+1)
	case o.verdict == rejected && (o.index >= 0 || n == 1):
		s.setAside(max(o.index, 0), Rejected, o.err)
		s.clearFailures()
	case o.verdict == exists, o.verdict == rejected:
		s.alone, s.whole = true, false
	case o.verdict == denied:
		return s.discardToken(o.err)
	default:
		return o.err
	}
	return nil
}

// markStored removes stored entries.
func (s *sender) markStored(from, to int) {
	s.count(func(s *Stats) { s.Stored += int64(to - from) })
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

// A deliveryResult is what a response of storage says about rows.
type deliveryResult int

const (
	unknown  deliveryResult = iota // no response, or one that does not tell
	stored                         // all rows are stored
	exists                         // a row already exists
	rejected                       // a row is invalid
	denied                         // the token is not accepted
)

// An outcome is the result of a request.
type outcome struct {
	verdict deliveryResult
	index   int // of the row concerned; -1 if unknown
	err     error
}

// insert adds rows, several of them in one transaction.
func (c *Client) insert(ctx context.Context, t *token, rows []row) outcome {
	var r reply
	var err error
	if len(rows) == 1 {
		r, err = c.post(ctx, t.table.String()+"?"+t.sas, rows[0].json(t.partition), entityHeader())
	} else {
		body, boundary := t.transaction(rows)
		r, err = c.post(ctx, t.service()+"/$batch?"+t.sas, body, batchHeader(boundary))
	}
	if err != nil {
		return outcome{index: -1, err: fmt.Errorf("%s: %w", storage, err)}
	}
	switch {
	case len(rows) > 1 && r.status == http.StatusAccepted:
		return readTransaction(r, len(rows))
	case len(rows) == 1 && (r.status == http.StatusCreated || r.status == http.StatusNoContent):
		return outcome{verdict: stored}
	}
	return judge(r)
}
