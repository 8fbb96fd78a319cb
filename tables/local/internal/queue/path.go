package queue

import (
	"net/http"
	"net/url"
	"strings"

	"furrow/tables/local/internal/auth"
	"furrow/tables/local/internal/route"
	"furrow/tables/local/internal/wire"
)

// A path is what a URL names below the account: nothing, a queue, its messages, or
// one message.
type path struct {
	queue    string
	messages bool
	message  string
}

// parsePath parses an escaped path such as jobs/messages/0193….
func parsePath(r *wire.Request) (p path, err error) {
	parts := strings.Split(strings.TrimSuffix(r.Path, "/"), "/")
	for i := range parts {
		if parts[i], err = url.PathUnescape(parts[i]); err != nil {
			return p, wire.ErrURI
		}
	}
	p.queue = parts[0]
	if len(parts) > 1 {
		if p.messages = parts[1] == "messages"; !p.messages {
			return p, wire.ErrURI
		}
	}
	if len(parts) > 2 {
		p.message = parts[2]
	}
	if len(parts) > 3 || p.queue == "" && p.messages || len(parts) == 3 && p.message == "" {
		return p, wire.ErrURI
	}
	return p, nil
}

// What a path names.
const (
	onAccount  = "the Queue service"
	onQueue    = "queues"
	onMessages = "messages"
	onMessage  = "one message"
)

// peekonly stands for the value of comp in the key of Peek Messages.
const peekonly = "peekonly=true"

func (p path) Resource() auth.Resource { return auth.Resource{Name: p.queue} }

func (p path) Key(r *wire.Request) (route.Key, error) {
	key := route.Key{On: onQueue, Method: r.Method, Comp: r.Query.Get("comp")}
	read := r.Method == http.MethodGet || r.Method == http.MethodHead
	switch {
	case p.queue == "" && key.Comp == "" && r.Method == http.MethodPut:
		return key, wire.ErrName // a queue without a name
	case !p.messages && key.Comp == "" && (read || p.queue == ""):
		return key, wire.MissingQuery("comp")
	case p.queue == "":
		key.On = onAccount
	case p.message != "":
		key.On = onMessage
	case p.messages:
		key.On = onMessages
		return p.peeking(r, key)
	}
	return key, nil
}

// peeking tells Peek Messages from Get Messages.
func (p path) peeking(r *wire.Request, key route.Key) (route.Key, error) {
	if key.Method != http.MethodGet || key.Comp != "" {
		return key, nil
	}
	switch peek := r.Query.Get("peekonly"); strings.ToLower(peek) {
	case "true":
		key.Comp = peekonly
	case "", "false":
	default:
		return key, wire.BadQuery("peekonly", peek, "It must be true or false.")
	}
	return key, nil
}
