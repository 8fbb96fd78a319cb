package wire

import (
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"
)

// TestAnswersThatNobodyReadsEnd, and give back the connection and what the request held.
func TestAnswersThatNobodyReadsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began, ended := time.Now(), make(chan error, 1)
		bodies := NewBodies()
		server := &http.Server{Handler: &Handler{Service: Table, Account: "acct", Now: time.Now, Bodies: bodies,
			Log: slog.New(slog.DiscardHandler), Serve: func(w http.ResponseWriter, r *Request) error {
				body, err := r.ReadBody(1 << 20)
				if err != nil {
					return err
				}
				_, err = w.Write(body)
				ended <- err
				return nil
			}}}
		listener := make(pipe, 1)
		far, conn := net.Pipe()
		listener <- far
		go server.Serve(listener)
		fmt.Fprintf(conn, "POST /acct/rows HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n", 200<<10)
		_, _ = conn.Write(make([]byte, 200<<10))
		if err, took := <-ended, time.Since(began); err == nil || took != answerTime {
			t.Errorf("the answer ends after %v with %v", took, err)
		}
		synctest.Wait()
		if held := bodies.all.Used(); held != 0 {
			t.Errorf("%d bytes are still held", held)
		}
		conn.Close()
		close(listener)
		server.Close()
	})
}
