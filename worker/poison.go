package worker

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"furrow/jobs"
	"furrow/tables/service"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue/v2"
	"github.com/go-json-experiment/json"
)

// A Poisoned is a message that the pipeline could not process, with what is known about the reason. In the poison queue
// it is a JSON object.
type Poisoned struct {
	At       time.Time `json:"at" column:"poisoned"`                // when it became poison
	Attempts int       `json:"attempts,omitzero" column:"attempts"` // failed attempts; 0 if it was not even tried
	Cause    string    `json:"cause" column:"cause"`                // why the last attempt failed
	Text     string    `json:"text" column:"message"`               // text of the message
	// bytes of Text before it was cut; 0 means it is complete
	Cut    int    `json:"cut,omitzero"`
	Worker string `json:"worker,omitempty"` // worker that gave it up
}

// Bounds of what is kept of a message and its cause. A message has 64 KiB, and JSON may write a character in six bytes.
// A batch that lists its devices has more than 8 KiB, and few such characters.
const (
	keptWhole = 60 << 10 // in JSON
	keptText  = 8 << 10
	keptCause = 1 << 10
)

// encode returns p as a text that a queue accepts.
func (p Poisoned) encode() (string, error) {
	whole := p.Text
	p.Text, p.Cause = writable(whole, len(whole)), writable(p.Cause, keptCause)
	p.At = p.At.UTC().Truncate(time.Millisecond)
	text, err := json.Marshal(p)
	if len(text) > keptWhole && len(whole) > keptText {
		p.Text, p.Cut = writable(whole, keptText), len(whole)
		text, err = json.Marshal(p)
	}
	return string(text), err
}

// poisonedOf reads what encode has written. Anything else in the poison queue is a message with an unknown cause.
func poisonedOf(text string) Poisoned {
	var p Poisoned
	if err := json.Unmarshal([]byte(text), &p); err != nil || p.At.IsZero() {
		return Poisoned{Text: text, Cause: "unknown: a worker did not put it here"}
	}
	return p
}

// writable returns at most the first bytes of s, and replaces characters that XML does not allow: the text of a message
// travels in XML, and a cause may quote anything. www.w3.org/TR/xml, section 2.2.
func writable(s string, most int) string {
	if len(s) > most {
		for s = s[:most]; len(s) > most-utf8.UTFMax && !utf8.ValidString(s); {
			s = s[:len(s)-1]
		}
	}
	return strings.Map(func(r rune) rune {
		if r < 0x20 && r != '\t' && r != '\n' && r != '\r' || r == 0xFFFE || r == 0xFFFF {
			return utf8.RuneError
		}
		return r
	}, strings.ToValidUTF8(s, string(utf8.RuneError)))
}

// Poison puts a message into the poison queue. The caller deletes the message afterwards: a crash in between duplicates
// the entry and loses nothing.
func (q *Queue) Poison(ctx context.Context, p Poisoned) error {
	text, err := p.encode()
	if err != nil {
		return fmt.Errorf("poison of queue %s: %w", q.Name(), err)
	}
	return q.poison.put(ctx, text, 0)
}

// PoisonDepth returns about how many messages the poison queue has.
func (q *Queue) PoisonDepth(ctx context.Context) (int, error) { return q.poison.depth(ctx) }

// Poisoned returns the first messages of the poison queue, at most MaxGet, and leaves them there. Storage shows no more
// of a queue without hiding messages.
func (q *Queue) Poisoned(ctx context.Context) ([]Poisoned, error) {
	resp, err := q.poison.queue.PeekMessages(service.Within(ctx, OpPeek),
		&azqueue.PeekMessagesOptions{NumberOfMessages: new(int32(MaxGet))})
	if err != nil {
		return nil, q.poison.failed(OpPeek, err)
	}
	var found []Poisoned
	for _, m := range resp.Messages {
		found = append(found, poisonedOf(value(m.MessageText)))
	}
	return found, nil
}

// Redrive puts messages of the poison queue back to work as if they had never failed: all for which wanted returns
// true, or simply all if it is nil. It looks at as many as there are when it begins, however many fail again meanwhile,
// and returns how many it put back. A message that was cut stays. A crash may put one back twice.
func (q *Queue) Redrive(ctx context.Context, wanted func(Poisoned) bool) (redriven int, err error) {
	const hold = time.Minute
	left, err := q.poison.depth(ctx)
	if err != nil {
		return 0, err
	}
	var stay []*Lease
	defer func() {
		for _, l := range stay {
			err = errors.Join(err, ignoreLost(l.GiveBack(context.WithoutCancel(ctx), l.Text(), 0)))
		}
	}()
	for left > 0 {
		got, err := q.poison.get(ctx, min(left, MaxGet), hold)
		if err != nil || len(got) == 0 {
			return redriven, err
		}
		left -= len(got)
		for i, l := range got {
			p := poisonedOf(l.Text())
			if p.Cut > 0 || wanted != nil && !wanted(p) {
				stay = append(stay, l)
				continue
			}
			if err := q.redrive(ctx, l, p); err != nil {
				stay = append(stay, got[i:]...)
				return redriven, err
			}
			redriven++
		}
	}
	return redriven, nil
}

func (q *Queue) redrive(ctx context.Context, l *Lease, p Poisoned) error {
	m, err := jobs.Decode(p.Text)
	if err != nil { // a newer worker may understand it
		err = q.jobs.put(ctx, p.Text, 0)
	} else {
		err = q.Put(ctx, m.Untried(), 0)
	}
	if err != nil {
		return err
	}
	return ignoreLost(l.Delete(ctx))
}

// ignoreLost returns err unless it says that somebody else has the message: two redrives at once are fine.
func ignoreLost(err error) error {
	if errors.Is(err, ErrLeaseLost) {
		return nil
	}
	return err
}

// Purge deletes all messages of the poison queue, and returns about how many there were.
func (q *Queue) Purge(ctx context.Context) (int, error) {
	n, err := q.poison.depth(ctx)
	if err != nil {
		return 0, err
	}
	_, err = q.poison.queue.ClearMessages(service.Within(ctx, OpClear), nil)
	return n, q.poison.failed(OpClear, err)
}
