package blob

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	azblobs "github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"

	"furrow/tables/azuretest/must"
	"furrow/tables/local/internal/content"
	"furrow/tables/local/internal/wire"
	"furrow/tables/local/internal/wiretest"
)

// TestCopyIsABlobOfItsOwn has contents in the store and in files, none, and those of append blobs. It outlives what it
// is a copy of.
func TestCopyIsABlobOfItsOwn(t *testing.T) {
	f := withData(t)
	for _, size := range []int{0, 100, content.Inline + 1, 3*content.Inline + 7} {
		text := string(bytes.Repeat([]byte("0123456789"), size/10+1)[:size])
		from, to := fmt.Sprint("/data/from", size), fmt.Sprint("/data/to", size)
		f.put(from, text, "x-ms-meta-site", "north", "Content-Type", "text/plain", "x-ms-blob-cache-control", "no-store")
		a := f.Do("PUT", to, "", copySource, f.Base()+from).Want(t, 202, "").
			WantHeaders(t, "x-ms-copy-status", "success", "Content-Length", "0")
		id := a.Header.Get("x-ms-copy-id")
		f.Do("DELETE", from, "").Want(t, 202, "")
		f.Do("GET", to, "").Want(t, 200, "").WantBody(t, text).WantHeaders(t, "Content-MD5", md5Of(text),
			"Content-Type", "text/plain", "Cache-Control", "no-store", "x-ms-meta-site", "north", "ETag", a.Header.Get("ETag"),
			"x-ms-copy-id", id, "x-ms-copy-status", "success", "x-ms-copy-source", f.Base()+from,
			"x-ms-copy-progress", fmt.Sprintf("%d/%d", size, size))
		f.put(to, "other").Want(t, 201, "")
		f.Do("GET", to, "").Want(t, 200, "").WantBody(t, "other").WantHeaders(t, "x-ms-copy-id", "")
	}
	f.Do("PUT", "/data/log", "", "x-ms-blob-type", "AppendBlob").Want(t, 201, "")
	for _, line := range []string{"one\n", "two\n"} {
		f.Do("PUT", "/data/log?comp=appendblock", line).Want(t, 201, "")
	}
	f.Do("PUT", "/data/log2", "", copySource, f.Base()+"/data/log").Want(t, 202, "")
	f.Do("PUT", "/data/log2?comp=appendblock", "three\n").Want(t, 201, "").
		WantHeaders(t, "x-ms-blob-append-offset", "8", "x-ms-blob-committed-block-count", "2")
	f.Do("GET", "/data/log2", "").Want(t, 200, "").WantBody(t, "one\ntwo\nthree\n").
		WantHeaders(t, "x-ms-blob-type", "AppendBlob")
	f.Do("GET", "/data/log", "").Want(t, 200, "").WantBody(t, "one\ntwo\n")
	f.put("/data/block", "x")
	f.Do("PUT", "/data/block", "", copySource, f.Base()+"/data/log").Want(t, 409, "InvalidBlobType")
}

// TestCopyOntoItselfChangesItsMetadata is how some programs do it.
func TestCopyOntoItselfChangesItsMetadata(t *testing.T) {
	f := withData(t)
	text := strings.Repeat("x", content.Inline+1)
	f.put("/data/x", text, "x-ms-meta-a", "1")
	f.Do("PUT", "/data/x", "", copySource, f.Base()+"/data/x", "x-ms-meta-b", "2").Want(t, 202, "")
	f.Do("GET", "/data/x", "").Want(t, 200, "").WantBody(t, text).WantHeaders(t, "x-ms-meta-a", "", "x-ms-meta-b", "2")
}

