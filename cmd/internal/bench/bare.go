package bench

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"time"

	"furrow/tables"
)

// A bareClient writes prepared requests to a connection of its own and reads no more of an answer than whether it is a
// success: what is left to measure is the server.
type bareClient struct {
	make     func(ctx context.Context) (*http.Request, error) // a request with placeholders, which is good for a while
	rows     func() []tables.Entity                           // of the next request
	dial     func(ctx context.Context, req *http.Request) (net.Conn, error)
	conn     net.Conn
	answers  *bufio.Reader
	request  []byte
	places   []place // of the rows in request
	prepared time.Time
}

// A place is where a row is in a request: its key and the text that fills it up.
type place struct{ key, text int }

// lifetime is how long a prepared request is good for. Storage takes signatures that are 15 minutes old.
const lifetime = 5 * time.Minute

// placeholder is the text that stands for row n of a request; its length is that of a row key.
func placeholder(n int) string { return fmt.Sprintf("@row-key-%010d", n) }

const textMark = "@text"

// send sends the next request and reads its answer.
func (b *bareClient) send(ctx context.Context) error {
	if time.Since(b.prepared) > lifetime {
		if err := b.prepare(ctx); err != nil {
			return err
		}
	}
	rows := b.rows()
	if len(rows) != len(b.places) {
		return fmt.Errorf("a prepared request has %d places for %d rows", len(b.places), len(rows))
	}
	for i, e := range rows {
		copy(b.request[b.places[i].key:], e.RowKey)
		copy(b.request[b.places[i].text:], e.Get("text").Text())
	}
	err := b.exchange()
	if err != nil {
		b.prepared = time.Time{} // the next one is on another connection
	}
	return err
}

func (b *bareClient) exchange() error {
	if _, err := b.conn.Write(b.request); err != nil {
		return err
	}
	answer, err := http.ReadResponse(b.answers, nil)
	if err != nil {
		return err
	}
	body, err := io.ReadAll(answer.Body)
	if err == nil && (answer.StatusCode >= 300 || bytes.Contains(body, []byte("odata.error"))) {
		err = fmt.Errorf("the answer is %s: %.200s", answer.Status, body)
	}
	return err
}

// prepare makes the bytes of a request, and opens a connection for it.
func (b *bareClient) prepare(ctx context.Context) error {
	req, err := b.make(ctx)
	if err != nil {
		return err
	}
	if b.request, err = httputil.DumpRequestOut(req, true); err != nil {
		return err
	}
	b.places = b.places[:0]
	var at place
	for n := 0; ; n++ {
		key := bytes.Index(b.request[at.key:], []byte(placeholder(n)))
		text := bytes.Index(b.request[at.text:], []byte(textMark))
		if key < 0 || text < 0 {
			break
		}
		at = place{at.key + key, at.text + text}
		b.places = append(b.places, at)
		at.text++ // the next mark is another row's
	}
	b.close()
	if b.conn, err = b.dial(ctx, req); err != nil {
		return err
	}
	b.answers, b.prepared = bufio.NewReader(b.conn), time.Now()
	return nil
}

func (b *bareClient) close() {
	if b.conn != nil {
		_ = b.conn.Close()
	}
}

// dialer returns a function that opens a connection for a request, with the client's settings for TLS.
func dialer(client *http.Client) func(context.Context, *http.Request) (net.Conn, error) {
	return func(ctx context.Context, req *http.Request) (net.Conn, error) {
		host, port := req.URL.Hostname(), req.URL.Port()
		if req.URL.Scheme != "https" {
			if port == "" {
				port = "80"
			}
			return (&net.Dialer{}).DialContext(ctx, "tcp", net.JoinHostPort(host, port))
		}
		if port == "" {
			port = "443"
		}
		d := &tls.Dialer{}
		if t, ok := client.Transport.(*http.Transport); ok {
			d.Config = t.TLSClientConfig
		}
		return d.DialContext(ctx, "tcp", net.JoinHostPort(host, port))
	}
}

// template returns a row of a request that is prepared.
func (f filler) template(partition string, n, size int) tables.Entity {
	e := f.entity(partition, 0, size)
	e.RowKey = placeholder(n)
	e.Set("text", tables.String(textMark+f.text(size-overhead, 0)[len(textMark):]))
	return e
}

// capture is a transport that keeps a request instead of sending it.
type capture struct{ req *http.Request }

var errCaptured = errors.New("the request was kept")

// request returns the request that was kept, after the call that made it has ended with err.
func (c *capture) request(err error) (*http.Request, error) {
	if !errors.Is(err, errCaptured) {
		return nil, err
	}
	return c.req, nil
}

func (c *capture) Do(req *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	c.req = req.Clone(context.WithoutCancel(req.Context()))
	c.req.Body = io.NopCloser(bytes.NewReader(body))
	return nil, errCaptured
}
