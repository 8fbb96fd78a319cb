package demo

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"furrow/cmd/internal/lab/demo/check"
	"furrow/cmd/internal/setup"
	"furrow/sas/device"
	"furrow/tables/schema"
)

// An Alarm says how a rule watched an oven.
type Alarm struct {
	Device schema.DeviceID `json:"device"`
	Value  float64         `json:"value"` // °C, the first above the limit of the rule
	// Seconds from that reading until the webhook was told, until the oven obeyed the command of the rule, and until the
	// webhook was told that the oven is cool again.
	Told   float64 `json:"toldSeconds"`
	Obeyed float64 `json:"obeyedSeconds"`
	Closed float64 `json:"closedSeconds"`
}

// The rule of the oven, and its configuration.
const (
	ovenRule    = schema.Rule("overheating")
	ovenSensor  = "temperature"
	ovenAbove   = 250
	ovenBelow   = 200
	ovenCommand = `{"heater":"off"}`
	ovenEvery   = 250 * time.Millisecond // between readings

	ovenText = `rules:
  %s:
    match: {device: %q}
    when: {threshold: {sensor: %s, above: %d, clearBelow: %d}}
    severity: critical
    notify: [demo]
    command: {on: open, body: %s, ttl: 10m}
notify:
  demo: {webhook: {url: "http://%s/", secretFile: %q, private: true}}
`
)

// An oven heats until it is told not to. Beside it is the receiver of its notifications.
type oven struct {
	id      schema.DeviceID
	webhook *check.Webhook
	server  *http.Server
	address string
	secret  string // file

	mu          sync.Mutex
	temperature float64
	first       float64   // above the limit
	hot, obeyed time.Time // when that was, and when the oven obeyed
	told        []string  // IDs of commands
}

// openOven starts the receiver.
func openOven(c Config) (*oven, error) {
	key := make([]byte, 32)
	_, _ = rand.Read(key) // it never fails
	o := &oven{id: schema.DeviceID(string(c.Cast.Tenants[0]) + ":oven-1"), webhook: &check.Webhook{Key: key},
		temperature: 180}
	var err error
	if o.secret, err = c.write("webhook.key", "whsec_"+base64.StdEncoding.EncodeToString(key)+"\n"); err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	o.address = listener.Addr().String()
	o.server = &http.Server{Handler: o.webhook, ReadHeaderTimeout: time.Minute}
	go func() { _ = o.server.Serve(listener) }() // until it is closed
	return o, nil
}

func (o *oven) configuration() string {
	return fmt.Sprintf(ovenText, ovenRule, o.id, ovenSensor, ovenAbove, ovenBelow, ovenCommand, o.address, o.secret)
}

// alarm returns what the check compares.
func (o *oven) alarm() *check.Alarm {
	o.mu.Lock()
	defer o.mu.Unlock()
	return &check.Alarm{Device: o.id, Rule: ovenRule, Sensor: ovenSensor, Above: ovenAbove, Below: ovenBelow,
		Command: ovenCommand, Webhook: o.webhook, Obeyed: slices.Clone(o.told)}
}

// obey does what a command says.
func (o *oven) obey(_ context.Context, c device.Command) (any, error) {
	var said struct{ Heater string }
	if err := json.Unmarshal(c.Body, &said); err != nil || said.Heater != "off" {
		return nil, fmt.Errorf("the oven does not know %s", c.Body)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.told, o.obeyed = append(o.told, c.ID), time.Now()
	return nil, nil
}

// measure returns the temperature, which has changed since the last reading.
func (o *oven) measure() float64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.obeyed.IsZero() {
		o.temperature = min(320, o.temperature+15)
	} else {
		o.temperature = max(20, o.temperature-20)
	}
	if o.temperature > ovenAbove && o.hot.IsZero() {
		o.hot, o.first = time.Now(), o.temperature
	}
	return o.temperature
}

// report returns what has happened, and what is missing; nothing at the end.
func (o *oven) report() (a Alarm, left string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	a = Alarm{Device: o.id, Value: o.first}
	told := o.webhook.Told()
	if !o.obeyed.IsZero() {
		a.Obeyed = o.obeyed.Sub(o.hot).Seconds()
	}
	if len(told) > 0 {
		a.Told = told[0].Received.Sub(o.hot).Seconds()
	}
	if len(told) > 1 {
		a.Closed = told[1].Received.Sub(o.hot).Seconds()
	}
	switch {
	case a.Told == 0:
		left = "the webhook is not told yet that the oven is too hot"
	case a.Obeyed == 0:
		left = "the oven is not told yet to cool down"
	case a.Closed == 0:
		left = "the webhook is not told yet that the oven is cool"
	}
	return a, left
}

// cook has the oven send its temperature until the rule has found it too hot, the oven has obeyed the command of the
// rule, and the webhook was told that it is cool again.
func (d *Demo) cook(ctx context.Context) (a Alarm, err error) {
	if err := d.awaitStored(ctx, 1); err != nil { // the endpoint knows its enrollment then
		return a, err
	}
	client, stop, err := d.sending(ctx, device.Config{Device: d.oven.id, Enrollment: string(d.ovens.enrollment),
		Key: d.ovens.key.Of(string(d.oven.id)).Base64(), Transport: d.recorded, OnCommand: d.oven.obey,
		PollEvery: time.Second})
	if err != nil {
		return a, err
	}
	defer setup.Closing(&err, stop)
	steps := int64(0)
	err = await(ctx, d.Screen, ovenEvery, func(context.Context) (s waitState, err error) {
		was := a
		if a, s.left = d.oven.report(); a != was {
			steps++
		}
		s.progress, s.done = steps, s.left == ""
		d.sayAlarm(was, a)
		return s, client.Send(device.Reading{Values: map[string]any{ovenSensor: d.oven.measure()}})
	})
	if err != nil {
		return a, err
	}
	flushing, cancel := context.WithTimeout(ctx, standstill)
	defer cancel()
	return a, client.Flush(flushing)
}

// sayAlarm says what has happened to the oven.
func (d *Demo) sayAlarm(was, now Alarm) {
	if was.Told == 0 && now.Told > 0 {
		d.Screen.Say(fmt.Sprintf("%s has %.0f °C; the webhook was told after %.1f s", now.Device, now.Value, now.Told))
	}
	if was.Obeyed == 0 && now.Obeyed > 0 {
		d.Screen.Say(fmt.Sprintf("%s has obeyed the rule's command after %.1f s", now.Device, now.Obeyed))
	}
	if was.Closed == 0 && now.Closed > 0 {
		d.Screen.Say(fmt.Sprintf("%s is cool; the webhook was told after %.1f s", now.Device, now.Closed))
	}
}
