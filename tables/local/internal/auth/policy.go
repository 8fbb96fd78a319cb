package auth

import (
	"bytes"
	"encoding/xml"
	"strings"
	"unicode/utf8"

	"furrow/tables/local/internal/wire"
)

// Limits of stored access policies
// (learn.microsoft.com/rest/api/storageservices/define-stored-access-policy).
const (
	maxPolicies   = 5
	maxPolicyBody = 16 << 10 // bytes of the body of Set ACL
)

// A Policy is a stored access policy: the terms that a SAS naming it leaves out.
type Policy struct {
	ID     string `xml:"Id"`
	Access access `xml:"AccessPolicy"`
}

type access struct {
	Start      string `xml:"Start"`
	Expiry     string `xml:"Expiry"`
	Permission string `xml:"Permission"`
}

// FormatPolicies returns the body of Get ACL. It leaves out what a policy does not set.
func FormatPolicies(policies []Policy) []byte {
	b := []byte(wire.XMLHeader + "<SignedIdentifiers>")
	for _, p := range policies {
		b = wire.AppendElement(append(b, "<SignedIdentifier>"...), "Id", p.ID)
		if p.Access == (access{}) {
			b = append(b, "</SignedIdentifier>"...)
			continue
		}
		b = append(b, "<AccessPolicy>"...)
		for _, e := range [][2]string{
			{"Start", p.Access.Start}, {"Expiry", p.Access.Expiry}, {"Permission", p.Access.Permission}} {
			if e[1] != "" {
				b = wire.AppendElement(b, e[0], e[1])
			}
		}
		b = append(b, "</AccessPolicy></SignedIdentifier>"...)
	}
	return append(b, "</SignedIdentifiers>"...)
}

// ReadPolicies reads the body of Set ACL. It refuses permissions that are not in
// letters; empty accepts any.
func ReadPolicies(r *wire.Request, letters string) ([]Policy, error) {
	body, err := r.ReadBody(maxPolicyBody)
	if err != nil {
		return nil, err
	}
	policies, err := parsePolicies(body)
	for _, p := range policies {
		if letters != "" && strings.Trim(p.Access.Permission, letters) != "" {
			return nil, wire.BadNode("Permission", p.Access.Permission)
		}
	}
	return policies, err
}

// parsePolicies parses a list of policies. An empty body is an empty list.
func parsePolicies(body []byte) ([]Policy, error) {
	if len(bytes.TrimSpace(wire.TrimBOM(body))) == 0 {
		return nil, nil
	}
	var ids struct {
		XMLName  xml.Name `xml:"SignedIdentifiers"`
		Policies []Policy `xml:"SignedIdentifier"`
	}
	if err := wire.ParseXML(body, &ids); err != nil {
		return nil, err
	}
	if len(ids.Policies) > maxPolicies {
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
