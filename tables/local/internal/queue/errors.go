package queue

import (
	"net/http"

	"furrow/tables/local/internal/wire"
)

// The refusals of the Queue service, in its words
// (learn.microsoft.com/rest/api/storageservices/queue-service-error-codes).
var (
	errQueueNotFound = &wire.Error{Status: http.StatusNotFound, Code: "QueueNotFound",
		Message: "The specified queue does not exist."}
	errQueueExists = &wire.Error{Status: http.StatusConflict, Code: "QueueAlreadyExists",
		Message: "The specified queue already exists."}
	errMessageNotFound = &wire.Error{Status: http.StatusNotFound, Code: "MessageNotFound",
		Message: "The specified message does not exist."}
	errReceipt = &wire.Error{Status: http.StatusBadRequest, Code: "PopReceiptMismatch",
		Message: "The specified pop receipt did not match the pop receipt for a dequeued message."}
	errMethod = &wire.Error{Status: http.StatusMethodNotAllowed, Code: "UnsupportedHttpVerb",
		Message: "The resource doesn't support the specified HTTP verb."}
	errPath = &wire.Error{Status: http.StatusBadRequest, Code: "InvalidUri",
		Message: "The requested URI does not represent any resource on the server."}
	errNameLength = &wire.Error{Status: http.StatusBadRequest, Code: "OutOfRangeInput",
		Message: "The specified resource name length is not within the permissible limits."}
	errName = &wire.Error{Status: http.StatusBadRequest, Code: "InvalidResourceName",
		Message: "The specifed resource name contains invalid characters."} // sic: the service spells it so
)
