package tables

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/google/uuid"
)

// Limits of a transaction, and the size at which Cut starts a new one, in bytes.
// learn.microsoft.com: "Performing entity group transactions".
const (
	MaxOps         = 100
	maxTransaction = 4 << 20
	cutAt          = 3 << 20
)

// Submit does all operations, or none. They must fit one transaction: see Cut. If storage
// refuses one of them, the error is a TransactionError.
func (t *Table) Submit(ctx context.Context, ops []Op) (Written, error) {
	into := t.pages.Get().(*bytes.Buffer)
	defer t.pages.Put(into) // neither ETags nor errors share memory with it
	c := &call{kind: KindTransaction, table: t.Name, into: into}
	err := checkOps(ops)
	if err == nil {
		c.body, c.contentType, err = t.transaction(ops)
	}
	if err == nil && (len(ops) > MaxOps || len(c.body) > maxTransaction) {
		err = fmt.Errorf("%d operations in %d bytes; at most %d in %d are allowed: cut them first", len(ops), len(c.body),
			MaxOps, maxTransaction)
	}
	if err != nil {
		return Written{}, t.failed(KindTransaction, "", err)
	}
	var etags []ETag
	c.parse = func(resp *http.Response, body []byte) (err error) {
		etags, err = readTransaction(resp, body, ops)
		return err
	}
	if err := t.sender.send(ctx, c, request{method: http.MethodPost, path: "/$batch"}); err != nil {
		return Written{}, t.failed(KindTransaction, "in "+Quote(ops[0].Entity.PartitionKey), named(err))
	}
	return Written{ETags: etags}, nil
}

// transaction returns the body: a change set in a batch, with each operation as an HTTP
// request in a part. It writes all of it into one slice, because most of what jobs send are
// transactions.
func (t *Table) transaction(ops []Op) (body []byte, contentType string, err error) {
	// Azurite requires these names, which Azure's documentation uses.
	batch, set := "batch_"+uuid.NewString(), "changeset_"+uuid.NewString()
	root, query, _ := strings.Cut(t.url, "?") // a SAS
	if root = strings.TrimSuffix(root, "/") + "/" + t.Name; query != "" {
		query = "?" + query
	}
	size := around
	for i := range ops {
		size += ops[i].size() - around + 400 + len(root) + len(query)
	}
	keys := "(PartitionKey=" + string(appendPathLiteral(nil, ops[0].Entity.PartitionKey)) + ",RowKey="
	body = appendAll(make([]byte, 0, size), "--", batch, "\r\nContent-Type: multipart/mixed; boundary=", set, "\r\n\r\n")
	for i := range ops {
		body = appendAll(body, "--", set, "\r\nContent-Type: application/http\r\n"+
			"Content-Transfer-Encoding: binary\r\n\r\n")
		if body, err = ops[i].appendRequest(body, root, keys, query); err != nil {
			return nil, "", err
		}
		body = append(body, "\r\n"...)
	}
	body = appendAll(body, "--", set, "--\r\n--", batch, "--\r\n")
	return body, "multipart/mixed; boundary=" + batch, nil
}

// appendRequest appends op as an HTTP request to a table with the URL root and query. The keys of its URL lack the row.
func (op *Op) appendRequest(b []byte, root, keys, query string) ([]byte, error) {
	b = appendAll(b, op.method(), " ", root)
	if op.Kind != KindInsert {
		b = append(appendPathLiteral(append(b, keys...), op.Entity.RowKey), ')')
	}
	b = appendAll(b, query, " HTTP/1.1\r\nAccept: application/json;odata=minimalmetadata\r\n"+
		"DataServiceVersion: 3.0\r\n")
	if op.IfMatch != "" {
		b = appendAll(b, "If-Match: ", string(op.IfMatch), "\r\n")
	}
	if op.Kind == KindDelete {
		return append(b, "\r\n"...), nil
	}
	if op.Kind == KindInsert {
		b = append(b, "Prefer: return-no-content\r\n"...)
	}
	return appendEntity(append(b, "Content-Type: application/json\r\n\r\n"...), &op.Entity)
}

func appendAll(b []byte, texts ...string) []byte {
	for _, s := range texts {
		b = append(b, s...)
	}
	return b
}

// appendPathLiteral appends a key with its quotes to the path of a URL.
func appendPathLiteral(b []byte, key string) []byte {
	const quote = "%27"
	b = append(b, quote...)
	for i := range len(key) {
		switch c := key[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '-', c == '_', c == '.', c == '~':
			b = append(b, c)
		case c == '\'':
			b = append(b, quote+quote...)
		default:
			b = append(b, '%', hex[c>>4], hex[c&15])
		}
	}
	return append(b, quote...)
}

const hex = "0123456789ABCDEF"
