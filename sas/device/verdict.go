package device

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
)

// judge is what an answer of storage that is no success says, to one row or to a
// whole transaction.
func judge(r reply) outcome {
	refusal, index := refusalOf(r)
	o := outcome{index: index, err: refusal}
	switch code := refusal.Code; {
	case r.status == http.StatusConflict && code == "EntityAlreadyExists":
		o.verdict = exists
	case r.status == http.StatusRequestEntityTooLarge, r.status == http.StatusBadRequest && code != "" && !ofRequest(code):
		o.verdict = rejected
	case r.status == http.StatusBadRequest && code != "", r.status == http.StatusUnauthorized,
		r.status == http.StatusForbidden, r.status == http.StatusNotFound:
		o.verdict = denied
	}
	return o
}

// ofRequest tells whether a code of a 400 is about the request or its token: one
// that every row would meet.
// learn.microsoft.com: "Common REST API error codes".
func ofRequest(code string) bool {
	switch code {
	case "AuthenticationFailed", "InvalidAuthenticationInfo", "InvalidHeaderValue", "InvalidQueryParameterValue",
		"InvalidResourceName", "InvalidUri", "MissingRequiredHeader", "MissingRequiredQueryParameter",
		"OutOfRangeQueryParameterValue", "UnsupportedHeader", "UnsupportedHttpVerb", "UnsupportedQueryParameter":
		return true
	}
	return false
}

// refusalOf reads an error of storage. In a transaction its message begins with
// the number of the operation: "2:The specified entity already exists."
func refusalOf(r reply) (refusal *Refusal, index int) {
	var told struct {
		Error struct {
			Code    string `json:"code"`
			Message struct {
				Value string `json:"value"`
			} `json:"message"`
		} `json:"odata.error"`
	}
	refusal = &Refusal{By: storage, Status: r.status, RequestID: r.header.Get("X-Ms-Request-Id"), wait: retryAfter(r.header)}
	if json.Unmarshal(r.body, &told) != nil {
		return refusal, -1
	}
	refusal.Code = told.Error.Code
	refusal.Detail = clip(told.Error.Message.Value)
	number, rest, _ := strings.Cut(refusal.Detail, ":")
	index, err := strconv.Atoi(number)
	if err != nil || index < 0 {
		return refusal, -1
	}
	refusal.Detail = rest
	return refusal, index
}

// clip is the first line of what a server says, and not all of a long one.
func clip(text string) string {
	text, _, _ = strings.Cut(text, "\n")
	return strings.ToValidUTF8(text[:min(len(text), 300)], "")
}

// readTransaction reads the answer to a transaction of n rows, which is 202 even
// when all was refused.
func readTransaction(r reply, n int) outcome {
	answers, err := transactionAnswers(r)
	if err != nil {
		return outcome{index: -1, err: fmt.Errorf("answer of %s: %w", storage, err)}
	}
	for _, a := range answers {
		if a.status >= http.StatusMultipleChoices {
			o := judge(a)
			if o.index >= n {
				o.index = -1
			}
			return o
		}
	}
	if len(answers) != n {
		return outcome{index: -1, err: fmt.Errorf("answer of %s: %d rows have %d answers", storage, n, len(answers))}
	}
	return outcome{verdict: stored}
}

func transactionAnswers(r reply) (answers []reply, err error) {
	batch, err := parts(r.header.Get("Content-Type"), bytes.NewReader(r.body))
	if err != nil {
		return nil, err
	}
	first, err := batch.NextPart()
	if err != nil {
		return nil, err
	}
	set, err := parts(first.Header.Get("Content-Type"), first)
	if err != nil {
		return nil, err
	}
	for {
		part, err := set.NextPart()
		if err == io.EOF {
			return answers, nil
		}
		if err != nil {
			return nil, err
		}
		resp, err := http.ReadResponse(bufio.NewReader(part), &http.Request{Method: http.MethodPost})
		if err != nil {
			return nil, err
		}
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			return nil, err
		}
		answers = append(answers, reply{resp.StatusCode, resp.Header, body})
	}
}

func parts(contentType string, body io.Reader) (*multipart.Reader, error) {
	_, parameters, err := mime.ParseMediaType(contentType)
	if err != nil || parameters["boundary"] == "" {
		return nil, errors.New("it is not multipart")
	}
	return multipart.NewReader(body, parameters["boundary"]), nil
}