// TestConditionsOfACopyAreOfBothBlobs has them of the source and of what it replaces.
func TestConditionsOfACopyAreOfBothBlobs(t *testing.T) {
	f := withData(t)
	source := f.put("/data/from", "hello").Header.Get("ETag")
	old := f.put("/data/to", "old").Header.Get("ETag")
	from := f.Base() + "/data/from"
	for _, c := range []struct {
		header, value string
		status        int
		code          string
	}{
		{"x-ms-source-if-match", old, 412, "SourceConditionNotMet"},
		{"x-ms-source-if-none-match", source, 412, "SourceConditionNotMet"},
		{"x-ms-source-if-none-match", "*", 412, "SourceConditionNotMet"},
		{"x-ms-source-if-modified-since", "Wed, 01 Jan 2200 00:00:00 GMT", 412, "SourceConditionNotMet"},
		{"x-ms-source-if-unmodified-since", "Wed, 01 Jan 2020 00:00:00 GMT", 412, "SourceConditionNotMet"},
		{"x-ms-source-if-modified-since", "yesterday", 400, "InvalidHeaderValue"},
		{"If-Match", source, 412, "ConditionNotMet"},
		{"If-None-Match", "*", 409, "BlobAlreadyExists"},
		{"x-ms-lease-id", "c9da6455-213d-42c9-9a79-3e9149a57833", 412, "LeaseNotPresentWithBlobOperation"},
		{"x-ms-copy-source-authorization", "Bearer x", 501, "NotImplemented"},
	} {
		f.Do("PUT", "/data/to", "", copySource, from, c.header, c.value).Want(t, c.status, c.code)
	}
	f.Do("GET", "/data/to", "").WantBody(t, "old")
	f.Do("PUT", "/data/to", "", copySource, f.Base()+"/data/none").Want(t, 404, "BlobNotFound")
	f.Do("PUT", "/data/to", "", copySource, f.Base()+"/none/x").Want(t, 404, "ContainerNotFound")
	f.Do("PUT", "/none/to", "", copySource, from).Want(t, 404, "ContainerNotFound")
	f.Do("PUT", "/data/to", "", copySource, "http://example.com/furrow/x").Want(t, 501, "NotImplemented")
	f.Do("PUT", "/data/to", "", copySource, "/data/from").Want(t, 400, "InvalidHeaderValue")
	f.Do("PUT", "/data/to", "", copySource, from, "x-ms-blob-type", "BlockBlob").Want(t, 501, "NotImplemented")
	f.Do("PUT", "/data/to", "", copySource, from, "If-Match", old, "x-ms-source-if-match", source).Want(t, 202, "")
	f.Do("GET", "/data/to", "").WantBody(t, "hello")
}

// TestCopyNeedsTheRightToReadItsSource has signatures of either blob that permit too little.
func TestCopyNeedsTheRightToReadItsSource(t *testing.T) {
	f := withData(t)
	f.put("/data/from", "hello")
	f.put("/data/old", "old")
	const until = "2100-01-01T00:00:00Z"
	sas := func(resource, permissions string) string {
		kind := "b"
		if !strings.Contains(resource, "/") {
			kind = "c"
		}
		return "?" + wiretest.SAS(wire.Blob, resource, "sr", kind, "sp", permissions, "se", until).Encode()
	}
	try := func(to, from string) wiretest.Answer {
		req := f.Request("PUT", to, nil, copySource, f.Base()+from)
		req.Header.Set("x-ms-version", "2021-12-02")
		return f.Send(req)
	}
	for _, c := range []struct {
		to, from string
		status   int
	}{
		{"/data/to" + sas("data", "cw"), "/data/from", 403},                                // the source has no signature
		{"/data/to" + sas("data", "cw"), "/data/from" + sas("data", "w"), 403},             // it may not be read
		{"/data/to" + sas("data", "cw"), "/data/from" + sas("data/other", "r"), 403},       // it is of another blob
		{"/data/to" + sas("data", "r"), "/data/from" + sas("data", "r"), 403},              // the copy may not be written
		{"/data/old" + sas("data", "c"), "/data/from" + sas("data", "r"), 403},             // nor replaced
		{"/data/to" + sas("data", "rcw"), "/data/from?" + "sig=x&sp=r&sv=2021-12-02", 403}, // it is forged
		{"/data/to" + sas("data", "cw"), "/data/from" + sas("data/from", "r"), 202},
		{"/data/to2" + sas("data", "c"), "/data/from" + sas("data", "r"), 202},
		{"/data/old" + sas("data", "w"), "/data/from" + sas("data", "r"), 202},
	} {
		a := try(c.to, c.from)
		if a.Status != c.status {
			t.Errorf("%.20s from %.40s: %d %s, want %d", c.to, c.from, a.Status, a.Body, c.status)
		}
		if strings.Contains(a.Header.Get(copySource), "sig=") {
			t.Error("the answer has a signature")
		}
	}
	if got := f.Do("HEAD", "/data/to", "").Header.Get(copySource); got != f.Base()+"/data/from" {
		t.Errorf("the copy tells that it is of %q", got)
	}
}

