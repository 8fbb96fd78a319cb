package api

import (
	"context"
	"io"
	"net/http"
	"time"

	"furrow/worker/dashboard/model"
)

const (
	// maxStreams limits the open streams: each holds what it has sent, and a compressor.
	maxStreams = 64
	// recheck is how often a map is compared again when nothing arrives: a device becomes silent by doing nothing.
	recheck = 5 * time.Second
	// keepAlive is the longest pause between two sends, so that no proxy closes the connection.
	keepAlive = 15 * time.Second
	// sendTimeout is how long a client may take to receive one event.
	sendTimeout = 30 * time.Second
)

// stream sends a map and then its changes, until the client goes or Close is called.
func (a *API) stream(w http.ResponseWriter, r *http.Request, p Params) error {
	select {
	case a.streams <- struct{}{}:
		defer func() { <-a.streams }()
	default:
		return NewProblem(TooManyRequests, "Too many open maps",
			"This dashboard already updates as many open maps as it can. /v1/map returns the same data once.").
			RetryIn(30 * time.Second)
	}
	ctx, stop := context.WithCancel(r.Context())
	defer stop()
	go func() {
		select {
		case <-a.closing:
			stop()
		case <-ctx.Done():
		}
	}()
	live, m, err := a.model.Live(ctx, p.Map())
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Accel-Buffering", "no") // tells proxies not to buffer
	w.WriteHeader(http.StatusOK)
	if r.Method != http.MethodHead {
		out := events{w, http.NewResponseController(w)}
		if out.event("map", m) == nil {
			a.follow(ctx, live, out)
		}
	}
	return nil
}

// follow sends changes until ctx ends or the client is gone.
func (a *API) follow(ctx context.Context, live *model.Live, out events) {
	sent := time.Now()
	for {
		changed := a.model.Changed()
		change, whole, any := live.Next()
		var err error
		switch {
		case whole != nil:
			err = out.event("map", whole)
		case any:
			err = out.event("change", change)
		case time.Since(sent) >= keepAlive-time.Second:
			any, err = true, out.send(": keep-alive\n\n")
		}
		if err != nil {
			return
		}
		if any {
			sent = time.Now()
		}
		select { // send at most one event per interval
		case <-time.After(model.LiveInterval):
		case <-ctx.Done():
			return
		}
		select {
		case <-changed:
		case <-time.After(recheck - model.LiveInterval):
		case <-ctx.Done():
			return
		}
	}
}

// events writes server-sent events.
type events struct {
	w       io.Writer
	control *http.ResponseController
}

func (e events) event(name string, v any) error {
	body, err := marshal(v)
	if err != nil {
		return err
	}
	return e.send("event: " + name + "\ndata: " + string(body) + "\n\n")
}

func (e events) send(text string) error {
	_ = e.control.SetWriteDeadline(time.Now().Add(sendTimeout)) // a test's recorder has no deadline
	if _, err := io.WriteString(e.w, text); err != nil {
		return err
	}
	return e.control.Flush()
}
