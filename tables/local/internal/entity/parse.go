package entity

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"errors"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"furrow/tables/local/internal/store"
	"furrow/tables/local/internal/wire"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"
)

// A Body is the entity in a request.
type Body struct {
	Partition, Row       string
	HasPartition, HasRow bool
	KeyError             error // a key has a type that keys do not have: where the URL has the keys, it is ignored
	Properties           []Property
}

// member is a member of the JSON object.
type member struct {
	name  string
	kind  jsontext.Kind
	text  []byte // unquoted, if a string; part of the body, if it has no escapes
	about string // the type of its annotation
}

// Parse parses one entity: see Parser.
func Parse(body []byte) (*Body, error) { return new(Parser).Parse(body) }

// A Parser parses entities. It keeps what the bodies of a transaction repeat. It is for one goroutine at a time.
type Parser struct {
	json    *jsontext.Decoder
	buffer  bytes.Buffer
	body    []byte
	members []member
	early   []member // annotations of members that have not come yet
	names   []string // of the last entity, in the order of its body
	nth     int      // name of the body
	key     string   // the last partition key
}

// Parse parses an entity from JSON at any metadata level: types are annotated or
// follow from the JSON value. The entity shares memory with the body, which must not change.
func (p *Parser) Parse(body []byte) (*Body, error) {
	if err := p.scan(body); err != nil {
		return nil, err
	}
	members := p.members
	b := &Body{Properties: make([]Property, 0, len(members))}
	for i := range members {
		m := &members[i]
		switch m.name {
		case "PartitionKey", "RowKey":
			if err := p.setKey(b, m); err != nil {
				return nil, err
			}
			continue
		case "Timestamp": // set by the service: the client's value is ignored
			continue
		}
		if err := checkName(m.name); err != nil {
			return nil, err
		}
		v, err := m.value()
		if err != nil {
			return nil, err
		}
		if v.Type != Null {
			b.Properties = append(b.Properties, Property{m.name, v})
		}
	}
	return b, nil
}

func (p *Parser) setKey(b *Body, m *member) error {
	if m.kind == 'n' {
		return nil
	}
	if m.kind != '"' || m.about != "" && m.about != "Edm.String" {
		err := Invalid("The value of " + m.name + " must be a string.")
		if m.kind != '"' {
			return err
		}
		b.KeyError = err
		return nil
	}
	isPartition := m.name == "PartitionKey"
	if isPartition && p.key == string(m.text) && p.key != "" {
		b.Partition, b.HasPartition = p.key, true
		return nil
	}
	key := string(m.text)
	if err := CheckKey(m.name, key); err != nil {
		return err
	}
	if isPartition {
		b.Partition, b.HasPartition, p.key = key, true, key
	} else {
		b.Row, b.HasRow = key, true
	}
	return nil
}

// scan splits a flat JSON object into members with their odata.type annotations.
func (p *Parser) scan(body []byte) error {
	p.reset(body)
	if t, err := p.json.ReadToken(); err != nil || t.Kind() != '{' {
		return Invalid("The body must be a JSON object.")
	}
	for p.json.PeekKind() != '}' {
		m, err := p.member()
		if err != nil {
			return err
		}
		if err := p.add(m); err != nil {
			return err
		}
	}
	if _, err := p.json.ReadToken(); err != nil {
		return notJSON(err)
	}
	if _, err := p.json.ReadToken(); !errors.Is(err, io.EOF) {
		return Invalid("Something follows the JSON object.")
	}
	return nil
}

func (p *Parser) reset(body []byte) {
	p.body = wire.TrimBOM(body)
	p.buffer = *bytes.NewBuffer(p.body)
	p.members, p.early, p.nth = p.members[:0], p.early[:0], 0
	if p.json == nil {
		p.json = jsontext.NewDecoder(&p.buffer, jsontext.AllowDuplicateNames(true)) // add finds them faster
		p.members = make([]member, 0, 16)
		return
	}
	p.json.Reset(&p.buffer, jsontext.AllowDuplicateNames(true))
}

