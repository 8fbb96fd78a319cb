package copying

import (
	"context"
	"slices"
	"strings"

	"furrow/jobs/processors"
	"furrow/tables"
	"furrow/tables/schema"
)

// A part of a fleet's tables.
type part struct {
	tables []string
	insert bool // readings: rows never change
}

// parts returns the tables of the source in the order in which they are copied.
func (c *Copy) parts(ctx context.Context) (all []part, err error) {
	exist, err := c.From.Tables(ctx)
	if err != nil {
		return nil, err
	}
	var tracking []string
	for _, table := range exist {
		if name, ok := strings.CutPrefix(table, c.Names.Partitions("")); ok {
			if _, err := schema.ParsePipeline(name); err == nil {
				tracking = append(tracking, table)
			}
		}
	}
	outputs := append(processors.Outputs(c.Names), c.Names.Rejects(), c.Names.Reports())
	readings, err := c.readings(ctx)
	if err != nil {
		return nil, err
	}
	var records []string
	own := []string{c.Names.Policies(), c.Names.Runs()} // the account's: see the package
	for _, table := range c.Names.Tables() {
		if !slices.Contains(slices.Concat(outputs, readings, own), table) {
			records = append(records, table)
		}
	}
	for _, p := range []part{{tracking, false}, {outputs, false}, {readings, true}, {records, false}} {
		p.tables = slices.DeleteFunc(p.tables, func(table string) bool { return !slices.Contains(exist, table) })
		all = append(all, p)
	}
	return all, nil
}

// readingsProperty is the name of a readings table in all three.
const readingsProperty = "Readings"

// readings returns the readings tables that memberships, records of devices and enrollments name.
func (c *Copy) readings(ctx context.Context) ([]string, error) {
	names := []string{c.Names.Readings()}
	for _, table := range []string{c.Names.Fleet(), c.Names.Devices(), c.Names.Enrollments()} {
		for e, err := range c.From.Table(table).Entities(ctx, tables.Query{Select: []string{readingsProperty}}) {
			if err != nil {
				return nil, err
			}
			named := e.Get(readingsProperty)
			if name := named.Text(); name != "" && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names, nil
}

// keep returns which rows of a table are the fleet's, and not the account's: neither marks of layout nor processes.
func (c *Copy) keep(table string) func(tables.Entity) bool {
	switch table {
	case c.Names.Fleet():
		return func(e tables.Entity) bool { return !schema.IsLayout(e) }
	case c.Names.Config():
		return func(e tables.Entity) bool { return !schema.Processes().Partitions.Contains(e.PartitionKey) }
	}
	return nil
}

// notes returns the properties of a table's rows that the endpoint writes with each token: first the membership says
// until when a device may write, then the record that it does. As the table of records is copied before that of
// memberships, no copied record says more than the membership.
func (c *Copy) notes(table string) []string {
	switch table {
	case c.Names.Devices():
		return []string{"Tokens", "Noted", "NotedIn"}
	case c.Names.Fleet():
		return []string{"Awake"}
	}
	return nil
}
