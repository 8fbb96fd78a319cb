package blob

import (
	"crypto/md5"
	"encoding/base64"
	"encoding/binary"
	"encoding/xml"
	"fmt"
	"hash/crc64"
	"net/http"
	"strings"
	"testing"
	"time"

	"furrow/tables/local/internal/wire"
	"furrow/tables/local/internal/wiretest"
)

func md5Of(s string) string {
	sum := md5.Sum([]byte(s))
	return base64.StdEncoding.EncodeToString(sum[:])
}

func crcOf(s string) string {
	sum := crc64.Checksum([]byte(s), crc64.MakeTable(crcPolynomial))
	return base64.StdEncoding.EncodeToString(binary.LittleEndian.AppendUint64(nil, sum))
}

func TestPutBlobAnswersWithWhatIsThere(t *testing.T) {
	f := withData(t)
	a := f.put("/data/x", "hello", "x-ms-meta-Site", "north", "Content-Type", "text/plain",
		"x-ms-blob-content-encoding", "identity",
		"x-ms-blob-content-language", "de", "x-ms-blob-cache-control", "no-store", "x-ms-blob-content-disposition", "inline").Want(t, 201, "")
	for name, want := range map[string]string{"Content-Md5": md5Of("hello"), "X-Ms-Request-Server-Encrypted": "true",
		"Content-Length": "0"} {
		if got := a.Header.Get(name); got != want {
			t.Errorf("Put Blob: %s %q, want %q", name, got, want)
		}
	}
	if e := a.Header.Get("ETag"); !strings.HasPrefix(e, `"0x8D`) && !strings.HasPrefix(e, `"0x8E`) || len(e) != 19 {
		t.Errorf("ETag %s", e)
	}
	for _, method := range []string{"GET", "HEAD"} {
		b := f.Do(method, "/data/x", "").Want(t, 200, "")
		for name, want := range map[string]string{"Content-Md5": md5Of("hello"), "Content-Length": "5",
			"Content-Type":     "text/plain",
			"Content-Encoding": "identity", "Content-Language": "de", "Cache-Control": "no-store", "Content-Disposition": "inline",
			"Accept-Ranges": "bytes", "X-Ms-Blob-Type": "BlockBlob", "X-Ms-Lease-Status": "unlocked", "X-Ms-Lease-State": "available",
			"X-Ms-Server-Encrypted": "true", "X-Ms-Meta-Site": "north", "Etag": a.Header.Get("ETag"), "Last-Modified": a.Header.Get("Last-Modified")} {
			if got := b.Header.Get(name); got != want {
				t.Errorf("%s: %s %q, want %q", method, name, got, want)
			}
		}
	}
	f.put("/data/x", "").Want(t, 201, "")
	b := f.Do("GET", "/data/x", "").Want(t, 200, "")
	if b.Header.Get("Content-Type") != "application/octet-stream" || b.Header.Get("X-Ms-Meta-Site") != "" ||
		b.Header.Get("Content-Length") != "0" {
		t.Errorf("after an overwrite: %v", b.Header)
	}
}

func TestSetPropertiesAndMetadataReplace(t *testing.T) {
	f := withData(t)
	first := f.put("/data/x", "hello", "x-ms-meta-a", "1", "Content-Type", "text/plain").Header
	f.Do("PUT", "/data/x?comp=metadata", "", "x-ms-meta-b", "2").Want(t, 200, "")
	a := f.Do("HEAD", "/data/x?comp=metadata", "").Want(t, 200, "")
	if a.Header.Get("X-Ms-Meta-A") != "" || a.Header.Get("X-Ms-Meta-B") != "2" ||
		a.Header.Get("ETag") == first.Get("ETag") {
		t.Errorf("metadata %v", a.Header)
	}
	f.Do("PUT", "/data/x?comp=properties", "", "x-ms-blob-content-language", "fr").Want(t, 200, "")
	a = f.Do("GET", "/data/x", "").Want(t, 200, "")
	if _, typed := a.Header["Content-Type"]; typed || a.Header.Get("Content-Language") != "fr" ||
		a.Header.Get("Content-MD5") != "" ||
		a.Header.Get("X-Ms-Meta-B") != "2" || a.Body != "hello" {
		t.Errorf("properties %v", a.Header)
	}
	f.Do("PUT", "/data/none?comp=metadata", "").Want(t, 404, "BlobNotFound")
	f.Do("PUT", "/data/none?comp=properties", "").Want(t, 404, "BlobNotFound")
}

