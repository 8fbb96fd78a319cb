package tables

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// A decoder decodes entities from an answer in one pass. It exists because reading a
// device that is two million rows behind takes long: aztables decodes every row twice,
// encodes it once, and turns 21.0 into 21.
type decoder struct {
	json    *jsontext.Decoder
	members map[string]member // by quoted name, because rows of a table repeat names
	order   []member          // of the last row, because rows repeat their order, too
	nth     int               // of the members of the row being decoded
	row     []Property        // of the row being decoded
	types   []Type            // of row, if an annotation comes before the value
	open    int               // properties of row with a type and no value yet
	keys    map[string]string // partition keys, because rows of a page repeat them
	room    []Property        // for properties of several rows
	rows    int               // that share the next room: at first one
	text    []byte            // without its escapes
	etag    []byte            // of the row being decoded
	rowKey  []byte
}

// A column is the meaning of a member of a row's JSON object.
type column struct {
	role role
	name string // of the property
}

// A member is a column and its quoted name.
type member struct {
	quoted string
	column
}

type role uint8

const (
	roleProperty role = iota
	roleType          // the annotation of a property
	rolePartitionKey
	roleRowKey
	roleTimestamp
	roleETag
	roleNothing // other metadata
)

func newDecoder(body []byte) *decoder {
	return &decoder{
		rows: 1,
		json: jsontext.NewDecoder(bytes.NewBuffer(body), jsontext.AllowDuplicateNames(true),
			jsontext.AllowInvalidUTF8(true)),
		members: map[string]member{},
		keys:    map[string]string{},
	}
}

// decodeEntity decodes the answer to a Get.
func decodeEntity(body []byte) (Entity, error) {
	d := newDecoder(body)
	e, err := d.entity()
	if err != nil {
		return Entity{}, fmt.Errorf("answer of storage: %w", err)
	}
	return e, nil
}

// decodePage decodes the answer to a query: {"odata.metadata":…,"value":[…]}.
func decodePage(body []byte) ([]Entity, error) {
	d := newDecoder(body)
	page, err := d.page(len(body))
	if err != nil {
		return nil, fmt.Errorf("answer of storage: %w", err)
	}
	return page, nil
}

func (d *decoder) page(size int) (page []Entity, err error) {
	if err := d.expect('{'); err != nil {
		return nil, err
	}
	for d.json.PeekKind() != '}' {
		name, err := d.json.ReadValue()
		if err != nil {
			return nil, err
		}
		if string(name) != `"value"` {
			if err := d.json.SkipValue(); err != nil {
				return nil, err
			}
			continue
		}
		if page, err = d.entities(page, size); err != nil {
			return nil, err
		}
	}
	return page, d.expect('}')
}

func (d *decoder) entities(page []Entity, size int) ([]Entity, error) {
	if err := d.expect('['); err != nil {
		return nil, err
	}
	begin := d.json.InputOffset()
	for d.json.PeekKind() != ']' {
		e, err := d.entity()
		if err != nil {
			return nil, err
		}
		if page = append(page, e); len(page) == 1 { // the others are about as long
			page = slices.Grow(page, size/int(d.json.InputOffset()-begin))
		}
	}
	return page, d.expect(']')
}

func (d *decoder) expect(kind jsontext.Kind) error {
	t, err := d.json.ReadToken()
	if err == nil && t.Kind() != kind {
		err = fmt.Errorf("%s where %s was expected", t.Kind(), kind)
	}
	return err
}
