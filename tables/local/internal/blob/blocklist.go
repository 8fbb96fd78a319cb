package blob

import (
	"encoding/xml"
	"strings"

	"furrow/tables/local/internal/wire"
)

// Limits of Put Block List (learn.microsoft.com/rest/api/storageservices/put-block-list).
const (
	maxCommitted = 50_000
	maxListBody  = 10 << 20 // bytes: the longest entries, with room for white space
)

var (
	errBlockList = &wire.Error{Status: 400, Code: "InvalidBlockList", Message: "The specified block list is invalid."}
	errListLong  = &wire.Error{Status: 400, Code: "BlockListTooLong",
		Message: "The block list may not contain more than 50,000 blocks."}
)

// A listed is an entry of a Put Block List: a block's ID and where to look for it.
type listed struct{ from, id string }

// Where to look for a block.
const (
	fromCommitted   = "Committed"
	fromUncommitted = "Uncommitted"
	fromLatest      = "Latest" // uncommitted, otherwise committed
)

// parseBlockList parses the body of Put Block List.
func parseBlockList(body []byte) ([]listed, error) {
	var document struct {
		XMLName xml.Name `xml:"BlockList"`
		Text    string   `xml:",chardata"`
		Blocks  []struct {
			XMLName xml.Name
			ID      string     `xml:",chardata"`
			Inner   []struct{} `xml:",any"`
		} `xml:",any"`
	}
	if err := wire.ParseXML(body, &document); err != nil {
		return nil, err
	}
	if strings.TrimSpace(document.Text) != "" {
		return nil, wire.BadXML("there is text between the blocks")
	}
	if len(document.Blocks) > maxCommitted {
		return nil, errListLong
	}
	list := make([]listed, len(document.Blocks))
	for i, b := range document.Blocks {
		from := b.XMLName.Local
		if from != fromCommitted && from != fromUncommitted && from != fromLatest {
			return nil, wire.BadXML("a block is Committed, Uncommitted or Latest")
		}
		if len(b.Inner) > 0 {
			return nil, wire.BadXML("a block's ID contains an element")
		}
		id, err := parseBlockID(strings.TrimSpace(b.ID))
		if err != nil {
			return nil, err
		}
		list[i] = listed{from, id}
	}
	return list, nil
}
