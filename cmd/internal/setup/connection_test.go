package setup

import (
	"strings"
	"testing"
)

func TestConnectionStringsAreReadBack(t *testing.T) {
	for _, c := range []Connection{
		PathStyle("http", "furrow", "a2V5", "127.0.0.1:10000", "127.0.0.1:10001", "127.0.0.1:10002"),
		PathStyle("https", "furrow", "a2V5==="[:4], "[::1]:1", "[::1]:2", "[::1]:3"),
	} {
		got, err := ParseConnection(c.String())
		if err != nil || got != c {
			t.Errorf("%s is read as %+v, %v", c, got, err)
		}
	}
}

func TestConnectionStringsAsAzureHasThem(t *testing.T) {
	for text, want := range map[string]Connection{
		"DefaultEndpointsProtocol=https;AccountName=contoso;AccountKey=a2V5;EndpointSuffix=core.windows.net": {
			"contoso", "a2V5", "https://contoso.blob.core.windows.net", "https://contoso.queue.core.windows.net", "https://contoso.table.core.windows.net"},
		"AccountName=contoso;AccountKey=a2U9Pg==;TableEndpoint=http://box:1/contoso/;": {
			"contoso", "a2U9Pg==", "https://contoso.blob.core.windows.net", "https://contoso.queue.core.windows.net", "http://box:1/contoso"},
		"accountname=c;accountkey=a2V5;defaultendpointsprotocol=http; endpointsuffix=core.chinacloudapi.cn": {
			"c", "a2V5", "http://c.blob.core.chinacloudapi.cn", "http://c.queue.core.chinacloudapi.cn", "http://c.table.core.chinacloudapi.cn"},
		"UseDevelopmentStorage=true": {
			developmentAccount, developmentKey, "http://127.0.0.1:10000/devstoreaccount1", "http://127.0.0.1:10001/devstoreaccount1", "http://127.0.0.1:10002/devstoreaccount1"},
	} {
		got, err := ParseConnection(text)
		if err != nil || got != want {
			t.Errorf("%s is read as\n%+v, %v; want\n%+v", text, got, err, want)
		}
	}
}

func TestConnectionStringsThatCannotWorkAreRefusedWithoutShowingTheKey(t *testing.T) {
	const secret = "c2VjcmV0IGtleSB0aGF0IG11c3Qgbm90IHNob3c="
	for text, want := range map[string]string{
		"":                           "AccountName",
		"AccountKey=" + secret:       "AccountName",
		"AccountName=a":              "AccountKey",
		"AccountName=a;AccountKey=%": "base64",
		secret[:len(secret)-1]:       "Name=Value",
		"AccountName=a;AccountKey=" + secret + ";TableEndpoint=box:1": "table endpoint",
		"AccountName=a;SharedAccessSignature=sv=1&sig=" + secret:      "AccountKey is needed",
	} {
		_, err := ParseConnection(text)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v; want one with %q", text, err, want)
			continue
		}
		if strings.Contains(err.Error(), secret[:20]) {
			t.Errorf("%q: the error shows the key: %v", text, err)
		}
	}
}

func FuzzParseConnection(f *testing.F) {
	f.Add("DefaultEndpointsProtocol=http;AccountName=a;AccountKey=a2V5;TableEndpoint=http://127.0.0.1:1/a;")
	f.Add("UseDevelopmentStorage=true")
	f.Fuzz(func(t *testing.T, text string) {
		c, err := ParseConnection(text)
		if err != nil {
			return
		}
		again, err := ParseConnection(c.String())
		if err != nil || again != c {
			t.Errorf("%q is read as %+v, which is read back as %+v, %v", text, c, again, err)
		}
	})
}
