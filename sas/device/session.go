package device

import (
	"errors"
	"net/url"
	"strings"
	"time"
	"unique"

	"furrow/tables"
	"furrow/tables/schema"
)

// A Session is what a device goes on with after its client was closed: the token, the time, the name and number of its
// last reading, and what the next ring says, in less than a kilobyte. A program of many devices that send seldom opens
// their clients only while they send:
//
//	config.Session = sessions[id]
//	client, err := device.Open(config)
//	... // Send, Run until Flush has returned, Close
//	sessions[id] = client.Session()
//
// A session is used once. That of a client which takes commands has no token: they are read when there is a new one.
type Session struct {
	start, zero  time.Time // of the clock
	last         tables.Ticks
	boot         string
	sent         uint64 // readings of the boot
	newest, late tables.Ticks
	token        *keptToken
}

// A keptToken is a token without its client. Of its SAS it has the signature. The rest is shared by all devices that
// got a token in the same second, as a text in which markers stand for what is a device's own.
type keptToken struct {
	url, sas       unique.Handle[string]
	signature      string
	partition      string
	first, last    tables.Ticks
	expires, renew time.Duration
	batch          int
}

// keep divides the SAS into what is shared and the signature.
func (k *keptToken) keep(sas string) {
	_, tail, _ := strings.Cut(sas, "sig=")
	signature, _, _ := strings.Cut(tail, "&")
	k.signature = strings.Clone(signature)
	for marker, own := range k.own() {
		sas = strings.ReplaceAll(sas, own, marker)
	}
	k.sas = unique.Make(sas)
}

func (k *keptToken) text() string {
	sas := k.sas.Value()
	for marker, own := range k.own() {
		sas = strings.ReplaceAll(sas, marker, own)
	}
	return sas
}

// own returns what is the device's own, by markers that are in no SAS.
func (k *keptToken) own() map[string]string {
	return map[string]string{"=\x00": "=" + url.QueryEscape(k.partition), "=\x01": "=" + k.signature,
		"=\x02": "=" + k.first.String()}
}

// Session returns what the device's next client goes on with. It is to be called after Close, and it is nil if readings
// wait, which would be lost.
func (c *Client) Session() *Session {
	if len(c.buffer.entries) > 0 {
		return nil
	}
	s := &Session{start: c.clock.start, zero: c.clock.zero, last: c.clock.last, boot: c.buffer.boot.Nonce,
		sent: c.buffer.added, newest: c.newest, late: c.late}
	t := c.held
	if t == nil || c.config.OnCommand != nil || c.config.OnDesired != nil {
		return s
	}
	first, err := schema.ParseRowKey(t.first)
	last, err2 := schema.ParseRowKey(t.last)
	if errors.Join(err, err2) != nil || first.Suffix+last.Suffix != "" || t.partition != string(c.config.Device) {
		return s // no endpoint of today
	}
	s.token = &keptToken{url: unique.Make(t.url.String()), partition: string(c.config.Device), first: first.Ticks,
		last: last.Ticks, expires: t.expires, renew: t.renew, batch: t.batch}
	s.token.keep(t.sas)
	return s
}

// resume has a client that was just opened go on with a session.
func (c *Client) resume(s *Session) (err error) {
	if c.config.File != "" {
		return errors.New("both a File and a Session are given; a client goes on with one of them")
	}
	c.clock.start, c.clock.zero, c.clock.last = s.start, s.zero, s.last
	c.buffer.boot.Nonce, c.buffer.boot.Zero, c.buffer.added = s.boot, s.zero, s.sent
	c.newest, c.late = s.newest, s.late
	if k := s.token; k != nil {
		t := &token{sas: k.text(), partition: k.partition, first: k.first.String(), last: k.last.String(), expires: k.expires,
			renew: k.renew, batch: k.batch}
		if t.url, err = tableURL(k.url.Value()); err == nil {
			t.table, err = c.table(t.url, t.sas)
		}
		c.held = t
	}
	return err
}
