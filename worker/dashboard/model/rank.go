package model

import (
	"cmp"
	"strings"
)

// A rank is a device's place in a list: ordered by kind, then the greatest number first, then by text, then by ID.
type rank struct {
	Kind   int     `json:"k,omitempty"`
	Number float64 `json:"n,omitempty"`
	Text   string  `json:"t,omitempty"`
	Device string  `json:"d"`
}

// maxRanked is how many bytes of a text are compared.
const maxRanked = 64

// value ranks by a value: numbers before texts before none.
func (r *rank) value(x *roster, v *value) {
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
		return 4
	case Silent:
		return 3
	case Revoked:
		return 2
	case Unheard:
		return 1
	}
	return 0
}

func (r rank) compare(o rank) int {
	return cmp.Or(cmp.Compare(r.Kind, o.Kind), cmp.Compare(o.Number, r.Number), cmp.Compare(r.Text, o.Text),
		cmp.Compare(r.Device, o.Device))
}

// cursor returns the cursors of a list.
func (ls *Lists) cursor(q ListQuery) cursor {
	if q.Sort != SortValue {
		q.Sensor = "" // it does not matter for the order
	}
	return ls.accounts.cursorFor("devices", q.Filter, q.Prefix, q.Box, q.Sensor, q.Sort)
}
