package worker

import (
	"context"
	"errors"
)

// PutText puts a text of somebody else's into a queue of the account, which it creates if need be.
func (c *Client) PutText(ctx context.Context, queue, text string) error {
	q := c.messages(queue)
	err := q.put(ctx, text, 0)
	if !errors.Is(err, ErrNoQueue) {
		return err
	}
	if err := q.create(ctx); err != nil {
		return err
	}
	return q.put(ctx, text, 0)
}
