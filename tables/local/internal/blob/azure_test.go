package blob

import (
	"net/http"
	"strings"
	"testing"

	"furrow/tables/local/internal/wiretest"
)

// The SDKs of Azure are tested against these.

func TestBackslashIsASlash(t *testing.T) {
	f := withData(t)
	f.put(`/data/a%5Cb`, "x").Want(t, http.StatusCreated, "")
	if a := f.Do("GET", "/data/a/b", "").Want(t, http.StatusOK, ""); a.Body != "x" {
		t.Errorf("content %q", a.Body)
	}
	if a := f.Do("GET", "/data?restype=container&comp=list", ""); !strings.Contains(a.Body, "<Name>a/b</Name>") {
		t.Errorf("list %s", a.Body)
	}
}

// Only Put Blob has the contents at hand to compare the MD5 with.
func TestMD5OfABlobIsTheClientsWord(t *testing.T) {
	f := withData(t)
	const short = "AQIDBA=="
	f.put("/data/x", "abc", "x-ms-blob-content-md5", short).Want(t, http.StatusBadRequest, "InvalidMd5")
	f.put("/data/x", "abc").Want(t, http.StatusCreated, "")
	for _, c := range []struct{ path, body string }{{"/data/x?comp=properties", ""},
		{"/data/x?comp=blocklist", "<BlockList></BlockList>"}} {
		f.Do("PUT", c.path, c.body, "x-ms-blob-content-md5", "?").Want(t, http.StatusBadRequest, "InvalidMd5")
		if a := f.Do("PUT", c.path, c.body, "x-ms-blob-content-md5", short); a.Status/100 != 2 {
			t.Fatalf("%s: %d %s", c.path, a.Status, a.Body)
		}
		if got := f.Do("HEAD", "/data/x", "").Header.Get("Content-MD5"); got != short {
			t.Errorf("%s: Content-MD5 %q, want %q", c.path, got, short)
		}
	}
}

func TestOneChecksumABody(t *testing.T) {
	f := withData(t)
	f.put("/data/x", "abc", "Content-MD5", md5Of("abc"), "x-ms-content-crc64", crcOf("abc")).Want(t,
		http.StatusBadRequest, "InvalidHeaderValue")
	f.put("/data/x", "abc", "x-ms-content-crc64", crcOf("abc")).Want(t, http.StatusCreated, "")
}

func TestIncludeIsReadWithoutCase(t *testing.T) {
	f := withData(t)
	f.put("/data/x", "abc", "x-ms-meta-a", "b").Want(t, http.StatusCreated, "")
	a := f.Do("GET", "/data?restype=container&comp=list&include=Snapshots,METADATA,", "").Want(t, http.StatusOK, "")
	if !strings.Contains(a.Body, "<Metadata><a>b</a></Metadata>") {
		t.Errorf("list %s", a.Body)
	}
}

func TestConditionsOfAWriteComeAloneOrAsAPair(t *testing.T) {
	f := withData(t)
	const past, future = "Fri, 01 Jan 2021 00:00:00 GMT", "Fri, 01 Jan 2100 00:00:00 GMT"
	for _, path := range []string{"/data/x?comp=metadata", "/data/x?comp=properties", "/data/x?comp=blocklist",
		"/data/x", "/data?restype=container&comp=metadata"} {
		f.put("/data/x", "abc").Want(t, http.StatusCreated, "")
		write := func(headers ...string) wiretest.Answer {
			return f.Do("PUT", path, "<BlockList/>", append(headers, "x-ms-blob-type", "BlockBlob")...)
		}
		for _, c := range []struct {
			headers []string
			code    string
		}{
			{[]string{"If-Match", "*", "If-Unmodified-Since", past}, ""}, // the ETag decides
			{[]string{"If-None-Match", `"0x1"`, "If-Modified-Since", future}, ""},
			{[]string{"If-Match", `"0x1"`, "If-Unmodified-Since", future}, "ConditionNotMet"},
			{[]string{"If-Match", "*", "If-None-Match", `"0x1"`}, "MultipleConditionHeadersNotSupported"},
			{[]string{"If-Modified-Since", past, "If-Unmodified-Since", future},
				"MultipleConditionHeadersNotSupported"},
		} {
			if a := write(c.headers...); a.Code() != c.code || c.code == "" && a.Status/100 != 2 {
				t.Errorf("%s %v: %d %q, want %q", path, c.headers, a.Status, a.Code(), c.code)
			}
		}
	}
}