func TestRanges(t *testing.T) {
	f := withData(t)
	f.put("/data/x", "0123456789")
	f.put("/data/empty", "")
	for _, c := range []struct {
		header, value string
		status        int
		body, content string
	}{
		{"x-ms-range", "bytes=2-4", 206, "234", "bytes 2-4/10"},
		{"Range", "bytes=2-", 206, "23456789", "bytes 2-9/10"},
		{"Range", "bytes=0-99", 206, "0123456789", "bytes 0-9/10"},
		{"Range", "bytes=9-9", 206, "9", "bytes 9-9/10"},
		{"Range", "bytes=-3", 200, "0123456789", ""},
		{"Range", "lines=1-2", 200, "0123456789", ""},
		{"Range", "bytes=1-2,4-5", 200, "0123456789", ""},
		{"Range", "bytes=5-2", 200, "0123456789", ""},
	} {
		a := f.Do("GET", "/data/x", "", c.header, c.value).Want(t, c.status, "")
		if a.Body != c.body || a.Header.Get("Content-Range") != c.content {
			t.Errorf("%s: %q %q", c.value, a.Body, a.Header.Get("Content-Range"))
		}
	}
	for path, size := range map[string]string{"/data/x": "bytes */10", "/data/empty": "bytes */0"} {
		a := f.Do("GET", path, "", "Range", "bytes=10-").Want(t, 416, "InvalidRange")
		if got := a.Header.Get("Content-Range"); got != size {
			t.Errorf("%s: a range out of bounds is told %q, want %q", path, got, size)
		}
	}
	f.Do("GET", "/data/x", "", "x-ms-range", "bytes=-1-").Want(t, 200, "")
	f.Do("GET", "/data/x", "", "x-ms-range-get-content-md5", "true").Want(t, 400, "InvalidHeaderValue")
	a := f.Do("GET", "/data/x", "", "Range", "bytes=1-3", "x-ms-range", "bytes=2-4", "x-ms-range-get-content-md5",
		"true").Want(t, 206, "")
	if a.Header.Get("Content-MD5") != md5Of("234") || a.Header.Get("x-ms-blob-content-md5") != md5Of("0123456789") {
		t.Errorf("MD5 of a range: %v", a.Header)
	}
	if a = f.Do("GET", "/data/x", "", "Range", "bytes=2-4", "x-ms-range-get-content-crc64", "true").Want(t, 206,
		""); a.Header.Get("x-ms-content-crc64") != crcOf("234") {
		t.Errorf("CRC64 of a range: %v", a.Header)
	}
	f.Do("GET", "/data/x", "", "Range", "bytes=2-4", "x-ms-range-get-content-md5", "true",
		"x-ms-range-get-content-crc64", "true").Want(t, 400, "InvalidHeaderValue")
	f.put("/data/big", strings.Repeat("x", maxSummed+1))
	f.Do("GET", "/data/big", "", "Range", "bytes=0-", "x-ms-range-get-content-md5", "true").Want(t, 400,
		"OutOfRangeInput")
}

