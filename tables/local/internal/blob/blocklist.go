package blob

import (
	"bytes"
	"encoding/xml"
	"io"

	"furrow/tables/local/internal/wire"
)

// Bounds of a Put Block List (learn.microsoft.com/rest/api/storageservices/put-block-list).
const (
	maxCommitted = 50_000
	maxListBody  = 10 << 20 // bytes; the longest entries with room for white space
)

var (
	errBlockList = &wire.Error{Status: 400, Code: "InvalidBlockList", Message: "The specified block list is invalid."}
	errListLong  = &wire.Error{Status: 400, Code: "BlockListTooLong", Message: "The block list may not contain more than 50,000 blocks."}
)

// A listed is an entry of a Put Block List: a block's id, and where to look for it.
type listed struct{ from, id string }

// Where a Put Block List takes a block from.
const (
	fromCommitted   = "Committed"
	fromUncommitted = "Uncommitted"
	fromLatest      = "Latest" // uncommitted, else committed
)

// parseBlockList reads the body of Put Block List.
func parseBlockList(body []byte) ([]listed, error) {
	d := xml.NewDecoder(bytes.NewReader(wire.TrimBOM(body)))
	root, err := nextElement(d)
	if err != nil || root == nil || root.Name.Local != "BlockList" {
		return nil, wire.BadXML("the body is not a BlockList")
	}
	var list []listed
	for {
		e, err := nextElement(d)
		if err != nil {
			return nil, err
		}
		if e == nil {
			break
		}
		var text string
		if text, err = elementText(d); err != nil {
			return nil, err
		}
		from := e.Name.Local
		if from != fromCommitted && from != fromUncommitted && from != fromLatest {
			return nil, wire.BadXML("a block is Committed, Uncommitted or Latest")
		}
		id, err := parseBlockID(text)
		if err != nil {
			return nil, err
		}
		if list = append(list, listed{from, id}); len(list) > maxCommitted {
			return nil, errListLong
		}
	}
	if e, err := nextElement(d); e != nil || err != io.EOF {
		return nil, wire.BadXML("something follows the BlockList")
	}
	return list, nil
}

// nextElement gives the next element's start, or nil at the end of the one that
// it is in. At the end of the document the error is io.EOF.
func nextElement(d *xml.Decoder) (*xml.StartElement, error) {
	for {
		token, err := d.Token()
		if err == io.EOF {
			return nil, err
		}
		if err != nil {
			return nil, wire.BadXML(err.Error())
		}
		switch t := token.(type) {
		case xml.StartElement:
			return &t, nil
		case xml.EndElement:
			return nil, nil
		case xml.CharData:
			if len(bytes.TrimSpace(t)) > 0 {
				return nil, wire.BadXML("text between elements")
			}
		}
	}
}

// elementText reads the text of an element that has no elements in it, and its end.
func elementText(d *xml.Decoder) (string, error) {
	var text []byte
	for {
		token, err := d.Token()
		if err != nil {
			return "", wire.BadXML(err.Error())
		}
		switch t := token.(type) {
		case xml.CharData:
			text = append(text, t...)
		case xml.EndElement:
			return string(bytes.TrimSpace(text)), nil
		case xml.StartElement:
			return "", wire.BadXML("a block's id has an element in it")
		}
	}
}
