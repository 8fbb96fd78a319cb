package demo

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"furrow/cmd/internal/lab/simulate"
	"furrow/cmd/internal/setup"
	"furrow/sas/device"
	"furrow/tables/schema"
)

// Revoked says how storage and the endpoint refused a stolen device.
type Revoked struct {
	Device  schema.DeviceID `json:"device"`
	Stored  int64           `json:"storedBefore"`   // readings
	Seconds float64         `json:"refusedSeconds"` // from the revocation until both have refused it
	Write   string          `json:"write"`          // storage's answer to its next write
	Token   string          `json:"token"`          // the endpoint's answer to its next request
}

// revokeAt is the share of the readings that is stored when the device is revoked.
const revokeAt = 0.7

// revoke plays a device that is stolen. No import has announced it, so that it registers by itself.
func (d *Demo) revoke(ctx context.Context) (r Revoked, err error) {
	tenant := d.Cast.Tenants[0]
	m := simulate.Member{ID: schema.DeviceID(string(tenant) + ":stolen-probe"), Tenant: tenant}
	r.Device = m.ID
	if err := d.awaitStored(ctx, 1); err != nil { // the endpoint knows its enrollment then
		return r, err
	}
	heard := &refusals{next: d.recorded}
	denied := make(chan error, 1)
	enrollment, key := d.credential(m)
	client, stop, err := d.sending(ctx, device.Config{Device: m.ID, Enrollment: string(enrollment), Key: key,
		Transport: heard,
		OnReport: func(r device.Report) {
			if r.Reason != device.Denied {
				return
			}
			select {
			case denied <- r.Err:
			default: // reported before
			}
		}})
	if err != nil {
		return r, err
	}
	defer setup.Closing(&err, stop)
	if err := writeOnce(ctx, client); err != nil {
		return r, fmt.Errorf("before it was revoked, %s could not write: %w", m.ID, err)
	}
	if err := d.awaitStored(ctx, int(revokeAt*float64(d.Cast.Readings))); err != nil {
		return r, err
	}
	return r, d.refuse(ctx, client, heard, denied, &r)
}

// sending opens a device, which sends until it is stopped.
func (d *Demo) sending(ctx context.Context, c device.Config) (client *device.Client, stop func() error, err error) {
	c.Endpoint, c.Log = d.Said.Endpoint, slog.New(slog.DiscardHandler)
	if client, err = device.Open(c); err != nil {
		return nil, nil, err
	}
	running, cancel := context.WithCancel(ctx)
	var sending sync.WaitGroup
	sending.Go(func() { _ = client.Run(running) }) // it returns nil
	return client, func() error {
		cancel()
		sending.Wait()
		return client.Close()
	}, nil
}

// awaitStored waits until n readings are stored.
func (d *Demo) awaitStored(ctx context.Context, n int) error {
	return await(ctx, d.Screen, 20*time.Millisecond, func(context.Context) (waitState, error) {
		_, stored := d.receipts.Told()
		return waitState{stored >= n, int64(stored), fmt.Sprintf("%d of %d readings are stored", stored, n)}, nil
	})
}

// writeOnce sends a reading and waits until it is stored.
func writeOnce(ctx context.Context, client *device.Client) error {
	ctx, cancel := context.WithTimeout(ctx, standstill)
	defer cancel()
	return errors.Join(client.Send(device.Reading{Values: map[string]any{"temperature": 21.5}}), client.Flush(ctx))
}

// refuse revokes the device, which writes until it is refused.
func (d *Demo) refuse(ctx context.Context, client *device.Client, heard *refusals, denied <-chan error,
	r *Revoked) error {
	began := time.Now()
	if err := d.policies().Revoke(ctx, schema.Device{ID: r.Device, Readings: d.Names.Readings()}, false); err != nil {
		return err
	}
	d.Screen.Say(fmt.Sprintf("%s is revoked", r.Device))
	for {
		r.Stored = client.Stats().Stored
		if err := client.Send(device.Reading{Values: map[string]any{"temperature": 99.5}}); err != nil {
			return err
		}
		select {
		case why := <-denied:
			r.Seconds = time.Since(began).Seconds()
			r.Write = heard.write()
			if refusal, ok := errors.AsType[*device.Refusal](why); ok && refusal.By == "the endpoint" {
				r.Token = fmt.Sprintf("%d %s", refusal.Status, refusal.Code)
			}
			if r.Write == "" || r.Token == "" || client.Stats().Stored != r.Stored {
				return fmt.Errorf("storage and the endpoint should have refused %s; storage answered %q, and the "+
					"device reports: %w", r.Device, r.Write, why)
			}
			d.Screen.Say(fmt.Sprintf("%s is refused: its write with %s, its token with %s", r.Device, r.Write, r.Token))
			return nil
		case <-time.After(2 * time.Second):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		if time.Since(began) > d.policies().Delay+standstill {
			return fmt.Errorf("%v after it was revoked, %s is still not refused", time.Since(began).Round(time.Second), r.Device)
		}
	}
}

// refusals is a transport that keeps the first refusal of storage.
type refusals struct {
	next http.RoundTripper
	mu   sync.Mutex
	said string
}

func (r *refusals) RoundTrip(request *http.Request) (*http.Response, error) {
	answer, err := r.next.RoundTrip(request)
	if err == nil && answer.StatusCode >= 400 && !strings.HasSuffix(request.URL.Path, "/token") {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.said == "" {
			r.said = strings.TrimSpace(fmt.Sprintf("%d %s", answer.StatusCode, answer.Header.Get("x-ms-error-code")))
		}
	}
	return answer, err
}

func (r *refusals) write() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.said
}
