package table

import (
	"net/http"
	"strings"

	"furrow/tables/local/internal/auth"
	"furrow/tables/local/internal/entity"
	"furrow/tables/local/internal/wire"
)

// A kind is what an operation does to a row.
type kind byte

const (
	insert          kind = iota
	replace              // Update Entity: the row must exist
	merge                // Merge Entity: the row must exist
	insertOrReplace      // no If-Match
	insertOrMerge        // no If-Match
	remove
)

// permissions are the SAS permissions that each kind needs: all of them.
var permissions = [...]string{insert: "a", replace: "u", merge: "u",
	insertOrReplace: "au", insertOrMerge: "au", remove: "d"}

// An operation is a single write, from a request or from a transaction.
type operation struct {
	kind           kind
	table          string
	partition, row string
	ifMatch        string // "*" or an ETag; empty for inserts and upserts
	ifNoneMatch    string // must be empty but for inserts
	properties     []entity.Property
	preference     preference   // of an insert
	level          entity.Level // of the content returned
}

// A header is http.Header, or the fields of a part of a transaction.
type header interface{ Get(name string) string }

// parseOperation parses a write, which has the same form alone and in a transaction.
func parseOperation(method string, p target, h header, body func() (*entity.Body, error)) (*operation, error) {
	method, err := methodOf(method, h)
	if err != nil {
		return nil, err
	}
	op := &operation{table: p.table, partition: p.partition, row: p.row, ifMatch: h.Get("If-Match"),
		ifNoneMatch: h.Get("If-None-Match")}
	switch {
	case method == http.MethodPost && !p.hasKeys && !p.hasName:
		op.kind, op.ifMatch, op.preference = insert, "", preferenceOf(h)
	case !p.hasKeys:
		return nil, wire.ErrMethod
	case method == http.MethodPut && op.ifMatch == "":
		op.kind = insertOrReplace
	case method == http.MethodPut:
		op.kind = replace
	case (method == http.MethodPatch || method == "MERGE") && op.ifMatch == "":
		op.kind = insertOrMerge
	case method == http.MethodPatch || method == "MERGE":
		op.kind = merge
	case method == http.MethodDelete:
		op.kind = remove
	default:
		return nil, wire.ErrMethod
	}
	if err := op.checkMatch(); err != nil {
		return nil, err
	}
	if op.kind == remove {
		return op, op.checkKeys()
	}
	b, err := body()
	if err != nil {
		return nil, err
	}
	op.properties = b.Properties
	if op.kind == insert {
		if b.KeyError != nil {
			return nil, b.KeyError
		}
		if !b.HasPartition || !b.HasRow {
			return nil, &wire.Error{Status: 400, Code: "PropertiesNeedValue",
				Message: "The values are not specified for all properties in the entity."}
		}
		op.partition, op.row = b.Partition, b.Row
		return op, nil // Parse checked the keys
	}
	return op, op.checkKeys()
}

func (op *operation) checkKeys() error {
	if err := entity.CheckKey("PartitionKey", op.partition); err != nil {
		return err
	}
	return entity.CheckKey("RowKey", op.row)
}

// isETag reports whether a text is a weak entity tag. Rows never have strong ones, so those are invalid.
func isETag(s string) bool {
	return len(s) >= 4 && (s[:3] == `W/"` || s[:3] == `w/"`) && strings.IndexByte(s[3:], '"') == len(s)-4
}

func (op *operation) checkMatch() error {
	if op.kind == remove && op.ifMatch == "" {
		return wire.MissingHeader("If-Match")
	}
	if op.kind != insert && op.ifNoneMatch != "" {
		return entity.Invalid("If-None-Match is not supported on updates, merges and deletes of entities.")
	}
	if op.ifMatch == "" || op.ifMatch == "*" || isETag(op.ifMatch) {
		return nil
	}
	return entity.Invalid("The etag value '" + op.ifMatch + "' specified in one of the request headers is not valid. " +
		"Please make sure only one etag value is specified and is valid.")
}

// authorize checks that the grant has all permissions and covers the keys.
func (op *operation) authorize(g *auth.Grant) error {
	if g.Owner {
		return nil
	}
	if !g.For(op.table) {
		return g.OwnerOnly()
	}
	for _, p := range permissions[op.kind] {
		if err := g.Allow(string(p)); err != nil {
			return err
		}
	}
	if !g.Range.Contains(auth.Key{Partition: op.partition, Row: op.row}) {
		return g.OwnerOnly()
	}
	return nil
}

// A preference is what the header Prefer of an insert asks for: empty, returnContent or returnNoContent.
type preference string

const (
	returnContent   preference = "return-content"
	returnNoContent preference = "return-no-content"
)

func preferenceOf(h header) preference {
	text := strings.ToLower(h.Get("Prefer"))
	for _, p := range []preference{returnNoContent, returnContent} {
		if strings.Contains(text, string(p)) {
			return p
		}
	}
	return ""
}

// apply tells in an answer that the preference was followed, if there was any.
func (p preference) apply(h http.Header) {
	if p != "" {
		wire.Set(h, "Preference-Applied", string(p))
	}
}
