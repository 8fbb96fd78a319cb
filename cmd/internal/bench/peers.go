package bench

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"sync"

	"furrow/tables"
)

// serves reports whether a target can do what a workload asks for: peers can do little of what storage does.
func (e *endpoint) serves(w storageWorkload) bool {
	switch {
	case e.null != nil:
		return w.name == inserts().name || w.name == bareInserts().name
	case e.influx != "":
		return w.bare
	}
	return true
}

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

// influxPreparer returns a preparer for a new database, which is dropped at the end. A row is a point of a device.
func (e *endpoint) influxPreparer(ctx context.Context) (preparer, error) {
	name := randomName()
	err := e.make(ctx,
		func(ctx context.Context) error { return e.influxQuery(ctx, "CREATE DATABASE "+name) },
		func(ctx context.Context) error { return e.influxQuery(ctx, "DROP DATABASE "+name) })
	return func(ctx context.Context, rows []tables.Entity) (*http.Request, error) {
		var lines bytes.Buffer
		for _, r := range rows {
			fmt.Fprintf(&lines, "readings,device=%s temperature=%v,humidity=%v,battery=%v,open=%v,text=\"%s\" %s\n",
				r.PartitionKey, r.Get("temperature").Float(), r.Get("humidity").Float(), r.Get("battery").Float(),
				r.Get("open").Boolean(), r.Get("text").Text(), r.RowKey)
		}
		return http.NewRequestWithContext(ctx, http.MethodPost, e.influx+"/write?db="+name, &lines)
	}, err
}

func (e *endpoint) influxQuery(ctx context.Context, query string) error {
	form := url.Values{"q": {query}}.Encode()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, e.influx+"/query?"+form, nil)
	if err != nil {
		return err
	}
	answer, err := e.http.Do(req)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: the answer is %s", query, answer.Status)
	}
	return nil
}
