// Package properties serves what belongs to a whole service: its properties, with the rules of CORS, and the
// statistics of its secondary endpoint.
package properties

import (
	"encoding/xml"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"furrow/tables/local/internal/wire"
)

// Limits of properties (learn.microsoft.com/rest/api/storageservices, under Set Blob Service Properties and
// Cross-Origin Resource Sharing).
const (
	maxBody  = 16 << 10 // bytes
	maxRules = 5
	maxList  = 256     // characters of each list in a rule
	maxCORS  = 2 << 10 // characters of all rules
	maxDays  = 365     // of a retention policy
)

// Properties are the properties of a service. In a change, nil stays as it is.
type Properties struct {
	XMLName        xml.Name  `xml:"StorageServiceProperties" json:"-"`
	Logging        *logging  `xml:",omitempty" json:",omitempty"`
	HourMetrics    *metrics  `xml:",omitempty" json:",omitempty"`
	MinuteMetrics  *metrics  `xml:",omitempty" json:",omitempty"`
	Cors           *cors     `xml:",omitempty" json:",omitempty"`
	DefaultVersion string    `xml:"DefaultServiceVersion,omitempty" json:",omitempty"`
	DeleteRetain   *switched `xml:"DeleteRetentionPolicy,omitempty" json:",omitempty"` // of blobs
	StaticWebsite  *switched `xml:",omitempty" json:",omitempty"`                      // of blobs
}

type logging struct {
	Version             string
	Delete, Read, Write bool
	RetentionPolicy     switched
}

type metrics struct {
	Version         string
	Enabled         bool
	IncludeAPIs     *bool `xml:",omitempty" json:",omitempty"` // not nil if Enabled
	RetentionPolicy switched
}

// A switched is an option that may be on, some for a number of days.
type switched struct {
	Enabled bool
	Days    int `xml:",omitempty" json:",omitempty"`
}

type cors struct {
	Rules []rule `xml:"CorsRule"`
}

// defaults are the properties of a new account. Nothing is logged or measured, whatever they say.
func defaults(s wire.Service) Properties {
	p := Properties{Logging: &logging{Version: "1.0"}, HourMetrics: &metrics{Version: "1.0"},
		MinuteMetrics: &metrics{Version: "1.0"}, Cors: &cors{}}
	if s == wire.Blob {
		p.DeleteRetain, p.StaticWebsite = &switched{}, &switched{}
	}
	return p
}

// merge returns p with the elements that change has.
func (p Properties) merge(change *Properties) *Properties {
	replace(&p.Logging, change.Logging)
	replace(&p.HourMetrics, change.HourMetrics)
	replace(&p.MinuteMetrics, change.MinuteMetrics)
	replace(&p.Cors, change.Cors)
	replace(&p.DeleteRetain, change.DeleteRetain)
	replace(&p.StaticWebsite, change.StaticWebsite)
	if change.DefaultVersion != "" {
		p.DefaultVersion = change.DefaultVersion
	}
	return &p
}

func replace[T any](to **T, with *T) {
	if with != nil {
		*to = with
	}
}

// parse reads the body of Set Properties.
func parse(body []byte, s wire.Service) (*Properties, error) {
	var p Properties
	if err := wire.ParseXML(body, &p); err != nil {
		return nil, err
	}
	return &p, p.check(s)
}

func (p *Properties) check(s wire.Service) error {
	switch {
	case s != wire.Blob && (p.DefaultVersion != "" || p.DeleteRetain != nil || p.StaticWebsite != nil):
		return wire.BadXML("DefaultServiceVersion, DeleteRetentionPolicy and StaticWebsite are properties of blobs")
	case p.DeleteRetain != nil && p.DeleteRetain.Enabled:
		return wire.NotImplemented("soft delete (DeleteRetentionPolicy)")
	case p.StaticWebsite != nil && p.StaticWebsite.Enabled:
		return wire.NotImplemented("static websites (StaticWebsite)")
	}
	if p.Logging != nil {
		if err := p.Logging.RetentionPolicy.check(); err != nil {
			return err
		}
	}
	for _, m := range []*metrics{p.HourMetrics, p.MinuteMetrics} {
		if err := m.check(); err != nil {
			return err
		}
	}
	if p.Cors == nil {
		return nil
	}
	return p.Cors.check()
}

func (m *metrics) check() error {
	if m == nil {
		return nil
	}
	if m.Enabled && m.IncludeAPIs == nil {
		return wire.BadXML("metrics that are enabled need IncludeAPIs")
	}
	return m.RetentionPolicy.check()
}

func (s switched) check() error {
	if s.Enabled && (s.Days < 1 || s.Days > maxDays) {
		return wire.BadXML("the days of a policy are from 1 to 365") // as Azure says it, not InvalidXmlNodeValue
	}
	return nil
}

func (c *cors) check() error {
	if len(c.Rules) > maxRules {
		return wire.BadXML("more than five CORS rules")
	}
	size := 0
	for _, r := range c.Rules {
		for name, list := range map[string]string{"AllowedOrigins": r.AllowedOrigins, "AllowedMethods": r.AllowedMethods,
			"AllowedHeaders": r.AllowedHeaders, "ExposedHeaders": r.ExposedHeaders} {
			needed := name == "AllowedOrigins" || name == "AllowedMethods"
			if len(list) > maxList || needed && strings.TrimSpace(list) == "" || !wire.Printable(list) {
				return wire.BadNode(name, list)
			}
			size += len(list)
		}
		for method := range items(r.AllowedMethods) {
			if !slices.Contains(methods, method) {
				return wire.BadNode("AllowedMethods", r.AllowedMethods)
			}
		}
		if r.MaxAge < 0 {
			return wire.BadNode("MaxAgeInSeconds", strconv.Itoa(r.MaxAge))
		}
	}
	if size > maxCORS {
		return wire.BadXML("the CORS rules have more than 2 KiB")
	}
	return nil
}

// methods may be in a rule.
var methods = []string{http.MethodDelete, http.MethodGet, http.MethodHead, "MERGE", http.MethodPatch, http.MethodPost,
	http.MethodOptions, http.MethodPut}
