package roles

import (
	"cmp"
	"net/http"
	"sync/atomic"
)

// diskFull is a header of embedded storage: see local.FullHeader.
const diskFull = "X-Furrow-Disk-Full"

// A disk notes what embedded storage says with every answer: whether its disk is full. Azure never says so.
type disk struct {
	next http.RoundTripper
	full atomic.Bool
}

// watching returns a client that notes it.
func (d *disk) watching(c *http.Client) *http.Client {
	noting := *c
	d.next = cmp.Or(c.Transport, http.DefaultTransport)
	noting.Transport = d
	return &noting
}

func (d *disk) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := d.next.RoundTrip(r)
	if err == nil {
		d.full.Store(answer.Header.Get(diskFull) != "")
	}
	return answer, err
}

// CloseIdleConnections serves http.Client.
func (d *disk) CloseIdleConnections() {
	if t, ok := d.next.(interface{ CloseIdleConnections() }); ok {
		t.CloseIdleConnections()
	}
}
