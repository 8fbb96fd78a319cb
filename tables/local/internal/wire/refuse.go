package wire

import (
	"errors"
	"net/http"
	"os"
	"strconv"
)

// Errors that the services share.
var (
	ErrMethod = &Error{http.StatusMethodNotAllowed, "UnsupportedHttpVerb",
		"The resource doesn't support the specified HTTP verb.", nil}
	ErrURI = &Error{http.StatusBadRequest, "InvalidUri",
		"The requested URI does not represent any resource on the server.", nil}
	ErrNameLength = &Error{http.StatusBadRequest, "OutOfRangeInput",
		"The specified resource name length is not within the permissible limits.", nil}
	ErrName = &Error{http.StatusBadRequest, "InvalidResourceName",
		"The specifed resource name contains invalid characters.", nil} // sic: the service spells it so
	ErrBodyCut = &Error{http.StatusBadRequest, "IncompleteBody",
		"The request body ended before the length that its header names.", nil}
	// ErrFull is the error of writes for which the disk has no room.
	ErrFull = &Error{http.StatusInsufficientStorage, "InsufficientStorage",
		"The disk of the storage directory is full. Reading and deleting still work.", nil}
	errBodySlow = &Error{http.StatusRequestTimeout, "RequestTimeout",
		"The request body did not arrive in time.", nil}
)

// BodyError is the error for a body that could not be read to its end.
func BodyError(err error) *Error {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return errBodySlow
	}
	return ErrBodyCut
}

// BadQuery is the error for the value of a query parameter.
func BadQuery(name, value, reason string) *Error {
	return &Error{http.StatusBadRequest, "InvalidQueryParameterValue",
		"Value for one of the query parameters specified in the request URI is invalid.",
		[]Detail{{"QueryParameterName", name}, {"QueryParameterValue", value}, {"Reason", reason}}}
}

// BadHeader is the error for the value of a header.
func BadHeader(name, value string) *Error {
	return &Error{http.StatusBadRequest, "InvalidHeaderValue",
		"The value for one of the HTTP headers is not in the correct format.",
		[]Detail{{"HeaderName", name}, {"HeaderValue", value}}}
}

// MissingHeader is the error for a missing header.
func MissingHeader(name string) *Error {
	return &Error{http.StatusBadRequest, "MissingRequiredHeader",
		"An HTTP header that's mandatory for this request is not specified.", []Detail{{"HeaderName", name}}}
}

// MissingQuery is the error for a missing query parameter.
func MissingQuery(name string) *Error {
	return &Error{http.StatusBadRequest, "MissingRequiredQueryParameter",
		"A query parameter that's mandatory for this request is not specified.", []Detail{{"QueryParameterName", name}}}
}

// IntQuery parses a query parameter as an integer in [least, most]. If it is
// absent, IntQuery returns otherwise.
func (r *Request) IntQuery(name string, least, most, otherwise int) (int, error) {
	text := r.Query.Get(name)
	if text == "" {
		return otherwise, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0, BadQuery(name, text, "Not a whole number.")
	}
	if n < least || n > most {
		return 0, &Error{http.StatusBadRequest, "OutOfRangeQueryParameterValue",
			"One of the query parameters specified in the request URI is outside the permissible range.",
			[]Detail{{"QueryParameterName", name}, {"QueryParameterValue", text},
				{"MinimumAllowed", strconv.Itoa(least)}, {"MaximumAllowed", strconv.Itoa(most)}}}
	}
	return n, nil
}

// BadNode is the error for the value of an element in an XML body.
func BadNode(name, value string) *Error {
	return &Error{http.StatusBadRequest, "InvalidXmlNodeValue",
		"The value for one of the XML nodes is not in the correct format.",
		[]Detail{{"XmlNodeName", name}, {"XmlNodeValue", value}}}
}

// BadXML is the error for an XML body.
func BadXML(reason string) *Error {
	return &Error{http.StatusBadRequest, "InvalidXmlDocument", "XML specified is not syntactically valid.",
		[]Detail{{"Reason", reason}}}
}
