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

// Clients that send an MD5 compare the CRC64 that comes back, too.
func TestEveryBodyIsAnsweredWithItsCRC64(t *testing.T) {
	f := withData(t)
	const sum, crc = "kAFQmDzST7DWlj99KOF/cg==", "6/rBP7vK5QU=" // of "abc"
	for _, path := range []string{"/data/x", "/data/x?comp=block&blockid=QQ=="} {
		a := f.Do(http.MethodPut, path, "abc", "x-ms-blob-type", "BlockBlob", "Content-MD5", sum)
		if got := a.Header.Get("x-ms-content-crc64"); a.Status != http.StatusCreated || got != crc ||
			a.Header.Get("Content-MD5") != sum {
			t.Errorf("%s: %d, CRC64 %q, want %q; MD5 %q", path, a.Status, got, crc, a.Header.Get("Content-MD5"))
		}
	}
}

func TestWhatIsNotThereWasNotModified(t *testing.T) {
	f := withData(t)
	const past = "Fri, 01 Jan 2021 00:00:00 GMT"
	f.put("/data/x", "a", "If-Modified-Since", past).Want(t, http.StatusPreconditionFailed, "ConditionNotMet")
	f.put("/data/x", "a", "If-Unmodified-Since", past).Want(t, http.StatusCreated, "")
	f.put("/data/x", "b", "If-Modified-Since", past).Want(t, http.StatusCreated, "")
}

func TestAccountNeedsAnOperation(t *testing.T) {
	inMemory(t).Do(http.MethodPut, "/?restype=container", "").Want(t, http.StatusBadRequest,
		"InvalidQueryParameterValue")
}