func TestConditions(t *testing.T) {
	f := withData(t)
	tag := f.put("/data/x", "hello").Header.Get("ETag")
	ago, hence := time.Now().Add(-time.Hour).UTC().Format(http.TimeFormat),
		time.Now().Add(time.Hour).UTC().Format(http.TimeFormat)
	read := []struct {
		name, value string
		status      int
	}{
		{"If-Match", tag, 200}, {"If-Match", "*", 200}, {"If-Match", `"0x1", ` + tag, 200}, {"If-Match",
			strings.Trim(tag, `"`), 200}, {"If-Match", `"0x1"`, 412},
		{"If-None-Match", tag, 304}, {"If-None-Match", `"0x1"`, 200}, {"If-None-Match", "*", 400},
		{"If-Modified-Since", ago, 200}, {"If-Modified-Since", hence, 304}, {"If-Unmodified-Since", ago,
			412}, {"If-Unmodified-Since", hence, 200},
		{"If-Modified-Since", "yesterday", 400},
	}
	for _, method := range []string{"GET", "HEAD"} {
		for _, c := range read {
			if a := f.Do(method, "/data/x", "", c.name,
				c.value); a.Status != c.status || a.Code() != map[int]string{304: "ConditionNotMet", 412: "ConditionNotMet"}[c.status] && c.status != 400 {
				t.Errorf("%s with %s %s: %d %s, want %d", method, c.name, c.value, a.Status, a.Code(), c.status)
			}
		}
	}
	if a := f.Do("GET", "/data/x", "", "If-None-Match", tag, "If-Modified-Since", ago); a.Status != 200 {
		t.Errorf("If-None-Match or If-Modified-Since: %d", a.Status) // one of the two holds
	}
	for _, c := range read {
		want := map[int]int{200: 201, 304: 412, 412: 412, 400: 400}[c.status]
		if c.name == "If-None-Match" && c.value == "*" {
			want = 409
		}
		if a := f.put("/data/x", "hello", c.name, c.value); a.Status != want {
			t.Errorf("Put Blob with %s %s: %d, want %d", c.name, c.value, a.Status, want)
		} else if want == 201 {
			now := a.Header.Get("ETag")
			for i := range read {
				read[i].value = strings.ReplaceAll(read[i].value, strings.Trim(tag, `"`), strings.Trim(now, `"`))
			}
			tag = now
		}
	}
	f.put("/data/new", "", "If-Match", "*").Want(t, 412, "ConditionNotMet")
	f.put("/data/new", "", "If-None-Match", "*").Want(t, 201, "")
	f.Do("GET", "/data/none", "", "If-Match", "*").Want(t, 404, "BlobNotFound")
	f.Do("PUT", "/data/x?comp=block&blockid=QQ==", "x", "If-Match", "*").Want(t, 400, "UnsupportedHeader")
}

func TestChecksumsAreChecked(t *testing.T) {
	f := withData(t)
	list := `<BlockList><Latest>QQ==</Latest></BlockList>`
	for _, c := range []struct{ path, body string }{{"/data/x", "hello"}, {"/data/x?comp=block&blockid=QQ==", "hello"},
		{"/data/x?comp=blocklist", list}} {
		f.put(c.path, c.body, "Content-MD5", md5Of("other")).Want(t, 400, "Md5Mismatch")
		f.put(c.path, c.body, "x-ms-content-crc64", crcOf("other")).Want(t, 400, "Crc64Mismatch")
		f.put(c.path, c.body, "Content-MD5", "short").Want(t, 400, "InvalidMd5")
		f.put(c.path, c.body, "x-ms-content-crc64", "short").Want(t, 400, "InvalidHeaderValue")
		if a := f.put(c.path, c.body, "Content-MD5", md5Of(c.body)).Want(t, 201,
			""); a.Header.Get("Content-MD5") != md5Of(c.body) {
			t.Errorf("%s: Content-MD5 %s", c.path, a.Header.Get("Content-MD5"))
		}
		if a := f.put(c.path, c.body, "x-ms-content-crc64", crcOf(c.body)).Want(t, 201,
			""); a.Header.Get("x-ms-content-crc64") != crcOf(c.body) {
			t.Errorf("%s: x-ms-content-crc64 %s", c.path, a.Header.Get("x-ms-content-crc64"))
		}
	}
	f.put("/data/x", "hello", "x-ms-blob-content-md5", md5Of("other")).Want(t, 400, "Md5Mismatch")
	// A block list's blob is not looked at whole, so its MD5 is the client's word.
	f.put("/data/x?comp=block&blockid=QQ==", "hello").Want(t, 201, "")
	f.put("/data/x?comp=blocklist", list, "x-ms-blob-content-md5", md5Of("other")).Want(t, 201, "")
	if a := f.Do("HEAD", "/data/x", ""); a.Header.Get("Content-MD5") != md5Of("other") {
		t.Errorf("Content-MD5 %s", a.Header.Get("Content-MD5"))
	}
}

