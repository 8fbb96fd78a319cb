package table

import (
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"furrow/tables/local/internal/auth"
	"furrow/tables/local/internal/odata"
	"furrow/tables/local/internal/route"
	"furrow/tables/local/internal/wire"
)

// A target is what a URL names below the account.
type target struct {
	table          string // as the client spelled it; "Tables" for the schema
	name           string // of Tables('name')
	partition, row string
	hasKeys        bool // (PartitionKey='…',RowKey='…')
	hasName        bool // ('…')
}

func (p target) isTables() bool { return strings.EqualFold(p.table, "Tables") }

// What a path names.
const (
	onAccount  = "the Table service"
	onTables   = "tables"
	onTable    = "one table"
	onEntities = "entities"
	onEntity   = "one entity"
	onBatch    = "transactions"
)

// Resource is the table that a SAS must be for. A transaction's URL names none:
// its operations do.
func (p target) Resource() auth.Resource {
	if p.table == "$batch" || p.isTables() {
		return auth.Resource{}
	}
	return auth.Resource{Name: p.table}
}

func (p target) Key(r *wire.Request) (route.Key, error) {
	method, err := methodOf(r.Method, r.Header)
	key := route.Key{On: onEntities, Method: method, Comp: r.Query.Get("comp")}
	switch {
	case err != nil:
		return key, err
	case p.table == "":
		key.On = onAccount
	case p.table == "$batch":
		key.On = onBatch
	case p.isTables() && p.hasName:
		key.On = onTable
	case p.isTables():
		key.On = onTables
	case p.hasName:
		return key, errPath
	case p.hasKeys:
		key.On = onEntity
	}
	return key, nil
}

// methodOf is the method of a request. Clients behind a strict proxy put it into
// X-HTTP-Method.
func methodOf(method string, h header) (string, error) {
	tunnelled := strings.ToUpper(h.Get("X-HTTP-Method"))
	switch {
	case tunnelled == "":
		return method, nil
	case method != http.MethodPost:
		return "", &wire.Error{Status: http.StatusBadRequest, Code: "XMethodNotUsingPost",
			Message: "The request uses X-HTTP-Method with an HTTP verb other than POST."}
	case !slices.Contains([]string{"MERGE", "PATCH", "PUT", "DELETE"}, tunnelled):
		return "", &wire.Error{Status: http.StatusBadRequest, Code: "XMethodIncorrectValue",
			Message: "The specified X-HTTP-Method is invalid."}
	}
	return tunnelled, nil
}

var tableName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9]{2,62}$`)

var errPath = &wire.Error{Status: 400, Code: "InvalidInput",
	Message: "The request URL is not a table's, an entity's or a transaction's."}

// parsePath parses an escaped path such as
// readings(PartitionKey='d%201',RowKey='0638').
func parsePath(escaped string) (target, error) {
	text, err := url.PathUnescape(strings.TrimSuffix(escaped, "/"))
	if err != nil || !utf8.ValidString(text) {
		return target{}, errPath
	}
	name, args, found := strings.Cut(text, "(")
	p := target{table: name}
	if !found {
		return p, nil
	}
	args, closed := strings.CutSuffix(args, ")")
	if !closed {
		return p, errPath
	}
	if args == "" {
		return p, nil
	}
	return p, p.parseArgs(args)
}

// parseArgs parses 'name' or PartitionKey='…',RowKey='…', in either order.
func (p *target) parseArgs(args string) error {
	if strings.HasPrefix(args, "'") {
		p.hasName = true
		var closed bool
		if p.name, args, closed = odata.Unquote(args); !closed || args != "" {
			return errPath
		}
		return nil
	}
	seen := map[string]string{}
	for {
		name, rest, ok := strings.Cut(args, "=")
		name = strings.TrimSpace(name)
		if _, twice := seen[name]; !ok || twice {
			return errPath
		}
		if seen[name], rest, ok = odata.Unquote(rest); !ok {
			return errPath
		}
		if rest == "" {
			break
		}
		if args, ok = strings.CutPrefix(rest, ","); !ok {
			return errPath
		}
	}
	var hasPartition, hasRow bool
	p.partition, hasPartition = seen["PartitionKey"]
	p.row, hasRow = seen["RowKey"]
	p.hasKeys = true
	if !hasPartition || !hasRow || len(seen) != 2 {
		return errPath
	}
	return nil
}
