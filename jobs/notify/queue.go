package notify

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"regexp"

	"furrow/tables/schema"
)

// A Queue receives each message as a CloudEvent in JSON. It is a queue of the fleet's own storage account.
type Queue struct {
	Queue string `yaml:"name,required" least:"1"` // name
	// Encoding is base64 for receivers that expect it, such as Azure Functions; otherwise empty.
	Encoding string `yaml:"encoding" choice:"base64"`
}

// Name is queue.
func (*Queue) Name() string                      { return "queue" }
func (k *Queue) String() string                  { return k.Queue }
func (*Queue) recipients(schema.Delivery) string { return everybody }

// queueName is what Azure allows. learn.microsoft.com: "Naming queues and metadata".
var queueName = regexp.MustCompile(`^[a-z0-9](-?[a-z0-9]){2,62}$`)

func (k *Queue) check() error { return CheckQueue(k.Queue) }

// CheckQueue returns an error unless a storage queue can have a name.
func CheckQueue(name string) error {
	if !queueName.MatchString(name) || len(name) > 63 {
		return fmt.Errorf("name %q; want 3 to 63 small letters and digits, with single - in between", name)
	}
	return nil
}

// maxQueued is how many bytes a message of a queue takes, less than the 64 KiB of Azure.
const maxQueued = 60 << 10

// fits measures the message.
func (k *Queue) fits(all []schema.Delivery) int {
	for n := fewer(all); n > 1; n /= 2 {
		m := message{target: &Target{Kind: k}, deliveries: all[:n]}
		if body, err := m.json(); err == nil && k.size(body) <= maxQueued {
			return n
		}
	}
	return min(len(all), 1)
}

// size returns how many bytes of a queue's message a body takes.
func (k *Queue) size(body []byte) int {
	if k.Encoding == base64Encoding {
		return base64.StdEncoding.EncodedLen(len(body))
	}
	return escaped(body)
}

const base64Encoding = "base64"

// escaped returns the length of a text in XML, as it travels.
func escaped(text []byte) (n int) {
	for _, c := range text {
		switch c {
		case '<', '>', '&', '"', '\'':
			n += 5
		default:
			n++
		}
	}
	return n
}

func (k *Queue) send(ctx context.Context, n *Notifier, m message) error {
	body, err := m.json()
	if err != nil {
		return err
	}
	text := string(body)
	if k.Encoding == base64Encoding {
		text = base64.StdEncoding.EncodeToString(body)
	}
	if m.seen != nil {
		m.seen.Request = text
	}
	return n.Put(ctx, k.Queue, text)
}

// Put puts a text into a queue of the account.
func (n *Notifier) Put(ctx context.Context, queue, text string) error {
	if n.Enqueue == nil {
		return errors.New("this account has no queues")
	}
	return n.Enqueue(ctx, queue, text)
}
