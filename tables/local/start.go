package local

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync"
)

// A Running server answers on ports of its own.
type Running struct {
	*Server
	BlobURL, QueueURL, TableURL string // with the account, without a slash at the end

	stop   context.CancelFunc
	served sync.WaitGroup
	err    error // of serving
}

// Start opens a directory and serves it on free ports of the loopback interface,
// until Close.
func Start(c Config) (*Running, error) {
	s, err := Open(c)
	if err != nil {
		return nil, err
	}
	l, err := Listen("127.0.0.1:0", false)
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	url := func(l net.Listener) string { return "http://" + l.Addr().String() + "/" + s.Account() }
	r := &Running{Server: s, BlobURL: url(l.Blob), QueueURL: url(l.Queue), TableURL: url(l.Table)}
	ctx, stop := context.WithCancel(context.Background())
	r.stop = stop
	r.served.Go(func() { r.err = s.Serve(ctx, l) })
	return r, nil
}

// ConnectionString returns the server's connection string. It contains the account's key.
func (r *Running) ConnectionString() string {
	return ConnectionString(r.Account(), r.Key(), r.BlobURL, r.QueueURL, r.TableURL)
}

// ConnectionString formats an account for the Azure SDKs and for Microsoft's tools. It contains the key.
func ConnectionString(account, key, blobURL, queueURL, tableURL string) string {
	scheme, _, _ := strings.Cut(tableURL, ":")
	return "DefaultEndpointsProtocol=" + scheme + ";AccountName=" + account + ";AccountKey=" + key +
		";BlobEndpoint=" + blobURL + ";QueueEndpoint=" + queueURL + ";TableEndpoint=" + tableURL + ";"
}

// Close stops listening, waits for running requests, and releases the directory.
func (r *Running) Close() error {
	r.stop()
	r.served.Wait()
	return errors.Join(r.err, r.Server.Close())
}
