package device

import (
	"cmp"
	"fmt"
	"slices"
)

// A placed is a record and its place in the file.
type placed struct {
	place
	record any
}

// scan reads the file's records. Unreadable bytes before a record are damage. Unreadable
// bytes at the end are a torn write that was never acknowledged; the good part ends before
// them.
func scan(data []byte) (found []placed, damaged []place, good int64) {
	good = int64(len(title))
	for at := good; at < int64(len(data)); {
		payload, ok := unframe(data[at:])
		var r any
		if ok {
			var err error
			r, err = decode(payload)
			ok = err == nil
		}
		if !ok {
			at++
			continue
		}
		if at > good {
			damaged = append(damaged, place{good, at})
		}
		good = at + frame + int64(len(payload))
		found = append(found, placed{place{at, good}, r})
		at = good
	}
	return found, damaged, good
}

// load fills the buffer with the waiting readings.
func (b *buffer) load(found []placed, device string) error {
	boots := map[string]*boot{}
	of := func(nonce string) *boot {
		if boots[nonce] == nil {
			boots[nonce] = &boot{nonce: nonce}
			b.boots = append(b.boots, boots[nonce])
		}
		return boots[nonce]
	}
	var past []place
	for _, p := range found {
		switch r := p.record.(type) {
		case bootRecord:
			if r.device != device {
				return fmt.Errorf("it holds readings of device %q; give each device its own file", r.device)
			}
			o := of(r.nonce)
			o.wall, o.after = fromUnixNano(r.wall), fromUnixNano(r.after)
		case clockRecord:
			of(r.nonce).apply(r)
		case readingRecord:
			b.entries = append(b.entries, &entry{stamp: r.stamp, boot: of(r.nonce), seq: r.seq, body: r.body, place: p.place,
				tried: true})
		case place:
			past = append(past, r)
		}
	}
	b.forget(past)
	for _, e := range b.entries {
		b.bytes += e.size()
	}
	return nil
}

// forget removes the entries in these parts of the file.
func (b *buffer) forget(past []place) {
	slices.SortFunc(past, func(a, b place) int { return cmp.Compare(a.off, b.off) })
	end, next := int64(0), 0 // end: the farthest end of the parts that start before the entry
	b.entries = slices.DeleteFunc(b.entries, func(e *entry) bool {
		for ; next < len(past) && past[next].off <= e.place.off; next++ {
			end = max(end, past[next].end)
		}
		return e.place.end <= end
	})
}
