package service

import (
	"net/http"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
)

// tryTimeout is the default time to wait for the answer to a try.
const tryTimeout = time.Minute

// Retry sets the default timeout of a try, because azcore has none.
func Retry(asked policy.RetryOptions) policy.RetryOptions {
	if asked.TryTimeout == 0 {
		asked.TryTimeout = tryTimeout
	}
	return asked
}

// Transport returns asked or, if it is nil, a transport that keeps a connection for
// each of a worker's jobs. With the default of two, or azcore's of ten, most requests
// of the other jobs would dial.
func Transport(asked policy.Transporter) policy.Transporter {
	if asked != nil {
		return asked
	}
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxIdleConns, t.MaxIdleConnsPerHost = 0, 256
	return &http.Client{Transport: t}
}