func TestBlockIDs(t *testing.T) {
	f := withData(t)
	id := func(n int) string {
		return base64.URLEncoding.EncodeToString(make([]byte,
			n))
	} // zeros: the same in both alphabets
	f.Do("PUT", "/data/x?comp=block", "x").Want(t, 400, "MissingRequiredQueryParameter")
	for _, bad := range []string{"", "!", "QQ", id(65)} {
		f.Do("PUT", "/data/x?comp=block&blockid="+bad, "x").Want(t, 400, "InvalidBlockId")
	}
	f.Do("PUT", "/data/x?comp=block&blockid="+id(64), "x").Want(t, 201, "")
	f.Do("PUT", "/data/x?comp=block&blockid="+id(63), "x").Want(t, 400, "InvalidBlobOrBlock")
	f.Do("PUT", "/data/x?comp=block&blockid="+id(64), "").Want(t, 400, "InvalidHeaderValue")
	f.Do("PUT", "/data/x?comp=blocklist", "<BlockList><Latest>"+id(64)+"</Latest></BlockList>").Want(t, 201, "")
	f.Do("PUT", "/data/x?comp=block&blockid="+id(3), "x").Want(t, 201, "")
	f.Do("PUT", "/data/x?comp=blocklist", "<BlockList><Uncommitted>"+id(64)+"</Uncommitted></BlockList>").Want(t, 400,
		"InvalidBlockList")
	f.Do("PUT", "/data/x?comp=blocklist",
		"<BlockList><Committed>"+id(64)+"</Committed><Uncommitted>"+id(3)+"</Uncommitted></BlockList>").Want(t, 201, "")
	a := f.Do("GET", "/data/x?comp=blocklist&blocklisttype=all", "").Want(t, 200, "")
	want := wire.XMLHeader + "<BlockList><CommittedBlocks><Block><Name>" + id(64) +
		"</Name><Size>1</Size></Block><Block><Name>" + id(3) +
		"</Name><Size>1</Size></Block></CommittedBlocks><UncommittedBlocks></UncommittedBlocks></BlockList>"
	if a.Body != want || a.Header.Get("x-ms-blob-content-length") != "2" || a.Header.Get("ETag") == "" {
		t.Errorf("block list %s %v", a.Body, a.Header)
	}
	f.Do("GET", "/data/none?comp=blocklist", "").Want(t, 404, "BlobNotFound")
	f.Do("GET", "/data/x?comp=blocklist&blocklisttype=some", "").Want(t, 400, "InvalidQueryParameterValue")
}

