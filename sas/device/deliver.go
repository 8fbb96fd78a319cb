package device

import (
	"context"
	"fmt"
	"net/http"
)

// deliver sends the batch once, and does what the answer says.
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
		// Each key is of one reading alone, so that what exists is that reading; and a
		// transaction is all or nothing.
		s.done(0, n)
	case o.verdict == exists && o.index >= 0:
		s.done(o.index, o.index+1)
	case o.verdict == rejected && (o.index >= 0 || n == 1):
		s.setAside(max(o.index, 0), Rejected, o.err)
		s.well()
	case o.verdict == exists, o.verdict == rejected:
		s.alone, s.whole = true, false
	case o.verdict == denied:
		return s.again(o.err)
	default:
		return o.err
	}
	return nil
}

// done lets entries go that are stored.
func (s *sender) done(from, to int) {
	s.count(func(s *Stats) { s.Stored += int64(to - from) })
	s.leave(from, to)
	s.refused, s.denied = 0, false
	s.well()
}

// again is what follows when storage refuses the token: a new one, at once, as the
// policy of the old one may be gone. If that is refused, too, a pause.
func (s *sender) again(err error) error {
	s.token = nil
	if s.refused++; s.refused == 1 {
		return nil
	}
	s.deny(err)
	return err
}

// A verdict is what storage says to rows.
type verdict int

const (
	unknown  verdict = iota // nothing, or what does not tell
	stored                  // every row
	exists                  // a row is there already
	rejected                // a row is bad for good
	denied                  // the token does not serve
)

// An outcome is what became of a request.
type outcome struct {
	verdict verdict
	index   int // of the row that it is about; -1 where that is not said
	err     error
}

// insert adds rows: several in a transaction.
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
