package schema

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

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