func TestNames(t *testing.T) {
	f := inMemory(t)
	for name, code := range map[string]string{"ab": "OutOfRangeInput", strings.Repeat("a", 64): "OutOfRangeInput",
		"Data": "InvalidResourceName",
		"a--b": "InvalidResourceName", "-ab": "InvalidResourceName", "a_b": "InvalidResourceName"} {
		f.Do("PUT", "/"+name+"?restype=container", "").Want(t, 400, code)
		f.Do("GET", "/"+name+"/x", "").Want(t, 400, code)
	}
	f.Do("PUT", "/$logs?restype=container", "").Want(t, 400, "InvalidResourceName")
	f.Do("GET", "/$logs/x", "").Want(t, 404, "ContainerNotFound")
	for _, name := range []string{"abc", strings.Repeat("a", 63), "1-2", "$root", "$web"} {
		f.Do("PUT", "/"+name+"?restype=container", "").Want(t, 201, "")
	}
	f.put("/inroot.txt", "root").Want(t, 201, "")
	if a := f.Do("GET", "/$root/inroot.txt", ""); a.Body != "root" {
		t.Errorf("root blob %q", a.Body)
	}
	long := strings.Repeat("ä", 1024)
	for _, name := range []string{"%C3%A4", "a%2Fb", "dir/", "a%20b%2B+%25", "%01", strings.Repeat("a/", 253) + "a"} {
		f.put("/abc/"+name, name).Want(t, 201, "")
		if a := f.Do("GET", "/abc/"+name, "").Want(t, 200, ""); a.Body != name {
			t.Errorf("%s: %q", name, a.Body)
		}
	}
	f.put("/abc/"+long, "").Want(t, 201, "")
	for _, name := range []string{long + "x", strings.Repeat("a/", 254) + "a", "a%00b", "%ff"} {
		f.put("/abc/"+name, "").Want(t, 400, "InvalidUri")
	}
	if a := f.Do("GET", "/abc/a/b", ""); a.Body != "a%2Fb" {
		t.Errorf("an escaped slash is another blob: %q", a.Body)
	}
}

func TestMetadataRules(t *testing.T) {
	f := withData(t)
	f.put("/data/x", "", "x-ms-meta-a-b", "1").Want(t, 400, "InvalidMetadata")
	f.put("/data/x", "", "x-ms-meta-1", "1").Want(t, 400, "InvalidMetadata")
	f.put("/data/x", "", "x-ms-meta-", "1").Want(t, 400, "EmptyMetadataKey")
	f.put("/data/x", "", "x-ms-meta-a", strings.Repeat("v", 8192)).Want(t, 400, "MetadataTooLarge")
	f.put("/data/x", "", "x-ms-meta-a", strings.Repeat("v", 8191)).Want(t, 201, "")
	f.Do("PUT", "/data?restype=container&comp=metadata", "", "x-ms-meta-Site", "south").Want(t, 200, "")
	a := f.Do("HEAD", "/data?restype=container", "").Want(t, 200, "")
	if a.Header.Get("x-ms-meta-site") != "south" || a.Header.Get("x-ms-lease-state") != "available" {
		t.Errorf("properties of a container: %v", a.Header)
	}
	a = f.Do("GET", "/?comp=list&include=metadata", "").Want(t, 200, "")
	if !strings.Contains(a.Body, "<Metadata><site>south</site></Metadata>") {
		t.Errorf("list of containers: %s", a.Body)
	}
}

