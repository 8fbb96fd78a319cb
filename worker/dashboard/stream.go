package dashboard

import (
	"compress/gzip"
	"context"
	"io"
	"net/http"
	"time"

	"furrow/worker/dashboard/model"
)

const (
	// recheck is when a map is looked at again although nothing has come: a device
	// that sends nothing becomes silent without a word.
	recheck = 5 * time.Second
	comment = 15 * time.Second // in which something is sent, so that no proxy gives up
	// sendTimeout is how long who listens may take for what is sent.
	sendTimeout = 30 * time.Second
)

// stream sends a map, and then what of it changes, until whoever listens goes.
func (d *Dashboard) stream(x *exchange) error {
	select {
	case d.streams <- struct{}{}:
		defer func() { <-d.streams }()
	default:
		return &refusal{code: TooManyRequests, title: "Too many maps are open", detail: "As many maps are open as this dashboard keeps live; /v1/map says the same at one time.", after: 30 * time.Second}
	}
	ctx, stop := context.WithCancel(x.r.Context())
	defer stop()
	go func() { // a server that ends does not wait for those who listen
		select {
		case <-d.closing:
			stop()
		case <-ctx.Done():
		}
	}()
	live, m, err := d.view.Live(ctx, x.ask.world())
	if err != nil {
		return err
	}
	out := newEvents(x)
	if x.r.Method == http.MethodHead {
		return nil
	}
	if err := out.event("map", m); err != nil {
		return nil // whoever listened has gone
	}
	return d.follow(ctx, live, out)
}

func (d *Dashboard) follow(ctx context.Context, live *model.Live, out *events) error {
	said := time.Now()
	for {
		changed := d.view.Changed()
		c, whole, any := live.Next()
		var err error
		switch {
		case whole != nil:
			err = out.event("map", whole)
		case any:
			err = out.event("change", c)
		case time.Since(said) >= comment-time.Second:
			err = out.comment()
		}
		if err != nil {
			return nil
		}
		if any || time.Since(said) >= comment-time.Second {
			said = time.Now()
		}
		select { // however fast it changes
		case <-time.After(model.LiveEvery):
		case <-ctx.Done():
			return nil
		}
		select {
		case <-changed:
		case <-time.After(recheck - model.LiveEvery):
		case <-ctx.Done():
			return nil
		}
	}
}

// events are sent to who listens.
type events struct {
	w       io.Writer
	flush   func() error
	control *http.ResponseController
}

func newEvents(x *exchange) *events {
	h := x.w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no") // or a proxy collects what is to be seen at once
	h.Add("Vary", "Accept-Encoding")
	e := &events{w: x.w, control: http.NewResponseController(x.w)}
	e.flush = e.control.Flush
	if takesGzip(x.r) {
		h.Set("Content-Encoding", "gzip")
		z, _ := gzip.NewWriterLevel(x.w, gzip.BestSpeed) // a level that there is
		e.w = z
		e.flush = func() error {
			if err := z.Flush(); err != nil {
				return err
			}
			return e.control.Flush()
		}
	}
	x.began = true
	x.w.WriteHeader(http.StatusOK)
	return e
}

func (e *events) event(name string, v any) error {
	body, err := marshal(v)
	if err != nil {
		return err
	}
	return e.send("event: " + name + "\ndata: " + string(body) + "\n\n")
}

func (e *events) comment() error { return e.send(": still here\n\n") }

func (e *events) send(text string) error {
	// Where there is no deadline to set, as in tests, there is none to miss.
	_ = e.control.SetWriteDeadline(time.Now().Add(sendTimeout))
	if _, err := io.WriteString(e.w, text); err != nil {
		return err
	}
	return e.flush()
}
