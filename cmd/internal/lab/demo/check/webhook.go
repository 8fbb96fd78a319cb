package check

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"sync"
	"time"

	"furrow/tables/schema"
)

// A Webhook receives notifications and verifies their signatures. Those with a wrong one are refused and counted.
type Webhook struct {
	Key []byte // of the signatures

	mu      sync.Mutex
	told    []Told
	refused int
}

// Told is what a notification says of one incident.
type Told struct {
	Delivery string // the same one may come again
	What     string
	Rule     schema.Rule
	Device   schema.DeviceID
	At       time.Time
	Value    string
	Received time.Time `json:"-"`
}

// ServeHTTP verifies a notification as the specification of Standard Webhooks says.
func (h *Webhook) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	const most = 1 << 20
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, most))
	if err != nil {
		return // the sender tries again
	}
	mac := hmac.New(sha256.New, h.Key)
	_, _ = io.WriteString(mac, r.Header.Get("webhook-id")+"."+r.Header.Get("webhook-timestamp")+".") // a hash takes all
	_, _ = mac.Write(body)
	want := "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
	var event struct {
		ID   string
		Data struct{ Incidents []Told }
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if !hmac.Equal([]byte(r.Header.Get("webhook-signature")), []byte(want)) || json.Unmarshal(body, &event) != nil ||
		event.ID != r.Header.Get("webhook-id") {
		h.refused++
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	for _, t := range event.Data.Incidents {
		t.Received = time.Now()
		h.told = append(h.told, t)
	}
	w.WriteHeader(http.StatusNoContent)
}

// Told returns what was received, in its order, each delivery once.
func (h *Webhook) Told() (all []Told) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, t := range h.told {
		if !slices.ContainsFunc(all, func(o Told) bool { return o.Delivery == t.Delivery }) {
			all = append(all, t)
		}
	}
	return all
}

// Refused counts messages whose signatures were wrong.
func (h *Webhook) Refused() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.refused
}