func TestServiceSAS(t *testing.T) {
	f := withData(t)
	f.container("other")
	f.put("/data/x", "hello")
	do := func(method, path, body, query string) wiretest.Answer {
		t.Helper()
		sep := "?"
		if strings.Contains(path, "?") {
			sep = "&"
		}
		req := f.Request(method, path+sep+query, strings.NewReader(body), "x-ms-blob-type", "BlockBlob",
			"Accept-Encoding", "identity") // the transport must not undo rsce
		return f.Send(req)
	}
	const list = "/data?restype=container&comp=list"
	for _, c := range []struct {
		method, path, body, query string
		status                    int
		code                      string
	}{
		{"GET", "/data/x", "", sas("b", "data/x", "r"), 200, ""},
		{"HEAD", "/data/x", "", sas("c", "data", "r"), 200, ""},
		{"GET", "/data/x?comp=blocklist", "", sas("c", "data", "r"), 200, ""},
		{"GET", "/data/y", "", sas("b", "data/x", "r"), 403, "AuthenticationFailed"},
		{"GET", "/other/x", "", sas("c", "data", "r"), 403, "AuthenticationFailed"},
		{"GET", "/data/x", "", sas("c", "data", "wl"), 403, "AuthorizationPermissionMismatch"},
		{"PUT", "/data/x", "new", sas("c", "data", "c"), 403, "UnauthorizedBlobOverwrite"},
		{"PUT", "/data/new", "new", sas("c", "data", "c"), 201, ""},
		{"PUT", "/data/x", "new", sas("b", "data/x", "w"), 201, ""},
		{"PUT", "/data/x", "new", sas("c", "data", "rdl"), 403, "AuthorizationPermissionMismatch"},
		{"PUT", "/data/z?comp=block&blockid=QQ==", "new", sas("c", "data", "c"), 403,
			"AuthorizationPermissionMismatch"},
		{"PUT", "/data/z?comp=block&blockid=QQ==", "new", sas("c", "data", "w"), 201, ""},
		{"PUT", "/data/x?comp=metadata", "", sas("c", "data", "c"), 403, "AuthorizationPermissionMismatch"},
		{"PUT", "/data/x?comp=metadata", "", sas("c", "data", "w"), 200, ""},
		{"DELETE", "/data/x", "", sas("c", "data", "rwl"), 403, "AuthorizationPermissionMismatch"},
		{"DELETE", "/data/x", "", sas("c", "data", "d"), 202, ""},
		{"GET", list, "", sas("c", "data", "l"), 200, ""},
		{"GET", list, "", sas("c", "data", "r"), 403, "AuthorizationPermissionMismatch"},
		{"GET", list, "", sas("b", "data/x", "l"), 403, "AuthorizationFailure"},
		{"DELETE", "/data?restype=container", "", sas("c", "data", "d"), 403, "AuthorizationFailure"},
		{"PUT", "/third?restype=container", "", sas("c", "third", "cw"), 403, "AuthorizationFailure"},
		{"PUT", "/data?restype=container&comp=acl", "", sas("c", "data", "w"), 403, "AuthorizationFailure"},
		{"GET", "/?comp=list", "", sas("c", "data", "l"), 403, "AuthenticationFailed"},
		{"GET", "/data/new", "", sas("c", "data", "", "si", "readers"), 403, "AuthenticationFailed"},
	} {
		if a := do(c.method, c.path, c.body, c.query); a.Status != c.status || a.Code() != c.code {
			t.Errorf("%s %s with %s: %d %s, want %d %s", c.method, c.path, c.query, a.Status, a.Code(), c.status,
				c.code)
		}
	}
	f.Do("PUT", "/data?restype=container&comp=acl",
		"<SignedIdentifiers><SignedIdentifier><Id>readers</Id><AccessPolicy><Permission>r</Permission></AccessPolicy></SignedIdentifier></SignedIdentifiers>").Want(t, 200, "")
	do("GET", "/data/new", "", sas("c", "data", "", "si", "readers")).Want(t, 200, "")
	if a := f.Do("GET", "/data?restype=container&comp=acl", "").Want(t, 200, ""); !strings.Contains(a.Body,
		"<Id>readers</Id><AccessPolicy><Permission>r</Permission></AccessPolicy>") {
		t.Errorf("stored policies: %s", a.Body)
	}
	f.Do("PUT", "/data?restype=container&comp=acl", "").Want(t, 200, "")
	do("GET", "/data/new", "", sas("c", "data", "", "si", "readers")).Want(t, 403, "AuthenticationFailed")

	query := sas("b", "data/new", "r", "rscc", "no-cache", "rscd", "attachment; filename=x", "rsce", "gzip", "rscl",
		"fr", "rsct", "text/html")
	for _, method := range []string{"GET", "HEAD"} {
		a := do(method, "/data/new", "", query).Want(t, 200, "")
		for name, want := range map[string]string{"Cache-Control": "no-cache",
			"Content-Disposition": "attachment; filename=x",
			"Content-Encoding":    "gzip", "Content-Language": "fr", "Content-Type": "text/html"} {
			if got := a.Header.Get(name); got != want {
				t.Errorf("%s: %s %q, want %q", method, name, got, want)
			}
		}
	}
}