// add adds a member, or annotates the one that it is about.
func (p *Parser) add(m member) error {
	owner, control, annotated := strings.Cut(m.name, "@")
	switch {
	case annotated && control == "odata.type":
		m.name, m.about = owner, typeName(m.text)
		if i := find(p.members, owner); i >= 0 {
			p.members[i].about = m.about
		} else {
			p.early = append(p.early, m)
		}
	case annotated || strings.HasPrefix(m.name, "odata."): // metadata that the client has read and sends back
	default:
		if find(p.members, m.name) >= 0 {
			return bad("DuplicatePropertiesSpecified", "A property is specified more than one time.")
		}
		if i := find(p.early, m.name); i >= 0 {
			m.about = p.early[i].about
			p.early = slices.Delete(p.early, i, i+1)
		}
		p.members = append(p.members, m)
	}
	if len(p.members) > MaxProperties+3 || len(p.early) > MaxProperties+3 {
		return tooMany()
	}
	return nil
}

// typeName returns the text of an annotation.
func typeName(text []byte) string {
	for _, name := range names {
		if name == string(text) {
			return name
		}
	}
	return string(text)
}

// find returns the index of the last member with a name, or -1. An annotation is mostly next to its member.
func find(members []member, name string) int {
	for i := len(members) - 1; i >= 0; i-- {
		if members[i].name == name {
			return i
		}
	}
	return -1
}

// member reads a name and its value.
func (p *Parser) member() (m member, err error) {
	raw, err := p.json.ReadValue()
	if err != nil {
		return m, notJSON(err)
	}
	if m.name, err = p.name(raw); err != nil {
		return m, notJSON(err)
	}
	if raw, err = p.json.ReadValue(); err != nil {
		return m, notJSON(err)
	}
	end := int(p.json.InputOffset())
	switch m.kind = raw.Kind(); m.kind {
	case '"':
		m.text = p.body[end-len(raw)+1 : end-1 : end-1]
		if bytes.IndexByte(m.text, '\\') >= 0 {
			m.text, err = jsontext.AppendUnquote(nil, raw)
		}
	case '0':
		m.text = p.body[end-len(raw) : end : end]
	case '{', '[':
		return m, Invalid("The property " + strconv.Quote(m.name) + " is not a primitive value.")
	}
	return m, err
}

// name returns a name without its quotes. It is mostly the one at the same place of the last body.
func (p *Parser) name(quoted []byte) (string, error) {
	n := p.nth
	p.nth++
	text := quoted[1 : len(quoted)-1]
	if bytes.IndexByte(text, '\\') >= 0 {
		var err error
		if text, err = jsontext.AppendUnquote(nil, quoted); err != nil {
			return "", err
		}
	}
	if n < len(p.names) && p.names[n] == string(text) {
		return p.names[n], nil
	}
	name := string(text)
	if n < 2*(MaxProperties+3) { // with their types
		p.names = append(p.names[:min(n, len(p.names))], name)
	}
	return name, nil
}

func notJSON(err error) error {
	return Invalid("The body is not valid JSON: " + strings.TrimPrefix(err.Error(), "jsontext: "))
}

// checkName checks that a property name is a C# identifier, as the service does.
func checkName(name string) error {
	for i, c := range name {
		if c == '_' || unicode.IsLetter(c) ||
			i > 0 && (unicode.IsDigit(c) || unicode.In(c, unicode.Mn, unicode.Mc, unicode.Pc)) {
			continue
		}
		return bad("PropertyNameInvalid", "The property name is invalid: "+strconv.Quote(name)+
			" must be a letter or underscore followed by letters, digits and underscores.")
	}
	if name == "" {
		return bad("PropertyNameInvalid", "The property name is invalid: it is empty.")
	}
	return nil
}

