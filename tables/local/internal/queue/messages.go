package queue

import (
	"cmp"
	"net/http"
	"strconv"
	"time"

	"furrow/tables/local/internal/auth"
	"furrow/tables/local/internal/wire"
)

// Limits and defaults
// (learn.microsoft.com/rest/api/storageservices/get-messages, put-message, update-message).
const (
	maxVisibility     = 7 * 24 * 60 * 60 // seconds
	defaultVisibility = 30               // seconds
	defaultLife       = 7 * 24 * 60 * 60 // seconds
	maxMessages       = 32
)

func (s *Service) put(w http.ResponseWriter, r *wire.Request, g *auth.Grant, at path) error {
	delay, err := r.IntQuery("visibilitytimeout", 0, maxVisibility, 0)
	if err != nil {
		return err
	}
	life, err := lifeOf(r, delay)
	if err != nil {
		return err
	}
	text, found, err := readText(r)
	if err != nil {
		return err
	}
	if !found {
		return wire.BadXML("no MessageText element")
	}
	body := append(make([]byte, 0, 512), wire.XMLHeader+"<QueueMessagesList>"...)
	err = s.inTransaction(at.queue, func(t *transaction) error {
		if err := cmp.Or(t.recheck(g), r.Count(at.queue, 1)); err != nil {
			return err
		}
		m := t.add(after(t.now.ns, delay), after(t.now.ns, life), text)
		body = appendMessage(body, t.now, m, true, false, nil)
		return nil
	})
	if err != nil {
		return err
	}
	return wire.XML(w, http.StatusCreated, append(body, "</QueueMessagesList>"...))
}

// lifeOf parses messagettl, in seconds; -1 means forever. It refuses a message that
// would expire before it becomes visible.
func lifeOf(r *wire.Request, delay int) (int, error) {
	life := defaultLife
	if text := r.Query.Get("messagettl"); text != "" {
		var err error
		if life, err = strconv.Atoi(text); err != nil || life < -1 || life == 0 {
			return 0, wire.BadQuery("messagettl", text, "It must be a positive number, or -1 for no expiry.")
		}
	}
	if life != -1 && delay >= life {
		return 0, wire.BadQuery("visibilitytimeout", strconv.Itoa(delay), "It must be less than messagettl.")
	}
	return life, nil
}

// after returns ns plus seconds. A negative number of seconds, or a time that does not
// fit, is never.
func after(ns int64, seconds int) int64 {
	if seconds < 0 || int64(seconds) > (never-ns)/int64(time.Second) {
		return never
	}
	return ns + int64(seconds)*int64(time.Second)
}

// readText reads the text in the body. An empty body has none.
func readText(r *wire.Request) (text []byte, found bool, err error) {
	body, err := r.ReadBody(maxBody)
	if err != nil {
		if wire.AsError(err).Status == http.StatusRequestEntityTooLarge {
			err = wire.TooLarge(maxText)
		}
		return nil, false, err
	}
	if len(body) == 0 {
		return nil, false, nil
	}
	return parseText(body)
}

// get delivers the next messages and makes them invisible for a while.
func (s *Service) get(w http.ResponseWriter, r *wire.Request, _ *auth.Grant, at path) error {
	visibility, err := r.IntQuery("visibilitytimeout", 1, maxVisibility, defaultVisibility)
	if err != nil {
		return err
	}
	return s.next(w, r, at.queue, true, func(t *transaction, most int) ([]*message, bool, error) {
		return t.deliver(most, after(t.now.ns, visibility))
	})
}

// peek returns the next messages without changing them.
func (s *Service) peek(w http.ResponseWriter, r *wire.Request, _ *auth.Grant, at path) error {
	return s.next(w, r, at.queue, false, (*transaction).peek)
}

// next answers with the messages that find returns. If a turn found only expired
// messages, it takes another turn.
func (s *Service) next(w http.ResponseWriter, r *wire.Request, name string, held bool,
	find func(t *transaction, most int) (found []*message, more bool, err error)) error {
	most, err := r.IntQuery("numofmessages", 1, maxMessages, 1)
	if err != nil {
		return err
	}
	var now instant
	var found []*message
	texts := make([][]byte, 0, most)
	for again := true; again; {
		err := s.inTransaction(name, func(t *transaction) (err error) {
			now = t.now
			if found, again, err = find(t, most); err != nil {
				return err
			}
			again = again && len(found) == 0
			for _, m := range found {
				text, err := t.text(m)
				if err != nil {
					return err
				}
				texts = append(texts, text)
			}
			return r.Count(name, len(found))
		})
		if err != nil {
			return err
		}
	}
	return wire.XML(w, http.StatusOK, messagesBody(now, found, texts, held))
}

// messagesBody returns the XML of messages with their texts.
func messagesBody(now instant, found []*message, texts [][]byte, held bool) []byte {
	const around = 512 // bytes of XML around a text
	size := around
	for _, text := range texts {
		size += around + len(text) + len(text)/8 // room for some escapes
	}
	body := append(make([]byte, 0, size), wire.XMLHeader+"<QueueMessagesList>"...)
	for i, m := range found {
		body = appendMessage(body, now, m, held, true, texts[i])
	}
	return append(body, "</QueueMessagesList>"...)
}

func (s *Service) clear(w http.ResponseWriter, r *wire.Request, _ *auth.Grant, at path) error {
	err := s.inTransaction(at.queue, func(t *transaction) error {
		t.clear()
		return nil
	})
	if err != nil {
		return err
	}
	return wire.Empty(w, http.StatusNoContent)
}
