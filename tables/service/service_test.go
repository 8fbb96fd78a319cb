package service

import (
	"errors"
	"net/http"
	"net/url"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
)

var errGone = errors.New("it is gone")

func TestFailureHasOneLineAndWrapsItsCause(t *testing.T) {
	cause := &azcore.ResponseError{ErrorCode: "Gone", StatusCode: 410,
		RawResponse: &http.Response{Header: http.Header{"X-Ms-Request-Id": {"42"}}}}
	err := Read(cause, func(f *Failure) error {
		if f.Code == "Gone" {
			return errGone
		}
		return nil
	})
	if !errors.Is(err, errGone) || !errors.Is(err, cause) || err.Error() != "it is gone (Gone, 410, request 42)" {
		t.Errorf("it says %v", err)
	}
	if again := Read(err, nil); again != err {
		t.Errorf("read again it says %v", again)
	}
}

func TestNetworkErrorContainsNoSignature(t *testing.T) {
	lost := errors.New("connection reset")
	err := Read(&url.Error{Op: "Get", URL: "https://a/b?sig=secret", Err: lost}, nil)
	if !errors.Is(err, lost) || err.Error() != "Get https://a/b: connection reset" {
		t.Errorf("it says %v", err)
	}
	if Read(nil, nil) != nil || Read(lost, nil) != lost {
		t.Error("other errors are changed")
	}
}

func TestBusy(t *testing.T) {
	for _, c := range []struct {
		code   string
		status int
		want   bool
	}{{"ServerBusy", 503, true}, {"OperationTimedOut", 500, true}, {"", 503, true}, {"", 429, true},
		{"", 500, false}, {"InvalidInput", 400, false}} {
		if got := (&Failure{Code: c.code, Status: c.status}).Busy(); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

func TestCountsHaveTheKindsThatOccurred(t *testing.T) {
	type kind uint8
	var c Counts[kind]
	c.Add(3)
	c.Add(3)
	c.Add(5)
	if got := c.Map(); len(got) != 2 || got[3] != 2 || got[5] != 1 {
		t.Errorf("%v", got)
	}
}
