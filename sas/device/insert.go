package device

import (
	"crypto/rand"
	"fmt"
	"net/http"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// A row is a reading in its wire form.
type row struct {
	key    string
	values []byte // a JSON object that is not empty
}

// json returns the row with its keys.
func (r row) json(partition string) []byte {
	b := append(make([]byte, 0, len(r.values)+len(partition)+len(r.key)+40), `{"PartitionKey":`...)
	b, _ = jsontext.AppendQuote(b, partition) // a device ID always encodes
	b = fmt.Appendf(b, `,"RowKey":"%s",`, r.key)
	return append(b, r.values[1:]...)
}

// apiVersion is the last version of the Table service's protocol that changed these requests.
const apiVersion = "2019-02-02"

func entityHeader() http.Header {
	return http.Header{
		"Accept":             {"application/json;odata=nometadata"},
		"Content-Type":       {"application/json"},
		"Dataserviceversion": {"3.0"},
		"Prefer":             {"return-no-content"},
		"X-Ms-Version":       {apiVersion},
	}
}

func batchHeader(boundary string) http.Header {
	return http.Header{
		"Accept":             {"application/json;odata=nometadata"},
		"Content-Type":       {"multipart/mixed; boundary=" + boundary},
		"Dataserviceversion": {"3.0"},
		"X-Ms-Version":       {apiVersion},
	}
}

// service is the URL of the table's account.
func (t *token) service() string {
	table := t.table.String()
	return table[:strings.LastIndexByte(table, '/')]
}

// transaction returns the body and the boundary of a request that adds all rows or none.
// learn.microsoft.com: "Performing entity group transactions".
func (t *token) transaction(rows []row) (body []byte, boundary string) {
	name := rand.Text()
	boundary, set := "batch_"+name, "changeset_"+name
	b := fmt.Appendf(nil, "--%s\r\nContent-Type: multipart/mixed; boundary=%s\r\n\r\n", boundary, set)
	for _, r := range rows {
		b = fmt.Appendf(b, "--%s\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\n", set)
		b = fmt.Appendf(b, "POST %s HTTP/1.1\r\nAccept: application/json;odata=nometadata\r\nContent-Type: "+
			"application/json\r\n"+
			"DataServiceVersion: 3.0\r\nPrefer: return-no-content\r\n\r\n", t.table)
		b = append(append(b, r.json(t.partition)...), "\r\n"...)
	}
	return fmt.Appendf(b, "--%s--\r\n--%s--\r\n", set, boundary), boundary
}
