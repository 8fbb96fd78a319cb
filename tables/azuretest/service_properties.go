package azuretest

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/service"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue/v2"
)

// Properties of a service are kept. A change leaves those that it does not name as they are.
func (blobs) ServiceKeepsProperties(t *testing.T, a Account) {
	s := a.Blobs(t).ServiceClient()
	before := value(s.GetProperties(t.Context(), nil))(t)
	cleanup(t, func(ctx context.Context) error {
		return errOf(s.SetProperties(ctx, &service.SetPropertiesOptions{CORS: before.CORS, HourMetrics: before.HourMetrics}))
	})
	rule := &service.CORSRule{AllowedOrigins: to.Ptr("https://a.example"), AllowedMethods: to.Ptr("GET,PUT"),
		AllowedHeaders: to.Ptr("x-ms-*"), ExposedHeaders: to.Ptr("x-ms-meta-*"), MaxAgeInSeconds: to.Ptr[int32](60)}
	must(t, errOf(s.SetProperties(t.Context(), &service.SetPropertiesOptions{CORS: []*service.CORSRule{rule}})))
	days := &service.RetentionPolicy{Enabled: to.Ptr(true), Days: to.Ptr[int32](3)}
	must(t, errOf(s.SetProperties(t.Context(), &service.SetPropertiesOptions{HourMetrics: &service.Metrics{
		Version: to.Ptr("1.0"), Enabled: to.Ptr(true), IncludeAPIs: to.Ptr(false), RetentionPolicy: days}})))
	p := value(s.GetProperties(t.Context(), nil))(t)
	expect(t, a, "rules", len(p.CORS), 1)
	expect(t, a, "rule", fmt.Sprint(*p.CORS[0].AllowedOrigins, *p.CORS[0].AllowedMethods, *p.CORS[0].AllowedHeaders,
		*p.CORS[0].ExposedHeaders, *p.CORS[0].MaxAgeInSeconds), "https://a.exampleGET,PUTx-ms-*x-ms-meta-*60")
	expect(t, a, "metrics", fmt.Sprint(*p.HourMetrics.Enabled, *p.HourMetrics.IncludeAPIs,
		*p.HourMetrics.RetentionPolicy.Days), "true false 3")
	expect(t, a, "logging has a version", *p.Logging.Version, "1.0")
	must(t, errOf(s.SetProperties(t.Context(), &service.SetPropertiesOptions{CORS: []*service.CORSRule{}})))
	expect(t, a, "rules removed", len(value(s.GetProperties(t.Context(), nil))(t).CORS), 0)
}

func (queues) ServiceKeepsProperties(t *testing.T, a Account) {
	s := a.Queues(t)
	before := value(s.GetServiceProperties(t.Context(), nil))(t)
	cleanup(t, func(ctx context.Context) error {
		return errOf(s.SetProperties(ctx, &azqueue.SetPropertiesOptions{CORS: before.CORS, Logging: before.Logging}))
	})
	rule := &azqueue.CORSRule{AllowedOrigins: to.Ptr("*"), AllowedMethods: to.Ptr("GET"), AllowedHeaders: to.Ptr(""),
		ExposedHeaders: to.Ptr(""), MaxAgeInSeconds: to.Ptr[int32](0)}
	must(t, errOf(s.SetProperties(t.Context(), &azqueue.SetPropertiesOptions{CORS: []*azqueue.CORSRule{rule}})))
	must(t, errOf(s.SetProperties(t.Context(), &azqueue.SetPropertiesOptions{Logging: &azqueue.Logging{
		Version: to.Ptr("1.0"), Delete: to.Ptr(true), Read: to.Ptr(false), Write: to.Ptr(true),
		RetentionPolicy: &azqueue.RetentionPolicy{Enabled: to.Ptr(false)}}})))
	p := value(s.GetServiceProperties(t.Context(), nil))(t)
	expect(t, a, "rules", len(p.CORS), 1)
	expect(t, a, "origins", *p.CORS[0].AllowedOrigins, "*")
	expect(t, a, "logging", fmt.Sprint(*p.Logging.Delete, *p.Logging.Read, *p.Logging.Write), "true false true")
}

