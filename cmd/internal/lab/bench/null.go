package bench

import (
	"context"
	"io"
	"net"
	"net/http"
	"sync"

	"furrow/tables"
)

// A nullService answers every request with 204 and does nothing else.
type nullService struct {
	address string
	server  *http.Server
	serving sync.WaitGroup
}

func startNull(ctx context.Context) (*nullService, error) {
	var listening net.ListenConfig
	listener, err := listening.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	n := &nullService{address: listener.Addr().String(), server: &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body) // the client reports what fails
			w.WriteHeader(http.StatusNoContent)
		})}}
	n.serving.Go(func() { _ = n.server.Serve(listener) }) // until it is closed
	return n, nil
}

func (n *nullService) account() tables.Account {
	u := "http://" + n.address + "/null"
	return tables.Account{Name: "null", Key: "bnVsbA==", Table: u, Queue: u, Blob: u}
}

func (n *nullService) stop() {
	_ = n.server.Close()
	n.serving.Wait()
}
