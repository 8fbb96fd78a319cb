package device

import (
	"fmt"
	"slices"
	"time"
)

// openBuffer opens the buffer for a new boot that starts when the device's clock shows wall.
func openBuffer(c Config, wall time.Time) (*buffer, []Report, error) {
	b := &buffer{max: c.MaxBytes, wake: make(chan struct{}, 1), changed: make(chan struct{})}
	b.boot = &boot{nonce: newNonce(), wall: wall}
	if c.File == "" {
		b.boots = []*boot{b.boot}
		return b, nil, nil
	}
	j, data, err := openJournal(c.File)
	if err != nil {
		return nil, nil, fmt.Errorf("file %s: %w", c.File, err)
	}
	b.journal = j
	reports, err := b.recover(data, string(c.Device))
	if err != nil {
		j.close()
		return nil, nil, fmt.Errorf("file %s: %w", c.File, err)
	}
	return b, reports, nil
}

func (b *buffer) recover(data []byte, device string) (reports []Report, err error) {
	found, damaged, good := scan(data)
	if err := b.load(found, device); err != nil {
		return nil, err
	}
	for _, d := range damaged {
		reports = append(reports, Report{Reason: Damaged,
			Err: fmt.Errorf("%d bytes at offset %d of the file are unreadable", d.end-d.off, d.off)})
	}
	b.device = device
	for _, o := range b.boots {
		b.boot.after = latest(b.boot.after, o.after, o.zero, o.seen)
	}
	b.boots = append(b.boots, b.boot)
	if err := b.journal.begin(good); err != nil {
		return nil, err
	}
	_, ticket, err := b.journal.append(b.boot.record(device))
	if err != nil {
		return nil, err
	}
	b.journal.shrink(b.bytes, b.image)
	return reports, b.journal.flush(ticket)
}

// image appends all live records to a new file.
func (b *buffer) image() (moved func(), err error) {
	waits := map[*boot]bool{b.boot: true}
	for _, e := range b.entries {
		waits[e.boot] = true
	}
	b.boots = slices.DeleteFunc(b.boots, func(o *boot) bool { return !waits[o] })
	for _, o := range b.boots {
		if _, _, err := b.journal.append(o.record(b.device)); err != nil {
			return nil, err
		}
		if o.zero.IsZero() {
			continue
		}
		if _, _, err := b.journal.append(clockRecord{o.nonce, unixNano(o.zero), unixNano(o.seen)}.encode()); err != nil {
			return nil, err
		}
	}
	at := make([]place, len(b.entries))
	for i, e := range b.entries {
		if at[i], _, err = b.journal.append(e.record()); err != nil {
			return nil, err
		}
	}
	return func() {
		for i, e := range b.entries {
			e.place = at[i]
		}
	}, nil
}

func (o *boot) record(device string) []byte {
	return bootRecord{nonce: o.nonce, device: device, wall: unixNano(o.wall), after: unixNano(o.after)}.encode()
}
