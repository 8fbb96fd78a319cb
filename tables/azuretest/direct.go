package azuretest

import (
	"net/http"
	"net/url"
	"os"
	"sync"

	"furrow/tables/azuretest/effort"
	"furrow/tables/local"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
)

// directly is whether requests of http.DefaultTransport to servers of Local take no connection.
var directly bool

// running are the servers that answer without a connection, as *directServer by host and port.
var running sync.Map

// WithoutConnections has requests of http.DefaultTransport to servers of Local answered by their handlers, as furrow
// up has its own. It is for the TestMain of a package whose tests make hundreds of thousands of requests: they take two
// thirds of the processor time. In a long run, and where the environment names an account, requests go over
// connections.
func WithoutConnections() {
	if effort.Long() || os.Getenv("FURROW_TEST_STORAGE") != "" {
		return
	}
	directly = true
	http.DefaultTransport.(*http.Transport).RegisterProtocol("http", toRunning{})
}

// Transport returns given or, if it is nil where WithoutConnections holds, a transport without connections.
func Transport(given policy.Transporter) policy.Transporter {
	if given == nil && directly {
		return http.DefaultClient
	}
	return given
}

// toRunning has servers that run answer, and leaves all other requests to http.DefaultTransport.
type toRunning struct{}

func (toRunning) RoundTrip(r *http.Request) (*http.Response, error) {
	s, ok := running.Load(r.URL.Host)
	if !ok {
		return nil, http.ErrSkipAltProtocol
	}
	return s.(*directServer).RoundTrip(r)
}

// A directServer answers requests until it ends.
type directServer struct {
	through http.RoundTripper

	mu    sync.RWMutex // read-locked by each request
	ended bool
}

func (d *directServer) RoundTrip(r *http.Request) (*http.Response, error) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	if d.ended {
		return nil, http.ErrSkipAltProtocol // there, it is refused
	}
	return d.through.RoundTrip(r)
}

// answerDirectly has a server answer without connections until end returns.
func answerDirectly(s *local.Running) (end func()) {
	if !directly {
		return func() {}
	}
	d := &directServer{through: s.Transport(nil)}
	var hosts []string
	for _, address := range []string{s.BlobURL, s.QueueURL, s.TableURL} {
		if u, err := url.Parse(address); err == nil {
			hosts = append(hosts, u.Host)
			running.Store(u.Host, d)
		}
	}
	return func() {
		for _, host := range hosts {
			running.Delete(host)
		}
		d.mu.Lock()
		defer d.mu.Unlock()
		d.ended = true
	}
}
