package blob

import (
	"encoding/base64"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	"furrow/tables/local/internal/wire"
)

// A page is the XML of one page of a list.
type page struct {
	*listing
	kind  string // Blobs or Containers
	out   []byte
	items int
	next  string // first name of the next page, if there is one
}

func newPage(r *wire.Request, l *listing, kind, container string) *page {
	p := &page{listing: l, kind: kind}
	p.out = append(p.out, wire.XMLHeader+`<EnumerationResults ServiceEndpoint="`...)
	p.out = wire.AppendXML(p.out, strings.ReplaceAll(strings.TrimSuffix(r.Base(), "/"+container), `"`, "%22")+"/")
	if container != "" {
		p.out = append(p.out, `" ContainerName="`...)
		p.out = wire.AppendXML(p.out, container)
	}
	p.out = append(p.out, `">`...)
	for _, e := range [][2]string{{"Prefix", l.prefix}, {"Marker", r.Query.Get("marker")},
		{"MaxResults", r.Query.Get("maxresults")}, {"Delimiter", l.delimiter},
		{"StartFrom", l.from}, {"EndBefore", l.before}} {
		if e[1] != "" {
			p.out = wire.AppendElement(p.out, e[0], e[1])
		}
	}
	p.out = append(p.out, "<"+kind+">"...)
	return p
}

func (p *page) full() bool { return p.items >= p.most || len(p.out) >= maxPage }

// document completes the document.
func (p *page) document() []byte {
	p.out = append(p.out, "</"+p.kind+">"...)
	p.out = wire.AppendElement(p.out, "NextMarker", encodeMarker(p.next))
	p.out = append(p.out, "</EnumerationResults>"...)
	return p.out
}

// nameElement writes a blob's name. A name that XML cannot represent is percent-encoded
// and marked as such.
func (p *page) nameElement(name string) {
	if !strings.ContainsFunc(name, notXML) {
		p.out = wire.AppendElement(p.out, "Name", name)
		return
	}
	p.out = append(p.out, `<Name Encoded="true">`+strings.ReplaceAll(url.QueryEscape(name), "+", "%20")+"</Name>"...)
}

func notXML(c rune) bool {
	return c < 0x20 && c != '\t' && c != '\n' && c != '\r' || c == 0xFFFE || c == 0xFFFF
}

// addGroup adds the names with a common prefix as one item.
func (p *page) addGroup(prefix string) {
	p.items++
	p.out = append(p.out, "<BlobPrefix>"...)
	p.nameElement(prefix)
	p.out = append(p.out, "</BlobPrefix>"...)
}

func (p *page) addBlob(name string, rec *record) {
	p.items++
	p.out = append(p.out, "<Blob>"...)
	p.nameElement(name)
	p.out = append(p.out, "<Properties>"...)
	p.out = wire.AppendElements(p.out, [][2]string{
		{"Creation-Time", wire.HTTPTime(modified(rec.Created))},
		{"Last-Modified", wire.HTTPTime(modified(rec.Changed))},
		{"Etag", etag(rec.Changed)},
		{"Content-Length", strconv.FormatInt(rec.Size, 10)},
		{"Content-Type", rec.Headers.Type},
		{"Content-Encoding", rec.Headers.Encoding},
		{"Content-Language", rec.Headers.Language},
		{"Content-CRC64", ""},
		{"Content-MD5", base64.StdEncoding.EncodeToString(rec.Headers.MD5)},
		{"Cache-Control", rec.Headers.Cache},
		{"Content-Disposition", rec.Headers.Disposition},
		{"BlobType", rec.kind()},
		{"LeaseStatus", "unlocked"},
		{"LeaseState", "available"},
		{"ServerEncrypted", "true"},
	})
	if !rec.Append {
		p.out = wire.AppendElements(p.out, [][2]string{{"AccessTier", "Hot"}, {"AccessTierInferred", "true"}})
	}
	p.out = append(p.out, "</Properties>"...)
	p.addMetadata(rec.Metadata)
	p.out = append(p.out, "<OrMetadata /></Blob>"...)
}

func (p *page) addContainer(c *container) {
	p.items++
	p.out = append(p.out, "<Container>"...)
	p.out = wire.AppendElement(p.out, "Name", c.Name)
	p.out = append(p.out, "<Properties>"...)
	p.out = wire.AppendElements(p.out, [][2]string{
		{"Last-Modified", wire.HTTPTime(modified(c.Changed))},
		{"Etag", `"` + etag(c.Changed) + `"`}, // in quotes here but not for blobs, as on Azure
		{"LeaseStatus", "unlocked"},
		{"LeaseState", "available"},
		{"DefaultEncryptionScope", "$account-encryption-key"},
		{"DenyEncryptionScopeOverride", "false"},
		{"HasImmutabilityPolicy", "false"},
		{"HasLegalHold", "false"},
		{"ImmutableStorageWithVersioningEnabled", "false"},
	})
	p.out = append(p.out, "</Properties>"...)
	p.addMetadata(c.Metadata)
	p.out = append(p.out, "</Container>"...)
}

func (p *page) addMetadata(metadata map[string]string) {
	if p.metadata {
		p.out = wire.AppendMetadata(p.out, metadata)
	}
}

// encodeMarker encodes the first name of the next page as an opaque marker.
func encodeMarker(name string) string { return base64.RawURLEncoding.EncodeToString([]byte(name)) }

func decodeMarker(marker string) (string, error) {
	name, err := base64.RawURLEncoding.DecodeString(marker)
	if err != nil || !utf8.Valid(name) || len(name) > 4*maxName {
		return "", wire.BadQuery("marker", marker, "It is not one that this server gave.")
	}
	return string(name), nil
}