// What is not served says so by name, and does nothing.
func TestUnservedIsNamed(t *testing.T) {
	f := withData(t)
	f.put("/data/x", "hello")
	for _, c := range []struct {
		method, path, names string
		headers             []string
	}{
		{"PUT", "/data/y", "append blobs", []string{"x-ms-blob-type", "AppendBlob"}},
		{"PUT", "/data/y", "page blobs", []string{"x-ms-blob-type", "PageBlob", "x-ms-blob-content-length", "512"}},
		{"PUT", "/data/x?comp=appendblock", "append blobs", nil},
		{"PUT", "/data/x?comp=page", "page blobs", nil},
		{"PUT", "/data/x?comp=lease", "leases", []string{"x-ms-lease-action", "acquire"}},
		{"PUT", "/data?restype=container&comp=lease", "leases", []string{"x-ms-lease-action", "acquire"}},
		{"PUT", "/data/x?comp=snapshot", "snapshots", nil},
		{"GET", "/data/x?snapshot=2026-01-01T00:00:00.0000000Z", "snapshot", nil},
		{"DELETE", "/data/x?versionid=2026-01-01T00:00:00.0000000Z", "versionid", nil},
		{"DELETE", "/data/x", "snapshots", []string{"x-ms-delete-snapshots", "only"}},
		{"PUT", "/data/x?comp=tier", "tier", []string{"x-ms-access-tier", "Cool"}},
		{"PUT", "/data/x?comp=tags", "tags", nil},
		{"POST", "/data/x?comp=query", "Query Blob Contents", nil},
		{"PUT", "/data/y", "Copy Blob", []string{"x-ms-copy-source", "http://example.com/x"}},
		{"PUT", "/data/y", "customer-provided", []string{"x-ms-blob-type", "BlockBlob", "x-ms-encryption-key", "AAAA"}},
		{"PUT", "/data/y", "structured", []string{"x-ms-blob-type", "BlockBlob", "x-ms-structured-body",
			"XSM/1.0; properties=crc64"}},
		{"PUT", "/data/y", "tags", []string{"x-ms-blob-type", "BlockBlob", "x-ms-tags", "a=b"}},
		{"PUT", "/other?restype=container", "anonymous access", []string{"x-ms-blob-public-access", "blob"}},
		{"POST", "/?comp=batch", "Batch", nil},
		{"GET", "/?restype=service&comp=properties", "properties", nil},
		{"GET", "/?restype=account&comp=properties", "restype=account", nil},
		{"GET", "/data/x?comp=something", "comp=something", nil},
	} {
		a := f.Do(c.method, c.path, "", c.headers...).Want(t, 501, "NotImplemented")
		if !strings.Contains(a.Body, c.names) {
			t.Errorf("%s %s: %s does not name %s", c.method, c.path, a.Body, c.names)
		}
	}
	f.Do("POST", "/data/x", "").Want(t, 405, "UnsupportedHttpVerb")
	f.Do("GET", "/data/x", "", "x-ms-lease-id", "5e1c3a8f").Want(t, 412, "LeaseNotPresentWithBlobOperation")
	f.Do("DELETE", "/data?restype=container", "", "x-ms-lease-id", "5e1c3a8f").Want(t, 412,
		"LeaseNotPresentWithContainerOperation")
	f.Do("DELETE", "/data/x", "", "x-ms-delete-snapshots", "include").Want(t, 202, "")
	f.Do("GET", "/data/y", "").Want(t, 404, "BlobNotFound")
	f.Do("GET", "/none/y", "").Want(t, 404, "ContainerNotFound")
	f.put("/none/y", "").Want(t, 404, "ContainerNotFound")
}

