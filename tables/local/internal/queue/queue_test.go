package queue

import (
	"fmt"
	"net/url"
	"testing"

	"furrow/tables/local/internal/wiretest"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue/v2/queueerror"
)

func TestQueueIsCreatedOnce(t *testing.T) {
	f := newFixture(t)
	f.Do("PUT", "/once", "", "x-ms-meta-site", "Graz").Want(t, 201, "")
	f.Do("PUT", "/once", "", "x-ms-meta-Site", "Graz").Want(t, 204, "")
	f.Do("PUT", "/once", "").Want(t, 409, "QueueAlreadyExists")
	f.Do("DELETE", "/once", "").Want(t, 204, "")
	f.Do("DELETE", "/once", "").Want(t, 404, "QueueNotFound")
	f.Do("PUT", "/once", "").Want(t, 201, "")
}

// A queue that is created again has no messages of the old one.
func TestDeletedQueueTakesItsMessages(t *testing.T) {
	f := newFixture(t)
	q := f.queue("again")
	sent := f.put(q, "old")
	f.Do("DELETE", "/again", "").Want(t, 204, "")
	_, err := q.EnqueueMessage(t.Context(), "lost", nil)
	f.wantCode(err, queueerror.QueueNotFound)
	f.queue("again")
	if got := f.get(q, 32, 30); len(got) != 0 || f.count(q) != 0 {
		t.Errorf("%d messages, count %d", len(got), f.count(q))
	}
	_, err = q.DeleteMessage(t.Context(), *sent.MessageID, *sent.PopReceipt, nil)
	f.wantCode(err, queueerror.MessageNotFound)
	f = f.reopen(0)
	if got := f.get(f.queue("again"), 32, 30); len(got) != 0 {
		t.Errorf("%d messages after a restart", len(got))
	}
}

func TestMetadata(t *testing.T) {
	f := newFixture(t)
	f.queue("meta")
	f.Do("PUT", "/meta?comp=metadata", "", "x-ms-meta-a_1", "x y", "x-ms-meta-b", "").Want(t, 204, "")
	for _, method := range []string{"GET", "HEAD"} {
		r := f.Do(method, "/meta?comp=metadata", "").Want(t, 200, "").
			WantHeaders(t, "x-ms-meta-a_1", "x y", "x-ms-approximate-messages-count", "0")
		if r.Header["X-Ms-Meta-B"] == nil {
			t.Errorf("%s: empty metadata is missing: %v", method, r.Header)
		}
	}
	f.Do("PUT", "/meta?comp=metadata", "").Want(t, 204, "")
	f.Do("GET", "/meta?comp=metadata", "").WantHeaders(t, "x-ms-meta-a_1", "")
	f.Do("PUT", "/meta?comp=metadata", "", "x-ms-meta-1a", "x").Want(t, 400, "InvalidMetadata")
	f.Do("PUT", "/Meta", "").Want(t, 400, "InvalidResourceName")
	f.Do("GET", "/nobody?comp=metadata", "").Want(t, 404, "QueueNotFound")
}

func TestListOfQueues(t *testing.T) {
	f := newFixture(t)
	f.queue("one")
	f.queue("other")
	const head = `<?xml version="1.0" encoding="utf-8"?><EnumerationResults ServiceEndpoint="`
	want := head + f.URL + `/furrow/"><Prefix>oth</Prefix><Queues><Queue><Name>other</Name></Queue></Queues>` +
		`<NextMarker /></EnumerationResults>`
	if body := f.Do("GET", "?comp=list&prefix=oth", "").Body; body != want {
		t.Errorf("got  %s\nwant %s", body, want)
	}
	f.Do("GET", "?comp=list&prefix=zzz&marker=%00%3Cb%3E", "").Want(t, 200, "")
	f.Do("GET", "?comp=list&prefix=a&marker=zzz", "").Want(t, 200, "")
	f.Do("GET", "?comp=list&maxresults=0", "").Want(t, 400, "OutOfRangeQueryParameterValue")
}

func TestUnservedIsNamed(t *testing.T) {
	f := newFixture(t)
	f.Do("GET", "/some?comp=lease", "").Want(t, 501, "NotImplemented").WantBody(t, "comp=lease")
	f.Do("GET", "?comp=properties", "").Want(t, 400, "InvalidQueryParameterValue").WantBody(t, "restype")
	f.Do("OPTIONS", "/some", "").Want(t, 400, "InvalidHeaderValue")
	f.Do("GET", "/some", "").Want(t, 400, "MissingRequiredQueryParameter")
	f.Do("GET", "", "").Want(t, 400, "MissingRequiredQueryParameter")
	f.Do("POST", "/some", "").Want(t, 405, "UnsupportedHttpVerb")
	f.Do("POST", "?comp=list", "").Want(t, 405, "UnsupportedHttpVerb")
}

const textBody = "<QueueMessage><MessageText>x</MessageText></QueueMessage>"

func TestStoredPolicyRules(t *testing.T) {
	f := newFixture(t)
	f.queue("policy")
	set := func(permission string, n int) wiretest.Answer {
		body := "<SignedIdentifiers>"
		for i := range n {
			body += fmt.Sprintf("<SignedIdentifier><Id>adders%d</Id><AccessPolicy><Expiry>2150-01-01</Expiry>"+
				"<Permission>%s</Permission></AccessPolicy></SignedIdentifier>", i, permission)
		}
		return f.Do("PUT", "/policy?comp=acl", body+"</SignedIdentifiers>")
	}
	byPolicy := func() wiretest.Answer {
		return f.bySAS("POST", "/policy/messages", textBody, sas("policy", "", "adders0"))
	}
	byPolicy().Want(t, 403, "AuthenticationFailed")
	set("a", 2).Want(t, 204, "")
	byPolicy().Want(t, 201, "")
	f = f.reopen(0)
	byPolicy().Want(t, 201, "")
	f.Do("GET", "/policy?comp=acl", "").WantBody(t, "<Id>adders1</Id><AccessPolicy><Expiry>2150-01-01</Expiry>")
	set("rd", 1).Want(t, 400, "InvalidXmlNodeValue") // a queue's permissions are raup
	set("a", 6).Want(t, 400, "InvalidXmlDocument")
	byPolicy().Want(t, 201, "")
	set("", 0).Want(t, 204, "")
	byPolicy().Want(t, 403, "AuthenticationFailed")
	f.bySAS("GET", "?comp=list", "", sas("", "raup", "")).Want(t, 403, "AuthorizationFailure")
	f.bySAS("GET", "/policy/messages", "", url.Values{}).Want(t, 401, "NoAuthenticationInformation")
}
