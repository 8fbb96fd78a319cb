package blob

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"furrow/tables/local/internal/wire"
)

// A client that sends no length may have lost its body on the way.
func TestNoLengthIsNotTakenForEmpty(t *testing.T) {
	r := &wire.Request{Request: httptest.NewRequest(http.MethodPut, "/x", nil)}
	if err := checkLength(r, 1); !errors.Is(err, errNoLength) {
		t.Errorf("without Content-Length: %v", err)
	}
	r.Header.Set("Content-Length", "0")
	if err := checkLength(r, 1); err != nil {
		t.Errorf("Content-Length: 0: %v", err)
	}
}
