package table

import (
	"cmp"
	"maps"
	"net/http"
	"slices"
	"strconv"

	"furrow/tables/local/internal/entity"
	"furrow/tables/local/internal/wire"
)

// errorReply returns the answer to an operation of a transaction that was refused.
func errorReply(r *wire.Request, e *wire.Error) wire.Reply {
	p := wire.Reply{Status: e.Status, Head: http.Header{}, Body: wire.TableErrorBody(r, e)}
	wire.Table.SetHeaders(p.Head)
	wire.Set(p.Head, "Content-Type", wire.TableErrorType)
	return p
}

// A batchAnswer is the body of the answer to a transaction.
type batchAnswer struct {
	body         []byte
	outer, inner string // boundaries; without a change set there is no inner one
}

func newBatchAnswer(r *wire.Request, operations int, changeSet bool) *batchAnswer {
	a := &batchAnswer{body: make([]byte, 0, 512+operations*640), outer: "batchresponse_" + r.ID}
	if changeSet {
		a.inner = "changesetresponse_" + r.ID
		a.append("--", a.outer, "\r\nContent-Type: multipart/mixed; boundary=", a.inner, "\r\n\r\n")
	}
	return a
}

func (a *batchAnswer) append(texts ...string) {
	for _, s := range texts {
		a.body = append(a.body, s...)
	}
}

// begin begins a part.
func (a *batchAnswer) begin(status int) {
	a.append("--", cmp.Or(a.inner, a.outer),
		"\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\nHTTP/1.1 ")
	a.body = strconv.AppendInt(a.body, int64(status), 10)
	a.append(" ", http.StatusText(status), "\r\n")
}

// reply appends a reply as a part.
func (a *batchAnswer) reply(p wire.Reply) {
	a.begin(p.Status)
	for _, name := range slices.Sorted(maps.Keys(p.Head)) {
		a.append(name, ": ", p.Head[name][0], "\r\n")
	}
	a.append("\r\n")
	a.body = append(append(a.body, p.Body...), "\r\n"...)
}

// operation appends the answer to an operation that was done. Its fields are in the order of those of a reply.
func (a *batchAnswer) operation(render *entity.Renderer, op *operation, row entity.Stored, contentID string) {
	returns := op.kind == insert && op.preference != returnNoContent
	if returns {
		a.begin(http.StatusCreated)
	} else {
		a.begin(http.StatusNoContent)
	}
	a.append("Cache-Control: no-cache\r\n")
	if contentID != "" && wire.Printable(contentID) {
		a.append("Content-ID: ", contentID, "\r\n")
	}
	if returns {
		a.append("Content-Type: application/json;odata=", op.level.String(), ";streaming=true;charset=utf-8\r\n")
	}
	location := ""
	if op.kind == insert {
		location = render.Base + "/" + entity.EntityPath(op.table, op.partition, op.row)
		a.append("DataServiceId: ", location, "\r\n")
	}
	a.append("DataServiceVersion: 3.0;\r\n")
	if op.kind != remove {
		a.append("ETag: ")
		a.body = append(entity.AppendETag(a.body, row.Timestamp()), "\r\n"...)
	}
	if op.kind == insert {
		a.append("Location: ", location, "\r\n")
		if op.preference != "" {
			a.append("Preference-Applied: ", string(op.preference), "\r\n")
		}
	}
	a.append("X-Content-Type-Options: nosniff\r\n\r\n")
	if returns {
		render.Level, render.Table = op.level, op.table
		a.body = render.Append(a.body, op.partition, op.row, row, true)
	}
	a.append("\r\n")
}

// send answers with the parts.
func (a *batchAnswer) send(w http.ResponseWriter) error {
	if a.inner != "" {
		a.append("--", a.inner, "--\r\n")
	}
	a.append("--", a.outer, "--\r\n")
	wire.Set(w.Header(), "Content-Type", "multipart/mixed; boundary="+a.outer)
	w.WriteHeader(http.StatusAccepted)
	w.Write(a.body) // fails only if the client is gone
	return nil
}
