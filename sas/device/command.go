package device

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"furrow/tables"
	"furrow/tables/schema"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// A Command is something that the device is to do, or the configuration that it is to have.
type Command struct {
	ID      string         // of the command, or of this version of the configuration
	Body    jsontext.Value // what the sender wrote
	Expires time.Time      // by the server's time; zero for a configuration, which holds until there is a newer one

	desired bool
}

// A poller reads the device's commands and has them obeyed.
type poller struct {
	*Client
	due   time.Duration           // of the next read, since the start of the boot
	fails int                     // consecutive
	err   error                   // of the last read
	seen  map[string]tables.Ticks // IDs of commands that need not be handed over, until they expire
	last  string                  // ID of the last desired configuration

	mu    sync.Mutex
	queue []Command
	more  chan struct{} // holds a value when there may be something in the queue
}

// newPoller returns a poller that knows the commands whose results wait to be sent.
func (c *Client) newPoller() *poller {
	p := &poller{Client: c, seen: map[string]tables.Ticks{}, more: make(chan struct{}, 1)}
	c.buffer.mu.Lock()
	defer c.buffer.mu.Unlock()
	for _, e := range c.buffer.entries {
		row := e.Row
		row.RowKey = longestKey
		if ack, err := schema.ParseAck(row, row.Get(schema.AckProperty)); err == nil && isFinal(ack) {
			p.seen[string(ack.ID)] = ack.ID.Sent().Add(schema.MaxCommandLife)
		}
	}
	return p
}

func isFinal(a schema.Ack) bool { return a.State != schema.CommandReceived }

func (p *poller) wanted() bool { return p.config.OnCommand != nil || p.config.OnDesired != nil }

func (p *poller) isDue() bool { return p.wanted() && p.clock.since() >= p.due }

// wait returns a channel that is ready when a read is due.
func (p *poller) wait() <-chan time.Time {
	if !p.wanted() {
		return nil
	}
	return time.After(p.due - p.clock.since())
}

// renewed takes note of a new token: whether commands wait, and whether there can be any.
func (p *poller) renewed(t *token) {
	switch {
	case t.commands == nil:
		p.due = t.renew
	case t.waiting > 0:
		p.due = 0
	default:
		p.due = min(p.due, p.clock.since()+t.pollEvery)
	}
}

// poll reads the commands and hands over those that are new. It never keeps readings from being sent: after an error,
// it tries again later. denied means that storage does not accept the token.
func (p *poller) poll(ctx context.Context, t *token) result {
	if t.commands == nil {
		p.due = t.renew
		return unknown
	}
	ctx, cancel := context.WithTimeoutCause(ctx, patience, errSlow)
	defer cancel()
	if p.err = p.read(ctx, t); p.err == nil {
		p.fails, p.due = 0, p.clock.since()+t.pollEvery
		return stored
	}
	o := judge(p.err)
	p.err = fmt.Errorf("commands: %w", o.err)
	longest := min(firstPause<<min(p.fails, 20), longestPause)
	if p.fails++; o.result == denied && p.fails > 1 { // an operator has to act
		longest, o.result = deniedPause, unknown
	}
	p.due = p.clock.since() + time.Duration(rand.Int64N(int64(longest))) + time.Second
	p.config.Log.WarnContext(ctx, "commands cannot be read; retrying", "error", p.err)
	return o.result
}

// read reads the commands that have not expired. Only if one is unknown it reads their acknowledgements, too: the
// device may have obeyed before it was restarted.
func (p *poller) read(ctx context.Context, t *token) error {
	now := tables.TicksOf(p.clock.now())
	const fuzz = time.Minute // the exact time is that of the response
	q := tables.Query{Range: tables.Range{Partitions: tables.Is(t.partition),
		Rows: schema.CommandRows(now.Add(-schema.MaxCommandLife - time.Hour))},
		Filter: schema.CommandExpires + " gt datetime'" + now.Add(-fuzz).Time().Format(time.RFC3339) + "'"}
	var fresh []schema.Command
	for page, err := range t.commands.Rows(ctx, q) {
		if err != nil {
			return err
		}
		for _, row := range page.Rows {
			c, err := schema.CommandOf(row)
			if errors.Is(err, schema.ErrNewer) || err == nil && c.Expires <= tables.TicksOf(page.Time) {
				continue
			}
			if err != nil {
				return err
			}
			if p.isNew(c) {
				fresh = append(fresh, c)
			}
		}
	}
	if err := p.skipObeyed(ctx, t, fresh); err != nil {
		return err
	}
	for id, expires := range p.seen {
		if expires.Add(time.Hour) < now {
			delete(p.seen, id)
		}
	}
	for _, c := range fresh {
		if p.isNew(c) {
			p.hand(c)
		}
	}
	return nil
}

