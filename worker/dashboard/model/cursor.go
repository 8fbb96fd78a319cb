package model

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
)

// A cursor says where the next part of an answer begins. Its text has a checksum over the place and the question that
// it belongs to, so that a cursor of another question, or a damaged one, is refused and does not skip rows. The
// checksum has no key, because a cursor gives no rights: every request is checked for itself. So cursors outlive the
// process, and another dashboard of the same fleet takes them.
type cursor struct {
	question string // all that determines which rows come, and in which order
}

// sumSize is how many bytes of the checksum a cursor has.
const sumSize = 12

// cursorFor returns the cursors of a question to this fleet.
func (as *Accounts) cursorFor(question ...any) cursor {
	for _, a := range as.all {
		question = append(question, a.Names.Readings())
		if as.several() {
			question = append(question, a.Name)
		}
	}
	text, err := json.Marshal(question)
	if err != nil {
		panic(err) // questions are texts and finite numbers
	}
	return cursor{string(text)}
}

func (c cursor) sum(place string) []byte {
	sum := sha256.Sum256([]byte(fmt.Sprintf("%q %q", c.question, place)))
	return sum[:sumSize]
}

// text returns the cursor to a place.
func (c cursor) text(place string) string {
	return base64.RawURLEncoding.EncodeToString(append(c.sum(place), place...))
}

// mark returns the cursor to a place of many fields.
func (c cursor) mark(place any) string {
	text, err := json.Marshal(place)
	if err != nil {
		panic(err) // places are texts, times and finite numbers
	}
	return c.text(string(text))
}

// find reads what mark has written. For the first part it leaves a place as it is.
func (c cursor) find(text string, place any) error {
	text, err := c.place(text)
	if err == nil && text != "" {
		err = json.Unmarshal([]byte(text), place)
	}
	return err
}

// place returns the place in the text of a cursor; empty for the first part.
func (c cursor) place(text string) (string, error) {
	if text == "" {
		return "", nil
	}
	data, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || len(data) < sumSize || c.text(string(data[sumSize:])) != text { // a decoder skips line ends
		return "", queryErrorf("after is not a cursor of this list or of this question: leave it out for the first part, " +
			"and use next of the part before otherwise, with the same other parameters")
	}
	return string(data[sumSize:]), nil
}
