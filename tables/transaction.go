package tables

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"net/url"
	"strconv"
	"strings"

	"furrow/tables/service"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"
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
	c := &call{kind: KindTransaction, table: t.Name, rows: len(ops)}
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
	stub := []aztables.TransactionAction{{ActionType: aztables.TransactionTypeDelete,
		Entity: []byte(`{"PartitionKey":"p","RowKey":"r"}`)}}
	if _, err := t.client.SubmitTransaction(c.within(ctx), stub, nil); err != nil {
		return Written{}, t.failed(KindTransaction, "in "+Quote(ops[0].Entity.PartitionKey), named(err))
	}
	return Written{ETags: etags, Time: c.date()}, nil
}

// transaction returns the body: a change set in a batch, with each operation as an HTTP
// request in a part.
func (t *Table) transaction(ops []Op) (body []byte, contentType string, err error) {
	var buffer bytes.Buffer
	batch, set := multipart.NewWriter(&buffer), multipart.NewWriter(&buffer)
	// Azurite requires these names, which Azure's documentation uses.
	if err := errors.Join(batch.SetBoundary("batch_"+uuid.NewString()),
		set.SetBoundary("changeset_"+uuid.NewString())); err != nil {
		return nil, "", err
	}
	if _, err := batch.CreatePart(textproto.MIMEHeader{"Content-Type": {"multipart/mixed; boundary=" +
		set.Boundary()}}); err != nil {
		return nil, "", err
	}
	for _, op := range ops {
		part, err := set.CreatePart(textproto.MIMEHeader{"Content-Type": {"application/http"},
			"Content-Transfer-Encoding": {"binary"}})
		if err != nil {
			return nil, "", err
		}
		request, err := t.request(op)
		if err != nil {
			return nil, "", err
		}
		if _, err := part.Write(request); err != nil {
			return nil, "", err
		}
	}
	if err := set.Close(); err != nil {
		return nil, "", err
	}
	if err := batch.Close(); err != nil {
		return nil, "", err
	}
	return buffer.Bytes(), "multipart/mixed; boundary=" + batch.Boundary(), nil
}

// request returns op as an HTTP request.
func (t *Table) request(op Op) ([]byte, error) {
	method := map[Kind]string{KindInsert: "POST", KindInsertOrReplace: "PUT", KindReplace: "PUT",
		KindMerge: "PATCH", KindDelete: "DELETE"}[op.Kind]
	path := t.Name
	if op.Kind != KindInsert {
		path += "(PartitionKey=" + pathLiteral(op.Entity.PartitionKey) + ",RowKey=" + pathLiteral(op.Entity.RowKey) + ")"
	}
	b := fmt.Appendf(nil, "%s %s HTTP/1.1\r\nAccept: application/json;odata=minimalmetadata\r\n"+
		"DataServiceVersion: 3.0\r\n", method, runtime.JoinPaths(t.url, path))
	if op.IfMatch != "" {
		b = fmt.Appendf(b, "If-Match: %s\r\n", op.IfMatch)
	}
	if op.Kind == KindDelete {
		return append(b, "\r\n"...), nil
	}
	if op.Kind == KindInsert {
		b = append(b, "Prefer: return-no-content\r\n"...)
	}
	return appendEntity(append(b, "Content-Type: application/json\r\n\r\n"...), &op.Entity)
}

// pathLiteral quotes a key for the path of a URL.
func pathLiteral(key string) string { return url.PathEscape(Literal(key)) }

// readTransaction returns the ETags of ops from the answer, or the error of the refused one.
func readTransaction(resp *http.Response, body []byte, ops []Op) ([]ETag, error) {
	answers, err := transactionAnswers(resp, body)
	if err != nil {
		return nil, fmt.Errorf("answer of storage: %w", err)
	}
	var etags []ETag
	for _, a := range answers {
		if a.StatusCode >= http.StatusBadRequest {
			return nil, refusal(runtime.NewResponseError(a), ops)
		}
		etags = append(etags, ETag(a.Header.Get("ETag")))
	}
	if len(etags) != len(ops) {
		return nil, fmt.Errorf("answer of storage: %d operations have %d answers", len(ops), len(etags))
	}
	return etags, nil
}

func transactionAnswers(resp *http.Response, body []byte) (answers []*http.Response, err error) {
	batch, err := firstPart(resp.Header.Get("Content-Type"), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	set, err := parts(batch.Header.Get("Content-Type"), batch)
	if err != nil {
		return nil, err
	}
	for {
		part, err := set.NextPart()
		if err == io.EOF {
			return answers, nil
		}
		if err != nil {
			return nil, err
		}
		a, err := http.ReadResponse(bufio.NewReader(part), resp.Request)
		if err != nil {
			return nil, err
		}
		if _, err := runtime.Payload(a); err != nil { // reads the body before the next part
			return nil, err
		}
		answers = append(answers, a)
	}
}

func parts(contentType string, body io.Reader) (*multipart.Reader, error) {
	_, parameters, err := mime.ParseMediaType(contentType)
	if err != nil {
		return nil, fmt.Errorf("its type %q is not multipart: %w", contentType, err)
	}
	return multipart.NewReader(body, parameters["boundary"]), nil
}

func firstPart(contentType string, body io.Reader) (*multipart.Part, error) {
	batch, err := parts(contentType, body)
	if err != nil {
		return nil, err
	}
	return batch.NextPart()
}

// refusal wraps err with the operation that its message names: "2:The specified entity
// already exists."
func refusal(err error, ops []Op) error {
	err = named(err)
	f, ok := err.(*service.Failure)
	if !ok {
		return err
	}
	number, message, ok := strings.Cut(f.Message, ":")
	i, notNumber := strconv.Atoi(number)
	if !ok || notNumber != nil || i < 0 || i >= len(ops) {
		return err
	}
	f.Message = message
	return &TransactionError{Index: i, Op: ops[i], Err: f}
}
