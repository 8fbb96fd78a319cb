package table

import (
	"net/url"
	"regexp"
	"strings"
	"unicode/utf8"

	"furrow/tables/local/internal/wire"
)

// path is what a URL names below the account.
type path struct {
	table          string // as the client spelled it; "Tables" for the schema
	name           string // of Tables('name')
	partition, row string
	hasKeys        bool // (PartitionKey='…',RowKey='…')
	hasName        bool // ('…')
}

func (p path) isTables() bool { return strings.EqualFold(p.table, "Tables") }

// authorized is the table that a SAS must be for; none for a transaction, whose
// operations name it.
func (p path) authorized() string {
	if p.table == "$batch" || p.isTables() {
		return ""
	}
	return p.table
}

var tableName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9]{2,62}$`)

var errPath = &wire.Error{Status: 400, Code: "InvalidInput",
	Message: "The request URL is not a table's, an entity's or a transaction's."}

// parsePath reads an escaped path such as
// readings(PartitionKey='d%201',RowKey='0638').
func parsePath(escaped string) (path, error) {
	text, err := url.PathUnescape(strings.TrimSuffix(escaped, "/"))
	if err != nil || !utf8.ValidString(text) {
		return path{}, errPath
	}
	name, args, found := strings.Cut(text, "(")
	p := path{table: name}
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

// parseArgs reads 'name' or PartitionKey='…',RowKey='…', in either order.
func (p *path) parseArgs(args string) (err error) {
	if strings.HasPrefix(args, "'") {
		p.hasName = true
		p.name, args, err = unquote(args)
		if err == nil && args != "" {
			err = errPath
		}
		return err
	}
	seen := map[string]string{}
	for {
		name, rest, ok := strings.Cut(args, "=")
		name = strings.TrimSpace(name)
		if _, twice := seen[name]; !ok || twice {
			return errPath
		}
		var value string
		if value, rest, err = unquote(rest); err != nil {
			return err
		}
		seen[name] = value
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

// unquote reads a quoted text at the start of s; a quote in it is doubled.
func unquote(s string) (text, rest string, err error) {
	s, ok := strings.CutPrefix(s, "'")
	if !ok {
		return "", "", errPath
	}
	var b strings.Builder
	for {
		before, after, ok := strings.Cut(s, "'")
		if !ok {
			return "", "", errPath
		}
		b.WriteString(before)
		if s, ok = strings.CutPrefix(after, "'"); !ok {
			return b.String(), after, nil
		}
		b.WriteByte('\'')
	}
}