// value returns m's value in the annotated type, or in the type of the JSON value.
func (m *member) value() (Value, error) {
	if m.kind == 'n' {
		return Value{}, nil
	}
	v, ok := Value{}, false
	switch m.about {
	case "":
		v, ok = m.plain()
	case "Edm.String":
		v, ok = Value{Type: String, Raw: m.text}, m.kind == '"'
	case "Edm.Boolean":
		v, ok = m.boolean()
	case "Edm.Int32":
		n, err := strconv.ParseInt(string(m.text), 10, 32)
		v, ok = Value{Type: Int32, Num: n}, err == nil
	case "Edm.Int64":
		n, err := strconv.ParseInt(string(m.text), 10, 64)
		v, ok = Value{Type: Int64, Num: n}, err == nil
	case "Edm.Double":
		v, ok = ParseDouble(string(m.text))
	case "Edm.DateTime":
		v, ok = ParseDateTime(string(m.text))
		ok = ok && m.kind == '"'
	case "Edm.Guid":
		v, ok = ParseGUID(string(m.text))
		ok = ok && m.kind == '"'
	case "Edm.Binary":
		raw, err := base64.StdEncoding.AppendDecode(make([]byte, 0, base64.StdEncoding.DecodedLen(len(m.text))), m.text)
		v, ok = Value{Type: Binary, Raw: raw}, err == nil && m.kind == '"'
	default:
		return v, Invalid("The type " + strconv.Quote(m.about) + " of property " + m.name +
			" is not a type of the Table service.")
	}
	if !ok {
		return v, Invalid("An error occurred while processing this request: the value of property " + m.name +
			" is not a valid " + cmp.Or(m.about, "JSON value") + ".")
	}
	if v.Type == DateTime && v.Num < MinDateTime {
		return v, bad("OutOfRangeInput", "The '"+m.name+"' parameter of value '"+string(m.text)+"' is out of range.")
	}
	return v, nil
}

// boolean parses a Boolean. Clients that keep values as text write it as a string.
func (m *member) boolean() (Value, bool) {
	switch {
	case m.kind == 't', m.kind == '"' && strings.EqualFold(string(m.text), "true"):
		return Value{Type: Boolean, Num: 1}, true
	case m.kind == 'f', m.kind == '"' && strings.EqualFold(string(m.text), "false"):
		return Value{Type: Boolean}, true
	}
	return Value{}, false
}

// plain returns a value without annotation. A number is an Int32 if it fits,
// otherwise a Double.
func (m *member) plain() (Value, bool) {
	switch m.kind {
	case '"':
		return Value{Type: String, Raw: m.text}, true
	case 't':
		return Value{Type: Boolean, Num: 1}, true
	case 'f':
		return Value{Type: Boolean}, true
	}
	if !bytes.ContainsAny(m.text, ".eE") {
		if n, err := strconv.ParseInt(string(m.text), 10, 32); err == nil {
			return Value{Type: Int32, Num: n}, true
		}
	}
	return ParseDouble(string(m.text))
}

// ParseDouble parses a Double. NaN and the infinities are written as strings.
func ParseDouble(s string) (Value, bool) {
	var f float64
	switch s {
	case "NaN":
		f = math.NaN()
	case "Infinity", "INF":
		f = math.Inf(1)
	case "-Infinity", "-INF":
		f = math.Inf(-1)
	default:
		if strings.ContainsAny(s, "xXpP_iInN") { // forms of Go that OData does not have
			return Value{}, false
		}
		var err error
		if f, err = strconv.ParseFloat(s, 64); err != nil {
			return Value{}, false
		}
	}
	return Value{Type: Double, Num: int64(math.Float64bits(f))}, true
}

// ParseDateTime parses an ISO 8601 time, in UTC unless it has an offset.
func ParseDateTime(s string) (Value, bool) {
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999", "2006-01-02T15:04Z07:00",
		"2006-01-02T15:04", "2006-01-02"} {
		if t, err := time.Parse(layout, s); err == nil {
			t = t.UTC()
			return Value{Type: DateTime, Num: store.ToTicks(t)}, t.Year() >= 1 && t.Year() <= 9999
		}
	}
	return Value{}, false
}

// ParseGUID parses a GUID with hyphens.
func ParseGUID(s string) (Value, bool) {
	id, err := uuid.Parse(s)
	return Value{Type: GUID, Raw: id[:]}, err == nil && len(s) == 36
}
