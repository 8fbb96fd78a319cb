package model

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"strings"

	"furrow/tables/schema"
)

// A rank is a device's place in a list: ordered by kind, then the greatest number first, then by text, then by ID.
type rank struct {
	Sort   string  `json:"s"` // order of the list
	Kind   int     `json:"k,omitempty"`
	Number float64 `json:"n,omitempty"`
	Text   string  `json:"t,omitempty"`
	Device string  `json:"d"`
}

// maxRanked is how many bytes of a text are compared.
const maxRanked = 64

// value ranks by a value: numbers before texts before none.
func (r *rank) value(x *index, v *value) {
	switch {
	case v == nil:
		r.Kind = 2
	case v.flags&isText != 0:
		r.Kind = 1
		r.Text = x.texts.text(uint32(v.number))
		r.Text = strings.ToValidUTF8(r.Text[:min(len(r.Text), maxRanked)], "")
	case finite(v.number):
		r.Number = v.number
	}
}

// urgency orders states: the greatest one is what a person should see first.
func (s State) urgency() float64 {
	switch s {
	case Held:
		return 3
	case Silent:
		return 2
	case Revoked:
		return 1
	}
	return 0
}

func (r rank) compare(o rank) int {
	return cmp.Or(cmp.Compare(r.Kind, o.Kind), cmp.Compare(o.Number, r.Number), cmp.Compare(r.Text, o.Text),
		cmp.Compare(r.Device, o.Device))
}

func (r rank) cursor(sort string) string {
	r.Sort = sort
	text, err := json.Marshal(r)
	if err != nil {
		panic(err) // texts and finite numbers can be encoded
	}
	return base64.RawURLEncoding.EncodeToString(text)
}

// parseCursor parses the cursor of a query; nil for the first page.
func parseCursor(q ListQuery) (*rank, error) {
	if q.After == "" {
		return nil, nil
	}
	wrong := queryErrorf("after is not a cursor of a list sorted by %s: leave it out for the first page, and use next "+
		"of the previous page otherwise", q.Sort)
	text, err := base64.RawURLEncoding.DecodeString(q.After)
	if err != nil {
		return nil, wrong
	}
	var r rank
	if json.Unmarshal(text, &r) != nil || r.Sort != q.Sort {
		return nil, wrong
	}
	if _, err := schema.ParseDeviceID(r.Device); err != nil {
		return nil, wrong
	}
	return &r, nil
}
