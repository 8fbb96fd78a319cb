package model

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"furrow/tables/schema"
	"strings"
)

// A rank is where a device is in a list: those of a smaller kind come first, of one
// kind the greater numbers, then by text, and then by id.
type rank struct {
	Sort   string  `json:"s"` // of the list that it is of
	Kind   int     `json:"k,omitempty"`
	Number float64 `json:"n,omitempty"`
	Text   string  `json:"t,omitempty"`
	Device string  `json:"d"`
}

// mostRanked is how much of a text counts for its order, in bytes.
const mostRanked = 64

// value ranks by a value: numbers, then texts, then none.
func (r *rank) value(x *index, v *value) {
	switch {
	case v == nil:
		r.Kind = 2
	case v.flags&isText != 0:
		r.Kind = 1
		r.Text = x.texts.text(uint32(v.number))
		r.Text = strings.ToValidUTF8(r.Text[:min(len(r.Text), mostRanked)], "")
	case finite(v.number):
		r.Number = v.number
	}
}

func (r rank) compare(o rank) int {
	return cmp.Or(cmp.Compare(r.Kind, o.Kind), cmp.Compare(o.Number, r.Number), cmp.Compare(r.Text, o.Text), cmp.Compare(r.Device, o.Device))
}

// cursor says where a page ended, for whoever asks for the next.
func (r rank) cursor(sort string) string {
	r.Sort = sort
	text, err := json.Marshal(r)
	if err != nil {
		panic(err) // texts and finite numbers have a JSON
	}
	return base64.RawURLEncoding.EncodeToString(text)
}

// parseCursor reads what cursor writes; of an empty one there is no rank.
func parseCursor(ask ListQuery) (*rank, error) {
	if ask.After == "" {
		return nil, nil
	}
	wrong := queryErrorf("after is no cursor of a list that is sorted by %s: leave it out for the first page, and take what next says for others", ask.Sort)
	text, err := base64.RawURLEncoding.DecodeString(ask.After)
	if err != nil {
		return nil, wrong
	}
	var r rank
	if json.Unmarshal(text, &r) != nil || r.Sort != ask.Sort {
		return nil, wrong
	}
	if _, err := schema.ParseDeviceID(r.Device); err != nil {
		return nil, wrong
	}
	return &r, nil
}
