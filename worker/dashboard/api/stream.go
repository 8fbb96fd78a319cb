package api

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"furrow/worker/answers"
	"furrow/worker/dashboard/model"
)

const (
	// recheck is how often a map is compared again when nothing arrives: a device becomes silent by doing nothing.
	recheck = 5 * time.Second
	// keepAlive is the longest pause between two sends, so that no proxy closes the connection.
	keepAlive = 15 * time.Second
	// sendTimeout is how long a client may take to receive one event.
	sendTimeout = 30 * time.Second
)

// openStream returns the context of a stream, which ends when the client goes or Close is called, and what to call at
// its end.
func (a *API) openStream(r *http.Request) (ctx context.Context, end func(), err error) {
	owners := PersonOf(r.Context()).owners()
	if !a.streams.Take(1, owners...) {
		return nil, nil, NewProblem(TooManyRequests, "Too many open streams",
			"As many streams are open as this dashboard can serve to you. The same address without /stream returns the same "+
				"data once.").RetryIn(30 * time.Second)
	}
	ctx, stop := context.WithCancel(r.Context())
	go func() {
		select {
		case <-a.closing:
			stop()
		case <-ctx.Done():
		}
	}()
	return ctx, func() { stop(); a.streams.Give(1, owners...) }, nil
}

// begin sends the headers of a stream.
func begin(w http.ResponseWriter) events {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Accel-Buffering", "no") // tells proxies not to buffer
	w.WriteHeader(http.StatusOK)
	return events{w, http.NewResponseController(w)}
}

// stream sends a map and then its changes.
func (a *API) stream(w http.ResponseWriter, r *http.Request, p Map) error {
	ctx, end, err := a.openStream(r)
	if err != nil {
		return err
	}
	defer end()
	live, m, err := a.model.Maps.Live(ctx, p.Query())
	if err != nil {
		return err
	}
	out := begin(w)
	if r.Method != http.MethodHead && out.event("map", m) == nil {
		a.follow(ctx, live, out)
	}
	return nil
}

// streamDevice sends the readings that a device writes from now on, until it moves to another tenant.
func (a *API) streamDevice(w http.ResponseWriter, r *http.Request, _ None) error {
	id, err := DeviceID(r)
	if err != nil {
		return err
	}
	ctx, end, err := a.openStream(r)
	if err != nil {
		return err
	}
	defer end()
	device, err := a.model.Devices.Follow(ctx, id)
	if err != nil {
		return err
	}
	out := begin(w)
	if r.Method == http.MethodHead {
		return nil
	}
	var sent time.Time
	for ctx.Err() == nil {
		readings, err := device.Next(ctx)
		if errors.Is(err, model.ErrUnknown) { // it has moved to another tenant
			return nil
		}
		if err != nil && ctx.Err() == nil {
			a.log.Warn("readings cannot be read; the stream tries again", "device", id, "error", err)
		}
		for _, reading := range readings {
			if out.event("reading", reading) != nil {
				return nil
			}
		}
		switch {
		case len(readings) > 0:
			sent = time.Now()
		case time.Since(sent) >= keepAlive-model.FollowInterval:
			if sent = time.Now(); out.send(": keep-alive\n\n") != nil {
				return nil
			}
		}
		select {
		case <-time.After(model.FollowInterval):
		case <-ctx.Done():
		}
	}
	return nil
}

// follow sends changes until ctx ends or the client is gone.
func (a *API) follow(ctx context.Context, live *model.Live, out events) {
	sent := time.Now()
	for {
		changed := a.model.Changed()
		change, whole, any := live.Next(ctx)
		var err error
		for _, incident := range live.NextIncidents() {
			if err = out.event("incident", incident); err != nil {
				return
			}
			sent = time.Now()
		}
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
	body, err := answers.Marshal(v)
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
