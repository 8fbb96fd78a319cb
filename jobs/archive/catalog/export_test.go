package catalog

// Key returns the PartitionKey of the table's rows.
func (t *Table) Key() string { return t.key }