func (p *poller) isNew(c schema.Command) bool {
	if c.Desired {
		return p.config.OnDesired != nil && string(c.ID) != p.last
	}
	_, seen := p.seen[string(c.ID)]
	return p.config.OnCommand != nil && !seen
}

// skipObeyed takes note of the commands that the device has obeyed already, as the pipeline has recorded.
func (p *poller) skipObeyed(ctx context.Context, t *token, fresh []schema.Command) error {
	first := slices.IndexFunc(fresh, func(c schema.Command) bool { return !c.Desired })
	if first < 0 {
		return nil
	}
	var final []string
	for _, state := range schema.AckStates() {
		if isFinal(schema.Ack{State: state}) {
			final = append(final, "State eq '"+state+"'")
		}
	}
	q := tables.Query{Range: tables.Range{Partitions: tables.Is(t.partition),
		Rows: schema.CommandRows(fresh[first].ID.Sent())}, Filter: strings.Join(final, " or ")}
	for row, err := range t.commands.Entities(ctx, q) {
		if err != nil {
			return err
		}
		if ack, err := schema.AckOf(row); err == nil {
			p.seen[string(ack.ID)] = ack.ID.Sent().Add(schema.MaxCommandLife)
		}
	}
	return nil
}

// hand puts a command into the queue.
func (p *poller) hand(c schema.Command) {
	told := Command{ID: string(c.ID), Body: jsontext.Value(c.Body), desired: c.Desired}
	if c.Desired {
		p.last = string(c.ID)
	} else {
		told.Expires, p.seen[string(c.ID)] = c.Expires.Time(), c.Expires
	}
	p.mu.Lock()
	p.queue = append(p.queue, told)
	p.mu.Unlock()
	select {
	case p.more <- struct{}{}:
	default:
	}
}

// obey does what commands say, one after the other, until ctx ends.
func (p *poller) obey(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-p.more:
		}
		for {
			p.mu.Lock()
			if len(p.queue) == 0 || ctx.Err() != nil {
				p.mu.Unlock()
				break
			}
			c := p.queue[0]
			p.queue = p.queue[1:]
			p.mu.Unlock()
			p.obeyOne(ctx, c)
		}
	}
}

func (p *poller) obeyOne(ctx context.Context, c Command) {
	do := p.config.OnCommand
	if c.desired {
		do = p.config.OnDesired
	} else if !p.clock.now().Before(c.Expires) {
		return // while it waited for others
	}
	p.count(func(s *Stats) { s.Commands++ })
	p.acknowledge(ctx, schema.Ack{ID: schema.CommandID(c.ID), State: schema.CommandReceived})
	ack := schema.Ack{ID: schema.CommandID(c.ID), State: schema.CommandSucceeded}
	result, err := do(ctx, c)
	if ctx.Err() != nil && err != nil {
		return // it was interrupted: the next start does it again
	}
	if err != nil {
		ack.State = schema.CommandFailed
		if result == nil {
			result = strings.ToValidUTF8(err.Error(), "\ufffd")
		}
	}
	if result != nil {
		if text, err := json.Marshal(result); err == nil { // else it is a part of one
			ack.Result = string(text)
		} else {
			p.config.Log.WarnContext(ctx, "the result of a command is no JSON", "command", c.ID, "error", err)
		}
	}
	p.acknowledge(ctx, ack)
}

// acknowledge sends an acknowledgement as a reading, also when ctx has ended: a file keeps it. While the buffer is
// full, it waits.
func (p *poller) acknowledge(ctx context.Context, ack schema.Ack) {
	text, err := ack.Text()
	for err == nil {
		_, changed := p.buffer.waiting(0)
		if err = p.Send(Reading{Values: map[string]any{schema.AckProperty: text}}); !errors.Is(err, ErrFull) {
			break
		}
		select {
		case <-changed:
			err = nil
		case <-ctx.Done():
		}
	}
	if err != nil {
		p.config.Log.WarnContext(ctx, "a command cannot be acknowledged", "command", string(ack.ID), "error", err)
	}
}