// TestCopyByTheSDK takes both ways that there are.
func TestCopyByTheSDK(t *testing.T) {
	f := inMemory(t)
	c := f.container("data")
	must.Have(c.NewBlockBlobClient("from").UploadBuffer(t.Context(), []byte("hello"), nil))(t)
	source := c.NewBlobClient("from").URL()
	started := must.Have(c.NewBlobClient("a").StartCopyFromURL(t.Context(), source, nil))(t)
	if started.CopyStatus == nil || *started.CopyStatus != azblobs.CopyStatusTypeSuccess {
		t.Errorf("%+v", started)
	}
	must.Have(c.NewBlobClient("b").CopyFromURL(t.Context(), source, nil))(t)
	for _, name := range []string{"a", "b"} {
		d := must.Have(c.NewBlobClient(name).DownloadStream(t.Context(), nil))(t)
		if text := must.Have(io.ReadAll(d.Body))(t); string(text) != "hello" {
			t.Errorf("%s is %q", name, text)
		}
		p := must.Have(c.NewBlobClient(name).GetProperties(t.Context(), nil))(t)
		if p.CopyStatus == nil || *p.CopyStatus != azblobs.CopyStatusTypeSuccess || *p.CopySource != source {
			t.Errorf("%s: %+v", name, p)
		}
	}
}

// TestBatchDeletesEachBlobAsIfItCameAlone has one that does not exist, and the limits.
func TestBatchDeletesEachBlobAsIfItCameAlone(t *testing.T) {
	f := inMemory(t)
	c := f.container("data")
	f.container("other")
	for _, name := range []string{"/data/a", "/data/b c", "/data/d", "/other/x"} {
		f.put(name, "x").Want(t, 201, "")
	}
	batch := must.Have(c.NewBatchBuilder())(t)
	for _, name := range []string{"a", "none", "b c"} {
		must.Succeed(t, batch.Delete(name, nil))
	}
	answer := must.Have(c.SubmitBatch(t.Context(), batch, nil))(t)
	for i, failed := range []bool{false, true, false} {
		if r := answer.Responses[i]; (r.Error != nil) != failed || r.ContentID == nil || *r.ContentID != i {
			t.Errorf("part %d: %+v", i, r)
		}
	}
	if err := answer.Responses[1].Error; err == nil || !strings.Contains(err.Error(), "BlobNotFound") {
		t.Errorf("the missing blob: %v", err)
	}
	whole := must.Have(f.client().NewBatchBuilder())(t)
	must.Succeed(t, whole.Delete("data", "d", nil))
	must.Succeed(t, whole.Delete("other", "x", nil))
	for i, r := range must.Have(f.client().SubmitBatch(t.Context(), whole, nil))(t).Responses {
		if r.Error != nil {
			t.Errorf("part %d: %v", i, r.Error)
		}
	}
	for _, name := range []string{"/data/a", "/data/b%20c", "/data/d", "/other/x"} {
		f.Do("GET", name, "").Want(t, 404, "BlobNotFound")
	}
}

// parts returns the body of a batch.
func parts(all ...string) string {
	var b strings.Builder
	for i, p := range all {
		fmt.Fprintf(&b, "--b\r\nContent-Type: application/http\r\nContent-ID: %d\r\n\r\n%s\r\n\r\n", i, p)
	}
	return b.String() + "--b--\r\n"
}

