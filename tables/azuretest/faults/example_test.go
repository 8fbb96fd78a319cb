package faults_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"

	"furrow/tables/azuretest/faults"
)

// A Transport goes between a client and a server. Here the second operation is done, but
// its answer is lost, and the third one is refused.
func Example() {
	done := 0
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { done++ }))
	defer server.Close()

	transport := &faults.Transport{Plan: faults.Script{1: faults.AnswerLost, 2: faults.ServerBusy}}
	client := &http.Client{Transport: transport}
	for range 3 {
		resp, err := client.Post(server.URL+"/readings", "text/plain", strings.NewReader("21.5"))
		if err != nil {
			fmt.Println("no answer")
			continue
		}
		io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		fmt.Println(resp.StatusCode)
	}
	fmt.Println(done, "done;", transport.Injected())
	// Output:
	// 200
	// no answer
	// 503
	// 2 done; [#1 POST /readings: answer lost #2 POST /readings: server busy]
}
