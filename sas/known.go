package sas

import (
	"github.com/go-json-experiment/json"
	lru "github.com/hashicorp/golang-lru/v2"

	"furrow/tables/schema"
)

// knownDevices bounds the cache of records. One takes about half a kilobyte.
const knownDevices = 20_000

// records caches the records of devices as JSON: a record's labels, tokens and names would be some 20 pieces of memory
// that the garbage collector follows, for as long as nobody asks for them.
type records struct {
	text *lru.Cache[schema.DeviceID, []byte]
}

func newRecords() (records, error) {
	text, err := lru.New[schema.DeviceID, []byte](knownDevices)
	return records{text}, err
}

func (r records) get(id schema.DeviceID) (d schema.Device, known bool) {
	text, known := r.text.Get(id)
	return d, known && json.Unmarshal(text, &d) == nil
}

func (r records) add(d schema.Device) {
	if text, err := json.Marshal(d); err == nil { // else it is read again
		r.text.Add(d.ID, text)
	}
}

func (r records) remove(id schema.DeviceID) { r.text.Remove(id) }
