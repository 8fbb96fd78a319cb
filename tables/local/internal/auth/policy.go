package auth

import (
	"bytes"
	"encoding/xml"
	"io"
	"strings"
	"unicode/utf8"

	"furrow/tables/local/internal/wire"
)

// MaxPolicies is how many stored access policies a table, queue or container
// may have (learn.microsoft.com/rest/api/storageservices/define-stored-access-policy).
const MaxPolicies = 5

// MaxPolicyBody bounds the body of Set ACL, in bytes.
const MaxPolicyBody = 16 << 10

// A Policy is a stored access policy: what a SAS that names it need not say.
type Policy struct {
	ID     string `xml:"Id"`
	Access struct {
		Start      string `xml:"Start"`
		Expiry     string `xml:"Expiry"`
		Permission string `xml:"Permission"`
	} `xml:"AccessPolicy"`
}

type identifiers struct {
	XMLName  xml.Name `xml:"SignedIdentifiers"`
	Policies []Policy `xml:"SignedIdentifier"`
}

// FormatPolicies is the body of Get ACL. What a policy does not set is left out.
func FormatPolicies(policies []Policy) []byte {
	b := []byte(wire.XMLHeader + "<SignedIdentifiers>")
	for _, p := range policies {
		b = append(appendElement(append(b, "<SignedIdentifier>"...), "Id", p.ID), "<AccessPolicy>"...)
		b = appendElement(b, "Start", p.Access.Start)
		b = appendElement(b, "Expiry", p.Access.Expiry)
		b = appendElement(b, "Permission", p.Access.Permission)
		b = append(b, "</AccessPolicy></SignedIdentifier>"...)
	}
	return append(b, "</SignedIdentifiers>"...)
}

func appendElement(dst []byte, name, value string) []byte {
	if value == "" {
		return dst
	}
	dst = append(append(append(dst, '<'), name...), '>')
	dst = wire.AppendXML(dst, value)
	return append(append(append(dst, "</"...), name...), '>')
}

// ParsePolicies reads the body of Set ACL; an empty one means no policies.
func ParsePolicies(body []byte) ([]Policy, error) {
	body = bytes.TrimSpace(wire.TrimBOM(body))
	if len(body) == 0 {
		return nil, nil
	}
	var ids identifiers
	d := xml.NewDecoder(bytes.NewReader(body))
	if err := d.Decode(&ids); err != nil {
		return nil, wire.BadXML(err.Error())
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, wire.BadXML("something follows the SignedIdentifiers element")
	}
	if len(ids.Policies) > MaxPolicies {
		return nil, wire.BadXML("more than five stored access policies")
	}
	seen := map[string]bool{}
	for _, p := range ids.Policies {
		if n := utf8.RuneCountInString(p.ID); n == 0 || n > 64 || seen[p.ID] {
			return nil, wire.BadXML("the id of a stored access policy must be unique and have 1 to 64 characters")
		}
		seen[p.ID] = true
		for _, t := range []string{p.Access.Start, p.Access.Expiry} {
			if _, ok := parseTime(t); t != "" && !ok {
				return nil, wire.BadXML("the time " + t + " is not in ISO 8601")
			}
		}
	}
	return ids.Policies, nil
}

// CheckPermissions refuses policies that permit anything but the letters.
func CheckPermissions(policies []Policy, letters string) error {
	for _, p := range policies {
		if strings.Trim(p.Access.Permission, letters) != "" {
			return wire.BadNode("Permission", p.Access.Permission)
		}
	}
	return nil
}
