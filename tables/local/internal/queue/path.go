package queue

import (
	"net/url"
	"strings"
)

// path is what a URL names below the account: nothing, a queue, its messages,
// or one message.
type path struct {
	queue    string
	messages bool
	message  string
}

// parsePath reads an escaped path such as jobs/messages/0193….
func parsePath(escaped string) (p path, err error) {
	parts := strings.Split(strings.TrimSuffix(escaped, "/"), "/")
	for i := range parts {
		if parts[i], err = url.PathUnescape(parts[i]); err != nil {
			return p, errPath
		}
	}
	p.queue = parts[0]
	if len(parts) > 1 {
		if p.messages = parts[1] == "messages"; !p.messages {
			return p, errPath
		}
	}
	if len(parts) > 2 {
		p.message = parts[2]
	}
	if len(parts) > 3 || p.queue == "" && p.messages || len(parts) == 3 && p.message == "" {
		return p, errPath
	}
	return p, nil
}

// checkName holds a queue's name to Azure's rule: 3 to 63 lower-case letters,
// digits and single hyphens between them
// (learn.microsoft.com/rest/api/storageservices/naming-queues-and-metadata).
func checkName(name string) error {
	if len(name) < 3 || len(name) > 63 {
		return errNameLength
	}
	for i := range len(name) {
		switch c := name[i]; {
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9':
		case c == '-' && i > 0 && i < len(name)-1 && name[i-1] != '-':
		default:
			return errName
		}
	}
	return nil
}
