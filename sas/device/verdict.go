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

// judge interprets an error response of storage, to one row or to a transaction.
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

// ofRequest reports whether the code of a 400 concerns the request or its token, so that
// every row would fail.
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

// refusalOf parses an error of storage. In a transaction its message starts with the number
// of the operation: "2:The specified entity already exists."
func refusalOf(r reply) (refusal *Refusal, index int) {
	var told struct {
		Error struct {
			Code    string `json:"code"`
			Message struct {
				Value string `json:"value"`
			} `json:"message"`
		} `json:"odata.error"`
	}
	refusal = &Refusal{By: storage, Status: r.status, RequestID: r.header.Get("X-Ms-Request-Id"),
		wait: retryAfter(r.header)}
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

// clip returns the first line of a server's text, shortened if it is long.
func clip(text string) string {
	text, _, _ = strings.Cut(text, "\n")
	return strings.ToValidUTF8(text[:min(len(text), 300)], "")
}

// readTransaction interprets the response to a transaction of n rows. Its status is 202 even
// if all rows were refused.
func readTransaction(r reply, n int) outcome {
	answers, err := transactionAnswers(r)
	if err != nil {
		return outcome{index: -1, err: fmt.Errorf("response of %s: %w", storage, err)}
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
		return outcome{index: -1, err: fmt.Errorf("response of %s: %d rows have %d responses", storage, n, len(answers))}
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
		return nil, errors.New("not multipart")
	}
	return multipart.NewReader(body, parameters["boundary"]), nil
}