// TestPartsOfABatchAreAuthorizedOneByOne: the right to send a batch is not the right to delete.
func TestPartsOfABatchAreAuthorizedOneByOne(t *testing.T) {
	f := withData(t)
	f.Do("PUT", "/other?restype=container", "").Want(t, 201, "")
	send := func(target, body string) wiretest.Answer {
		return f.Do("POST", target, body, "Content-Type", "multipart/mixed; boundary=b")
	}
	sas := func(name, permissions string) string {
		return wiretest.SAS(wire.Blob, "data/"+name, "sr", "b", "sp", permissions, "se", "2100-01-01T00:00:00Z").Encode()
	}
	base := "/" + wiretest.Account
	f.put("/data/kept", "x")
	f.put("/data/gone", "x")
	f.put("/other/kept", "x")
	a := send("/?comp=batch", parts(
		"DELETE "+base+"/data/kept HTTP/1.1",
		"DELETE "+base+"/data/kept?"+sas("kept", "r")+" HTTP/1.1",
		"DELETE "+base+"/data/kept?"+sas("gone", "d")+" HTTP/1.1",
		"DELETE "+base+"/data/gone?"+sas("gone", "d")+" HTTP/1.1\r\nContent-Length: 0",
		"GET "+base+"/data/kept?"+sas("kept", "r")+" HTTP/1.1",
		"DELETE "+base+"/data?restype=container HTTP/1.1",
		"PUT "+base+"/data/kept?comp=tier HTTP/1.1")).Want(t, 202, "")
	var got []string
	for line := range strings.Lines(string(a.Body)) {
		if status, is := strings.CutPrefix(line, "HTTP/1.1 "); is {
			got = append(got, status[:3])
		}
	}
	if want := "401 403 403 202 400 400 501"; strings.Join(got, " ") != want {
		t.Errorf("%s, want %s: %s", got, want, a.Body)
	}
	f.Do("GET", "/data/kept", "").Want(t, 200, "")
	f.Do("GET", "/data/gone", "").Want(t, 404, "BlobNotFound")

	inside := send("/data?restype=container&comp=batch", parts("DELETE "+base+"/other/kept HTTP/1.1")).Want(t, 202, "")
	if !strings.Contains(string(inside.Body), "400 Bad Request") {
		t.Errorf("a blob of another container: %s", inside.Body)
	}
	many := make([]string, maxParts+1)
	for i := range many {
		many[i] = "DELETE " + base + "/data/x HTTP/1.1"
	}
	send("/?comp=batch", parts(many...)).Want(t, 400, "InvalidInput")
	send("/?comp=batch", parts(many[1:]...)).Want(t, 202, "")
	send("/?comp=batch", parts("DELETE "+base+"/data/x?"+strings.Repeat("x", maxBatch)+" HTTP/1.1")).
		Want(t, http.StatusRequestEntityTooLarge, "RequestBodyTooLarge")
	for _, body := range []string{"", "--b--\r\n", "--b\r\n\r\n", parts("nonsense"), parts("POST /x HTTP/1.1")[:30]} {
		send("/?comp=batch", body).Want(t, 400, "InvalidInput")
	}
	unsigned := parts("DELETE " + base + "/data/kept?" + sas("kept", "d") + " HTTP/1.1")
	req := f.Request("POST", "/?comp=batch", strings.NewReader(unsigned))
	req.Header.Set("Content-Type", "multipart/mixed; boundary=b")
	f.Send(req).Want(t, 401, "NoAuthenticationInformation")
}

func FuzzBatch(f *testing.F) {
	f.Add("multipart/mixed; boundary=b", parts("DELETE /furrow/data/x HTTP/1.1\r\nx-ms-date: x"))
	f.Add("multipart/mixed; boundary=b", "--b\r\n\r\n--b--")
	f.Fuzz(func(t *testing.T, contentType, body string) {
		all, err := parseBatch(contentType, []byte(body))
		if (err == nil) != (len(all) > 0) || len(all) > maxParts {
			t.Errorf("%d parts, %v", len(all), err)
		}
	})
}