// A page of an allowed origin may send requests: its browser asks before, without a signature, and finds in the answer
// which headers the page may read. Pages of other origins may not.
func (tables) BrowsersAskBeforeTheySend(t *testing.T, a Account) {
	s := a.Tables(t)
	before := value(s.GetProperties(t.Context(), nil))(t)
	cleanup(t, func(ctx context.Context) error {
		if a.Kind == Azurite {
			return nil // it fails when the last rule is removed
		}
		if before.Cors == nil {
			before.Cors = []*aztables.CorsRule{}
		}
		return errOf(s.SetProperties(ctx, aztables.ServiceProperties{Cors: before.Cors}, nil))
	})
	const origin = "https://app.example"
	must(t, errOf(s.SetProperties(t.Context(), aztables.ServiceProperties{Cors: []*aztables.CorsRule{{
		AllowedOrigins: to.Ptr(origin), AllowedMethods: to.Ptr("GET,POST"), AllowedHeaders: to.Ptr("authorization,x-ms-*"),
		ExposedHeaders: to.Ptr("etag,x-ms-req*"), MaxAgeInSeconds: to.Ptr[int32](77)}}}, nil)))
	ask := func(header ...string) *http.Response {
		req := value(http.NewRequestWithContext(t.Context(), http.MethodOptions, a.TableURL+"/any", nil))(t)
		for i := 0; i < len(header); i += 2 {
			req.Header.Set(header[i], header[i+1])
		}
		return send(t, a, req)
	}
	const method, headers = "Access-Control-Request-Method", "Access-Control-Request-Headers"
	var asked *http.Response
	for range 60 { // Azure takes up to half a minute
		if asked = ask("Origin", origin, method, "GET", headers, "authorization,X-Ms-Date"); asked.StatusCode == 200 {
			break
		}
		time.Sleep(time.Second)
	}
	for name, want := range map[string]string{"Origin": origin, "Methods": "GET", "Headers": "authorization,X-Ms-Date"} {
		expect(t, a, "allows "+name, asked.Header.Get("Access-Control-Allow-"+name), want)
	}
	expect(t, a, "for", asked.Header.Get("Access-Control-Max-Age"), "77")
	expect(t, a, "another origin", ask("Origin", "https://other.example", method, "GET").StatusCode, 403)
	expect(t, a, "another method", ask("Origin", origin, method, "DELETE").StatusCode, 403)
	expect(t, a, "another header", ask("Origin", origin, method, "GET", headers, "x-other").StatusCode, 403)
	expect(t, a, "no method", ask("Origin", origin).StatusCode, 400)

	name := Name("t")
	insert(t, a.MakeTable(t, name), "p", "r", nil)
	get := func(from string) http.Header {
		req := signed(t, a, name+"(PartitionKey='p',RowKey='r')", time.Now())
		req.Header.Set("Origin", from)
		return send(t, a, req).Header
	}
	h := get(origin)
	expect(t, a, "answer: origin", h.Get("Access-Control-Allow-Origin"), origin)
	expect(t, a, "answer: vary", h.Get("Vary"), "Origin")
	expect(t, a, "answer: exposed", h.Get("Access-Control-Expose-Headers") != "", true)
	h = get("https://other.example")
	expect(t, a, "answer to another origin", h.Get("Access-Control-Allow-Origin"), "")
	expect(t, a, "answer to another origin: vary", h.Get("Vary"), "Origin")
}

// Statistics of geo-replication are those of the secondary endpoint. The primary one refuses to give them.
func (protocol) PrimaryHasNoStatistics(t *testing.T, a Account) {
	const refused = "400 InvalidQueryParameterValue"
	expect(t, a, "blobs", outcome(a.Blobs(t).ServiceClient().GetStatistics(t.Context(), nil)), refused)
	expect(t, a, "queues", outcome(a.Queues(t).GetStatistics(t.Context(), nil)), refused)
	expect(t, a, "tables", outcome(a.Tables(t).GetStatistics(t.Context(), nil)), refused)
}
