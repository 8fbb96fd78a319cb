package roles

import (
	"net/http"
	"strings"
)

// held is a transport that holds up transactions until it may go on.
type held struct {
	begun func() // is called before each of them
	goOn  <-chan struct{}
}

func (h *held) Do(r *http.Request) (*http.Response, error) {
	if strings.HasSuffix(r.URL.Path, "$batch") {
		h.begun()
		<-h.goOn
	}
	return http.DefaultClient.Do(r)
}
