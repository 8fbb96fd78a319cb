package check

import (
	"bytes"
	"encoding/json"
	"errors"
	"hash/fnv"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"

	"furrow/tables"
	"furrow/tables/schema"
)

// Receipts records the rows that devices send and those that storage acknowledges. It is safe for
// concurrent use.
type Receipts struct {
	mu      sync.Mutex
	sent    digests
	told    digests
	Inserts int64 // requests that storage has accepted; read it only after the last one
}

// digests are hashes of rows, by device and row key.
type digests map[schema.DeviceID]map[string]uint64

func (r digests) add(device schema.DeviceID, key string, digest uint64) {
	if r[device] == nil {
		r[device] = map[string]uint64{}
	}
	r[device][key] = digest
}

// Told returns how many rows of how many devices storage has acknowledged.
func (r *Receipts) Told() (devices, readings int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, own := range r.told {
		readings += len(own)
	}
	return len(r.told), readings
}

// Newest returns the newest acknowledged row of each device up to a time.
func (r *Receipts) Newest(until tables.Ticks) map[schema.DeviceID]string {
	r.mu.Lock()
	defer r.mu.Unlock()
	newest, last := map[schema.DeviceID]string{}, until.String()
	for device, own := range r.told {
		for key := range own {
			if key <= last && key > newest[device] {
				newest[device] = key
			}
		}
	}
	return newest
}

// Over returns a transport that passes requests on and records them.
func (r *Receipts) Over(next http.RoundTripper) http.RoundTripper { return recorder{r, next} }

type recorder struct {
	receipts *Receipts
	next     http.RoundTripper
}

func (l recorder) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.Body == nil || request.Method != http.MethodPost || strings.HasSuffix(request.URL.Path, "/token") {
		return l.next.RoundTrip(request)
	}
	request = request.Clone(request.Context())
	body, err := reread(&request.Body)
	if err != nil {
		return nil, err
	}
	inserted := insertedRows(body)
	l.receipts.note(inserted, false)
	answer, err := l.next.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	text, err := reread(&answer.Body)
	if err != nil {
		return nil, err // the device gets no answer either
	}
	if accepted(answer.StatusCode, text, len(inserted)) {
		l.receipts.note(inserted, true)
	}
	return answer, nil
}

// reread reads a body and replaces it by one that can be read again.
func reread(body *io.ReadCloser) ([]byte, error) {
	text, err := io.ReadAll(*body)
	err = errors.Join(err, (*body).Close())
	*body = io.NopCloser(bytes.NewReader(text))
	return text, err
}

type insertedRow struct {
	device schema.DeviceID
	key    string
	digest uint64
}

func (r *Receipts) note(all []insertedRow, told bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.sent == nil {
		r.sent, r.told = digests{}, digests{}
	}
	to := r.sent
	if told {
		to = r.told
		r.Inserts++
	}
	for _, row := range all {
		to.add(row.device, row.key, row.digest)
	}
}

// accepted tells whether storage acknowledged all n rows. A transaction is answered with 202 in any case,
// and has an answer for each row.
func accepted(status int, text []byte, n int) bool {
	if status != http.StatusAccepted {
		return n == 1 && (status == http.StatusCreated || status == http.StatusNoContent)
	}
	good := 0
	for line := range strings.Lines(string(text)) {
		if inner, ok := strings.CutPrefix(line, "HTTP/1.1 "); ok {
			if !strings.HasPrefix(inner, "201") && !strings.HasPrefix(inner, "204") {
				return false
			}
			good++
		}
	}
	return good == n
}

// insertedRows returns the rows in the body of a request: one, or those of a transaction, each in one line.
func insertedRows(body []byte) (all []insertedRow) {
	for line := range bytes.Lines(body) {
		if line[0] != '{' {
			continue
		}
		properties := map[string]any{}
		d := json.NewDecoder(bytes.NewReader(line))
		d.UseNumber()
		if d.Decode(&properties) != nil {
			continue // storage will not take it for a row either
		}
		device, _ := properties["PartitionKey"].(string)
		key, _ := properties["RowKey"].(string)
		all = append(all, insertedRow{schema.DeviceID(device), key, digestOfSent(properties)})
	}
	return all
}

func digestOfSent(properties map[string]any) uint64 {
	texts := map[string]string{}
	for name, v := range properties {
		if name == "PartitionKey" || name == "RowKey" || strings.HasSuffix(name, "@odata.type") {
			continue
		}
		switch annotated := properties[name+"@odata.type"]; v := v.(type) {
		case string:
			if texts[name] = v; annotated == "Edm.DateTime" || annotated == "Edm.Binary" {
				texts[name] = ""
			}
		case json.Number:
			f, _ := v.Float64() // as storage reads it
			texts[name] = numberText(f)
		case bool:
			texts[name] = strconv.FormatBool(v)
		}
	}
	return digest(texts)
}

func digestOfStored(e tables.Entity) uint64 {
	texts := map[string]string{}
	for _, p := range e.Properties {
		texts[p.Name] = p.Value.String()
		if t := p.Value.Type(); t == tables.TypeDateTime || t == tables.TypeBinary {
			texts[p.Name] = "" // written in several ways
		}
	}
	return digest(texts)
}

func digest(texts map[string]string) uint64 {
	h := fnv.New64a()
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		_, _ = io.WriteString(h, name+"\x00"+texts[name]+"\x00") // a hash takes all
	}
	return h.Sum64()
}

func numberText(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) }
