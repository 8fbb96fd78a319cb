package queue

import (
	"net/http"
	"strconv"
	"time"

	"furrow/tables/local/internal/auth"
	"furrow/tables/local/internal/wire"
)

// Limits of times and numbers
// (learn.microsoft.com/rest/api/storageservices/get-messages, put-message, update-message).
const (
	maxVisibility     = 7 * 24 * 60 * 60 // seconds
	defaultVisibility = 30               // seconds
	defaultLife       = 7 * 24 * 60 * 60 // seconds
	maxMessages       = 32
)

// put answers POST messages: a new message.
func (s *Service) put(w http.ResponseWriter, r *wire.Request, _ *auth.Grant, at path) error {
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
	err = s.turn(at.queue, func(t *turn) error {
		m := t.add(after(t.now.ns, delay), after(t.now.ns, life), text)
		body = appendMessage(body, t.now, m, true, false, nil)
		return nil
	})
	if err != nil {
		return err
	}
	return wire.XML(w, http.StatusCreated, append(body, "</QueueMessagesList>"...))
}

// lifeOf reads messagettl, in seconds; -1 is for ever. A message that would
// expire before it is visible is refused.
func lifeOf(r *wire.Request, delay int) (int, error) {
	life := defaultLife
	if text := r.Query.Get("messagettl"); text != "" {
		var err error
		if life, err = strconv.Atoi(text); err != nil || life < -1 || life == 0 {
			return 0, wire.BadQuery("messagettl", text, "Neither a positive whole number nor -1, which is for ever.")
		}
	}
	if life != -1 && delay >= life {
		return 0, wire.BadQuery("visibilitytimeout", strconv.Itoa(delay), "It must be less than messagettl.")
	}
	return life, nil
}

// after is a time so many seconds after ns. What is negative, or too late for
// the clock, is never.
func after(ns int64, seconds int) int64 {
	if seconds < 0 || int64(seconds) > (never-ns)/int64(time.Second) {
		return never
	}
	return ns + int64(seconds)*int64(time.Second)
}

// readText reads the text in a request's body; an empty body has none.
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

// get answers GET messages: the next ones, invisible to others for a while.
func (s *Service) get(w http.ResponseWriter, r *wire.Request, _ *auth.Grant, at path) error {
	visibility, err := r.IntQuery("visibilitytimeout", 1, maxVisibility, defaultVisibility)
	if err != nil {
		return err
	}
	return s.next(w, r, at.queue, true, func(t *turn, most int) ([]*message, bool, error) {
		return t.take(most, after(t.now.ns, visibility))
	})
}

// peek answers GET messages?peekonly=true: the next ones, left as they are.
func (s *Service) peek(w http.ResponseWriter, r *wire.Request, _ *auth.Grant, at path) error {
	return s.next(w, r, at.queue, false, (*turn).peek)
}

// next answers with the messages that find gives. Where expired ones are all that
// a turn got to, it takes another.
func (s *Service) next(w http.ResponseWriter, r *wire.Request, name string, held bool,
	find func(t *turn, most int) (found []*message, more bool, err error)) error {
	most, err := r.IntQuery("numofmessages", 1, maxMessages, 1)
	if err != nil {
		return err
	}
	var now instant
	var found []*message
	texts := make([][]byte, 0, most)
	for again := true; again; {
		err := s.turn(name, func(t *turn) (err error) {
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
			return nil
		})
		if err != nil {
			return err
		}
	}
	return wire.XML(w, http.StatusOK, messagesBody(now, found, texts, held))
}

// messagesBody writes messages with their texts.
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

// clear answers DELETE messages.
func (s *Service) clear(w http.ResponseWriter, r *wire.Request, _ *auth.Grant, at path) error {
	err := s.turn(at.queue, func(t *turn) error {
		t.clear()
		return nil
	})
	if err != nil {
		return err
	}
	return wire.Empty(w, http.StatusNoContent)
}
