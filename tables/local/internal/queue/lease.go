package queue

import (
	"cmp"
	"net/http"
	"time"

	"furrow/tables/local/internal/auth"
	"furrow/tables/local/internal/wire"
)

// update sets the time at which a message becomes visible, which must not be after
// its expiry, and its text if the request has one.
func (s *Service) update(w http.ResponseWriter, r *wire.Request, g *auth.Grant, at path) error {
	if r.Query.Get("visibilitytimeout") == "" {
		return wire.MissingQuery("visibilitytimeout")
	}
	visibility, err := r.IntQuery("visibilitytimeout", 0, maxVisibility, 0)
	if err != nil {
		return err
	}
	text, found, err := readText(r)
	if err != nil {
		return err
	}
	var m *message
	var now instant
	err = s.hold(r, g, at, func(t *transaction, held *message) error {
		visible := after(t.now.ns, visibility)
		if visible > held.expires {
			_, err := r.IntQuery("visibilitytimeout", 0, int((held.expires-t.now.ns)/int64(time.Second)), 0)
			return err
		}
		t.hide(held, visible)
		if found {
			t.b.Set(textKey(t.id, held.id), text)
		}
		m, now = held, t.now
		return nil
	})
	if err != nil {
		return err
	}
	wire.Set(w.Header(), "x-ms-popreceipt", string(appendReceipt(nil, m.receipt)))
	wire.Set(w.Header(), "x-ms-time-next-visible", wire.HTTPTime(now.shown(m.place.at)))
	return wire.Empty(w, http.StatusNoContent)
}

// hold runs f on the message that the request identifies by ID and receipt.
func (s *Service) hold(r *wire.Request, g *auth.Grant, p path, f func(*transaction, *message) error) error {
	receipt, err := parseReceipt(r.Query.Get("popreceipt"))
	if err != nil {
		return err
	}
	return s.inTransaction(p.queue, func(t *transaction) error {
		if err := cmp.Or(t.recheck(g), r.Count(p.queue, 1)); err != nil {
			return err
		}
		id, err := parseID(p.message)
		if err != nil {
			return err
		}
		m, err := t.held(id, receipt)
		if err != nil {
			return err
		}
		return f(t, m)
	})
}

// remove deletes a message.
func (s *Service) remove(w http.ResponseWriter, r *wire.Request, g *auth.Grant, at path) error {
	err := s.hold(r, g, at, func(t *transaction, m *message) error {
		t.remove(m)
		return nil
	})
	if err != nil {
		return err
	}
	return wire.Empty(w, http.StatusNoContent)
}
