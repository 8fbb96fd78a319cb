package blob

import (
	"crypto/md5"
	"encoding/base64"
	"encoding/binary"
	"encoding/xml"
	"errors"
	"hash/crc64"
	"net/http/httptest"
	"strings"
	"testing"

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

func TestPutBlobStoresHeadersAndMetadata(t *testing.T) {
	f := withData(t)
	a := f.put("/data/x", "hello", "x-ms-meta-Site", "north", "Content-Type", "text/plain",
		"x-ms-blob-content-encoding", "identity", "x-ms-blob-content-language", "de",
		"x-ms-blob-cache-control", "no-store", "x-ms-blob-content-disposition", "inline").Want(t, 201, "").
		WantHeaders(t, "Content-MD5", md5Of("hello"), "x-ms-request-server-encrypted", "true", "Content-Length", "0")
	if e := a.Header.Get("ETag"); !strings.HasPrefix(e, `"0x8D`) && !strings.HasPrefix(e, `"0x8E`) || len(e) != 19 {
		t.Errorf("ETag %s", e)
	}
	for _, method := range []string{"GET", "HEAD"} {
		f.Do(method, "/data/x", "").Want(t, 200, "").WantHeaders(t, "Content-MD5", md5Of("hello"),
			"Content-Length", "5", "Content-Type", "text/plain", "Content-Encoding", "identity",
			"Content-Language", "de", "Cache-Control", "no-store", "Content-Disposition", "inline",
			"Accept-Ranges", "bytes", "x-ms-blob-type", "BlockBlob", "x-ms-lease-status", "unlocked",
			"x-ms-lease-state", "available", "x-ms-server-encrypted", "true", "x-ms-meta-site", "north",
			"ETag", a.Header.Get("ETag"), "Last-Modified", a.Header.Get("Last-Modified"))
	}
	f.put("/data/x", "").Want(t, 201, "")
	f.Do("GET", "/data/x", "").Want(t, 200, "").WantHeaders(t,
		"Content-Type", "application/octet-stream", "x-ms-meta-site", "", "Content-Length", "0")
}

func TestSetPropertiesAndMetadataReplace(t *testing.T) {
	f := withData(t)
	first := f.put("/data/x", "hello", "x-ms-meta-a", "1", "Content-Type", "text/plain").Header.Get("ETag")
	f.Do("PUT", "/data/x?comp=metadata", "", "x-ms-meta-b", "2").Want(t, 200, "")
	a := f.Do("HEAD", "/data/x?comp=metadata", "").Want(t, 200, "").
		WantHeaders(t, "x-ms-meta-a", "", "x-ms-meta-b", "2")
	if a.Header.Get("ETag") == first {
		t.Error("the ETag has not changed")
	}
	f.Do("PUT", "/data/x?comp=properties", "", "x-ms-blob-content-language", "fr").Want(t, 200, "")
	a = f.Do("GET", "/data/x", "").Want(t, 200, "").WantBody(t, "hello").
		WantHeaders(t, "Content-Language", "fr", "Content-MD5", "", "x-ms-meta-b", "2")
	if _, typed := a.Header["Content-Type"]; typed {
		t.Errorf("Content-Type %s", a.Header.Get("Content-Type"))
	}
	f.Do("PUT", "/data/none?comp=metadata", "").Want(t, 404, "BlobNotFound")
	f.Do("PUT", "/data/none?comp=properties", "").Want(t, 404, "BlobNotFound")
}

func TestChecksumsAreChecked(t *testing.T) {
	f := withData(t)
	list := `<BlockList><Latest>QQ==</Latest></BlockList>`
	for _, c := range []struct{ path, body string }{{"/data/x", "hello"}, {"/data/x?comp=block&blockid=QQ==", "hello"},
		{"/data/x?comp=blocklist", list}} {
		sum, crc := md5Of(c.body), crcOf(c.body)
		f.put(c.path, c.body, "Content-MD5", md5Of("other")).Want(t, 400, "Md5Mismatch")
		f.put(c.path, c.body, "x-ms-content-crc64", crcOf("other")).Want(t, 400, "Crc64Mismatch")
		f.put(c.path, c.body, "Content-MD5", "short").Want(t, 400, "InvalidMd5")
		f.put(c.path, c.body, "x-ms-content-crc64", "short").Want(t, 400, "InvalidHeaderValue")
		f.put(c.path, c.body, "Content-MD5", sum, "x-ms-content-crc64", crc).Want(t, 400, "BothCrc64AndMd5HeaderPresent")
		f.put(c.path, c.body, "Content-MD5", sum).Want(t, 201, "").
			WantHeaders(t, "Content-MD5", sum, "x-ms-content-crc64", crc) // clients compare the CRC64, too
		f.put(c.path, c.body, "x-ms-content-crc64", crc).Want(t, 201, "").WantHeaders(t, "x-ms-content-crc64", crc)
	}
	if got := crcOf("abc"); got != "6/rBP7vK5QU=" { // as Azure computes it
		t.Errorf("CRC64 %s", got)
	}
}

// Only Put Blob has the content at hand to compare with the MD5 of a blob. The other
// operations store what the client states.
func TestMD5OfABlob(t *testing.T) {
	f := withData(t)
	const short, header = "AQIDBA==", "x-ms-blob-content-md5"
	f.put("/data/x", "abc", header, md5Of("other")).Want(t, 400, "Md5Mismatch")
	f.put("/data/x", "abc", header, short).Want(t, 400, "InvalidMd5")
	f.put("/data/x", "abc").Want(t, 201, "")
	for path, body := range map[string]string{"/data/x?comp=properties": "", "/data/x?comp=blocklist": "<BlockList/>"} {
		f.Do("PUT", path, body, header, "?").Want(t, 400, "InvalidMd5")
		if a := f.Do("PUT", path, body, header, short); a.Status/100 != 2 {
			t.Errorf("%s: %d %s", path, a.Status, a.Body)
		}
		f.Do("HEAD", "/data/x", "").WantHeaders(t, "Content-MD5", short)
	}
}

func TestBlockIDs(t *testing.T) {
	f := withData(t)
	id := func(n int) string { return base64.StdEncoding.EncodeToString(make([]byte, n)) }
	put := func(id, body string) wiretest.Answer { return f.Do("PUT", "/data/x?comp=block&blockid="+id, body) }
	commit := func(list string) wiretest.Answer {
		return f.Do("PUT", "/data/x?comp=blocklist", "<BlockList>"+list+"</BlockList>")
	}
	f.Do("PUT", "/data/x?comp=block", "x").Want(t, 400, "MissingRequiredQueryParameter")
	for _, bad := range []string{"", "!", "QQ", id(65)} {
		put(bad, "x").Want(t, 400, "InvalidBlockId")
	}
	put(id(64), "x").Want(t, 201, "")
	put(id(63), "x").Want(t, 400, "InvalidBlobOrBlock")
	put(id(64), "").Want(t, 400, "InvalidHeaderValue")
	commit("<Latest>"+id(64)+"</Latest>").Want(t, 201, "")
	put(id(3), "x").Want(t, 201, "")
	commit("<Uncommitted>"+id(64)+"</Uncommitted>").Want(t, 400, "InvalidBlockList")
	commit("<Committed>"+id(64)+"</Committed><Uncommitted>"+id(3)+"</Uncommitted>").Want(t, 201, "")
	a := f.Do("GET", "/data/x?comp=blocklist&blocklisttype=all", "").Want(t, 200, "").
		WantHeaders(t, "x-ms-blob-content-length", "2")
	block := func(id string) string { return "<Block><Name>" + id + "</Name><Size>1</Size></Block>" }
	want := wire.XMLHeader + "<BlockList><CommittedBlocks>" + block(id(64)) + block(id(3)) +
		"</CommittedBlocks><UncommittedBlocks></UncommittedBlocks></BlockList>"
	if a.Body != want || a.Header.Get("ETag") == "" {
		t.Errorf("block list %s %v\nwant %s", a.Body, a.Header, want)
	}
	f.Do("GET", "/data/none?comp=blocklist", "").Want(t, 404, "BlobNotFound")
	f.Do("GET", "/data/x?comp=blocklist&blocklisttype=some", "").Want(t, 400, "InvalidQueryParameterValue")
}

func TestNames(t *testing.T) {
	f := inMemory(t)
	f.Do("PUT", "/Data?restype=container", "").Want(t, 400, "InvalidResourceName")
	f.Do("GET", "/ab/x", "").Want(t, 400, "OutOfRangeInput")
	f.Do("PUT", "/$logs?restype=container", "").Want(t, 400, "InvalidResourceName")
	f.Do("GET", "/$logs/x", "").Want(t, 404, "ContainerNotFound")
	for _, name := range []string{"abc", "$root", "$web"} {
		f.Do("PUT", "/"+name+"?restype=container", "").Want(t, 201, "")
	}
	f.put("/inroot.txt", "root").Want(t, 201, "")
	f.Do("GET", "/$root/inroot.txt", "").Want(t, 200, "").WantBody(t, "root")
	long := strings.Repeat("ä", 1024)
	for _, name := range []string{"%C3%A4", "a%2Fb", "dir/", "a%20b%2B+%25", "%01", strings.Repeat("a/", 253) + "a"} {
		f.put("/abc/"+name, name).Want(t, 201, "")
		f.Do("GET", "/abc/"+name, "").Want(t, 200, "").WantBody(t, name)
	}
	f.put("/abc/"+long, "").Want(t, 201, "")
	for _, name := range []string{long + "x", strings.Repeat("a/", 254) + "a", "a%00b", "%ff"} {
		f.put("/abc/"+name, "").Want(t, 400, "InvalidUri")
	}
	f.Do("GET", "/abc/a/b", "").Want(t, 200, "").WantBody(t, "a%2Fb")   // an escaped slash is a slash
	f.Do("GET", "/abc/a%5Cb", "").Want(t, 200, "").WantBody(t, "a%2Fb") // and so is a backslash
}

func TestMetadataRules(t *testing.T) {
	f := withData(t)
	for _, c := range []struct{ name, value, code string }{{"a-b", "1", "InvalidMetadata"}, {"1", "1", "InvalidMetadata"},
		{"", "1", "EmptyMetadataKey"}, {"a", strings.Repeat("v", 8192), "MetadataTooLarge"}} {
		f.put("/data/x", "", "x-ms-meta-"+c.name, c.value).Want(t, 400, c.code)
	}
	f.put("/data/x", "", "x-ms-meta-a", strings.Repeat("v", 8191)).Want(t, 201, "")
	f.Do("PUT", "/data?restype=container&comp=metadata", "", "x-ms-meta-Site", "south").Want(t, 200, "")
	f.Do("HEAD", "/data?restype=container", "").Want(t, 200, "").
		WantHeaders(t, "x-ms-meta-site", "south", "x-ms-lease-state", "available")
	f.Do("GET", "/?comp=list&include=metadata", "").Want(t, 200, "").
		WantBody(t, "<Metadata><site>south</site></Metadata>")
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
		return f.Send(f.Request(method, path+sep+query, strings.NewReader(body), "x-ms-blob-type", "BlockBlob",
			"Accept-Encoding", "identity")) // the transport must not undo rsce
	}
	const list = "/data?restype=container&comp=list"
	for _, c := range []struct {
		method, path, body, query string
		status                    int
		code                      string
	}{
		{"HEAD", "/data/x", "", sas("c", "data", "r"), 200, ""},
		{"GET", "/data/x?comp=blocklist", "", sas("c", "data", "r"), 200, ""},
		{"GET", "/data/y", "", sas("b", "data/x", "r"), 403, "AuthenticationFailed"},
		{"GET", "/other/x", "", sas("c", "data", "r"), 403, "AuthenticationFailed"},
		{"PUT", "/data/x", "new", sas("c", "data", "c"), 403, "UnauthorizedBlobOverwrite"},
		{"PUT", "/data/new", "new", sas("c", "data", "c"), 201, ""},
		{"PUT", "/data/x", "new", sas("b", "data/x", "w"), 201, ""},
		{"PUT", "/data/z?comp=block&blockid=QQ==", "new", sas("c", "data", "c"), 403, "AuthorizationPermissionMismatch"},
		{"PUT", "/data/x?comp=metadata", "", sas("c", "data", "c"), 403, "AuthorizationPermissionMismatch"},
		{"PUT", "/data/x?comp=metadata", "", sas("c", "data", "w"), 200, ""},
		{"DELETE", "/data/x", "", sas("c", "data", "d"), 202, ""},
		{"GET", list, "", sas("b", "data/x", "l"), 403, "AuthorizationFailure"},
		{"DELETE", "/data?restype=container", "", sas("c", "data", "d"), 403, "AuthorizationFailure"},
		{"PUT", "/third?restype=container", "", sas("c", "third", "cw"), 403, "AuthorizationFailure"},
		{"PUT", "/data?restype=container&comp=acl", "", sas("c", "data", "w"), 403, "AuthorizationFailure"},
		{"GET", "/?comp=list", "", sas("c", "data", "l"), 403, "AuthenticationFailed"},
		{"GET", "/data/new", "", sas("c", "data", "", "si", "readers"), 403, "AuthenticationFailed"},
	} {
		if a := do(c.method, c.path, c.body, c.query); a.Status != c.status || a.Code() != c.code {
			t.Errorf("%s %s with %s: %d %s, want %d %s", c.method, c.path, c.query, a.Status, a.Code(), c.status, c.code)
		}
	}
	const acl = "/data?restype=container&comp=acl"
	const policy = "<Id>readers</Id><AccessPolicy><Permission>r</Permission></AccessPolicy>"
	f.Do("PUT", acl, "<SignedIdentifiers><SignedIdentifier>"+policy+"</SignedIdentifier></SignedIdentifiers>").
		Want(t, 200, "")
	do("GET", "/data/new", "", sas("c", "data", "", "si", "readers")).Want(t, 200, "")
	f.Do("GET", acl, "").Want(t, 200, "").WantBody(t, policy)
	f.Do("PUT", acl, "").Want(t, 200, "")
	do("GET", "/data/new", "", sas("c", "data", "", "si", "readers")).Want(t, 403, "AuthenticationFailed")

	query := sas("b", "data/new", "r", "rscc", "no-cache", "rscd", "attachment; filename=x", "rsce", "gzip",
		"rscl", "fr", "rsct", "text/html")
	for _, method := range []string{"GET", "HEAD"} {
		do(method, "/data/new", "", query).Want(t, 200, "").WantHeaders(t, "Cache-Control", "no-cache",
			"Content-Disposition", "attachment; filename=x", "Content-Encoding", "gzip", "Content-Language", "fr",
			"Content-Type", "text/html")
	}
}

