package queue

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"math"
	"strings"

	"furrow/tables/local/internal/store"
	"furrow/tables/local/internal/wire"

	"github.com/google/uuid"
)

// never is the expiry of messages that do not expire.
const never = math.MaxInt64

// A message is the record of a message without its text. Times are those of the
// clock, in ns.
type message struct {
	id       uuid.UUID
	inserted int64
	expires  int64
	place    place
	receipt  uint64 // changes whenever the message is delivered or updated
	dequeued uint32 // how often it was delivered
}

const messageSize = 8 + 8 + placeSize + 8 + 4

func (m *message) encode() []byte {
	b := make([]byte, 0, messageSize)
	b = binary.BigEndian.AppendUint64(b, uint64(m.inserted))
	b = binary.BigEndian.AppendUint64(b, uint64(m.expires))
	b = m.place.append(b)
	b = binary.BigEndian.AppendUint64(b, m.receipt)
	return binary.BigEndian.AppendUint32(b, m.dequeued)
}

func (m *message) decode(b []byte) error {
	if len(b) != messageSize {
		return fmt.Errorf("record of message %s: %d bytes, want %d", m.id, len(b), messageSize)
	}
	m.inserted = int64(binary.BigEndian.Uint64(b))
	m.expires = int64(binary.BigEndian.Uint64(b[8:]))
	m.place = placeOf(b[16:])
	m.receipt = binary.BigEndian.Uint64(b[32:])
	m.dequeued = binary.BigEndian.Uint32(b[40:])
	return nil
}

// A place is the position of a message in its queue's index: by the time at which it
// becomes visible, then in the order of arrival.
type place struct {
	at    int64
	order uint64
}

const placeSize = 16

func (p place) append(b []byte) []byte {
	b = binary.BigEndian.AppendUint64(b, uint64(p.at))
	return binary.BigEndian.AppendUint64(b, p.order)
}

func placeOf(b []byte) place {
	return place{int64(binary.BigEndian.Uint64(b)), binary.BigEndian.Uint64(b[8:])}
}

func (p place) before(other place) bool {
	return p.at < other.at || p.at == other.at && p.order < other.order
}

func messageKey(id store.ID, message uuid.UUID) []byte {
	return append(id.Key(store.PrefixMessage), message[:]...)
}

func textKey(id store.ID, message uuid.UUID) []byte {
	return append(id.Key(store.PrefixText), message[:]...)
}

func placeKey(id store.ID, p place) []byte { return p.append(id.Key(store.PrefixVisible)) }

// A tally holds the counters of a queue. It is stored together with the time in the
// batch that changes the messages.
type tally struct {
	count int64  // of messages, including invisible and expired ones
	drawn uint64 // last number used, as an order or as a receipt
}

func (t tally) encode(now int64) []byte {
	b := binary.BigEndian.AppendUint64(make([]byte, 0, 24), uint64(t.count))
	b = binary.BigEndian.AppendUint64(b, t.drawn)
	return binary.BigEndian.AppendUint64(b, uint64(now))
}

func (t *tally) decode(b []byte) (now int64, err error) {
	if len(b) != 24 {
		return 0, fmt.Errorf("%d bytes, want 24", len(b))
	}
	t.count = int64(binary.BigEndian.Uint64(b))
	t.drawn = binary.BigEndian.Uint64(b[8:])
	return int64(binary.BigEndian.Uint64(b[16:])), nil
}

// draw returns a number that the queue has not used before.
func (t *tally) draw() uint64 {
	t.drawn++
	return t.drawn
}

// parseID parses a message's ID. An invalid one is that of no message.
func parseID(text string) (uuid.UUID, error) {
	id, err := uuid.Parse(text)
	if err != nil || len(text) != len(id.String()) {
		return id, errMessageNotFound
	}
	return id, nil
}

// appendReceipt appends a pop receipt: opaque base64, as on Azure.
func appendReceipt(dst []byte, receipt uint64) []byte {
	return base64.StdEncoding.AppendEncode(dst, binary.BigEndian.AppendUint64(nil, receipt))
}

// parseReceipt parses a pop receipt. Base64 of another length is zero, which is the
// receipt of no message.
func parseReceipt(text string) (uint64, error) {
	if text == "" {
		return 0, wire.MissingQuery("popreceipt")
	}
	b, err := base64.StdEncoding.Strict().DecodeString(text)
	if err != nil || strings.ContainsAny(text, "\r\n") {
		return 0, wire.BadQuery("popreceipt", text, "Invalid pop receipt format.")
	}
	if len(b) != 8 {
		return 0, nil
	}
	return binary.BigEndian.Uint64(b), nil
}
