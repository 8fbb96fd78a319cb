package bench

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
)

// A tokenWorkload is one way of asking for tokens, and one row of the report.
type tokenWorkload struct {
	workload
	tls bool // it makes sense over TLS alone

	of func(ctx context.Context, cfg TokenConfig, e *issuer) (operation, error)
}

func (w tokenWorkload) on(target string) bool { return !w.tls || target == overHTTPS }

// tokenWorkloads are the rows of the report, in its order.
func tokenWorkloads() []tokenWorkload {
	return []tokenWorkload{
		{workload{name: "kept", about: "a device that is known renews its token, over a connection that stays open"}, false, renewals},
		{workload{name: "first", about: "a new device is registered and gets its first token, over such a connection"}, false, firstContacts},
		{workload{name: "fresh", about: "as kept, but with a TLS connection of its own for each token, and no session resumed"}, true, freshRenewals},
	}
}

const stormName = "storm"

// TokenNames are the rows that a [TokenConfig] can ask for, each with a line about it.
func TokenNames() (names, abouts []string) {
	for _, w := range tokenWorkloads() {
		names = append(names, w.name)
		abouts = append(abouts, w.about)
	}
	return append(names, stormName), append(abouts, "many new devices boot at once, and obey Retry-After until all have a token")
}

func renewals(ctx context.Context, cfg TokenConfig, e *issuer) (operation, error) {
	return renewalsOver(ctx, cfg, e, false)
}

func freshRenewals(ctx context.Context, cfg TokenConfig, e *issuer) (operation, error) {
	return renewalsOver(ctx, cfg, e, true)
}

// renewalsOver has each client ask for its devices in turn. That two ask for one
// device is left out, as no device asks twice at a time.
func renewalsOver(ctx context.Context, cfg TokenConfig, e *issuer, fresh bool) (operation, error) {
	known, err := e.known(ctx, cfg)
	if err != nil {
		return nil, err
	}
	next := make([]int, cfg.Clients)
	return func(ctx context.Context, client int, _ func()) error {
		mine := known[client]
		r := mine[next[client]%len(mine)]
		next[client]++
		return e.ask(ctx, r, fresh)
	}, nil
}

func firstContacts(_ context.Context, _ TokenConfig, e *issuer) (operation, error) {
	var devices atomic.Int64
	return func(ctx context.Context, _ int, _ func()) error {
		r, err := e.request(fmt.Sprintf("%s-new-%09d", e.name, devices.Add(1)))
		if err != nil {
			return err
		}
		return e.ask(ctx, r, false)
	}, nil
}

// known are requests of devices that have got tokens before, by client. They are made
// known once.
func (e *issuer) known(ctx context.Context, cfg TokenConfig) ([][]*http.Request, error) {
	if e.devices != nil {
		return e.devices, nil
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	devices := make([][]*http.Request, cfg.Clients)
	var asking sync.WaitGroup
	for client := range devices {
		asking.Go(func() {
			for n := client; n < cfg.Devices && ctx.Err() == nil; n += cfg.Clients {
				r, err := e.request(fmt.Sprintf("%s-%09d", e.name, n))
				if err == nil {
					err = e.ask(ctx, r, false)
				}
				if err != nil {
					cancel(err)
					return
				}
				devices[client] = append(devices[client], r)
			}
		})
	}
	asking.Wait()
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	e.devices = devices
	return devices, nil
}
