package jobs

import (
	"errors"
	"fmt"

	"furrow/tables/schema"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// ErrUnreadable is wrapped by every error of Decode but ErrNewer, and by jobs that find a message to be nonsense.
// Trying again does not help.
var ErrUnreadable = errors.New("the message cannot be read")

// Decode reads what Encode has written and refuses everything else: members that are unknown, missing, duplicate, or in
// the wrong kind of message. White space and the order of members do not matter. If a message is in a newer format,
// Decode returns ErrNewer, and a Message with its Format and Taken.
func Decode(text string) (Message, error) {
	m, err := decode(text)
	switch {
	case errors.Is(err, ErrNewer):
		return m, err
	case err != nil:
		return Message{}, fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	return m, nil
}

func decode(text string) (m Message, err error) {
	if len(text) > MaxSize {
		return m, fmt.Errorf("it has %d bytes; at most %d are allowed", len(text), MaxSize)
	}
	// Format and kind come first, so that a message of a newer program is reported as such, whatever else is new in it.
	var head struct {
		Format *int64 `json:"v"`
		Taken  int    `json:"taken"`
		Kind   Kind   `json:"kind"`
	}
	if err := json.Unmarshal([]byte(text), &head); err != nil {
		return m, err
	}
	if head.Format == nil || *head.Format < 1 {
		return m, errors.New("v, the version of the format, is missing")
	}
	if err := schema.CheckFormat(*head.Format); err != nil {
		return Message{Format: *head.Format, Taken: head.Taken}, fmt.Errorf("%w: %w", ErrNewer, err)
	}
	if err := (Message{Kind: head.Kind}).checkKind(); err != nil {
		return m, err
	}
	if err := json.Unmarshal([]byte(text), &m, json.RejectUnknownMembers(true)); err != nil {
		return Message{}, err
	}
	return m, m.check()
}

// SetTaken returns the text of a message in any format with another Taken.
func SetTaken(text string, taken int) (string, error) {
	members := map[string]jsontext.Value{}
	if err := json.Unmarshal([]byte(text), &members); err != nil {
		return "", err
	}
	members["taken"] = jsontext.Value(fmt.Sprint(taken))
	b, err := json.Marshal(members, json.Deterministic(true))
	return string(b), err
}

// ErrNewer says that a message needs a newer program or configuration than this worker has. It is left to another
// worker or to a later time, and no attempt is counted.
var ErrNewer = errors.New("the message needs a newer worker")
