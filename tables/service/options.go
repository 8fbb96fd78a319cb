package service

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
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

// Credential returns the given credential, or without one that of the environment, a workload or managed identity, or
// a developer's login.
func Credential(given azcore.TokenCredential) (azcore.TokenCredential, error) {
	if given != nil {
		return given, nil
	}
	found, err := azidentity.NewDefaultAzureCredential(nil)
	if err != nil {
		return nil, fmt.Errorf("no key, no SAS, and no Entra credential: %w", err)
	}
	return found, nil
}

// ErrKey says that the key of an account cannot be one.
var ErrKey = errors.New("its key is not in base64; copy it whole, with the = signs at its end")

// SetKey replaces the key of a credential of one of Azure's SDKs.
func SetKey(credential interface{ SetAccountKey(string) error }, key string) error {
	if credential.SetAccountKey(key) != nil {
		return ErrKey // the SDK's error may quote the key
	}
	return nil
}