func TestLengthIsRequiredAndBounded(t *testing.T) {
	f := withData(t)
	chunked := f.Request("PUT", "/data/x", strings.NewReader("hello"), "x-ms-blob-type", "BlockBlob")
	chunked.ContentLength = -1
	f.Send(f.Sign(chunked)).Want(t, 411, "MissingContentLengthHeader")
	for path, most := range map[string]int64{"/data/x": maxPut, "/data/x?comp=block&blockid=QQ==": maxBlock,
		"/data/x?comp=blocklist": maxListBody} {
		req := f.Request("PUT", path, zeros{}, "x-ms-blob-type", "BlockBlob", "Expect", "100-continue")
		req.ContentLength = most + 1
		f.Send(f.Sign(req)).Want(t, 413, "RequestBodyTooLarge")
	}
	f.Do("PUT", "/data?restype=container&comp=acl", strings.Repeat(" ", 17<<10)).Want(t, 413, "RequestBodyTooLarge")
}

func TestBlockListIsBounded(t *testing.T) {
	f := withData(t)
	f.Do("PUT", "/data/x?comp=block&blockid=QQ==", "x").Want(t, 201, "")
	list := func(n int) string {
		return `<?xml version="1.0" encoding="utf-8"?><BlockList>` + strings.Repeat("<Latest>QQ==</Latest>",
			n) + `</BlockList>`
	}
	f.Do("PUT", "/data/x?comp=blocklist", list(50_001)).Want(t, 400, "BlockListTooLong")
	f.Do("PUT", "/data/x?comp=blocklist", list(50_000)).Want(t, 201, "")
	if a := f.Do("GET", "/data/x", "", "Range", "bytes=49990-"); a.Body != strings.Repeat("x", 10) {
		t.Errorf("the end of 50,000 blocks: %q", a.Body)
	}
	for _, bad := range []string{"", "<BlockList>", "<Blocks/>", "<BlockList><Last>QQ==</Last></BlockList>",
		"<BlockList>x</BlockList>",
		"<BlockList/><BlockList/>", "<BlockList><Latest><b/></Latest></BlockList>"} {
		f.Do("PUT", "/data/y?comp=blocklist", bad).Want(t, 400, "InvalidXmlDocument")
	}
	f.Do("PUT", "/data/y?comp=blocklist", "<BlockList><Latest>!</Latest></BlockList>").Want(t, 400, "InvalidBlockId")
	f.Do("PUT", "/data/y?comp=blocklist", "<BlockList/>").Want(t, 201, "") // an empty blob
}

func TestListIsPaged(t *testing.T) {
	f := withData(t)
	for i := range 5 {
		f.put(fmt.Sprintf("/data/%d", i), "")
	}
	const path = "/data?restype=container&comp=list"
	var page struct {
		NextMarker string
		Blobs      struct{ Blob []struct{ Name string } }
	}
	a := f.Do("GET", path+"&maxresults=2", "").Want(t, 200, "")
	if err := xml.Unmarshal([]byte(a.Body), &page); err != nil || len(page.Blobs.Blob) != 2 || page.NextMarker == "" {
		t.Fatalf("%s %v", a.Body, err)
	}
	for _, bad := range []string{"maxresults=0", "maxresults=-1"} {
		f.Do("GET", path+"&"+bad, "").Want(t, 400, "OutOfRangeQueryParameterValue")
	}
	for _, bad := range []string{"maxresults=x", "marker=!", "include=everything", "prefix=%ff"} {
		f.Do("GET", path+"&"+bad, "").Want(t, 400, "InvalidQueryParameterValue")
	}
	f.Do("GET", path+"&maxresults=9999", "").Want(t, 200, "")
	f.Do("GET", path+"&endBefore=0&startFrom=3", "").Want(t, 200, "")
	a = f.Do("GET", path+"&startFrom=1&endBefore=3", "").Want(t, 200, "")
	if strings.Count(a.Body, "<Blob>") != 2 || !strings.Contains(a.Body, "<Name>2</Name>") {
		t.Errorf("1 to 3: %s", a.Body)
	}
	f.Do("GET", "/none?restype=container&comp=list", "").Want(t, 404, "ContainerNotFound")
}