// A request for something that is not served is refused, by name.
func TestUnservedIsNamed(t *testing.T) {
	f := withData(t)
	f.put("/data/x", "hello")
	for _, c := range []struct {
		method, path, names string
		headers             []string
	}{
		{"PUT", "/data/y", "page blobs", []string{"x-ms-blob-type", "PageBlob", "x-ms-blob-content-length", "512"}},
		{"PUT", "/data/x?comp=seal", "append blobs", nil},
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
		{"PUT", "/data/y", "customer-provided", []string{"x-ms-encryption-key", "AAAA"}},
		{"PUT", "/data/y", "structured", []string{"x-ms-structured-body", "XSM/1.0; properties=crc64"}},
		{"PUT", "/data/y", "tags", []string{"x-ms-tags", "a=b"}},
		{"PUT", "/other?restype=container", "anonymous access", []string{"x-ms-blob-public-access", "blob"}},
		{"GET", "/data/x?comp=something", "comp=something", nil},
	} {
		f.Do(c.method, c.path, "", c.headers...).Want(t, 501, "NotImplemented").WantBody(t, c.names)
	}
	f.Do("PUT", "/?restype=container", "").Want(t, 400, "InvalidQueryParameterValue")
	for _, path := range []string{"/", "/data", "/data/x"} {
		w := f.Do("GET", path+"?restype=account&comp=properties", "").Want(t, 200, "")
		if w.Header.Get("x-ms-account-kind") != "StorageV2" {
			t.Errorf("%s: %v", path, w.Header)
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

	// A client that sends no length may have lost its body on the way.
	r := &wire.Request{Request: httptest.NewRequest("PUT", "/x", nil)}
	if err := checkLength(r, 1); !errors.Is(err, errNoLength) {
		t.Errorf("without Content-Length: %v", err)
	}
	r.Header.Set("Content-Length", "0")
	if err := checkLength(r, 1); err != nil {
		t.Errorf("Content-Length: 0: %v", err)
	}
}

func TestBlockLists(t *testing.T) {
	f := withData(t)
	put := func(path, list string) wiretest.Answer { return f.Do("PUT", path+"?comp=blocklist", list) }
	f.Do("PUT", "/data/x?comp=block&blockid=QQ==", "x").Want(t, 201, "")
	list := func(n int) string { return "<BlockList>" + strings.Repeat("<Latest>QQ==</Latest>", n) + "</BlockList>" }
	put("/data/x", list(50_001)).Want(t, 400, "BlockListTooLong")
	put("/data/x", "\uFEFF<?xml version=\"1.0\" encoding=\"utf-8\"?>\r\n"+list(50_000)).Want(t, 201, "") // as from .NET
	if a := f.Do("GET", "/data/x", "", "Range", "bytes=49990-"); a.Body != strings.Repeat("x", 10) {
		t.Errorf("the end of 50,000 blocks: %q", a.Body)
	}
	for _, bad := range []string{"", "<BlockList>", "<Blocks/>", "<BlockList><Last>QQ==</Last></BlockList>",
		"<BlockList>x</BlockList>", "<BlockList/><BlockList/>", "<BlockList><Latest><b/></Latest></BlockList>"} {
		put("/data/y", bad).Want(t, 400, "InvalidXmlDocument")
	}
	put("/data/y", "<BlockList><Latest>!</Latest></BlockList>").Want(t, 400, "InvalidBlockId")
	put("/data/y", "<BlockList/>").Want(t, 201, "") // an empty blob
}

func TestLists(t *testing.T) {
	f := withData(t)
	const path = "/data?restype=container&comp=list"
	for _, name := range []string{"0", "1", "3", "it's%20%22so%22"} {
		f.put("/data/"+name, "x", "x-ms-meta-a", "b").Want(t, 201, "")
	}
	for _, name := range []string{"1", "2", "z"} {
		f.Do("PUT", "/data/"+name+"?comp=block&blockid=QQ==", "x").Want(t, 201, "")
	}
	for query, want := range map[string]string{
		"":                          `0 1 3 it's "so"`,
		"&startFrom=1&endBefore=4":  "1 3",
		"&endBefore=0&startFrom=3":  "",
		"&include=uncommittedblobs": `0 1 2 3 it's "so" z`,
	} {
		for _, size := range []string{"", "&maxresults=1", "&maxresults=2", "&maxresults=9999"} {
			var got []string
			for marker := ""; ; {
				a := f.Do("GET", path+query+size+marker, "").Want(t, 200, "")
				var page struct {
					NextMarker string
					Blobs      struct{ Blob []struct{ Name string } }
				}
				if err := xml.Unmarshal([]byte(a.Body), &page); err != nil || strings.Contains(a.Body, "&#") {
					t.Fatalf("%s %v", a.Body, err) // some readers resolve no character references
				}
				for _, b := range page.Blobs.Blob {
					got = append(got, b.Name)
				}
				if page.NextMarker == "" {
					break
				}
				marker = "&marker=" + page.NextMarker
			}
			if strings.Join(got, " ") != want {
				t.Errorf("%s%s: %q, want %s", query, size, got, want)
			}
		}
	}
	f.Do("GET", path+"&include=Snapshots,METADATA,", "").Want(t, 200, "").WantBody(t, "<Metadata><a>b</a></Metadata>")
	f.Do("GET", "/?comp=list", "").Want(t, 200, "").WantBody(t, `<Etag>"0x`)
	for _, bad := range []string{"maxresults=0", "maxresults=-1"} {
		f.Do("GET", path+"&"+bad, "").Want(t, 400, "OutOfRangeQueryParameterValue")
	}
	for _, bad := range []string{"maxresults=x", "marker=!", "include=everything", "prefix=%ff"} {
		f.Do("GET", path+"&"+bad, "").Want(t, 400, "InvalidQueryParameterValue")
	}
	f.Do("GET", "/none?restype=container&comp=list", "").Want(t, 404, "ContainerNotFound")
}
