package local

import (
	"net"
	"net/http"
	"testing"
	"time"
)

// A client's connection that never carried a request does not delay the end.
func TestStopDoesNotWaitForUnusedConnections(t *testing.T) {
	s, err := Start(Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	at := s.TableURL[len("http://") : len(s.TableURL)-len("/"+DefaultAccount)]
	conn, err := net.Dial("tcp", at)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	// A later connection is accepted after it.
	resp, err := http.Get(s.TableURL)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	http.DefaultClient.CloseIdleConnections()
	start := time.Now()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(start); took > 4*time.Second {
		t.Errorf("it took %v to stop", took)
	}
}
