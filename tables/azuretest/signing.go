package azuretest

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"
)

// A request signed with another key is refused.
func (tables) WrongKeyIsRefused(t *testing.T, a Account) {
	name := Name("t")
	a.MakeTable(t, name)
	thief := a
	thief.Key = base64.StdEncoding.EncodeToString([]byte("another key, as long as keys are"))
	_, err := thief.Tables(t).NewClient(name).AddEntity(t.Context(), row(t, "p", "r", nil), nil)
	unauthenticated(t, a, "insert", err)
}

// A request's date may be off by at most 15 minutes, so that a captured request cannot be
// sent again the next day.
func (tables) ClocksMayDifferALittle(t *testing.T, a Account) {
	name := Name("t")
	insert(t, a.MakeTable(t, name), "p", "r", nil)
	for minutes, want := range map[int]int{-13: 200, 13: 200, -20: 403, 20: 403} {
		at := time.Now().Add(time.Duration(minutes) * time.Minute)
		r := send(t, a, signed(t, a, name+"(PartitionKey='p',RowKey='r')", at))
		expect(t, a, fmt.Sprint("minutes off: ", minutes), r.StatusCode, want, differs(Azurite, 200, "accepts any date"))
	}
}

// signed returns a GET that is signed with SharedKey, which other clients use for tables;
// the Go SDK uses SharedKeyLite. The string to sign has the method, Content-MD5,
// Content-Type, the date and the resource.
// https://learn.microsoft.com/rest/api/storageservices/authorize-with-shared-key
func signed(t *testing.T, a Account, resource string, at time.Time) *http.Request {
	t.Helper()
	u := value(url.Parse(a.TableURL + "/" + resource))(t)
	req := value(http.NewRequestWithContext(t.Context(), http.MethodGet, u.String(), nil))(t)
	date := at.UTC().Format(http.TimeFormat)
	key := value(base64.StdEncoding.DecodeString(a.Key))(t)
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(strings.Join([]string{http.MethodGet, "", "", date, "/" + a.Name + u.EscapedPath()}, "\n")))
	req.Header.Set("x-ms-date", date)
	req.Header.Set("x-ms-version", "2019-02-02")
	req.Header.Set("Accept", "application/json;odata=nometadata")
	req.Header.Set("Authorization", "SharedKey "+a.Name+":"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	return req
}

func send(t *testing.T, a Account, req *http.Request) *http.Response {
	t.Helper()
	do := http.DefaultClient.Do
	if a.Transport != nil {
		do = a.Transport.Do
	}
	r := value(do(req))(t)
	t.Cleanup(func() { r.Body.Close() })
	return r
}

// Tables accept SharedKey as well as SharedKeyLite.
func (tables) SharedKeySigns(t *testing.T, a Account) {
	name := Name("t")
	c := a.MakeTable(t, name)
	insert(t, c, "p q", "r", nil)
	resource := name + "(PartitionKey='p%20q',RowKey='r')"
	expect(t, a, "get", send(t, a, signed(t, a, resource, time.Now())).StatusCode, 200)

	req := signed(t, a, resource, time.Now())
	req.Header.Set("Authorization", strings.Replace(req.Header.Get("Authorization"), "SharedKey", "SharedKeyLite", 1))
	expect(t, a, "one scheme's signature under the other's name", send(t, a, req).StatusCode, 403)
}

// A request without a signature is refused. (The status depends on the version and the
// resource.)
func (tables) UnsignedIsRefused(t *testing.T, a Account) {
	name := Name("t")
	a.MakeTable(t, name)
	c, err := aztables.NewClientWithNoCredential(a.TableURL+"/"+name,
		&aztables.ClientOptions{ClientOptions: a.options()})
	must(t, err)
	expect(t, a, "refused", refusal(query(t, c, nil))/100, 4)
	expect(t, a, "refused", refusal(c.AddEntity(t.Context(), row(t, "p", "r", nil), nil))/100, 4)
}
