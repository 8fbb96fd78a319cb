package local

import (
	"net"
	"net/http"
	"testing"
	"time"

	"furrow/tables/azuretest/effort"
	"furrow/tables/azuretest/must"
)

// A client's connection that never carried a request does not delay the end.
func TestStopDoesNotWaitForUnusedConnections(t *testing.T) {
	effort.OnlyLong(t, "it takes a real clock; TestUnusedConnectionsAreClosed holds that they are closed")
	s := must.Have(Start(Config{Dir: t.TempDir()}))(t)
	at := s.TableURL[len("http://") : len(s.TableURL)-len("/"+DefaultAccount)]
	conn := must.Have(net.Dial("tcp", at))(t)
	defer conn.Close()
	// A later connection is accepted after it.
	resp := must.Have(http.Get(s.TableURL))(t)
	resp.Body.Close()
	http.DefaultClient.CloseIdleConnections()
	start := time.Now()
	must.Succeed(t, s.Close())
	if took := time.Since(start); took > 4*time.Second {
		t.Errorf("it took %v to stop", took)
	}
}
