package demo

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"furrow/cmd/internal/lab/demo/check"
	"furrow/cmd/internal/lab/simulate"
	"furrow/cmd/internal/setup"
	"furrow/tables/schema"
)

// send lets the fleet send its readings, with tokens from the endpoint.
func (d *Demo) send(ctx context.Context) (simulate.Summary, error) {
	d.Screen.Stage("sending readings", d.Cast.Readings)
	pace := max(1.001, d.Cast.To.Sub(d.Cast.From).Seconds()/d.Length.Seconds())
	var folded atomic.Int64
	watching, stop := context.WithCancel(ctx)
	defer stop()
	go d.watchFolding(watching, &folded)
	c := d.devices(func(m simulate.Member) simulate.Stream { return d.untilKilled(ctx, d.Cast.Sendings(m)) })
	c.From, c.Pace = d.Cast.From, pace
	c.Progress = func(s simulate.Summary) { d.Screen.Progress(s.Stored, folded.Load()) }
	return d.run(ctx, c)
}

// sendOn lets the fleet send until ctx ends.
func (d *Demo) sendOn(ctx context.Context) error {
	if d.Cast.Onward == nil {
		return nil
	}
	now := time.Now().UTC()
	c := d.devices(func(m simulate.Member) simulate.Stream { return d.Cast.Onward(m, now) })
	c.Transport, c.Grace = d.HTTP.Transport, time.Second // nobody checks these readings or waits for them
	_, err := simulate.Run(ctx, c)
	return err
}

func (d *Demo) devices(sendings func(simulate.Member) simulate.Stream) simulate.Config {
	return simulate.Config{Endpoint: d.Said.Endpoint, Transport: d.recorded, Members: d.Cast.Members,
		Credential: d.credential, Sendings: sendings, Known: standstill, Log: slog.New(slog.DiscardHandler)}
}

// untilKilled holds a stream when most readings are sent, until the first worker is killed: however fast the
// machine is, some are left then.
func (d *Demo) untilKilled(ctx context.Context, all simulate.Stream) simulate.Stream {
	return func(yield func(simulate.Sending) bool) {
		for s := range all {
			if float64(d.sent.Add(1)) > holdAt*float64(d.Cast.Readings) {
				select {
				case <-d.killed:
				case <-ctx.Done():
				}
			}
			if !yield(s) {
				return
			}
		}
	}
}

// run lets devices send until everything is sent.
func (d *Demo) run(ctx context.Context, c simulate.Config) (simulate.Summary, error) {
	sum, err := simulate.Run(ctx, c)
	switch {
	case err != nil:
	case ctx.Err() != nil:
		err = context.Cause(ctx)
	case sum.Waiting > 0:
		err = fmt.Errorf("%d readings of %d devices could not be sent: %w", sum.Waiting, sum.Behind, sum.Newest)
	}
	return sum, err
}

// watchFolding polls how many rows the pipeline has folded.
func (d *Demo) watchFolding(ctx context.Context, folded *atomic.Int64) {
	for setup.Pause(ctx, time.Second) {
		rows, err := d.tracks(ctx)
		if err != nil {
			continue // it is only for the screen
		}
		sum := int64(0)
		for _, t := range rows {
			sum += t.Rows
		}
		folded.Store(sum)
	}
}

// trouble says why a device may make no progress.
func trouble(t schema.Track) string {
	switch {
	case t.Reason != "":
		return " (held: " + t.Reason + ")"
	case t.Claimed():
		return " (claimed by a job that has not committed)"
	}
	return ""
}

func (d *Demo) tracks(ctx context.Context) (map[schema.DeviceID]schema.Track, error) {
	return check.Tracks(ctx, d.Tables, d.Names, pipeline)
}
