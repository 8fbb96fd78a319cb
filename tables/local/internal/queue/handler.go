package queue

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"furrow/tables/local/internal/auth"
	"furrow/tables/local/internal/wire"
)

// A handler serves a service's queues over HTTP, by a clock.
type handler struct {
	*Service
	now func() time.Time
}

// serve routes by the path, then by comp, then by the method.
func (h *handler) serve(w http.ResponseWriter, r *wire.Request) error {
	if r.Method == http.MethodOptions {
		return wire.NotImplemented("CORS preflight requests")
	}
	p, err := parsePath(r.Path)
	if err != nil {
		return err
	}
	g, err := h.auth.Authorize(r, auth.Resource{Name: p.queue})
	if err != nil {
		return err
	}
	if p.queue == "" {
		return h.serveAccount(w, r, g)
	}
	if err := checkName(p.queue); err != nil {
		return err
	}
	comp := r.Query.Get("comp")
	switch {
	case p.messages && comp != "":
		return wire.NotImplemented("comp=" + comp + " on messages")
	case p.message != "":
		return h.serveMessage(w, r, g, p)
	case p.messages:
		return h.serveMessages(w, r, g, p)
	}
	return h.serveQueue(w, r, g, p.queue, comp)
}

// serveAccount does what only the account key may.
func (h *handler) serveAccount(w http.ResponseWriter, r *wire.Request, g *auth.Grant) error {
	if err := g.OwnerOnly(); err != nil {
		return err
	}
	comp := r.Query.Get("comp")
	switch {
	case comp == "list" && r.Method == http.MethodGet:
		return h.list(w, r)
	case comp == "list":
		return errMethod
	case comp == "" && r.Method == http.MethodPut: // a queue without a name
		return errName
	case comp == "":
		return wire.MissingQuery("comp")
	}
	return wire.NotImplemented("the Queue service's " + comp + " (comp=" + comp + ")")
}

// serveQueue does what concerns a queue as a whole. Only its metadata may be
// read with a SAS.
func (h *handler) serveQueue(w http.ResponseWriter, r *wire.Request, g *auth.Grant, name, comp string) error {
	read := r.Method == http.MethodGet || r.Method == http.MethodHead
	if comp == "metadata" && read {
		if err := g.Allow("r"); err != nil {
			return err
		}
		return h.getMetadata(w, name)
	}
	if err := g.OwnerOnly(); err != nil {
		return err
	}
	switch {
	case comp == "" && r.Method == http.MethodPut:
		return h.create(w, r, name)
	case comp == "" && r.Method == http.MethodDelete:
		return h.delete(w, name)
	case comp == "" && read:
		return wire.MissingQuery("comp")
	case comp == "metadata" && r.Method == http.MethodPut:
		return h.setMetadata(w, r, name)
	case comp == "acl" && read:
		return h.getACL(w, name)
	case comp == "acl" && r.Method == http.MethodPut:
		return h.setACL(w, r, name)
	case comp == "" || comp == "metadata" || comp == "acl":
		return errMethod
	}
	return wire.NotImplemented("comp=" + comp + " on queues")
}

// serveMessages does what concerns the messages of a queue.
func (h *handler) serveMessages(w http.ResponseWriter, r *wire.Request, g *auth.Grant, p path) error {
	switch r.Method {
	case http.MethodPost:
		return h.put(w, r, g, p.queue)
	case http.MethodDelete:
		return h.clear(w, g, p.queue)
	case http.MethodGet:
	default:
		return errMethod
	}
	switch peek := r.Query.Get("peekonly"); strings.ToLower(peek) {
	case "true":
		return h.peek(w, r, g, p.queue)
	case "", "false":
		return h.get(w, r, g, p.queue)
	default:
		return wire.BadQuery("peekonly", peek, "Neither true nor false.")
	}
}

// serveMessage does what concerns one message that was given out.
func (h *handler) serveMessage(w http.ResponseWriter, r *wire.Request, g *auth.Grant, p path) error {
	switch r.Method {
	case http.MethodPut:
		return h.update(w, r, g, p)
	case http.MethodDelete:
		return h.remove(w, r, g, p)
	}
	return errMethod
}

// empty answers without a body.
func empty(w http.ResponseWriter, status int) error {
	head := w.Header()
	wire.Set(head, "Cache-Control", "no-cache")
	if status != http.StatusNoContent {
		wire.Set(head, "Content-Length", "0")
	}
	w.WriteHeader(status)
	return nil
}

// answer writes an XML body.
func answer(w http.ResponseWriter, status int, body []byte) error {
	head := w.Header()
	wire.Set(head, "Cache-Control", "no-cache")
	wire.Set(head, "Content-Type", "application/xml")
	wire.Set(head, "Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	w.Write(body) // a client that is gone hears nothing
	return nil
}
