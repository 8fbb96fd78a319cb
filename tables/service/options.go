package service

import (
	"net/http"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
)

// tryTimeout is how long a try waits for its answer where nothing is said.
const tryTimeout = time.Minute

// Retry is what was asked for, with a bound on each try: azcore has none.
func Retry(asked policy.RetryOptions) policy.RetryOptions {
	if asked.TryTimeout == 0 {
		asked.TryTimeout = tryTimeout
	}
	return asked
}

// Transport is what was asked for or, where that is nil, one that keeps a connection
// for each of a worker's jobs: the default of two, and azcore's of ten, would dial
// for nearly every request of the others.
func Transport(asked policy.Transporter) policy.Transporter {
	if asked != nil {
		return asked
	}
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxIdleConns, t.MaxIdleConnsPerHost = 0, 256
	return &http.Client{Transport: t}
}
