package jobs

import (
	"errors"
	"fmt"

	"github.com/go-json-experiment/json"
)

// ErrUnreadable is in the chain of every error of Decode, and of those of jobs
// that find a message to be nonsense: to try again would not help.
var ErrUnreadable = errors.New("the message cannot be read")

// Decode reads what Encode has written, and refuses everything else: what is
// unknown, missing, twice, or in the wrong kind of message. White space and
// the order of members do not matter.
func Decode(text string) (Message, error) {
	m, err := decode(text)
	if err != nil {
		return Message{}, fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	return m, nil
}

func decode(text string) (Message, error) {
	if len(text) > MaxSize {
		return Message{}, fmt.Errorf("it has %d bytes; at most %d are allowed", len(text), MaxSize)
	}
	if err := checkVersion(text); err != nil {
		return Message{}, err
	}
	var v versioned
	if err := json.Unmarshal([]byte(text), &v, json.RejectUnknownMembers(true)); err != nil {
		return Message{}, err
	}
	return v.Message, v.check()
}

// checkVersion looks at the version and the kind alone, so that a message of a
// newer program is said to be just that, whatever else is new in it.
func checkVersion(text string) error {
	var head struct {
		Version *int `json:"v"`
		Kind    Kind `json:"kind"`
	}
	if err := json.Unmarshal([]byte(text), &head); err != nil {
		return err
	}
	switch {
	case head.Version == nil:
		return errors.New("v, the version of the format, is missing")
	case *head.Version != MessageFormat:
		return fmt.Errorf("version %d is not known, only %d: another version of the program has written it; run that one, then redrive the message", *head.Version, MessageFormat)
	}
	return Message{Kind: head.Kind}.checkKind()
}
