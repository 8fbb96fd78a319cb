package schema

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"furrow/tables"
)

// A Stored counts the readings that storage has accepted of one or more devices in a bucket of time.
type Stored struct {
	Rows    int64
	Bytes   int64 // that storage charges for the rows
	Devices int64 // that have such rows; 0 in the bucket of one device
}

// StoredProperty is the property of rows of buckets and reports that holds a Stored.
const StoredProperty = "_stored"

// Add adds what other devices have stored.
func (s *Stored) Add(o Stored) {
	s.Rows, s.Bytes, s.Devices = s.Rows+o.Rows, s.Bytes+o.Bytes, s.Devices+o.Devices
}

// String returns the property: a JSON array of rows, bytes and devices.
func (s Stored) String() string { return fmt.Sprintf("[%d,%d,%d]", s.Rows, s.Bytes, s.Devices) }

// StoredOf reads the property of a row. A row without it, such as one that was written before it existed, has stored
// nothing that is known.
func StoredOf(e tables.Entity) (s Stored, err error) {
	text := e.Get(StoredProperty).Text()
	if text == "" {
		return s, nil
	}
	var counts []int64
	if err := json.Unmarshal([]byte(text), &counts); err != nil || len(counts) != 3 {
		return s, fmt.Errorf("%s: %s is not an array of three whole numbers", StoredProperty, tables.Quote(text))
	}
	return Stored{counts[0], counts[1], counts[2]}, nil
}

// PropertyName returns the name of the property that holds a member of a document. It is the member's own name if
// storage allows it. Otherwise each character that is no letter, digit or _ becomes _, a digit at the beginning gets
// one before it, and PartitionKey, RowKey and Timestamp get one at the end: tenant-id is tenant_id.
func PropertyName(member string) string {
	if tables.CheckName(member) == nil {
		return member
	}
	name := string(AppendName(nil, member, len(member)))
	switch name {
	case "PartitionKey", "RowKey", "Timestamp":
		return name + "_"
	}
	if first, _ := utf8.DecodeRuneInString(name); first != '_' && !unicode.IsLetter(first) {
		return "_" + name
	}
	return name
}

// AppendName appends to a name the key of an object within it, with _ for each character that is no letter, digit or _.
// It stops soon after the name has become longer than most bytes.
func AppendName(name []byte, key string, most int) []byte {
	for _, r := range key {
		if len(name) > most {
			break
		}
		if r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			r = '_'
		}
		name = utf8.AppendRune(name, r)
	}
	return name
}

// A Number says which reading of a device a row is. Devices that follow the rules of package sas/device have it in the
// suffixes of their row keys: the name of the boot, a dot, and the number.
type Number struct {
	Boot string // a random name of 8 characters
	N    uint64 // in the boot, from 1
}

// String returns the suffix as package sas/device writes it, with a hexadecimal number of at least 8 digits. The
// examples in other languages write a decimal one without zeros in front.
func (n Number) String() string { return fmt.Sprintf("%s.%08x", n.Boot, n.N) }

// lengthOfBoot is how many characters the name of a boot has. The suffixes of imported rows begin with 16.
const lengthOfBoot = 8

// Number returns the number in the key's suffix; false where it has none. Two forms are known: base 32 with a
// hexadecimal number of 8 digits, of package sas/device, and 8 hexadecimal digits with a decimal number, of its
// examples. An all-digit number is read as hexadecimal if it begins with a zero, or if the boot is no hexadecimal
// number. So a boot of sas/device is read wrongly from its reading 268,435,456 on if its name happens to be
// hexadecimal, as one in 2,500 is.
func (k RowKey) Number() (n Number, ok bool) {
	boot, text, ok := strings.Cut(k.Suffix, ".")
	hexadecimal := consistsOf(boot, "0123456789abcdef")
	if !ok || len(boot) != lengthOfBoot || !hexadecimal && !consistsOf(boot, "abcdefghijklmnopqrstuvwxyz234567") {
		return Number{}, false
	}
	base := 10
	if len(text) == 8 && (text[0] == '0' || !hexadecimal || !consistsOf(text, "0123456789")) {
		base = 16
	} else if !hexadecimal || strings.HasPrefix(text, "0") {
		return Number{}, false
	}
	if !consistsOf(text, "0123456789abcdef") { // ParseUint takes signs and capitals, too
		return Number{}, false
	}
	v, err := strconv.ParseUint(text, base, 64)
	return Number{boot, v}, err == nil && v > 0 && v <= math.MaxUint32
}

func consistsOf(s, letters string) bool { return strings.Trim(s, letters) == "" }
