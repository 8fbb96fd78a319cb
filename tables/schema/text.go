package schema

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"

	"furrow/tables"
)

const (
	maxText    = 128 // characters in a tenant, a site, the name or the value of a label
	maxEscaped = 384 // characters in the same text, escaped for a key
)

// checkText returns why s cannot be a tenant, a site, or the name or value of a label; what
// says which. Two texts that look alike but use different Unicode normal forms are different
// texts: they are stored as given.
func checkText(what, s string) error {
	switch n := utf8.RuneCountInString(s); {
	case s == "":
		return fmt.Errorf("%s is empty; use 1 to %d characters", what, maxText)
	case !utf8.ValidString(s):
		return fmt.Errorf("%s %s is not valid UTF-8", what, tables.Quote(s))
	case n > maxText:
		return fmt.Errorf("%s %s has %d characters; at most %d are allowed", what, tables.Quote(s), n, maxText)
	case strings.TrimSpace(s) != s:
		return fmt.Errorf("%s %s starts or ends with white space; remove it", what, tables.Quote(s))
	}
	if i := strings.IndexFunc(s, isControl); i >= 0 {
		return fmt.Errorf("%s %s: the control character at position %d is not allowed",
			what, tables.Quote(s), utf8.RuneCountInString(s[:i])+1)
	}
	if n := len(escape(s)); n > maxEscaped {
		return fmt.Errorf("%s %s takes %d characters in keys, and %d are available: a character other than a-z, A-Z, 0-9, "+
			"-, . and _ takes three for each of its bytes in UTF-8", what, tables.Quote(s), n, maxEscaped)
	}
	return nil
}

// isControl reports control characters, and the separators of lines and paragraphs.
func isControl(r rune) bool {
	return unicode.IsControl(r) || unicode.In(r, unicode.Zl, unicode.Zp)
}

// escape writes text in the characters that are safe in keys of tables, in names of blobs and
// in file names: a-z, A-Z, 0-9, -, . and _. Each other byte becomes = and two hexadecimal
// digits in upper case. So does a dot at the end, because no part of a blob's name may end
// with one. Different texts have different escaped forms, and none contains Separator.
func escape(s string) string {
	s = url.QueryEscape(s)
	s = strings.ReplaceAll(s, "%", "=")
	s = strings.ReplaceAll(s, "+", "=20")
	s = strings.ReplaceAll(s, "~", "=7E")
	if rest, dot := strings.CutSuffix(s, "."); dot {
		s = rest + "=2E"
	}
	return s
}

// unescape parses the result of escape. It refuses every other spelling of the same text, so
// that no text has two keys.
func unescape(s string) (string, error) {
	text, err := url.PathUnescape(strings.ReplaceAll(s, "=", "%"))
	if err != nil || escape(text) != s {
		return "", errors.New("not the escaped form of a text: want a-z, A-Z, 0-9, -, . and _, and other bytes as =C3")
	}
	return text, nil
}

// A Tenant owns devices. It is text of 1 to 128 characters without control characters and
// without white space at its ends, and neither "." nor "..".
type Tenant string

// Itself is the tenant of what is about Furrow itself: the devices furrow:PIPELINE, whose readings are the figures of
// pipelines, and the incidents of targets that are turned off.
const Itself = "furrow"

// ItselfOf returns the device that stands for a pipeline.
func ItselfOf(p Pipeline) DeviceID { return DeviceID("furrow:" + p) }

// ParseTenant returns s as a Tenant, or why it is invalid.
func ParseTenant(s string) (Tenant, error) {
	if s == "." || s == ".." {
		return "", fmt.Errorf("tenant %q: a URL cannot contain it as a part of its path; choose another name", s)
	}
	return Tenant(s), checkText("tenant", s)
}

// Key returns t escaped as a part of keys and names: letters, digits and - . _ =.
func (t Tenant) Key() string { return escape(string(t)) }

// ParseTenantKey parses the result of Key, and nothing else.
func ParseTenantKey(s string) (Tenant, error) {
	text, err := unescape(s)
	if err != nil {
		return "", fmt.Errorf("tenant %s: %w", tables.Quote(s), err)
	}
	return ParseTenant(text)
}

// A Site is the place of a device: text with the rules of a Tenant, where "." is allowed.
type Site string

// ParseSite returns s as a Site, or why it is invalid.
func ParseSite(s string) (Site, error) { return Site(s), checkText("site", s) }

// A DeviceID identifies a device: 1 to 128 letters, digits and - . _ :, case-sensitive, as
// in Azure IoT Hub without its other punctuation. It may be hierarchical
// (contoso:us-5260:Giles-7163712301905); a prefix is then a range of keys.
type DeviceID string

// ParseDeviceID returns s as a DeviceID, or an error with the first invalid character and
// its position. "." and ".." are invalid, because URLs leave them out of their paths.
func ParseDeviceID(s string) (DeviceID, error) {
	if s == "." || s == ".." {
		return "", fmt.Errorf("device id %q: a URL cannot contain it as a part of its path; choose another ID", s)
	}
	return DeviceID(s), checkPart("device id", s, maxID)
}

// IDsWithPrefix returns the keys of all devices whose IDs start with prefix.
func IDsWithPrefix(prefix string) (tables.Keys, error) {
	if prefix == "" {
		return tables.Keys{}, nil
	}
	if err := checkPart("device prefix", prefix, maxID); err != nil {
		return tables.Keys{}, err
	}
	return tables.KeysWithPrefix(prefix), nil
}

// ParseModel checks the name of a model.
func ParseModel(s string) (string, error) {
	if checkName("", s) != nil {
		return "", errors.New("want 1 to 40 lowercase letters, digits and -, beginning with a letter")
	}
	return s, nil
}

// DoubtfulProperty is the property of a reading that was imported from an output of Furrow, and that is of bad quality,
// whatever its model says: true.
const DoubtfulProperty = "_doubtful"

// SaysDoubtful reports whether a property says that its reading is of bad quality.
func SaysDoubtful(p tables.Property) bool {
	return p.Name == DoubtfulProperty && p.Value.String() == "true"
}
