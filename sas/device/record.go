package device

import (
	"bytes"
	"fmt"
	"hash/crc32"
	"time"

	"github.com/go-json-experiment/json"
)

// title is the first line of a device's file.
func title(device string) string { return "furrow readings 1 " + device + "\n" }

// A record is a line of the file after the title: a checksum and JSON with one of these fields.
type record struct {
	Boot    *boot    `json:"boot,omitzero"`    // a new boot, or a boot whose times are known now
	Reading *entry   `json:"reading,omitzero"` // an accepted reading
	Done    []string `json:"done,omitempty"`   // IDs of readings that need not be sent any more
}

// A boot is one run of the client: all readings that were stamped by one monotonic clock.
type boot struct {
	Nonce string    `json:"nonce"`          // part of its readings' keys
	Wall  time.Time `json:"wall"`           // the device's own clock at its start
	After time.Time `json:"after,omitzero"` // a time that had already passed; zero: unknown
	Zero  time.Time `json:"zero,omitzero"`  // the server's time at its start; zero: unknown
	Seen  time.Time `json:"seen,omitzero"`  // the time when Zero was learnt
}

// encode returns the line between two line breaks, so that a damaged line break spoils one
// record only.
func (r record) encode() ([]byte, error) {
	text, err := json.Marshal(r)
	return fmt.Appendf(nil, "\n%s %s\n", checksum(text), text), err
}

// decode parses a line without its line break, and reports whether it is a record.
func decode(line []byte) (r record, ok bool) {
	sum, text, _ := bytes.Cut(line, []byte(" "))
	ok = string(sum) == checksum(text) && json.Unmarshal(text, &r) == nil
	return r, ok
}

func checksum(text []byte) string {
	return fmt.Sprintf("%08x", crc32.Checksum(text, crc32.MakeTable(crc32.Castagnoli)))
}

// scan reads the records of a file. Unreadable bytes before a record are damage, returned as a
// report each. Unreadable bytes at the end are a torn write that was never acknowledged: the
// good part of the file ends before them.
func scan(data []byte) (found []record, damage []Report, good int64) {
	var at int64
	for line := range bytes.Lines(data) {
		begin := at
		at += int64(len(line))
		text := bytes.TrimSuffix(line, []byte("\n"))
		r, ok := decode(text)
		switch {
		case begin == 0, begin == good && len(text) == 0: // the title, or the line break before a record
			good = at
		case ok:
			if good < begin-1 {
				damage = append(damage, Report{Reason: Damaged,
					Err: fmt.Errorf("%d bytes at offset %d of the file are unreadable", begin-good, good)})
			}
			found, good = append(found, r), at
		}
	}
	return found, damage, good
}
