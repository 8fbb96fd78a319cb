package sas

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"furrow/tables"
	"furrow/tables/schema"
)

// ErrFull means that as many devices have registered themselves in an enrollment as it admits.
var ErrFull = errors.New("as many devices have registered themselves in the enrollment as it admits")

// provisional is how long the number of an enrollment's places is counted again before each registration, after its
// limit was set: some endpoints may not know the limit yet. They know it within Recent, and a request of theirs ends
// within half a minute.
const provisional = time.Minute

// Places are those that devices take that register themselves in enrollments.
type Places struct{ *tables.Table }

// reserve takes a place of an enrollment for a device that registers itself, or fails with ErrFull. A device keeps its
// place until it is removed, even if its registration is interrupted here and never completed.
//
// A place is a row of its own. If the enrollment has a limit, the row is inserted in one transaction with a change of
// the number of places, on the version of that number that was read. So the number always equals the rows, and there
// are never more than the limit, whatever processes crash, compete or miss answers: a repeat finds the device's row.
// Without a limit nothing is counted, and devices do not wait for each other.
func (p Places) reserve(ctx context.Context, e schema.Enrollment, device schema.DeviceID) error {
	place := schema.PlaceOf(e.ID, device)
	if e.MaxDevices == 0 {
		_, err := p.Do(ctx, tables.Insert(place))
		if errors.Is(err, tables.ErrNoTable) { // of a fleet that an older program set up
			if err = p.Create(ctx); err == nil {
				_, err = p.Do(ctx, tables.Insert(place))
			}
		}
		if errors.Is(err, tables.ErrExists) {
			return nil
		}
		return err
	}
	return swapping(ctx, func() error { return p.tryReserve(ctx, e, place) })
}

// swapping tries a change again while others change the same rows.
func swapping(ctx context.Context, change func() error) (err error) {
	for try := range swaps {
		if err = pause(ctx, try); err == nil {
			err = change()
		}
		if !errors.Is(err, tables.ErrConflict) {
			break
		}
	}
	return err
}

func (p Places) tryReserve(ctx context.Context, e schema.Enrollment, place tables.Entity) error {
	counted, err := p.number(ctx, e.ID)
	if err != nil {
		return err
	}
	if counted.Number >= e.MaxDevices {
		_, err := p.Get(ctx, place.PartitionKey, place.RowKey)
		if errors.Is(err, tables.ErrNotFound) {
			return ErrFull
		}
		return err
	}
	counted.Number++
	_, err = p.Submit(ctx, []tables.Op{tables.Insert(place), tables.Replace(counted.Entity(), counted.ETag)})
	if errors.Is(err, tables.ErrExists) {
		return nil
	}
	return err
}

// number returns the number of an enrollment's places, and makes the row with it if there is none.
func (p Places) number(ctx context.Context, id schema.EnrollmentID) (schema.Places, error) {
	for range 2 {
		row, err := p.Get(ctx, string(id), schema.PlacesRow)
		switch {
		case err == nil:
			counted, err := schema.PlacesOf(row)
			if err != nil || counted.Final {
				return counted, err
			}
			number, now, err := p.count(ctx, id)
			counted.Number, counted.Final = number, now.Sub(counted.Since.Time()) > provisional
			return counted, err
		case !tables.Absent(err):
			return schema.Places{}, err
		}
		if err := p.Create(ctx); err != nil {
			return schema.Places{}, err
		}
		_, now, err := p.count(ctx, id)
		if err != nil {
			return schema.Places{}, err
		}
		fresh := schema.Places{Enrollment: id, Since: tables.TicksOf(now)}
		if _, err := p.Do(ctx, tables.Insert(fresh.Entity())); err != nil && !errors.Is(err, tables.ErrExists) {
			return schema.Places{}, err
		}
	}
	return schema.Places{}, fmt.Errorf("the places of enrollment %s: %w", id, tables.ErrConflict)
}

// count counts the places of an enrollment, and returns storage's time.
func (p Places) count(ctx context.Context, id schema.EnrollmentID) (n int, now time.Time, err error) {
	for page, err := range p.Rows(ctx, tables.Query{Range: schema.PlacesIn(id), Select: []string{"RowKey"}}) {
		if errors.Is(err, tables.ErrNoTable) {
			break
		}
		if err != nil {
			return 0, now, err
		}
		n += len(page.Rows)
		now = page.Time
	}
	if now.IsZero() {
		now = time.Now()
	}
	return n, now, nil
}

// SelfRegistered returns how many devices have registered themselves in an enrollment and were not removed since.
func (p Places) SelfRegistered(ctx context.Context, id schema.EnrollmentID) (int, error) {
	n, _, err := p.count(ctx, id)
	return n, err
}

// Forget makes the places of an enrollment be counted again. It must be called before an enrollment gets a limit,
// because the number is not kept without one.
func (p Places) Forget(ctx context.Context, id schema.EnrollmentID) error {
	_, err := p.Do(ctx, tables.Delete(string(id), schema.PlacesRow, tables.AnyETag))
	if tables.Absent(err) {
		return nil
	}
	return err
}

// release gives a device's place back.
func (p Places) release(ctx context.Context, id schema.EnrollmentID, device schema.DeviceID) error {
	if id == "" {
		return nil // it was registered without an enrollment
	}
	err := swapping(ctx, func() error { return p.tryRelease(ctx, id, device) })
	if tables.Absent(err) {
		return nil // there is none, or a lost answer was of success
	}
	return err
}

func (p Places) tryRelease(ctx context.Context, id schema.EnrollmentID, device schema.DeviceID) error {
	place := schema.PlaceOf(id, device)
	if _, err := p.Get(ctx, place.PartitionKey, place.RowKey); err != nil {
		return err
	}
	free := []tables.Op{tables.Delete(place.PartitionKey, place.RowKey, tables.AnyETag)}
	row, err := p.Get(ctx, string(id), schema.PlacesRow)
	if err == nil {
		counted, errRow := schema.PlacesOf(row)
		counted.Number = max(0, counted.Number-1)
		free, err = append(free, tables.Replace(counted.Entity(), counted.ETag)), errRow
	} else if tables.Absent(err) {
		err = nil
	}
	if err == nil {
		_, err = p.Submit(ctx, free)
	}
	return err
}

// maxTurn is how long a device that registers itself waits for others of its enrollment at this issuer. They hold slots
// of the endpoint, which other enrollments need.
const maxTurn = 2 * time.Second

// turn lets the devices of an enrollment with a limit register one after the other, because they would only conflict.
func (i *Issuer) turn(ctx context.Context, id schema.EnrollmentID) (done func(), err error) {
	turns, _ := i.turns.LoadOrStore(id, make(chan struct{}, 1))
	t := turns.(chan struct{})
	wait, cancel := context.WithTimeout(ctx, maxTurn)
	defer cancel()
	select {
	case t <- struct{}{}:
		return func() { <-t }, nil
	case <-wait.Done():
		return nil, cmp.Or(ctx.Err(), error(tables.ErrBusy))
	}
}
