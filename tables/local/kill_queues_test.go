package local_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"furrow/tables/azuretest"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue/v2"
)

// A messageLoad puts messages. After every second one it gets and deletes a message.
type messageLoad struct {
	worker  int
	queue   *azqueue.QueueClient
	tried   int
	there   map[string]bool // acknowledged and not deleted
	gone    map[string]bool // acknowledged deletes
	unknown map[string]bool // put or deleted without an answer
}

func (l *messageLoad) prepare(t *testing.T, a azuretest.Account) error {
	if l.there == nil {
		l.there, l.gone, l.unknown = map[string]bool{}, map[string]bool{}, map[string]bool{}
	}
	l.queue = a.Queues(t).NewQueueClient(fmt.Sprint("messages", l.worker))
	return ignore(done(l.queue.Create(t.Context(), nil)), "QueueAlreadyExists")
}

// text returns a message that shows whether it is complete.
func (l *messageLoad) text() string {
	return fmt.Sprintf("%08d%s", l.tried, strings.Repeat(fmt.Sprint(" ", l.tried, " <&>"), 50))
}

func (l *messageLoad) step(ctx context.Context) error {
	l.tried++
	text := l.text()
	l.unknown[text] = true
	if _, err := l.queue.EnqueueMessage(ctx, text, nil); err != nil {
		return err
	}
	delete(l.unknown, text)
	l.there[text] = true
	if l.tried%2 == 0 {
		return nil
	}
	return l.take(ctx, 1, func(text string) { l.unknown[text] = true; delete(l.there, text) })
}

// take gets up to n messages and deletes them. It calls before for each.
func (l *messageLoad) take(ctx context.Context, n int32, before func(text string)) error {
	visibility := int32(1)
	got, err := l.queue.DequeueMessages(ctx, &azqueue.DequeueMessagesOptions{NumberOfMessages: &n,
		VisibilityTimeout: &visibility})
	if err != nil {
		return err
	}
	for _, m := range got.Messages {
		before(*m.MessageText)
		if _, err := l.queue.DeleteMessage(ctx, *m.MessageID, *m.PopReceipt, nil); err != nil {
			return err
		}
		delete(l.unknown, *m.MessageText)
		l.gone[*m.MessageText] = true
	}
	return nil
}

// verify empties the queue: each acknowledged message must be delivered once.
func (l *messageLoad) verify(ctx context.Context) error {
	found := map[string]bool{}
	for {
		before := len(found)
		var twice error
		if err := l.take(ctx, 32, func(text string) {
			if found[text] || l.gone[text] {
				twice = fmt.Errorf("message %.8s was delivered after it was deleted", text)
			}
			found[text] = true
		}); err != nil {
			return err
		}
		if twice != nil {
			return twice
		}
		properties, err := l.queue.GetProperties(ctx, nil)
		if err != nil {
			return err
		}
		if *properties.ApproximateMessagesCount == 0 {
			break
		}
		if len(found) == before { // the rest is invisible for at most a second
			time.Sleep(50 * time.Millisecond)
		}
	}
	for text := range l.there {
		if !found[text] {
			return fmt.Errorf("message %.8s was acknowledged and is gone", text)
		}
	}
	for text := range found {
		if !l.there[text] && !l.unknown[text] && !l.gone[text] {
			return fmt.Errorf("message %q was never put", text)
		}
	}
	clear(l.there)
	clear(l.unknown)
	return nil
}
