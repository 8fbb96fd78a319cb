package queue

import (
	"net/http"

	"furrow/tables/local/internal/wire"
)

// Errors of the Queue service
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
)
